/* SPDX-License-Identifier: Apache-2.0 */
/* The median in SQL, of one pass over a group; window functions would sort all rows three times. */
#ifndef CUFENCE_MEDIAN_H
#define CUFENCE_MEDIAN_H

#include "db.h"

/*
 * Adds the aggregate median(X) of integers: that in the middle, or the mean of the two there,
 * rounded away from 0.  NULL is not counted; without values it is NULL.  Takes 8 to 16 bytes a
 * value.  Returns 0, or -1 after a message.
 */
int median_add(struct db *db);

#endif
