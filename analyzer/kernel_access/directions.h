/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds how the kernels of a run use their parameters: fills kernel_code, kernel_access and
 * shape_code.  Evidence, the best first: the kernel's PTX or machine code, in the program's files
 * or loaded from memory; `const` in the mangled types of its parameters, for memory that is only
 * read; conventions of kernels with that name in known libraries.
 *
 * Files are read when a run is loaded, as for symbols: they may be gone later.
 */
#ifndef CUFENCE_DIRECTIONS_H
#define CUFENCE_DIRECTIONS_H

#include "db.h"

/* Returns 0, or -1 after a message.  Unreadable files are no error: their kernels are unknown. */
int directions_resolve(struct db *db);

#endif
