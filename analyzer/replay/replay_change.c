/* SPDX-License-Identifier: Apache-2.0 */
/* Changes of calls, and what they lead to: dependencies that get lost, calls that wait instead. */
#include "constants.h"
#include "memory.h"
#include "replay.h"

/* Leaves out a copy to the host, and the records and the wait of its thread that follow it. */
static void leave_out_fetch(struct replay *replay, uint32_t number)
{
	const struct replay_step *copy = &replay->step[number], *step;

	if (copy->engine != ENGINE_D2H)
		return;
	replay->change[number].bits |= CHANGE_CALL;
	if (copy->act & STEP_BECOMES_ASYNC)
		return;
	for (uint32_t at = number + 1; at < replay->step_count; at++) {
		step = &replay->step[at];
		if (step->thread != copy->thread)
			continue;
		if (!(step->act & (STEP_RECORDS | STEP_EXPLICIT)) ||
			(step->stream != copy->stream && step->act & STEP_RECORDS))
			return;
		replay->change[at].bits |= CHANGE_CALL;
		if (step->act & STEP_EXPLICIT)
			return;
	}
}

/*
 * Changes all calls of the same kind from the site of a step.
 *
 * Pinned memory is kept and reused, and limits are set before the work: after a site's first call
 * neither the call nor its counterpart takes time again.  Device memory may be freed later or in
 * stream order.  Code must be loaded (or compiled) at some time and may be unloaded at the end: for
 * these calls only the wait is surely saved, unless their line repeats the set-up.
 */
static void change_place(struct replay *replay, uint32_t number, uint8_t bits, uint32_t only_stream)
{
	uint32_t at =
		(uint32_t)map_get(&replay->places, replay_place(&replay->step[number]), number);

	for (; at != REPLAY_NONE; at = replay->same_place[at]) {
		const struct replay_step *step = &replay->step[at];
		struct replay_change *change = &replay->change[at];

		if (bits & CHANGE_WAIT && step->act & STEP_ONCE && kind_has(step->kind, K_ONCE) &&
			!(step->act & STEP_FIRST)) {
			change->once = 1;
			if (step->maker != REPLAY_NONE)
				replay->change[step->maker].once = 1;
		}
		if (bits & CHANGE_WAIT && step->act & STEP_ONCE && step->act & STEP_SETS_UP)
			replay->once[step->set_up] = 1;
		if (change->still_needs == REPLAY_NONE) {
			change->bits |= bits;
			change->only_stream = only_stream;
		}
		if (bits & CHANGE_FETCH)
			leave_out_fetch(replay, at);
	}
}

void replay_change(struct replay *replay, const struct changed_call *changed)
{
	const uint64_t words[] = { replay->made, (uint64_t)changed->call, changed->change,
		(uint64_t)changed->still_needs };
	unsigned bits = changed->change;
	uint32_t number = bits & CHANGE_OUTSIDE
		? (uint32_t)map_get(&replay->silences, (uint64_t)changed->call, REPLAY_NONE)
		: replay_step_of(replay, changed->call);
	uint32_t needed = replay_step_of(replay, changed->still_needs);
	uint32_t only = needed == REPLAY_NONE ? REPLAY_NONE : replay->step[needed].stream;
	struct replay_change *change;

	/* Calls outside of samples are no part of the replay. */
	if (replay->samples && number == REPLAY_NONE)
		return;
	replay->made = map_hash_words(words, sizeof(words) / sizeof(*words));
	replay->changes++;
	if (number == REPLAY_NONE || !bits)
		return;
	change = &replay->change[number];
	if (bits & CHANGE_ORDER || replay->step[number].act & STEP_BECOMES_ASYNC)
		replay->orders = 1;
	if (bits & CHANGE_WAIT && replay_is_result(&replay->step[number]))
		replay->results = 1;
	if (bits & CHANGE_ORDER || replay->step[number].stream_kind == STREAM_KIND_LEGACY)
		replay->moves = 1;
	/* Done once per site, for the first of its calls; each of them has its own stream. */
	if (!(bits & (CHANGE_CALL | CHANGE_NODE | CHANGE_OUTSIDE)) && replay->step[number].site &&
		(change->bits & bits) != bits)
		change_place(replay, number, (uint8_t)bits, only);
	change->bits |= (uint8_t)bits;
	if (needed != REPLAY_NONE || change->still_needs == REPLAY_NONE)
		change->only_stream = only;
	if (needed != REPLAY_NONE)
		change->still_needs = needed;
}

void replay_change_results(struct replay *replay)
{
	for (size_t i = 0; i < replay->step_count; i++)
		if (replay->step[i].act & STEP_WAITS && replay_is_result(&replay->step[i]))
			replay->change[i].bits |= CHANGE_WAIT;
	replay->orders = replay->results = 1;
	replay->made = ~replay->made;
	replay->changes++;
}

void replay_restore(struct replay *replay)
{
	for (size_t i = 0; replay->changes && i < replay->step_count; i++)
		replay->change[i] = (struct replay_change){ 0, 0, REPLAY_NONE, REPLAY_NONE };
	for (size_t i = 0; replay->changes && i < replay->set_ups->lines; i++)
		replay->once[i] = 0;
	replay->orders = replay->results = replay->moves = 0;
	replay->changes = 0;
	replay->made = 0;
}

/* --- a wait that a fix removes may have ordered two operations: the fix must do it then --- */

/* Table hazard, rule accidental-order. */
int replay_find_accidents(struct replay *replay, struct db *db)
{
	sqlite3_stmt *q = db_prepare(db,
		"SELECT call, other_call, via FROM hazard"
		" WHERE process = ? AND via NOT NULL AND launch IS NULL");
	int rc = q ? 0 : -1;

	if (q)
		sqlite3_bind_int64(q, 1, replay->process);
	while (!rc && (rc = db_step(q)) > 0) {
		uint32_t later = replay_step_of(replay, sqlite3_column_int64(q, 0));
		uint32_t earlier = replay_step_of(replay, sqlite3_column_int64(q, 1));
		uint32_t via = replay_step_of(replay, sqlite3_column_int64(q, 2));
		uint32_t *first = later == REPLAY_NONE ? NULL : &replay->step[later].accident;

		rc = 0;
		if (!first || earlier >= later || via == REPLAY_NONE)
			continue;
		*array_push(replay->accident, replay->accident_count) =
			(struct replay_accident){ earlier, via, *first };
		*first = (uint32_t)replay->accident_count - 1;
	}
	sqlite3_finalize(q);
	return rc;
}

int64_t replay_needed(const struct replay *replay, uint32_t number)
{
	uint32_t at = replay->changes ? replay->step[number].accident : REPLAY_NONE;
	int64_t ready = REPLAY_LONG_AGO;

	for (; at != REPLAY_NONE; at = replay->accident[at].next)
		if (replay->change[replay->accident[at].via].bits & (CHANGE_WAIT | CHANGE_CALL))
			raise_to(&ready, replay->now[replay->accident[at].earlier].end);
	return ready;
}

/* --- places that wait or delay longer once others are changed --- */

/*
 * May that change of a step join others?  An explicit wait is made on purpose, and so is a wait
 * for an event, unless nothing is known to need those of its place; and so is a copy of a result,
 * unless another such copy is changed.  Work of the legacy stream that is not for the host may
 * leave it if others do: its memory still keeps it in order.
 */
static int may_join(const struct replay *replay, uint32_t number, unsigned change)
{
	const struct replay_step *step = &replay->step[number];
	unsigned act = step->act, admitted;
	int is_result = replay_is_result(step);

	if (!step->site || replay->change[number].bits & (change | CHANGE_CALL))
		return 0;
	admitted = (unsigned)map_get(&replay->admitted, replay_place(step), 0);
	if (change == CHANGE_WAIT)
		return act & STEP_WAITS &&
			((is_result && replay->results) ||
				(act & STEP_EXPLICIT ? !!(admitted & change) : !is_result));
	if (act & STEP_AWAITS || !replay->moves)
		return !!(admitted & change);
	return step->stream_kind == STREAM_KIND_LEGACY && act & (STEP_SUBMITS | STEP_RECORDS) &&
		!(act & STEP_BECOMES_ASYNC &&
			(step->engine == ENGINE_H2D || step->engine == ENGINE_D2H));
}

size_t replay_takers(const struct replay *replay, struct changed_call taker[TAKER_ROUND])
{
	int64_t longer[TAKER_ROUND + 1];
	size_t count = 0;

	for (size_t i = 0; i < 2 * replay->places.size; i++) {
		const struct map_entry *place = &replay->places.entry[i / 2];
		uint32_t last = place->used ? (uint32_t)place->value : REPLAY_NONE;
		unsigned change = i % 2 ? CHANGE_ORDER : CHANGE_WAIT;
		int64_t sum = 0;
		size_t at = count;

		for (uint32_t number = last; number != REPLAY_NONE;
			number = replay->same_place[number]) {
			const struct step_result *now = &replay->now[number];
			const struct step_result *before = &replay->unchanged[number];

			if (may_join(replay, number, change))
				sum += change == CHANGE_ORDER ? now->delays - before->delays
							      : now->held - before->held;
		}
		if (sum < BLOCKED_MIN_NS)
			continue;
		for (; at && longer[at - 1] < sum; at--) {
			longer[at] = longer[at - 1];
			if (at < TAKER_ROUND)
				taker[at] = taker[at - 1];
		}
		longer[at] = sum;
		if (at < TAKER_ROUND)
			taker[at] = (struct changed_call){ .call = replay->step[last].call,
				.change = change };
		count += count < TAKER_ROUND;
	}
	return count;
}
