/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a thread went on because another one had done its part, or a host function had run
 * (handovers.h): the time in between is no time of its own.
 */
#include <stdlib.h>

#include "replay_parts.h"

/* Does the second step wait for the first one's copy to the host? */
static int is_fetch(const struct replay_step *copy, const struct replay_step *wait)
{
	return copy->act & STEP_SUBMITS && copy->engine == ENGINE_D2H &&
		wait->act & STEP_EXPLICIT &&
		(wait->stream == copy->stream || wait->scope >= SCOPE_DEVICE);
}

/* Links each step to the next one of its thread; thread.last is then the first one. */
static int link_threads(struct replay *replay)
{
	replay->next = malloc((replay->step_count + 1) * sizeof(*replay->next));
	if (!replay->next)
		return -1;
	for (size_t i = 0; i < replay->threads.count; i++)
		replay->thread[i].last = REPLAY_NONE;
	for (size_t i = replay->step_count; i-- > 0;) {
		struct replay_thread *thread = &replay->thread[replay->step[i].thread];

		replay->next[i] = thread->last;
		if (thread->last != REPLAY_NONE &&
			is_fetch(&replay->step[i], &replay->step[thread->last]))
			replay->step[thread->last].act |= STEP_FETCHES;
		thread->last = (uint32_t)i;
	}
	return 0;
}

int replay_find_handovers(struct replay *replay, const struct handovers *handovers)
{
	if (link_threads(replay))
		return -1;
	/* Of several before a step the last one counts. */
	for (size_t i = 0; i < handovers->count; i++) {
		const struct handover *handover = &handovers->list[i];
		uint32_t thread = handover->process != replay->process
			? REPLAY_NONE
			: (uint32_t)map_get(&replay->threads, handover->thread, REPLAY_NONE);
		uint32_t *at = thread == REPLAY_NONE ? NULL : &replay->thread[thread].last;

		while (at && *at != REPLAY_NONE && replay->step[*at].call < handover->after)
			*at = replay->next[*at];
		if (!at || *at == REPLAY_NONE)
			continue;
		replay->step[*at].silence = handover;
		map_set(&replay->silences, handover->before, *at);
	}
	return 0;
}

/* Returns when what the thread waited for has ended; REPLAY_LONG_AGO: it is not followed. */
static int64_t ended(struct replay *replay, struct replay_step *step, uint32_t number)
{
	const struct handover *handover = step->silence;
	const struct run_call *call = run_call(replay->run, handover->by);
	uint32_t thread;

	if (handover->is_function) {
		step->handed_step = replay_step_of(replay, handover->by);
		if (step->handed_step < number && replay->step[step->handed_step].act & STEP_HAS_OP)
			return replay->step[step->handed_step].end;
		step->handed_step = REPLAY_NONE;
		return REPLAY_LONG_AGO;
	}
	thread = (uint32_t)map_get(&replay->threads, call->thread, REPLAY_NONE);
	if (thread == REPLAY_NONE || replay->thread[thread].now > step->enter)
		return REPLAY_LONG_AGO;
	step->handed_by = thread;
	return replay->thread[thread].now;
}

void replay_learn_handover(struct replay *replay, uint32_t number)
{
	struct replay_step *step = &replay->step[number];
	const struct handover *handover = step->silence;
	int64_t from = replay->thread[step->thread].now, until, before;

	if (!handover || !step->gap || from == REPLAY_LONG_AGO)
		return;
	until = ended(replay, step, number);
	if (until == REPLAY_LONG_AGO) {
		step->handed_by = REPLAY_NONE;
		return;
	}
	before = handover->ended - handover->blocked - from;
	step->resumed = step->enter - until;
	step->gap = before > 0 ? before : 0;
}

int64_t replay_handed(const struct replay *replay, const struct replay_step *step)
{
	if (step->handed_step != REPLAY_NONE)
		return replay->end[step->handed_step];
	return step->handed_by != REPLAY_NONE ? replay->thread[step->handed_by].now
					      : REPLAY_LONG_AGO;
}
