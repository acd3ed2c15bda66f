/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the places that wait longer once others are changed. */
#include <stdlib.h>

#include "constants.h"
#include "replay_parts.h"

int replay_admit(struct replay *replay, int64_t call)
{
	uint32_t number = replay_step_of(replay, call);

	if (number != REPLAY_NONE)
		map_set(&replay->admitted, replay_place(&replay->step[number]), 1);
	return 0;
}

/*
 * An explicit wait is made on purpose, unless nothing is known to need those of its place, and so
 * is a copy of a result, unless another such copy is changed.
 */
static int may_take_over(const struct replay *replay, uint32_t number)
{
	const struct replay_step *step = &replay->step[number];

	if (!step->site || !(step->act & STEP_WAITS) ||
		replay->change[number].bits & (CHANGE_WAIT | CHANGE_CALL))
		return 0;
	if (replay_is_result(step) && replay->results)
		return 1;
	return step->act & STEP_EXPLICIT ? map_get(&replay->admitted, replay_place(step), 0) != 0
					 : !replay_is_result(step);
}

/* Returns the additional waiting time of a place, given its last step. */
static int64_t waited_longer(const struct replay *replay, uint32_t number)
{
	int64_t sum = 0;

	for (; number != REPLAY_NONE; number = replay->same_place[number])
		if (may_take_over(replay, number))
			sum += replay->held[number] - replay->held_unchanged[number];
	return sum;
}

/* Inserts into the sorted list. */
static size_t add_taker(struct replay_taker *taker, size_t count, size_t most,
	struct replay_taker added)
{
	size_t at = count < most ? count : most;

	for (; at && taker[at - 1].longer < added.longer; at--)
		if (at < most)
			taker[at] = taker[at - 1];
	if (at < most)
		taker[at] = added;
	return count < most ? count + 1 : most;
}

size_t replay_takers(const struct replay *replay, struct replay_taker *taker, size_t most)
{
	size_t count = 0;

	for (size_t i = 0; i < replay->places.size; i++) {
		const struct map_entry *place = &replay->places.entry[i];
		uint32_t last = (uint32_t)place->value;
		int64_t longer = place->used ? waited_longer(replay, last) : 0;

		if (longer >= BLOCKED_MIN_NS)
			count = add_taker(taker, count, most,
				(struct replay_taker){ replay->step[last].call, longer });
	}
	return count;
}
