/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Advice about calls that a library makes below a line of the program (libraries.def): the program
 * cannot change the call, but how it uses the library.
 */
#ifndef CUFENCE_LIBRARIES_H
#define CUFENCE_LIBRARIES_H

#include <stdint.h>

#include "db.h"

/* Sets *advice to that for a driver call, NULL: none.  Returns 0, or -1 after a message. */
int library_advice(struct db *db, int64_t call, const char **advice);

#endif
