/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a kernel is, for all that is known of it is its name: images made in memory, then the
 * files that a process's calls came from, one after the other until one has it.
 */
#ifndef CUFENCE_CODE_SEARCH_H
#define CUFENCE_CODE_SEARCH_H

#include "code_part.h"
#include "db.h"

struct code_search;

/* Of a process; NULL after a message.  limits must outlive it. */
struct code_search *code_search_open(struct db *db, int64_t process,
	const struct code_limits *limits);
void code_search_close(struct code_search *search);

/* 1, or 0: none has the kernel; place is untouched then. */
int code_search_find(struct code_search *search, const char *mangled, struct code_place *place);

/* As of code_prints(), by the cubins of all of them. */
int code_search_prints(struct code_search *search, const char *mangled);

#endif
