/* SPDX-License-Identifier: Apache-2.0 */
/* Was the call blocked, and by what?  What does a call wait for? */
#include <stdlib.h>

#include "bounds.h"
#include "constants.h"
#include "radix_sort.h"
#include "memory.h"
#include "scope.h"
#include "sorted.h"
#include "wait.h"

struct wait_operation wait_operation_of(const struct run *run, int64_t id, int times)
{
	const struct run_call *call = run_call(run, id);
	const struct run_stream *stream = run_stream(run, call ? call->stream : 0);
	struct wait_operation all = { .call = id,
		.start = INT64_MAX,
		.end = INT64_MIN,
		.stream = call ? call->stream : 0,
		.context = stream->context,
		.kind = (enum stream_kind)stream->kind,
		.device = run_context(run, stream->context)->device };

	for (uint32_t op = 0; call && times && (op = run_next_work(run, call, op));) {
		const struct run_work *work = run_work(run, op);
		int64_t end = run_end(run, work, op);

		if (end != RUN_NEVER && end > all.end) {
			all.op = op;
			all.end = end;
		}
		all.start = at_most(all.start, work->start);
	}
	return all;
}

enum covered wait_covered(const struct walk_call *call, const struct wait_operation *pending)
{
	switch (scope_requested(call)) {
	case SCOPE_NONE:
		return COVERED_NOT;
	case SCOPE_PROCESS:
		return COVERED;
	case SCOPE_DEVICE:
		return call->device == pending->device ? COVERED : COVERED_NOT;
	case SCOPE_CONTEXT:
		return call->context == pending->context ? COVERED : COVERED_NOT;
	case SCOPE_STREAM:
	case SCOPE_OWN:
		return call->stream == pending->stream ? COVERED : COVERED_IF_ORDERED;
	case SCOPE_EVENT:
	case SCOPE_LEGACY:
		break;
	}
	return COVERED_IF_ORDERED;
}

/* Is a wait, ns, noise: shorter than least, or within the error of the clocks? */
static int is_short(const struct wait_timing *timing, int64_t waited, int64_t least)
{
	return waited < least || waited < CLOCK_ERRORS * timing->clock_error;
}

/* Is the excess noise, or within the variation among calls of the type? */
static int is_usual(const struct wait_timing *timing, const struct usual *usual, int64_t more)
{
	return is_short(timing, more, WAIT_MIN_NS) || more < usual->spread;
}

/*
 * Returns what blocked the call, NULL if nothing did: an operation that ended just before the call
 * returned.  For a copy that was queued after earlier work for much of its time, it is that work.
 */
static const struct wait_operation *blocked_by(const struct wait *wait,
	const struct wait_operation *own, int64_t earliest, int64_t latest)
{
	const struct wait_operation *before = &wait->before;

	if (own->op && own->end >= earliest && own->end <= latest) {
		int64_t behind = before->op ? before->end - wait->enter : 0;

		return behind >= (wait->exit - wait->enter) / UNBLOCKED_PART ? before : own;
	}
	return before->op && before->end >= earliest && before->end <= latest ? before : NULL;
}

/*
 * Returns what blocked the call, given its usual duration, and its excess; NULL if nothing did.
 */
static const struct wait_operation *judge_by_duration(const struct wait *wait,
	const struct wait_operation *own, const struct wait_timing *timing,
	const struct usual *usual, int64_t *excess)
{
	int64_t duration = wait->exit - wait->enter, slack;
	int64_t behind = wait->before.op ? wait->before.end - wait->enter - wait->overhead : 0;
	const struct wait_operation *by;

	*excess = duration - wait->overhead - usual->ns;
	/* It did its usual work after the wait, faster than usual. */
	if (wait->works_after && behind >= usual->ns && *excess < BLOCKED_MIN_NS)
		*excess = behind;
	/* Work that it did while the device was idle was no wait, however long. */
	if (wait->works_after && behind > 0 && *excess > behind + timing->wake_up)
		*excess = behind + timing->wake_up;
	if (is_usual(timing, usual, *excess))
		return NULL;
	/* A sleeping thread may wake up late; it did wait for this operation. */
	if (wait->kind == WAIT_EXPLICIT && timing->blocking)
		return blocked_by(wait, own, wait->enter, wait->exit + timing->error);
	/*
	 * After a wait its own work varies twice as much: on an H200 pageable copies of 64 MiB,
	 * 6.3 ms alone, took 6.5 to 8.2 once their stream was free.
	 */
	slack = usual->ns + 2 * usual->spread + timing->wake_up;
	slack = at_least(slack, duration / WORK_AFTER_PART);
	by = blocked_by(wait, own, wait->exit - slack, wait->exit + timing->error);
	/* It took long, but earlier work ended soon after it began. */
	if (by && !own->op && wait->kind != WAIT_EXPLICIT &&
		is_usual(timing, usual, behind + timing->error))
		return NULL;
	return by;
}

/*
 * A copy whose transfer lasted until it returned had waited for the operation before that, however
 * long the transfer took: other programs use the bus too.  Most of the time after the wait must be
 * that transfer; otherwise the thread was only late.
 */
static int is_blocked_by_transfer(const struct wait *wait, const struct wait_timing *timing,
	const struct usual *usual, int64_t *excess)
{
	const struct wait_operation *before = &wait->before;
	int64_t duration = wait->exit - wait->enter - wait->overhead;
	int64_t until = at_most(wait->transferred, wait->exit);
	int64_t took = until - wait->transfer, alone = usual->ns;

	if (!wait->waits || !before->op || wait->transfer == WALK_NEVER ||
		wait->transfer < before->end - timing->error ||
		took < (wait->exit - before->end) / TRANSFER_PART)
		return 0;
	/* Alone it would have taken at most what its last part did, which is not staged ahead. */
	if (wait->bytes > STAGED_AHEAD)
		alone = (int64_t)((double)took * (double)wait->bytes /
			(double)(wait->bytes - STAGED_AHEAD));
	alone = at_most(usual->ns, alone);
	*excess = before->end - wait->enter - wait->overhead;
	/* The time in which the thread could stage data was no wait. */
	*excess = at_most(*excess, duration - alone);
	return *excess >= duration / UNBLOCKED_PART && *excess >= usual->spread &&
		!is_short(timing, *excess, WAIT_MIN_NS);
}

/* Returns whether the device blocked the call; then sets wait->by and wait->waited. */
static int judge(struct wait *wait, const struct wait_timing *timing, struct samples *samples)
{
	static const struct wait_operation none;
	int64_t key = wait->key, expected = wait->expected, *waited = &wait->waited;
	struct usual alone = usual_of(samples, key, expected);
	struct usual with_own = usual_of(samples, key | USUAL_OWN, 0);
	struct usual afterwards = usual_of(samples, key | USUAL_AFTERWARDS, expected);
	int64_t behind;
	const struct wait_operation *by =
		judge_by_duration(wait, &wait->own, timing, &alone, waited);

	/* The copy's own transfer is known from this run: the excess has other causes. */
	if (!by && wait->before.op && with_own.ns)
		by = judge_by_duration(wait, &none, timing, &with_own, waited);
	/*
	 * The call's work after its wait may be shorter than usual: on an H200 cudaFree of 128 KiB
	 * took 30 us and more, of 4 KiB next to other small memory 5 to 11.
	 */
	afterwards = usual_of(samples, key, at_most(afterwards.ns, expected));
	if (!by && is_blocked_by_transfer(wait, timing, &alone, waited))
		by = &wait->before;
	/*
	 * A call that waits for the device before it begins its own work waited for the pending
	 * work if its usual work fits after the end of that.  However much longer calls take, they
	 * seldom take much less.
	 */
	if (!by && wait->may_be_behind && wait->waits_first && wait->before.op &&
		wait->exit - wait->before.end >= afterwards.ns -
				at_most(afterwards.spread, afterwards.ns / USUAL_SPREAD_PART) -
				timing->error) {
		*waited = wait->before.end - wait->enter - wait->overhead;
		by = is_short(timing, *waited, WAIT_MIN_NS) ? NULL : &wait->before;
	}
	if (!by)
		return 0;
	wait->by = *by;
	behind = by->end - wait->enter + timing->usually_late;
	if (wait->works_after && *waited > behind)
		*waited = behind;
	return 1;
}

/* --- behind another thread's call --- */

/*
 * Calls that the device blocked.  They are kept to find calls of other threads that waited because
 * a blocked call holds a lock of the driver.  Measured on an H200: while a thread is in cudaFree or
 * in a pageable copy to the host, other threads' launches are blocked; while it is in an explicit
 * wait they are not.
 */
struct held_calls {
	struct held_call {
		int64_t exit;
		const struct wait *wait;
	} * held; /* in order of exit, then of call */
	size_t count;
	int64_t longest_after; /* ns that one of them took after the end of its wait */
};

static int may_hold(const struct wait *held, const struct wait *call)
{
	return held->process == call->process && held->thread != call->thread;
}

/*
 * Returns a blocked call of another thread that call overlapped, with other such calls, for nearly
 * all of its time: the lock is not granted in turn.  That call gave it back at most latency ns
 * before call returned (or error ns after): when it returned, or before its own work after the
 * wait.  Returns NULL if there is none.
 */
static const struct wait *find_held(const struct held_calls *calls, const struct wait *call,
	int64_t latency, int64_t error)
{
	int64_t duration = call->exit - call->enter, from = call->exit - latency;
	int64_t until = call->exit + error;
	size_t i = sorted_from(calls->held, calls->count, sizeof(*calls->held),
		offsetof(struct held_call, exit), from);

	for (; i < calls->count && calls->held[i].exit <= until + calls->longest_after; i++) {
		const struct wait *held = calls->held[i].wait;
		int64_t overlap = 0, end = call->exit;

		if (!may_hold(held, call) ||
			(held->exit > until && (held->by.end < from || held->by.end > until)))
			continue;
		for (size_t k = i + 1; k-- > 0 && calls->held[k].exit > call->enter;) {
			const struct wait *other = calls->held[k].wait;
			int64_t start = at_least(other->enter, call->enter);

			if (!may_hold(other, call) || at_most(other->exit, end) <= start)
				continue;
			overlap += at_most(other->exit, end) - start;
			end = start;
		}
		if (overlap >= duration - duration / LOCK_PART)
			return held;
	}
	return NULL;
}

/* Returns whether another thread's call blocked this one; then sets what is known of that. */
static int judge_behind(struct wait *wait, const struct wait_timing *timing,
	const struct held_calls *calls)
{
	int64_t excess = wait->exit - wait->enter - wait->overhead - wait->expected;
	int64_t latency = timing->wake_up + wait->expected;
	const struct wait *held;

	/* Handing over a lock takes 50 us or more; calls that are quick may take longer. */
	if (wait->is_quick && latency < excess / LOCK_PART)
		latency = excess / LOCK_PART;
	if (is_short(timing, excess, BLOCKED_MIN_NS))
		return 0;
	held = find_held(calls, wait, latency, timing->error);
	if (!held)
		return 0;
	wait->partner = 0;
	wait->by = held->by;
	wait->waited = excess;
	/* A call that drains the device itself waited for the same work as the other call. */
	if (wait->waits)
		return 1;
	wait->kind = WAIT_BEHIND;
	wait->held_by = held->call;
	/* It had nothing to wait for. */
	wait->avoidable = excess;
	return 1;
}

/* --- all of them --- */

void wait_add_row(struct wait *wait, struct run_evidence *evidence)
{
	run_add_wait(evidence,
		&(struct run_wait){ .call = (uint32_t)wait->call,
			.kind = wait->kind,
			.op = (uint32_t)wait->by.op,
			.waited = wait->waited,
			.avoidable = wait->avoidable,
			.partner = (uint32_t)wait->partner,
			.behind = (uint32_t)wait->held_by });
	wait->number = (uint32_t)evidence->wait_count - 1;
}

void waits_judge(struct wait_list *list, struct samples *samples, struct id_map *timings,
	struct run_evidence *evidence)
{
	struct held_calls calls = { 0 };

	for (size_t i = 0; i < list->count; i++) {
		struct wait *wait = &list->wait[i];
		const struct wait_timing *timing =
			wait_timing_settle(timings, samples, wait->process);

		if (wait->may_be_behind)
			continue;
		if (!judge(wait, timing, samples)) {
			/*
			 * The driver runs such calls one at a time, in any order: on an H200 one
			 * thread freed twelve times in 35 ms while two others waited to free.
			 */
			wait->may_be_behind = wait->works_after && wait->waits;
			continue;
		}
		if (wait->holds_others) {
			*array_push(calls.held, calls.count) =
				(struct held_call){ wait->exit, wait };
			calls.longest_after =
				at_least(calls.longest_after, wait->exit - wait->by.end);
		}
		wait_add_row(wait, evidence);
	}
	calls.held = radix_sort(calls.held, calls.count, sizeof(*calls.held));
	for (size_t i = 0; i < list->count; i++) {
		struct wait *wait = &list->wait[i];
		const struct wait_timing *timing = id_map_get(timings, wait->process);

		if (wait->may_be_behind &&
			(judge_behind(wait, timing, &calls) ||
				(!wait->waits_never && judge(wait, timing, samples))))
			wait_add_row(wait, evidence);
	}
	free(calls.held);
}
