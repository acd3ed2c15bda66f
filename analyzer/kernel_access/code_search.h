/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds a kernel of which only the name is known: in images made in memory, then in the files that
 * a process's calls came from, until one has it.
 */
#ifndef CUFENCE_CODE_SEARCH_H
#define CUFENCE_CODE_SEARCH_H

#include "code_part.h"
#include "db.h"

struct code_search;

/* Opens a search for a process.  Returns NULL after a message.  limits must outlive it. */
struct code_search *code_search_open(struct db *db, int64_t process,
	const struct code_limits *limits);
void code_search_close(struct code_search *search);

/* Returns 1, or 0 if the kernel was not found; place is unchanged then. */
int code_search_find(struct code_search *search, const char *mangled, struct code_place *place);

/* Returns the result of code_prints(), from all cubins. */
int code_search_prints(struct code_search *search, const char *mangled);

#endif
