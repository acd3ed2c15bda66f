/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Savings of a run without some of its findings: the difference between two replays, unchanged and
 * fixed.  A saving is an interval: operations that newly overlap may compete for the device (low)
 * or not (high).  Both ends are widened by the error of the unchanged replay and by the effect of a
 * faster host.
 *
 * There is no estimate if that error is more than SAVINGS_MAX_ERROR_PERCENT, or if a replay would
 * be a guess (replay_refusal()).
 */
#ifndef CUFENCE_SAVINGS_H
#define CUFENCE_SAVINGS_H

#include <stddef.h>

#include "db.h"
#include "run_length.h"

/* ns of the run. */
struct saving {
	int64_t best, low, high;
};

/* A call and its changes: bits of enum change (change.h). */
struct changed_call {
	int64_t call, still_needs;
	unsigned change;
	int joint; /* changed only if that is asked for */
};

struct replay;
struct run_loop;
struct savings;

/* Returns NULL after a message. */
struct savings *savings_open(struct db *db);
void savings_close(struct savings *savings);

/* Returns the replay of a process, NULL: its savings are not estimated. */
struct replay *savings_of(const struct savings *savings, int64_t process);

/* Changes calls for the next estimate, with joint ones if joined. */
void savings_change(struct replay *replay, const struct changed_call *changed, size_t count,
	int joined);

/* Estimates the saving of the changes, and undoes them.  Returns 1, or 0 without an estimate. */
int savings_estimate(struct replay *replay, struct saving *saving);

/* Like savings_estimate(), without the ends of the interval: takes a quarter of the time. */
int savings_estimate_best(struct replay *replay, int64_t *best);

/* The most that the loop can save, and for how long its thread is blocked in it then, ns. */
struct ceiling {
	int64_t saving, blocked;
};

/*
 * Estimates it for the changes; with results, all waits for results are left out, too.  Undoes the
 * changes.  Returns as savings_estimate().
 */
int savings_estimate_ceiling(struct replay *replay, int results, const struct run_loop *loop,
	struct ceiling *ceiling);

/* Admits an explicit wait to those that savings_find_takers() may find. */
void savings_admit(struct replay *replay, int64_t call);

/*
 * Finds calls of other places that would wait as a side effect instead of the changed ones, so that
 * the change alone saves little: they should be changed too.  Returns their number, up to most; 0
 * also if they would not save much more.  Undoes the changes.
 */
size_t savings_find_takers(struct replay *replay, struct changed_call *taker, size_t most);

/* Is there time for one more optional estimate? */
int savings_has_room(const struct replay *replay);

/* Fills table replay, except the saving of all findings together. */
int savings_store(struct savings *savings);

#endif
