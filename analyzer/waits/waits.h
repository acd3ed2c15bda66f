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

/* evidence: of the part of the run that is walked (walk.h).  Returns NULL after a message. */
struct waits *waits_new(struct db *db, struct run_evidence *evidence);
void waits_free(struct waits *waits);

/* Processes the next call, before order_step(). */
void waits_process_call(struct waits *waits, const struct order *order,
	const struct walk_call *call);

/* Adds what was found in a later part, before its evidence is joined.  Both remain the caller's. */
void waits_join(struct waits *waits, struct waits *later);

/*
 * Fills tables wait and wait_use after the last call of all parts.  Needs a complete table
 * dependency.  Returns 0, or -1 after a message.
 */
int waits_finish(struct waits *waits);

#endif
