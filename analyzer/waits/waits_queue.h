/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds submissions that were blocked because a queue of the device was full.  A stream has room
 * for about 1020 pending operations (measured, H200); the next submission waits until the device
 * has begun another of them, and CUPTI reports it (OVERHEAD, COMMAND_BUFFER_FULL).
 *
 * A thread that runs so far ahead of the device and then waits for it loses nothing.  The cost is
 * work that the thread would have submitted to streams that were idle meanwhile, and its own work
 * while the device was idle.
 */
#ifndef CUFENCE_WAITS_QUEUE_H
#define CUFENCE_WAITS_QUEUE_H

#include "db.h"

/*
 * Adds rows of kind queue to table wait, with the avoidable time.  If the blocks of a thread in one
 * stream, until it waited for that stream, delayed anything together, each of them has a row,
 * however short; otherwise only the longest.  Their partner is the longest one of the site with
 * most of the time.  Needs a complete table dependency.  Returns 0, or -1 after a message.
 */
int waits_find_queue(struct db *db);

#endif
