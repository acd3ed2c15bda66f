/* SPDX-License-Identifier: Apache-2.0 */
/* Was the call blocked, and by what?  What does a call wait for? */
#include <stdlib.h>

#include "constants.h"
#include "scope.h"
#include "sorted.h"
#include "wait.h"

struct wait_operation wait_operation_of(const struct run *run, int64_t id)
{
	const struct run_call *call = run_call(run, id);
	const struct run_stream *stream = run_stream(run, call ? call->stream : 0);

	return (struct wait_operation){ .call = id,
		.stream = call ? call->stream : 0,
		.context = stream->context,
		.kind = (enum stream_kind)stream->kind,
		.device = run_context(run, stream->context)->device };
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

/* Is the excess noise, or within the variation among calls of the type? */
static int is_usual(const struct wait_timing *timing, int64_t usual, int64_t more)
{
	return wait_is_short(timing, more, WAIT_MIN_NS) || more < usual / WAIT_MIN_PART;
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
	const struct wait_operation *own, const struct wait_timing *timing, int64_t usual,
	int64_t *excess)
{
	int64_t duration = wait->exit - wait->enter, slack;
	int64_t behind = wait->before.op ? wait->before.end - wait->enter - wait->overhead : 0;
	const struct wait_operation *by;

	*excess = duration - wait->overhead - usual;
	/* It did its usual work after the wait, faster than usual. */
	if (wait->works_after && behind >= usual && *excess < BLOCKED_MIN_NS)
		*excess = behind;
	/* Work that it did while the device was idle was no wait, however long. */
	if (wait->works_after && behind > 0 && *excess > behind + timing->wake_up)
		*excess = behind + timing->wake_up;
	if (is_usual(timing, usual, *excess))
		return NULL;
	/* A sleeping thread may wake up late; it did wait for this operation. */
	if (wait->kind == WAIT_EXPLICIT && timing->blocking)
		return blocked_by(wait, own, wait->enter, wait->exit + timing->error);
	slack = usual + usual / SLACK_PART;
	if (wait->works_after && slack < duration / WORK_AFTER_PART)
		slack = duration / WORK_AFTER_PART;
	slack += timing->wake_up;
	if (slack < duration / AFTERWARDS_PART)
		slack = duration / AFTERWARDS_PART;
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
	int64_t usual, int64_t *excess)
{
	const struct wait_operation *before = &wait->before;
	int64_t duration = wait->exit - wait->enter - wait->overhead;
	int64_t until = wait->transferred < wait->exit ? wait->transferred : wait->exit;
	int64_t took = until - wait->transfer, alone = usual;

	if (!wait->waits || !before->op || wait->transfer == WALK_NEVER ||
		wait->transfer < before->end - timing->error ||
		took < (wait->exit - before->end) / TRANSFER_PART)
		return 0;
	/* Alone it would have taken at most what its last part did, which is not staged ahead. */
	if (wait->bytes > STAGED_AHEAD)
		alone = (int64_t)((double)took * (double)wait->bytes /
			(double)(wait->bytes - STAGED_AHEAD));
	usual = usual < alone ? usual : alone;
	*excess = before->end - wait->enter - wait->overhead;
	/* The time in which the thread could stage data was no wait. */
	if (*excess > duration - usual)
		*excess = duration - usual;
	return *excess >= duration / UNBLOCKED_PART && *excess >= usual / WAIT_MIN_PART &&
		!wait_is_short(timing, *excess, WAIT_MIN_NS);
}

/*
 * A call that waits for the device before it begins its own work waited for the pending work if its
 * usual work fits after the end of that.
 */
static int is_blocked_by_rule(const struct wait *wait, const struct wait_timing *timing,
	int64_t work, int64_t *excess)
{
	const struct wait_operation *before = &wait->before;

	if (!wait->may_be_behind || !wait->waits_first || !before->op ||
		wait->exit - before->end < work - work / WAIT_MIN_PART - timing->error)
		return 0;
	*excess = before->end - wait->enter - wait->overhead;
	return !wait_is_short(timing, *excess, WAIT_MIN_NS);
}

int wait_judge(struct wait *wait, const struct wait_timing *timing, const struct wait_usual *usual)
{
	static const struct wait_operation none;
	int64_t *waited = &wait->waited;
	const struct wait_operation *by =
		judge_by_duration(wait, &wait->own, timing, usual->alone, waited);

	/* The copy's own transfer is known from this run: the excess has other causes. */
	if (!by && wait->before.op && usual->with_own)
		by = judge_by_duration(wait, &none, timing, usual->with_own, waited);
	if (!by &&
		(is_blocked_by_transfer(wait, timing, usual->alone, waited) ||
			is_blocked_by_rule(wait, timing, usual->afterwards, waited)))
		by = &wait->before;
	if (by)
		wait->by = *by;
	return by != NULL;
}

static int by_exit(const void *a, const void *b)
{
	const struct held_call *x = a, *y = b;

	if (x->exit != y->exit)
		return x->exit < y->exit ? -1 : 1;
	return (x->wait->call > y->wait->call) - (x->wait->call < y->wait->call);
}

void held_calls_sort(struct held_calls *calls)
{
	if (calls->count)
		qsort(calls->held, calls->count, sizeof(*calls->held), by_exit);
}

static int may_hold(const struct wait *held, const struct wait *call)
{
	return held->process == call->process && held->thread != call->thread;
}

/* Returns how long the call overlapped blocked calls of other threads, up to number last. */
static int64_t overlap_of(const struct held_calls *calls, size_t last, const struct wait *call)
{
	int64_t sum = 0, until = call->exit;

	for (size_t i = last + 1; i-- > 0 && calls->held[i].exit > call->enter;) {
		const struct wait *held = calls->held[i].wait;
		int64_t start = held->enter > call->enter ? held->enter : call->enter;
		int64_t end = held->exit < until ? held->exit : until;

		if (!may_hold(held, call) || end <= start)
			continue;
		sum += end - start;
		until = start;
	}
	return sum;
}

const struct wait *held_calls_before(const struct held_calls *calls, const struct wait *call,
	int64_t latency, int64_t error)
{
	int64_t duration = call->exit - call->enter;
	size_t i = sorted_from(calls->held, calls->count, sizeof(*calls->held),
		offsetof(struct held_call, exit), call->exit - latency);

	for (; i < calls->count && calls->held[i].exit <= call->exit + error; i++)
		if (may_hold(calls->held[i].wait, call) &&
			overlap_of(calls, i, call) >= duration - duration / LOCK_PART)
			return calls->held[i].wait;
	return NULL;
}
