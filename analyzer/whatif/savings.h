/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a run would save without some of its findings: the difference between two replays, as it
 * was and mended.  As an interval: what newly runs at the same time may compete for the device
 * (low) or not (high), and either end is wider by what the replay of the run as it was is off, and
 * by what a quicker host would make of it.
 *
 * There is no estimate where that is more than SAVINGS_MAX_ERROR_PERCENT, or where a replay would
 * be a guess (replay_refusal()).
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

/* What the changes save; takes them back.  1, 0: no estimate, or -1 after a message. */
int savings_estimate(struct savings *savings, int64_t process, struct saving *saving);

/* As savings_estimate(), without the ends: a quarter of its time. */
int savings_estimate_best(struct savings *savings, int64_t process, int64_t *best);

/* The most that a single call or operation gains by the changes (replay_most_gained()); takes them
 * back.  1, or 0: the process has no estimates. */
int savings_most_gained(struct savings *savings, int64_t process, int64_t *gained);

/*
 * Who takes over the waits that the changes made remove, so that they save little by themselves:
 * calls of other places that wait as a side effect, to be changed with them.  How many, at most
 * most; 0 as well if they would not save much more.  Takes the changes back.
 */
size_t savings_find_takers(struct savings *savings, int64_t process, struct changed_call *taker,
	size_t most);

/* Whether there is time for one more estimate of a process that a finding can do without. */
int savings_has_room(const struct savings *savings, int64_t process);

/* Fills table replay, but for what the findings save together. */
int savings_store(struct savings *savings);

#endif
