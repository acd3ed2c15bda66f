/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Waits that serve a timer: after which the program read a clock before anything else (table
 * wait_clock).  Locks read clocks for their timeouts, and CUDA's libraries for themselves; these do
 * not count.  A wait without a row may serve a timer all the same: not all programs read clocks
 * through the C library.
 */
#ifndef CUFENCE_TIMERS_H
#define CUFENCE_TIMERS_H

#include "db.h"

/* Fills the table, which must be empty.  Returns 0, or -1 after a message. */
int timers_find(struct db *db);

#endif
