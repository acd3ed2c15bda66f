/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lines that do not show that they wait: those of a script, and those that call a library of CUDA's
 * that fetches results into memory of the host unless its pointer mode forbids that.  Compiled
 * code shows its waits in the source.
 */
#ifndef CUFENCE_SCRIPT_LINES_H
#define CUFENCE_SCRIPT_LINES_H

#include "db.h"

struct script_lines {
	struct words *words;
	struct places *places;
	sqlite3_stmt *is_script;
};

/* Returns 0, or -1 after a message; call script_lines_close() in both cases. */
int script_lines_open(struct script_lines *lines, struct db *db);
void script_lines_close(struct script_lines *lines);

/* Was the call made from such a line?  Returns -1 after a message. */
int script_lines_has(struct script_lines *lines, int64_t call);

/* Were two calls made from one such line?  Returns -1 after a message. */
int script_lines_same(struct script_lines *lines, int64_t call, int64_t other);

#endif
