/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names for the frames of an interpreter, from the code objects that the trace carries.
 */
#ifndef CUFENCE_SYMBOLS_SCRIPT_H
#define CUFENCE_SYMBOLS_SCRIPT_H

#include <stddef.h>

#include "db.h"
#include "map.h"
#include "python_loops.h"
#include "symbols_file.h"

struct script_code;

/* The code objects of one process; zero-initialized is empty. */
struct script_space {
	struct script_code *code; /* by number */
	size_t count;
	int64_t until; /* ns since 1970: sources changed later are not believed, 0: any */
	struct script_sources sources;
	struct map loops; /* code and line -> line of the loop */
};

/* 0, or -1 after a message. */
int script_space_read(struct script_space *space, struct db *db, int64_t process);

/*
 * Looks up a SCRIPT_FRAME() of a site.  Returns its origin, an enum script_origin, or -1 if the
 * trace does not have it.  Strings live as long as the space.
 */
int script_space_lookup(struct script_space *space, uint64_t address, struct source_frame *frame);

void script_space_release(struct script_space *space);

#endif
