/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a run would save without some of its findings: the difference between two replays, unchanged
 * and fixed.  As an interval: operations that newly overlap may compete for the device (low) or not
 * (high). Either end is widened by the error of the unchanged replay and by the effect of a quicker
 * host.
 *
 * There is no estimate where that error is more than SAVINGS_MAX_ERROR_PERCENT, or where a replay
 * would be a guess (replay_refusal()).
 */
#ifndef CUFENCE_SAVINGS_H
#define CUFENCE_SAVINGS_H

#include <stddef.h>

#include "db.h"

/* ns of the run. */
struct saving {
	int64_t best, low, high;
};

/* A call that behaves otherwise: bits of enum change (findings.h). */
struct changed_call {
	int64_t call, still_needs;
	unsigned change;
};

struct savings;

/* NULL after a message. */
struct savings *savings_open(struct db *db);
void savings_close(struct savings *savings);

/* Changes calls of a process for the next estimate of it. */
void savings_change(struct savings *savings, int64_t process, const struct changed_call *changed,
	size_t count);

/* What the changes save; undoes them.  1, 0: no estimate, or -1 after a message. */
int savings_estimate(struct savings *savings, int64_t process, struct saving *saving);

/* As savings_estimate(), without the ends: a quarter of its time. */
int savings_estimate_best(struct savings *savings, int64_t process, int64_t *best);

/* The most that a single call or operation gains by the changes (replay_most_gained()); undoes
 * them.  1, or 0: the process has no estimates. */
int savings_most_gained(struct savings *savings, int64_t process, int64_t *gained);

/*
 * Calls of other places that would wait instead of the changed ones, as a side effect, so that the
 * change alone saves little: to be changed with them.  Their number, up to most; 0 also if they
 * would not save much more.  Undoes the changes.
 */
size_t savings_find_takers(struct savings *savings, int64_t process, struct changed_call *taker,
	size_t most);

/* Whether there is time for one more estimate of a process that a finding can do without. */
int savings_has_room(const struct savings *savings, int64_t process);

/* Fills table replay, but for what the findings save together. */
int savings_store(struct savings *savings);

#endif
