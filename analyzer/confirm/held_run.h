/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The run in which producers were held, as its database describes it.  A consumer that runs first
 * shows that nothing orders the two.  It is a conflict only if both access the same bytes in that
 * run: table hazard says so if the accesses of both are exact.
 *
 * A call is found by its place, its thread and its ordinal, which the hold wrote into the plan.  If
 * that is not certain (records were lost, several sites have that place), nothing is shown.
 */
#ifndef CUFENCE_HELD_RUN_H
#define CUFENCE_HELD_RUN_H

#include "db.h"
#include "hold_plan.h"

struct held_run {
	sqlite3_stmt *same_bytes;
	int64_t producer, consumer; /* their sites; 0: unknown */
	int is_host;                /* the consumer is the program itself */
};

/* Returns 0, or -1 after a message; release it in any case. */
int held_run_open(struct held_run *run, struct db *db, const struct hold_plan *plan, int is_host);

/*
 * Returns 1 if the two calls of a try surely access a byte in common, which one of them writes; 0
 * if that is not known; -1 after a message.
 */
int held_run_same_bytes(struct held_run *run, const struct hold_plan *plan, uint32_t number);

void held_run_release(struct held_run *run);

#endif
