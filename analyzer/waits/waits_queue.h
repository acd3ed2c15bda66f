/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Submissions that were blocked because a queue of the device was full.  A stream has room for
 * about 1020 pending operations (measured, H200); the next one waits until the device has begun
 * another of them, and CUPTI reports it (OVERHEAD, COMMAND_BUFFER_FULL).
 *
 * A thread that runs so far ahead of the device and then waits for it loses nothing.  The cost is
 * work that the thread would have submitted to streams that were idle meanwhile, and its own work
 * during which the device had nothing left to do.
 */
#ifndef CUFENCE_WAITS_QUEUE_H
#define CUFENCE_WAITS_QUEUE_H

#include "db.h"

/*
 * Adds rows of kind queue to table wait, with what was avoidable: all blocks of a thread in one
 * stream until it waited for that stream, however short each was, if together they delayed
 * anything, else only the longest.  Their partner is the longest, of the place with most of the
 * time.  Needs dependency to be complete; 0, or -1 after a message.
 */
int waits_find_queue(struct db *db);

#endif
