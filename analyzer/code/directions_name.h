/* SPDX-License-Identifier: Apache-2.0 */
/* What a kernel's name says of its parameters, where there is no PTX: see directions.h. */
#ifndef CUFENCE_DIRECTIONS_NAME_H
#define CUFENCE_DIRECTIONS_NAME_H

#include "db.h"

/*
 * Rows of kernel_code and kernel_access by these statements; why there is no PTX, a constant
 * string.  0, or -1 after a message.
 */
int directions_from_name(struct db *db, sqlite3_stmt *code, sqlite3_stmt *access, int64_t kernel,
	const char *mangled, const char *why);

#endif
