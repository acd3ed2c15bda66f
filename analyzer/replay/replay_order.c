/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the order in which threads submitted work at the same time.  A call submits at some moment
 * between its entry and its return.  Operations of one stream run in the order in which they were
 * submitted, and so do those of a legacy stream and of the blocking streams of its context: the one
 * that ran first was submitted first.
 */
#include <stdlib.h>

#include "radix_sort.h"
#include "memory.h"
#include "replay.h"

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
	started = radix_sort(started, count, sizeof(*started));
	for (size_t i = 0; i < count; i++) {
		const struct replay_step *step = &replay->step[started[i].of];
		int legacy = step->stream_kind == STREAM_KIND_LEGACY;
		int64_t *at = &submission[started[i].of].at;
		struct replay_stream *stream = replay_stream_of(replay, step);
		struct replay_context *context = step->context != REPLAY_NONE &&
				(legacy || stream_is_blocking(step->stream_kind))
			? &replay->context[step->context]
			: NULL;

		if (stream)
			raise_to(at, stream->tail + 1);
		if (context)
			raise_to(at, (legacy ? context->all : context->legacy) + 1);
		if (*at > step->exit)
			*at = step->exit;
		if (stream)
			raise_to(&stream->tail, *at);
		if (context)
			raise_to(&context->all, *at);
		if (context && legacy)
			raise_to(&context->legacy, *at);
	}
	free(started);
}

void replay_sort(struct replay *replay, const struct run_evidence *evidence)
{
	struct replay_step *from = replay->step, *to;
	struct timed *submission;

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
		submission[i] = (struct timed){ step->enter, i };
		/* It had not submitted before that one was made. */
		if (step->held_by != REPLAY_NONE)
			raise_to(&submission[i].at, replay->step[step->held_by].enter + 1);
	}
	find_submissions(replay, submission);
	submission = radix_sort(submission, replay->step_count, sizeof(*submission));
	to = replay->step = xrealloc(NULL, replay->step_count, sizeof(*to));
	for (uint32_t i = 0; i < replay->step_count; i++) {
		to[i] = from[submission[i].of];
		replay->step_of[to[i].call] = i;
	}
	for (uint32_t i = 0; i < replay->step_count; i++)
		for (int k = 0; k < STEP_LINKS; k++)
			if (to[i].links[k] != REPLAY_NONE)
				to[i].links[k] = replay->step_of[from[to[i].links[k]].call];
	free(from);
	free(submission);
}
