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
#include "wait.h"
#include "walk.h"

/*
 * Did anything block the call besides its own operation, which the device began late?  A copy
 * blocked only by its own operation would have waited in place of a copy before it.
 */
int wait_is_for_others(const struct run *run, int64_t call);

struct waits;

/* Returns NULL after a message. */
struct waits *waits_new(struct db *db);
void waits_free(struct waits *waits);

/* Processes the next call, before order_step().  Returns 0, or -1 after a message. */
int waits_process_call(struct waits *waits, const struct order *order,
	const struct walk_call *call);

/* Fills table wait after the last call.  Needs a complete table dependency. */
int waits_finish(struct waits *waits);

/* Fills table wait_use once all waits are found, including those of waits_queue.h. */
int waits_store_use(struct waits *waits);

/*
 * Adds the pageable copies that waited only for themselves (waits_staged.c); part of
 * waits_finish().
 */
int waits_add_staged(struct db *db, struct wait_list *list);

/* Returns the time of a pageable Async copy during its own transfer, ns; 0 for other calls. */
int64_t waits_staged_time(const struct run *run, uint32_t call);

/* Sets wait.avoidable of implicit waits (waits_avoidable.c); part of waits_finish(). */
int waits_find_avoidable(struct db *db, struct wait_list *list);

#endif
