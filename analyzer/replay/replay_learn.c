/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the own time of each call and operation: the run is followed as measured, and delays that
 * the order of the device explains are subtracted.  What threads did outside of CUDA, host
 * functions, and waits for another thread's part or for such a function (handovers.h), is no time
 * of the thread's own.
 */
#include <stdlib.h>

#include "constants.h"
#include "host_runs.h"
#include "memory.h"
#include "radix_sort.h"
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

/* Sets the durations of host functions where they can be derived. */
static void find_host_work(struct replay *replay)
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

/* Finds how much of the step, the next one in order, and of its gap is repeated set-up. */
static void learn_set_up(struct replay *replay, uint32_t number)
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

		if (!set_up->is_repeated) {
			step->act |= enter < set_up->until ? STEP_SETS_UP_ANEW : 0;
			continue;
		}
		if (step->set_up != set_up->line)
			step->setting_up = 0;
		step->set_up = set_up->line;
		step->setting_up += until - at_least(from, set_up->from);
		if (enter < set_up->until)
			step->act |= STEP_SETS_UP;
	}
}

/* --- handovers --- */

/* Finds which steps wait for a copy just before, and what ended the silence before others. */
static void find_handovers(struct replay *replay)
{
	const struct handovers *handovers = &replay->run->evidence.handovers;
	struct {
		struct replay_step *last;
		size_t next, end; /* its handovers that no step comes after yet */
	} *threads = xcalloc(replay->threads.count, sizeof(*threads)), *own;

	for (size_t i = 0; i < handovers->count; i++) {
		uint64_t thread = map_get(&replay->threads, handovers->list[i].thread, REPLAY_NONE);

		if (thread == REPLAY_NONE)
			continue;
		own = &threads[thread];
		own->next = own->end ? own->next : i;
		own->end = i + 1;
	}
	for (uint32_t i = 0; i < replay->step_count; i++) {
		struct replay_step *step = &replay->step[i], *copy;

		own = &threads[step->thread];
		copy = own->last;
		own->last = step;
		/* It waits for the copy to the host just before. */
		if (copy && copy->act & STEP_SUBMITS && copy->engine == ENGINE_D2H &&
			step->act & STEP_EXPLICIT &&
			(step->stream == copy->stream || step->scope >= SCOPE_DEVICE))
			step->act |= STEP_FETCHES;
		/* Of several before a step the last one counts. */
		for (; own->next < own->end && handovers->list[own->next].after <= step->call;
			own->next++) {
			step->silence = &handovers->list[own->next];
			map_set(&replay->silences, step->silence->before, i);
		}
	}
	free(threads);
}

/* Divides the gap before the step, the next one in order, if it ended with a handover. */
static void learn_handover(struct replay *replay, uint32_t number)
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

/* --- calls and operations --- */

struct ends {
	struct timed *list;
	size_t count;
};

/* Returns how many operations have ended by a time. */
static size_t ends_by(const struct ends *ends, int64_t time)
{
	return sorted_after(ends->list, ends->count, sizeof(*ends->list),
		offsetof(struct timed, at), time);
}

/*
 * Returns when other threads had done what the call waited for besides its own work; its entry if
 * there was nothing.  One of several calls that wait for the device at the same time waits for the
 * work that others submit meanwhile, too.  Launches, allocations and calls that wait for the device
 * exclude each other, so it had not begun its own work before such a call of another thread.
 */
static int64_t others_until(const struct replay *replay, const struct ends *ends, uint32_t of)
{
	enum { LOOKED_AT_STEPS = 64 }; /* beyond them the call counts as not held */
	const struct replay_step *step = &replay->step[of], *other;
	int64_t until = step->enter;
	uint32_t last = (uint32_t)sorted_from(replay->step, replay->step_count,
		sizeof(*replay->step), offsetof(struct replay_step, enter), step->exit);

	for (size_t at = ends_by(ends, step->exit); at-- && until == step->enter;) {
		other = &replay->step[ends->list[at].of];
		if (other->end < step->exit - LATENCY_MAX_NS || other->end < step->enter)
			break;
		if (ends->list[at].of > of && other->thread != step->thread &&
			other->device == step->device && other->enter > step->enter)
			until = other->end;
	}
	for (int i = 0; i < LOOKED_AT_STEPS && last-- > of + 1; i++) {
		int excludes;

		other = &replay->step[last];
		excludes = other->act & (STEP_CAN_BE_HELD | STEP_HOLDS_OTHERS);
		if (!excludes || other->thread == step->thread || other->exit > step->exit)
			continue;
		raise_to(&until, other->exit);
		break;
	}
	return until;
}

static void learn_operation(struct replay *replay, const struct ends *ends, uint32_t number)
{
	struct replay_step *step = &replay->step[number];
	int64_t ready = replay_ready(replay, step), entry = step->enter;
	int64_t after, late = BLOCKED_MIN_NS;
	int follows_host_work =
		step->stream != REPLAY_NONE && replay->stream[step->stream].host_work;

	if (step->act & STEP_WAITS_FIRST)
		entry = step->exit - step->own;
	after = ready == REPLAY_LONG_AGO ? INT32_MAX : step->start - ready;
	step->launch = (int32_t)clamp(step->start - entry, 0, LAUNCH_NS);
	/* An operation submitted late does not show its shortest handover. */
	step->handover = after > HANDOVER_NS ? HANDOVER_USUAL_NS : (int32_t)after;
	/*
	 * Time that the call itself spends first, copying or loading code, recurs in a replay; a
	 * host function before it may account for most of the time.
	 */
	if (step->exit + BLOCKED_MIN_NS - step->start >= 0 || follows_host_work)
		late = INT32_MAX;
	if (after < step->start - entry - LAUNCH_NS + HANDOVER_NS)
		step->handover = (int32_t)clamp(after, INT32_MIN, late);
	else
		step->launch = (int32_t)clamp(step->start - entry, 0, late);
	if (step->behind != REPLAY_NONE || step->start - entry <= late || after <= late)
		return;
	/* It was behind the operation of another stream that ended just before it started. */
	for (size_t low = ends_by(ends, step->start + HANDOVER_NS);
		low-- && ends->list[low].at >= step->start - BLOCKED_MIN_NS;) {
		const struct replay_step *other = &replay->step[ends->list[low].of];

		if (ends->list[low].of >= number || other->stream == step->stream ||
			other->device != step->device)
			continue;
		step->behind = (uint32_t)ends->list[low].of;
		return;
	}
}

static void learn_wait(const struct replay *replay, const struct ends *ends, uint32_t number)
{
	struct replay_step *step = &replay->step[number];
	int64_t target = replay_scope(replay, step), length = step->exit - step->enter;
	int64_t waited = step->waited, after, asking = length < ASK_NS ? length : ASK_NS;

	if (step->act & STEP_WAITS_OWN && step->act & STEP_HAS_OP)
		raise_to(&target, step->end);
	/* Its scope is wider than what it did wait for; only the latter counts. */
	if (target > step->exit + CLOCK_ERROR_MAX_NS || target == REPLAY_LONG_AGO)
		step->scope = SCOPE_NONE;
	if (step->scope == SCOPE_NONE && step->held_for == REPLAY_NONE) {
		step->act &= ~(unsigned)(STEP_WAITS | STEP_WAITS_OWN);
		return;
	}
	if (step->scope == SCOPE_NONE)
		target = replay->step[step->held_for].end;
	if (target <= step->enter || target > step->exit + CLOCK_ERROR_MAX_NS) {
		step->lag = step->act & STEP_EXPLICIT ? asking : length;
		return;
	}
	/* The thread waited until target. */
	step->lag = after = step->exit - target;
	if (!(step->act & STEP_MEASURED)) {
		if (step->act & (STEP_EXPLICIT | STEP_WAITS_OWN))
			step->own = asking;
		return;
	}
	/* The length of its wait was measured by comparison with similar calls. */
	if (step->act & STEP_HOLDS_OTHERS) {
		int64_t others = others_until(replay, ends, number);

		raise_to(&waited, others - step->enter);
		after = step->exit - at_least(target, others);
	}
	step->own = length > waited ? length - waited : 0;
	/* The work of a call after it drained the device recurs in any case. */
	if (step->act & STEP_ONCE && after > WAKE_UP_NS && step->own < after)
		step->own = after;
}

/*
 * For a call blocked by another thread's call: the remaining time is its own.  The lock is given up
 * once the device has finished, so the blocked call may return before the one that held it does.
 */
static void learn_holder(const struct replay *replay, uint32_t number)
{
	struct replay_step *step = &replay->step[number];
	int64_t until = replay_held_until(replay, step, step->enter), late = BLOCKED_MIN_NS;
	int64_t released = replay->holder.released, from;
	int32_t after;

	if (step->held_by >= number)
		step->held_by = REPLAY_NONE;
	if (step->held_by != REPLAY_NONE) {
		until = replay->step[step->held_by].exit;
		released = until - replay->step[step->held_by].lag;
		late = INT32_MAX;
	}
	if (until == REPLAY_LONG_AGO)
		return;
	from = until > step->exit + CLOCK_ERROR_MAX_NS ? released : until;
	/* It was not blocked: of several waiting calls not all block others. */
	if (from > step->exit + CLOCK_ERROR_MAX_NS ||
		(from != until && (from <= step->enter || step->own < BLOCKED_MIN_NS))) {
		step->act &= ~(unsigned)STEP_CAN_BE_HELD;
		return;
	}
	after = (int32_t)clamp(step->exit - from, 0, late);
	step->after_holder = after + (int32_t)(from - until);
	if (after < step->own)
		step->own = after;
	step->act |= STEP_WAITS_FIRST;
}

/* The other thread has made its last call when this one continues. */
static void learn_join(const struct replay *replay, struct replay_thread *thread)
{
	struct replay_step *step = &replay->step[thread->join];
	int64_t ended = replay->thread[step->other_thread].now;

	thread->join = REPLAY_NONE;
	if (ended == REPLAY_LONG_AGO || ended <= step->enter)
		return;
	step->lag = step->exit - ended;
	step->own = ASK_NS < step->own ? ASK_NS : step->own;
}

/*
 * CUPTI's records of operations, and of each node of a graph, take time in the calls.  A host that
 * is slow is slow in both: the part of the call's time is better known than the time.
 */
void replay_learn_recording(struct replay_step *step, int is_first)
{
	static const struct recording {
		int kind, is_first;
		int64_t ns, ns_per_node, recorded, recorded_per_node, delayed, delayed_per_node;
	} rows[] = {
#define ANY (-1)
#define RECORDING(kind, ...) { (int)(kind), __VA_ARGS__ },
#include "recording.def"
	};
	/* The last two are of other calls. */
	enum { COUNT = sizeof(rows) / sizeof(rows[0]), WORK = COUNT - 2, CALL };
	const struct recording *row = rows, *work = &rows[WORK];
	int64_t bare, recorded, part;
	double late;

	while (row < work && (row->kind != (int)step->kind || (row->is_first && !is_first)))
		row++;
	if (row == work && !(step->act & STEP_SUBMITS && step->act & STEP_HAS_OP))
		row = &rows[CALL];
	bare = row->ns + row->ns_per_node * step->nodes;
	recorded = row->recorded + row->recorded_per_node * step->nodes;
	late = (double)(row->delayed + row->delayed_per_node * step->nodes) / (double)recorded;
	part = (int64_t)((double)step->own * (double)recorded / (double)(bare + recorded));
	recorded = recorded * RECORDING_SLOW_PERCENT / 100;
	step->recorded = part < recorded ? part : recorded;
	step->delayed = (int32_t)((double)step->recorded * late);
}

/*
 * The recorder starts with the first call of CUDA.  A thread that joined another one before has
 * that recorded as it returns, when the other one has just ended.
 */
static int is_join_as_it_returns(const struct replay *replay, const struct replay_step *step)
{
	int64_t last;

	if (!(step->act & STEP_JOINS_THREAD))
		return 0;
	last = replay->thread[step->other_thread].now;
	/* To end takes longer than to be woken. */
	return last <= step->enter && step->enter - last < 20 * BLOCKED_SLACK_NS;
}

static void learn_step(struct replay *replay, const struct ends *ends, uint32_t number)
{
	struct replay_step *step = &replay->step[number], *first;
	struct replay_thread *thread = &replay->thread[step->thread];
	int64_t *now = &thread->now, copying;

	if (thread->join != REPLAY_NONE)
		learn_join(replay, thread);
	/* It was made within the previous call. */
	if (*now != REPLAY_LONG_AGO && step->exit <= *now)
		step->enter = step->exit = *now;
	if (*now == REPLAY_LONG_AGO) {
		*now = replay->first;
		if (is_join_as_it_returns(replay, step))
			step->enter = *now;
	}
	step->gap = step->enter > *now ? step->enter - *now : 0;
	learn_handover(replay, number);
	learn_set_up(replay, number);
	step->own = step->exit - step->enter;
	if (step->act & STEP_WAITS)
		learn_wait(replay, ends, number);
	learn_holder(replay, number);
	if (replay->recording)
		replay_learn_recording(step,
			step->exec != REPLAY_NONE && replay->exec[step->exec] == REPLAY_LONG_AGO);
	else
		step->gap_recorded = 0;
	/*
	 * The first copy into host memory makes its pages, which takes longer than a second one;
	 * whoever pins the memory has to make them, too.
	 */
	first = replay->same_place[number] == REPLAY_NONE
		? NULL
		: &replay->step[replay->same_place[number]];
	copying = at_least(step->own, step->lag);
	if (first && first->pinning && !step->pinning && first->engine == ENGINE_D2H &&
		first->bytes == step->bytes && at_least(first->own, first->lag) > copying)
		first->pinning += at_least(first->own, first->lag) - copying;
	if (step->act & STEP_HAS_OP)
		learn_operation(replay, ends, number);
	replay_note(replay, step, step->act & STEP_HAS_OP ? step->end : replay_ready(replay, step));
	if (step->act & STEP_MAKES_THREAD)
		replay->thread[step->other_thread].now = step->enter;
	if (step->act & STEP_JOINS_THREAD)
		thread->join = number;
	replay_note_holder(replay, step, step->enter, step->exit);
	*now = step->exit;
}

void replay_learn(struct replay *replay)
{
	struct ends ends = { .list = xcalloc(replay->step_count, sizeof(*ends.list)) };
	struct timed *large = xcalloc(replay->step_count, sizeof(*large));
	struct replay_step *last = NULL;
	size_t count = 0;

	find_host_work(replay);
	find_handovers(replay);
	/* Large kernels that overlapped in the run can overlap in a replay. */
	for (size_t i = 0; i < replay->step_count; i++) {
		const struct replay_step *step = &replay->step[i];

		if (step->act & STEP_HAS_OP && step->engine == ENGINE_KERNEL &&
			step->share >= LARGE_PERCENT / 100.0F)
			large[count++] = (struct timed){ step->start, i };
	}
	large = radix_sort(large, count, sizeof(*large));
	for (size_t i = 0; i < count; i++) {
		struct replay_step *step = &replay->step[large[i].of];

		if (last && last->device == step->device && step->start < last->end - LAUNCH_NS)
			last->shares_device = step->shares_device = 1;
		if (!last || step->end > last->end)
			last = step;
	}
	for (size_t i = 0; i < replay->step_count; i++)
		if (replay->step[i].act & STEP_HAS_OP)
			ends.list[ends.count++] = (struct timed){ replay->step[i].end, i };
	ends.list = radix_sort(ends.list, ends.count, sizeof(*ends.list));
	replay_begin(replay);
	for (size_t i = 0; i < replay->step_count; i++)
		learn_step(replay, &ends, (uint32_t)i);
	/* Joins by a thread's last call. */
	for (size_t i = 0; i < replay->threads.count; i++)
		if (replay->thread[i].join != REPLAY_NONE)
			learn_join(replay, &replay->thread[i]);
	free(ends.list);
	free(large);
}
