/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the order in which threads submitted work at the same time.  A call submits at some moment
 * between its entry and its return.  Operations of one stream run in the order in which they were
 * submitted, and so do those of a legacy stream and of the blocking streams of its context: the one
 * that ran first was submitted first.
 */
#include <stdlib.h>

#include "digits.h"
#include "memory.h"
#include "order.h"
#include "replay.h"

void replay_sort_times(struct timed **list, size_t count)
{
	void *rows = *list;

	digits_sort(&rows, count, sizeof(**list));
	*list = rows;
}

/*
 * Raises the times of submission to those that the order of the operations' starts shows.  The
 * clocks have the latest so far.
 */
static void find_submissions(struct replay *replay, struct timed *submission)
{
	struct timed *started = xcalloc(replay->step_count, sizeof(*started));
	size_t count = 0;

	replay_begin(replay);
	for (uint32_t i = 0; i < replay->step_count; i++)
		if (replay->step[i].act & STEP_HAS_OP)
			started[count++] = (struct timed){ replay->step[i].start, i };
	replay_sort_times(&started, count);
	for (size_t i = 0; i < count; i++) {
		const struct replay_step *step = &replay->step[started[i].step];
		int legacy = step->stream_kind == STREAM_KIND_LEGACY;
		int64_t *at = &submission[started[i].step].at;
		int64_t *tail =
			step->stream == REPLAY_NONE ? NULL : &replay->stream[step->stream].tail;
		struct replay_context *context = step->context != REPLAY_NONE &&
				(legacy || stream_is_blocking(step->stream_kind))
			? &replay->context[step->context]
			: NULL;

		if (tail)
			raise_to(at, *tail + 1);
		if (context)
			raise_to(at, (legacy ? context->all : context->legacy) + 1);
		if (*at > step->exit)
			*at = step->exit;
		if (tail)
			raise_to(tail, *at);
		if (context)
			raise_to(&context->all, *at);
		if (context && legacy)
			raise_to(&context->legacy, *at);
	}
	free(started);
}

/* Sorts the steps by submission.  by_call maps places in the run to the new ones. */
static void move_steps(struct replay *replay, const struct timed *submission)
{
	struct replay_step *steps = xrealloc(NULL, replay->step_count, sizeof(*steps));

	replay->by_call = xcalloc(replay->step_count, sizeof(*replay->by_call));
	for (uint32_t i = 0; i < replay->step_count; i++)
		replay->by_call[submission[i].step] = i;
	for (uint32_t i = 0; i < replay->step_count; i++) {
		struct replay_step *step = &steps[i];
		uint32_t *link[] = { &step->held_for, &step->held_by, &step->maker, &step->behind,
			&step->behind_via };

		*step = replay->step[submission[i].step];
		for (size_t k = 0; k < sizeof(link) / sizeof(*link); k++)
			if (*link[k] != REPLAY_NONE)
				*link[k] = replay->by_call[*link[k]];
	}
	free(replay->step);
	replay->step = steps;
}

/* A call that another one blocked had not submitted before that was made. */
static int64_t earliest(const struct replay *replay, const struct replay_step *step)
{
	int64_t held =
		step->held_by == REPLAY_NONE ? step->enter : replay->step[step->held_by].enter + 1;

	return held > step->enter ? held : step->enter;
}

void replay_sort(struct replay *replay, const struct run_evidence *evidence)
{
	struct timed *submission;
	int is_sorted = 1;

	/* A single thread's calls are in order. */
	if (replay->threads.count < 2)
		return;
	submission = xcalloc(replay->step_count, sizeof(*submission));
	for (uint32_t i = 0; i < replay->step_count; i++) {
		struct replay_step *step = &replay->step[i];
		const struct run_wait *wait = run_wait_of(evidence, step->call);

		while (wait && wait->kind == WAIT_STAGED)
			wait = run_next_wait(evidence, wait);
		/* That call may have been entered later: the lock is not granted in turn. */
		if (wait && wait->behind)
			step->held_by = replay_step_of(replay, wait->behind);
		submission[i] = (struct timed){ earliest(replay, step), i };
	}
	find_submissions(replay, submission);
	for (size_t i = 1; i < replay->step_count && is_sorted; i++)
		is_sorted = submission[i].at >= submission[i - 1].at;
	if (!is_sorted) {
		replay_sort_times(&submission, replay->step_count);
		move_steps(replay, submission);
	}
	free(submission);
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
