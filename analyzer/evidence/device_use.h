/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Device utilization and overlap: tables stream_use and device_use, so that reports need not read
 * every operation.
 */
#ifndef CUFENCE_DEVICE_USE_H
#define CUFENCE_DEVICE_USE_H

#include "db.h"

/* Fills both tables, which must be empty.  Returns 0, or -1 after a message. */
int use_measure(struct db *db);

#endif
