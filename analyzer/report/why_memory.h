/* SPDX-License-Identifier: Apache-2.0 */
/* For cufence why: the memory that two operations share, in words. */
#ifndef CUFENCE_WHY_MEMORY_H
#define CUFENCE_WHY_MEMORY_H

#include <stdint.h>

#include "db.h"

/* Prints a line for each conflict of two calls' operations, or one that says there is none; 0, or
 * -1 after a message. */
int why_memory(struct db *db, int64_t earlier, int64_t later);

#endif
