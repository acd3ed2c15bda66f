/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the kernels of a run do with their parameters: fills kernel_code, kernel_access and
 * shape_code.  Evidence, the best first: the PTX of the kernel, in the program's files or loaded
 * from memory; `const` in the mangled types of its parameters, which says what is only read; what
 * a known library's kernels of that name do by convention.
 *
 * Files are looked at when a run is loaded, as for symbols: they may be gone later.
 */
#ifndef CUFENCE_DIRECTIONS_H
#define CUFENCE_DIRECTIONS_H

#include "db.h"

/* 0, or -1 after a message.  Files that cannot be read are no failure: nothing is known then. */
int directions_resolve(struct db *db);

#endif
