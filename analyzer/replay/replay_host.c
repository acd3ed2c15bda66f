/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What threads did outside of CUDA: host functions, and waits for another thread's part or for such
 * a function (handovers.h), which are no time of the thread's own.
 */
#include <stdlib.h>

#include "constants.h"
#include "host_runs.h"
#include "memory.h"
#include "replay.h"
#include "sorted.h"

/* --- durations of host functions whose runs were not recorded --- */

/*
 * The run is followed with functions of one nanosecond: an operation that becomes ready at the end
 * of such a function has waited for it, as has a thread.  The first of them shows when it ended.
 */
struct follower {
	struct replay *replay;
	struct map ends; /* end of a function -> step + 1 */
	int64_t *until;  /* by step: end of the function by what waited for it, 0: unknown */
	int found;
};

static void follow_step(struct follower *follower, uint32_t number)
{
	struct replay *replay = follower->replay;
	const struct replay_step *step = &replay->step[number];
	int64_t ready = replay_ready(replay, step), end = ready, waited_for = REPLAY_LONG_AGO;
	int64_t until = step->act & STEP_HAS_OP ? step->start : step->exit;
	uint64_t function;

	if (step->act & STEP_HAS_OP)
		waited_for = ready;
	else if (step->act & STEP_EXPLICIT)
		waited_for = replay_scope(replay, step);
	function = map_get(&follower->ends, (uint64_t)waited_for, 0);
	if (function && until - step->enter >= BLOCKED_MIN_NS && until > waited_for) {
		int64_t *known = &follower->until[function - 1];

		if (!*known || until < *known)
			*known = until;
		follower->found = 1;
	}
	if (step->act & STEP_HAS_OP) {
		end = step->end;
	} else if (step->act & STEP_HOST_WORK) {
		end = at_least(ready, step->exit) + 1;
		map_set(&follower->ends, (uint64_t)end, number + UINT64_C(1));
	}
	replay_note(replay, step, end);
}

void replay_find_host_work(struct replay *replay)
{
	struct follower follower = { .replay = replay,
		.until = xcalloc(replay->step_count, sizeof(*follower.until)) };
	uint32_t *last = xcalloc(replay->threads.count, sizeof(*last));

	/* Functions whose runs were recorded are operations that use no engine. */
	for (uint64_t i = 0; i < host_run_count(replay->run); i++) {
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
	/* It probably reports the end of what its thread submitted to another stream before. */
	for (size_t i = 0; i < replay->threads.count; i++)
		last[i] = REPLAY_NONE;
	for (uint32_t i = 0; i < replay->step_count; i++) {
		struct replay_step *step = &replay->step[i];

		if (step->act & STEP_HOST_WORK)
			step->follows = last[step->thread];
		else if (step->act & STEP_HAS_OP && step->stream_kind != STREAM_KIND_LEGACY)
			last[step->thread] = i;
	}
	replay_begin(replay);
	for (uint32_t i = 0; i < replay->step_count; i++)
		follow_step(&follower, i);
	replay_begin(replay);
	for (uint32_t i = 0; follower.found && i < replay->step_count; i++) {
		struct replay_step *step = &replay->step[i];
		int64_t ready = replay_ready(replay, step);

		if (follower.until[i]) {
			step->start = at_least(ready, step->exit);
			step->end = at_least(follower.until[i] - HOST_FUNCTION_HANDOVER_NS,
				step->start);
			step->act |= STEP_HAS_OP;
		}
		replay_note(replay, step, step->act & STEP_HAS_OP ? step->end : ready);
	}
	map_release(&follower.ends);
	free(follower.until);
	free(last);
}

/* --- set-up --- */

void replay_learn_set_up(struct replay *replay, uint32_t number)
{
	struct replay_step *step = &replay->step[number];
	const struct run *run = replay->run;
	const struct run_call *call = run_call(run, step->call);
	const struct run_call *outer = run_call(run, run_link(run, step->call)->parent);
	int64_t from = step->enter - step->gap, enter = (outer ? outer : call)->enter;
	const struct set_up *list = replay->set_ups->list;
	size_t count = replay->set_ups->count;
	/* The first one of the thread that ends after that. */
	size_t at = sorted_in_group(list, count, sizeof(*list), offsetof(struct set_up, thread),
		call->thread, offsetof(struct set_up, until), from);

	for (; at < count && list[at].thread == call->thread && list[at].from <= enter; at++) {
		const struct set_up *set_up = &list[at];
		int64_t until = set_up->until < step->enter ? set_up->until : step->enter;

		if (!set_up->is_repeated)
			continue;
		if (step->set_up != set_up->line)
			step->setting_up = 0;
		step->set_up = set_up->line;
		step->setting_up += until - at_least(from, set_up->from);
		if (enter < set_up->until)
			step->act |= STEP_SETS_UP;
	}
}

/* --- handovers --- */

void replay_find_handovers(struct replay *replay)
{
	const struct handovers *handovers = &replay->run->evidence.handovers;
	/* By step: the thread's next one; by thread: its first one, then that after a handover. */
	uint32_t *next = xcalloc(replay->step_count, sizeof(*next));
	uint32_t *first = xcalloc(replay->threads.count, sizeof(*first));

	for (size_t i = 0; i < replay->threads.count; i++)
		first[i] = REPLAY_NONE;
	for (size_t i = replay->step_count; i-- > 0;) {
		uint32_t *at = &first[replay->step[i].thread];
		const struct replay_step *copy = &replay->step[i];
		struct replay_step *wait = *at == REPLAY_NONE ? NULL : &replay->step[*at];

		next[i] = *at;
		/* It waits for the copy to the host just before. */
		if (wait && copy->act & STEP_SUBMITS && copy->engine == ENGINE_D2H &&
			wait->act & STEP_EXPLICIT &&
			(wait->stream == copy->stream || wait->scope >= SCOPE_DEVICE))
			wait->act |= STEP_FETCHES;
		*at = (uint32_t)i;
	}
	/* Of several before a step the last one counts. */
	for (size_t i = 0; i < handovers->count; i++) {
		const struct handover *handover = &handovers->list[i];
		uint32_t thread =
				 (uint32_t)map_get(&replay->threads, handover->thread, REPLAY_NONE),
			 *at;

		if (handover->process != replay->process || thread == REPLAY_NONE)
			continue;
		at = &first[thread];
		while (*at != REPLAY_NONE && replay->step[*at].call < handover->after)
			*at = next[*at];
		if (*at == REPLAY_NONE)
			continue;
		replay->step[*at].silence = handover;
		map_set(&replay->silences, handover->before, *at);
	}
	free(next);
	free(first);
}

void replay_learn_handover(struct replay *replay, uint32_t number)
{
	struct replay_step *step = &replay->step[number];
	const struct handover *handover = step->silence;
	int64_t from = replay->thread[step->thread].now, until;

	if (!handover || !step->gap || from == REPLAY_LONG_AGO)
		return;
	if (handover->is_function) {
		uint32_t function = replay_step_of(replay, handover->by);

		if (function >= number || !(replay->step[function].act & STEP_HAS_OP))
			return;
		step->handed_step = function;
		until = replay->step[function].end;
	} else {
		uint32_t thread = (uint32_t)map_get(&replay->threads,
			run_call(replay->run, handover->by)->thread, REPLAY_NONE);

		/* It may have gone on since. */
		if (thread == REPLAY_NONE || replay->thread[thread].now > step->enter)
			return;
		until = replay->thread[thread].now;
		if (until == REPLAY_LONG_AGO)
			return;
		step->handed_by = thread;
	}
	step->gap = at_least(handover->ended - handover->blocked - from, 0);
	/* Its calls since may be no steps: then it is as if this thread had gone on by itself. */
	step->resumed = step->enter - at_least(until, from + step->gap);
}
