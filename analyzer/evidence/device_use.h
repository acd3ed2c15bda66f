/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How much the device did, and how much of it at the same time: tables stream_use and device_use,
 * for reports, so that these need not look at every operation.  One pass over the operations, which
 * are then followed from the last end to the first; memory is 48 bytes for each.
 */
#ifndef CUFENCE_DEVICE_USE_H
#define CUFENCE_DEVICE_USE_H

#include "db.h"

/* Fills both, which are empty.  0, or -1 after a message. */
int use_measure(struct db *db);

#endif
