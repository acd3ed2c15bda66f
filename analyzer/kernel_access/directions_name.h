/* SPDX-License-Identifier: Apache-2.0 */
/* Derives accesses from a kernel's name where there is no code: see directions.h. */
#ifndef CUFENCE_DIRECTIONS_NAME_H
#define CUFENCE_DIRECTIONS_NAME_H

#include "db.h"

/*
 * Inserts rows of kernel_code and kernel_access by these statements; why: why there is no code, a
 * constant string.  Returns 0, or -1 after a message.
 */
int directions_from_name(struct db *db, sqlite3_stmt *code, sqlite3_stmt *access, int64_t kernel,
	const char *mangled, const char *why);

#endif
