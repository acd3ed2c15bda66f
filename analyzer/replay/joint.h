/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Replays of the ranks of a program together.  A collective that no rank leaves before all have
 * come is a meeting: its kernels end when the last of them has started and the transfer is over,
 * which is how long the kernel of the rank that came last took.  So a rank that comes earlier saves
 * nothing as long as another one comes late, and each rank waits only as long as it has to.
 *
 * The analysis of a rank packs its replay, with the changes of each place of a finding; "cufence
 * merge" unpacks those of all ranks.  What is unpacked is untrusted.  A meeting that not all ranks
 * of its communicator have in their packed part lasts as long as it did in each of them.
 *
 * Ranks are replayed in turn, each up to its next meeting, so that no order of time is needed but
 * that of the calls.  Clocks of ranks need not agree: their first meeting ends at one time.
 *
 * Not thread-safe.
 */
#ifndef CUFENCE_JOINT_H
#define CUFENCE_JOINT_H

#include <stddef.h>
#include <stdint.h>

#include "savings.h"

/* --- packing --- */

struct packed {
	void *data; /* the caller's to free(); NULL: nothing */
	size_t size;
};

/*
 * Packs the first JOINT_STEPS steps of a replay; nothing if it has no meetings.  Of a run that is
 * sampled, these are of the first sample.
 */
struct packed joint_pack(struct replay *replay);

/* Packs the changes of savings_change() so far, and undoes them. */
struct packed joint_pack_changes(struct replay *replay);

/* --- all ranks --- */

struct joint;

struct joint *joint_new(void);
void joint_free(struct joint *joint);

/* Adds a rank, with at most so many steps.  Returns 0, or -1 if it is damaged. */
int joint_add(struct joint *joint, int64_t member, const void *data, size_t size, size_t most);

/*
 * After all: matches meetings.  Returns how many of all ranks are matched: in the loop, if there is
 * one.
 */
size_t joint_match(struct joint *joint);

/* From the first matched meeting to the last one, ns, the sum of all ranks. */
struct joint_times {
	int64_t measured;
	int64_t replayed;  /* with the cost of recording, to compare with that */
	int64_t as_it_was; /* without it, to compare savings with */
};

/* After joint_match(): replays the ranks as they were. */
struct joint_times joint_begin(struct joint *joint);

/*
 * Changes calls of a rank for the next estimate.  Returns 0, or -1 if the changes are damaged.
 */
int joint_change(struct joint *joint, int64_t member, const void *data, size_t size);

/* Estimates what the changes save, in the same sum, and undoes them. */
void joint_estimate(struct joint *joint, struct saving *saving);

#endif
