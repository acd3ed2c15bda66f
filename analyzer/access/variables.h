/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Variables of modules, __device__ and __constant__, as memory that launches name.  A kernel's code
 * says which variables it uses (kernel_variable), like parameters that point to them; here each
 * launch is given these words as operands.
 *
 * A variable is an allocation from the call on that asked for its address.  One that nobody asked
 * for is made an allocation here, without an address: kernels may race for it all the same.  A
 * variable is known by the image of its module, its name and the context; where an image is loaded
 * twice and it is not known which of the two is meant, nothing is named.
 */
#ifndef CUFENCE_VARIABLES_H
#define CUFENCE_VARIABLES_H

#include "db.h"

/* After directions_resolve(): adds operands and allocations.  0, or -1 after a message. */
int variables_resolve(struct db *db);

/* The rows of operand after that one are those of the run's columns, too. */
int variables_keep(struct db *db, int64_t last);

#endif
