/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Adds variables of modules (__device__ and __constant__) to launches.  A kernel's code shows which
 * variables it uses (kernel_variable), like pointer parameters to them.  Each launch gets operands
 * for these words.
 *
 * A variable becomes an allocation with the call that queries its address.  A variable that was
 * never queried becomes an allocation here, without an address: kernels may race for it all the
 * same. A variable is identified by the image of its module, its name and the context.  If an image
 * is loaded twice and it is unknown which one is used, no operand is added.
 */
#ifndef CUFENCE_VARIABLES_H
#define CUFENCE_VARIABLES_H

#include "db.h"

/*
 * Adds operands and allocations; called after directions_resolve().  Returns 0, or -1 after a
 * message.
 */
int variables_resolve(struct db *db);

/* Adds the rows of operand after that one to the run's columns, too. */
int variables_keep(struct db *db, int64_t last);

#endif
