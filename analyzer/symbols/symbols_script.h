/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names for the frames of an interpreter, from the code objects that the trace carries.
 */
#ifndef CUFENCE_SYMBOLS_SCRIPT_H
#define CUFENCE_SYMBOLS_SCRIPT_H

#include <stddef.h>

#include "db.h"
#include "symbols_file.h"

struct script_code;

/* The code objects of one process; zero-initialized is empty. */
struct script_space {
	struct script_code *code; /* by number */
	size_t count;
};

/* 0, or -1 after a message. */
int script_space_read(struct script_space *space, struct db *db, int64_t process);

/*
 * Looks up a SCRIPT_FRAME() of a site.  Returns its origin, an enum script_origin, or -1 if the
 * trace does not have it.  Strings live as long as the space.
 */
int script_space_lookup(const struct script_space *space, uint64_t address,
	struct source_frame *frame);

void script_space_release(struct script_space *space);

#endif
