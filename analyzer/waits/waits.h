/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds calls that the device blocked, by measurement.  A call waited if it lasted longer than
 * calls of its type that have nothing to wait for, and if an operation that it can wait for was
 * pending from its entry until it returned.  CUPTI reports explicit waits only; this finds the
 * others too.
 *
 * waits_process_call() is part of the walk over a run.  Usual durations and the wake-up time of a
 * waiting thread are known only at its end, when waits_finish() decides and fills table wait.
 */
#ifndef CUFENCE_WAITS_H
#define CUFENCE_WAITS_H

#include "db.h"
#include "order.h"
#include "run_columns.h"
#include "walk.h"

struct waits;

/* Returns NULL after a message. */
struct waits *waits_new(struct db *db);
void waits_free(struct waits *waits);

/* Processes the next call, before order_step().  Returns 0, or -1 after a message. */
int waits_process_call(struct waits *waits, const struct order *order,
	const struct walk_call *call);

/*
 * Fills table wait after the last call.  Needs a complete table dependency.  Returns 0, or -1 after
 * a message.
 */
int waits_finish(struct waits *waits);

/*
 * Finds submissions that were blocked because a queue of the device was full.  A stream has room
 * for about 1020 pending operations (measured, H200); the next submission waits until the device
 * has begun another of them, and CUPTI reports it (OVERHEAD, COMMAND_BUFFER_FULL).
 *
 * A thread that runs so far ahead of the device and then waits for it loses nothing.  The cost is
 * work that the thread would have submitted to streams that were idle meanwhile, and its own work
 * while the device was idle.
 *
 * Adds rows of kind queue to table wait, with the avoidable time.  If the blocks of a thread in one
 * stream, until it waited for that stream, delayed anything together, each of them has a row,
 * however short; otherwise only the longest.  Their partner is the longest one of the site with
 * most of the time.  Needs a complete table dependency.  Returns 0, or -1 after a message.
 */
int waits_find_queue(struct db *db);

/*
 * Fills table wait_use, once all waits are found: the total time that the host waited for the
 * device, by process and kind.  It includes waits without a row in table wait because nobody could
 * change them or because they are too short to be certain, and loops of queries.  Returns 0, or -1
 * after a message.
 */
int waits_store_use(struct waits *waits);

/*
 * Finds memory that a stream-ordered pool gave back in a wait and mapped again later.  "When more
 * than the release threshold bytes of memory are held by the memory pool, the allocator will try to
 * release memory back to the OS on the next call to stream, event or device synchronize", and the
 * threshold is 0 by default (CUDA runtime API, cudaMemPoolAttrReleaseThreshold).  Such a wait
 * returns late, after the device has finished, and the cudaMallocAsync that maps the memory again
 * takes longer than usual.  Fills run_evidence.trim and .trimmed.
 *
 * Pools of a device are not distinguished, and after a process has raised the threshold of any pool
 * nothing counts as trimmed.
 */
void pool_trims_find(struct run *run);

#endif
