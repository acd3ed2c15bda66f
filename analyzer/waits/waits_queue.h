/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Submissions that were held because a queue of the device was full.  A stream takes about 1020
 * pending operations (measured, H200); the next one waits until the device has begun another of
 * them, and CUPTI tells so (OVERHEAD, COMMAND_BUFFER_FULL).
 *
 * Who runs so far ahead of the device and then waits for it loses nothing.  What is lost is what
 * the thread would have given to streams that were idle meanwhile, and its own work that the
 * device had nothing left to do beside.
 */
#ifndef CUFENCE_WAITS_QUEUE_H
#define CUFENCE_WAITS_QUEUE_H

#include "db.h"

/*
 * Adds rows of kind queue to table wait, with what was avoidable: all that held a thread
 * in one stream until it waited for that stream, however short each was, if together they kept
 * anything back, else only the longest.  Their partner is the longest, of the place where most of
 * the time went.  Needs dependency to be complete; 0, or -1 after a message.
 */
int waits_find_queue(struct db *db);

#endif
