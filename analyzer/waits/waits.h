/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which calls the device blocked, decided by measurement: a call waited if it lasted longer than
 * calls of its type that have nothing to wait for, and if an operation it can wait for was pending
 * from its entry until it returned.  CUPTI reports explicit waits only; this finds the others too.
 *
 * waits_see() takes part in the walk over a run; what is unusual and how fast a waiting thread
 * wakes up is known at its end, when waits_finish() decides and fills table wait.
 */
#ifndef CUFENCE_WAITS_H
#define CUFENCE_WAITS_H

#include "db.h"
#include "order.h"
#include "run_columns.h"
#include "walk.h"

/* Whether anything blocked the call but its own operation, which the device began late.  A copy
 * blocked by its operation alone would have waited in place of one before it. */
int wait_is_for_others(const struct run *run, int64_t call);

struct waits;

/* NULL after a message. */
struct waits *waits_new(struct db *db);
void waits_free(struct waits *waits);

/* Takes the next call, before order_step() does.  0, or -1 after a message. */
int waits_see(struct waits *waits, const struct order *order, const struct walk_call *call);

/* After the last call: fills wait.  Needs dependency to be complete. */
int waits_finish(struct waits *waits);

/* Fills wait_use, once all waits are found, those for queues (waits_queue.h), too. */
int waits_store_use(struct waits *waits);

/* Adds the pageable copies that waited for themselves only (waits_staged.c); part of that. */
int waits_add_staged(struct db *db);

/* ns of a pageable Async copy in which its own transfer went on; 0 for other calls. */
int64_t waits_staged_time(const struct run *run, uint32_t call);

/* Sets wait.avoidable of implicit waits (waits_avoidable.c); part of waits_finish(). */
int waits_find_avoidable(struct db *db);

#endif
