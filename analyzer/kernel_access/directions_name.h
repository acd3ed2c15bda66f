/* SPDX-License-Identifier: Apache-2.0 */
/* Derives accesses from a kernel's name where there is no code: see directions.h. */
#ifndef CUFENCE_DIRECTIONS_NAME_H
#define CUFENCE_DIRECTIONS_NAME_H

#include "db.h"

/*
 * Writes rows of kernel_code and kernel_access; why: why there is no code.  Returns 0, or -1 after
 * a message.
 */
int directions_from_name(struct db *db, int64_t kernel, const char *mangled, const char *why);

#endif
