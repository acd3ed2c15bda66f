/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the durations of host functions whose runs were not recorded.  The next operation in the
 * order that had been submitted before, or a thread that waited, shows when the function ended.
 */
#include <stdlib.h>

#include "constants.h"
#include "host_runs.h"
#include "replay_parts.h"

/*
 * The run is followed with functions of one nanosecond: an operation that becomes ready at the end
 * of such a function has waited for it.
 */
struct follower {
	struct replay *replay;
	struct map ends; /* end of a function -> step + 1 */
	int64_t *until;  /* by step: end of the function by what waited for it, 0: unknown */
	int found;
};

static void observe(struct follower *follower, int64_t ready, int64_t from, int64_t until)
{
	uint64_t function = map_get(&follower->ends, (uint64_t)ready, 0);
	int64_t *known;

	if (!function || until - from < BLOCKED_MIN_NS || until <= ready)
		return;
	known = &follower->until[function - 1];
	if (!*known || until < *known)
		*known = until;
	follower->found = 1;
}

static int follow_step(struct follower *follower, uint32_t number)
{
	struct replay *replay = follower->replay;
	const struct replay_step *step = &replay->step[number];
	int64_t ready = replay_ready(replay, step), end = ready;

	if (step->act & STEP_HAS_OP)
		observe(follower, ready, step->enter, step->start);
	else if (step->act & STEP_EXPLICIT)
		observe(follower, replay_scope(replay, step), step->enter, step->exit);
	if (step->act & STEP_HAS_OP) {
		end = step->end;
	} else if (step->act & STEP_HOST_WORK) {
		end = (ready > step->exit ? ready : step->exit) + 1;
		map_set(&follower->ends, (uint64_t)end, number + UINT64_C(1));
	}
	if (step->act & (STEP_SUBMITS | STEP_RECORDS | STEP_AWAITS))
		replay_note(replay, step, end);
	return 0;
}

/* Makes the function an operation that uses no engine. */
static void set_duration(struct replay *replay, struct replay_step *step, int64_t until)
{
	int64_t ready = replay_ready(replay, step);

	step->start = ready > step->exit ? ready : step->exit;
	until -= HOST_FUNCTION_HANDOVER_NS;
	step->end = until > step->start ? until : step->start;
	step->act |= STEP_HAS_OP;
}

/* Functions whose runs were recorded are operations that use no engine. */
static void read_runs(struct replay *replay)
{
	uint64_t count = host_run_count(replay->run);

	for (uint64_t i = 0; i < count; i++) {
		const struct host_run *ran = host_run_at(replay->run, i);
		uint32_t number = ran->process != (uint32_t)replay->process || !ran->call ||
				ran->exit == RUN_NEVER
			? REPLAY_NONE
			: replay_step_of(replay, ran->call);
		struct replay_step *step = number == REPLAY_NONE ? NULL : &replay->step[number];

		if (!step || !(step->act & STEP_HOST_WORK))
			continue;
		step->start = ran->enter;
		step->end = ran->exit;
		step->act |= STEP_HAS_OP;
	}
}

/*
 * Finds the operation that the function's thread submitted to another stream before: the function
 * probably reports its end.
 */
static int find_followed(struct replay *replay)
{
	uint32_t *last = malloc((replay->threads.count + 1) * sizeof(*last));

	if (!last)
		return -1;
	for (size_t i = 0; i < replay->threads.count; i++)
		last[i] = REPLAY_NONE;
	for (uint32_t i = 0; i < replay->step_count; i++) {
		struct replay_step *step = &replay->step[i];

		if (step->act & STEP_HOST_WORK)
			step->follows = last[step->thread];
		else if (step->act & STEP_HAS_OP && step->stream_kind != STREAM_KIND_LEGACY)
			last[step->thread] = i;
	}
	free(last);
	return 0;
}

int replay_find_host_work(struct replay *replay)
{
	struct follower follower = { .replay = replay };
	int rc = 0;

	read_runs(replay);
	if (find_followed(replay))
		return -1;
	follower.until = calloc(replay->step_count + 1, sizeof(*follower.until));
	if (!follower.until)
		return -1;
	replay_begin(replay);
	for (uint32_t i = 0; i < replay->step_count; i++)
		if ((rc = follow_step(&follower, i)))
			break;
	map_release(&follower.ends);
	replay_begin(replay);
	for (uint32_t i = 0; !rc && follower.found && i < replay->step_count; i++) {
		struct replay_step *step = &replay->step[i];

		if (follower.until[i])
			set_duration(replay, step, follower.until[i]);
		if (step->act & (STEP_SUBMITS | STEP_RECORDS | STEP_AWAITS))
			replay_note(replay, step,
				step->act & STEP_HAS_OP ? step->end : replay_ready(replay, step));
	}
	free(follower.until);
	return rc;
}
