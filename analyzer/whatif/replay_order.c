/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the order in which threads submitted work at the same time.  A call submits at some moment
 * between its entry and its return.  Operations of one stream run in the order in which they were
 * submitted, and so do those of a legacy stream and of the blocking streams of its context: the one
 * that ran first was submitted first.
 */
#include <stdlib.h>

#include "digits.h"
#include "order.h"
#include "replay_parts.h"

struct sweep {
	struct replay *replay;
	struct timed *submission;       /* by step: the earliest time consistent with the device */
	int64_t *stream, *legacy, *any; /* the latest so far: by stream; by context */
};

int replay_sort_times(struct timed **list, size_t count)
{
	*list = digits_sort(*list, count, sizeof(**list));
	return 0;
}

static int is_sorted(const struct timed *list, size_t count)
{
	for (size_t i = 1; i < count; i++)
		if (list[i].at < list[i - 1].at)
			return 0;
	return 1;
}

static void raise_to(int64_t *time, int64_t to)
{
	if (*time < to)
		*time = to;
}

/* Processes the next operation in order of starts. */
static void place_operation(struct sweep *sweep, uint32_t number)
{
	const struct replay_step *step = &sweep->replay->step[number];
	int legacy = step->stream_kind == STREAM_KIND_LEGACY, has_context;
	int64_t *at = &sweep->submission[number].at;

	has_context =
		step->context != REPLAY_NONE && (legacy || stream_is_blocking(step->stream_kind));
	if (step->stream != REPLAY_NONE)
		raise_to(at, sweep->stream[step->stream] + 1);
	if (has_context)
		raise_to(at, (legacy ? sweep->any : sweep->legacy)[step->context] + 1);
	if (*at > step->exit)
		*at = step->exit;
	if (step->stream != REPLAY_NONE)
		raise_to(&sweep->stream[step->stream], *at);
	if (has_context)
		raise_to(&sweep->any[step->context], *at);
	if (has_context && legacy)
		raise_to(&sweep->legacy[step->context], *at);
}

static int find_submissions(struct sweep *sweep)
{
	struct replay *replay = sweep->replay;
	struct timed *started = malloc((replay->step_count + 1) * sizeof(*started));
	size_t count = 0;
	int rc;

	sweep->stream = calloc(replay->streams.count + 1, sizeof(int64_t));
	sweep->legacy = calloc(replay->contexts.count + 1, sizeof(int64_t));
	sweep->any = calloc(replay->contexts.count + 1, sizeof(int64_t));
	if (!started || !sweep->stream || !sweep->legacy || !sweep->any) {
		free(started);
		return -1;
	}
	for (uint32_t i = 0; i < replay->step_count; i++)
		if (replay->step[i].act & STEP_HAS_OP)
			started[count++] = (struct timed){ replay->step[i].start, i };
	rc = replay_sort_times(&started, count);
	for (size_t i = 0; i < count && !rc; i++)
		place_operation(sweep, (uint32_t)started[i].step);
	free(started);
	return rc;
}

static uint32_t moved(const struct replay *replay, uint32_t number)
{
	return number == REPLAY_NONE ? REPLAY_NONE : replay->by_call[number];
}

/* Sorts the steps by submission.  by_call maps places in the run to the new ones. */
static int move_steps(struct replay *replay, const struct timed *submission)
{
	struct replay_step *steps = malloc((replay->step_count + 1) * sizeof(*steps));

	replay->by_call = malloc((replay->step_count + 1) * sizeof(*replay->by_call));
	if (!steps || !replay->by_call) {
		free(steps);
		return -1;
	}
	for (uint32_t i = 0; i < replay->step_count; i++)
		replay->by_call[submission[i].step] = i;
	for (uint32_t i = 0; i < replay->step_count; i++) {
		struct replay_step *step = &steps[i];

		*step = replay->step[submission[i].step];
		step->held_for = moved(replay, step->held_for);
		step->held_by = moved(replay, step->held_by);
		step->maker = moved(replay, step->maker);
		step->behind = moved(replay, step->behind);
		step->behind_via = moved(replay, step->behind_via);
	}
	free(replay->step);
	replay->step = steps;
	return 0;
}

/* The call that blocked a step may have been entered later: the lock is not granted in turn. */
static void find_holders(struct replay *replay, const struct run_evidence *evidence)
{
	for (size_t i = 0; i < replay->step_count; i++) {
		struct replay_step *step = &replay->step[i];
		const struct run_wait *wait = run_wait_of(evidence, step->call);

		while (wait && wait->kind == WAIT_STAGED)
			wait = run_next_wait(evidence, wait);
		if (wait && wait->behind)
			step->held_by = replay_step_of(replay, wait->behind);
	}
}

/* A call that another one blocked had not submitted before that was made. */
static int64_t earliest(const struct replay *replay, const struct replay_step *step)
{
	int64_t held =
		step->held_by == REPLAY_NONE ? step->enter : replay->step[step->held_by].enter + 1;

	return held > step->enter ? held : step->enter;
}

int replay_sort(struct replay *replay, const struct run_evidence *evidence)
{
	struct sweep sweep = { .replay = replay };
	int rc;

	/* A single thread's calls are in order. */
	if (replay->threads.count < 2)
		return 0;
	find_holders(replay, evidence);
	sweep.submission = malloc((replay->step_count + 1) * sizeof(*sweep.submission));
	if (!sweep.submission)
		return -1;
	for (uint32_t i = 0; i < replay->step_count; i++)
		sweep.submission[i] = (struct timed){ earliest(replay, &replay->step[i]), i };
	rc = find_submissions(&sweep);
	if (!rc && !is_sorted(sweep.submission, replay->step_count))
		rc = replay_sort_times(&sweep.submission, replay->step_count) ||
				move_steps(replay, sweep.submission)
			? -1
			: 0;
	free(sweep.submission);
	free(sweep.stream);
	free(sweep.legacy);
	free(sweep.any);
	return rc;
}

/* --- the order of calls --- */

/* Returns the step at a place in the order of calls. */
static uint32_t by_call(const struct replay *replay, size_t place)
{
	return replay->by_call ? replay->by_call[place] : (uint32_t)place;
}

uint32_t replay_step_of(const struct replay *replay, int64_t call)
{
	size_t count = replay->step_count, low = 0, high = count;
	int64_t behind_first, before_last;

	if (!count)
		return REPLAY_NONE;
	/* Most calls are steps, so only few places are possible. */
	behind_first = call - replay->step[by_call(replay, 0)].call;
	before_last = replay->step[by_call(replay, count - 1)].call - call;
	if (behind_first < 0 || before_last < 0)
		return REPLAY_NONE;
	if ((uint64_t)behind_first < count)
		high = (size_t)behind_first + 1;
	if ((uint64_t)before_last < count)
		low = count - 1 - (size_t)before_last;
	while (low < high) {
		size_t middle = (low + high) / 2;

		if (replay->step[by_call(replay, middle)].call < call)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == count)
		return REPLAY_NONE;
	return replay->step[by_call(replay, low)].call == call ? by_call(replay, low) : REPLAY_NONE;
}
