/* SPDX-License-Identifier: Apache-2.0 */
#include "waits_judge.h"

#include "constants.h"

static int64_t clamp(int64_t value, int64_t low, int64_t high)
{
	return value < low ? low : value > high ? high : value;
}

int wait_timing_add(struct wait_timing *timing, int64_t latency)
{
	if (latency < -CLOCK_ERROR_MAX_NS)
		return 0;
	return sample_add(&timing->latency, latency);
}

/* A wait that seems to return before its operation has ended shows the clocks' difference. */
void wait_timing_settle(struct wait_timing *timing)
{
	int64_t latency = LATENCY_DEFAULT_NS, early = 0;

	if (timing->latency.count >= LATENCY_MIN_EXAMPLES)
		latency = clamp(sample_quantile(&timing->latency, LATENCY_PERCENTILE / 100.0),
			LATENCY_MIN_NS, LATENCY_MAX_NS);
	if (timing->latency.count)
		early = -sample_quantile(&timing->latency, 0);
	/* The wake-up of a sleeping thread cannot be distinguished from the call's later work. */
	timing->usually_late = timing->blocking ? LATENCY_DEFAULT_NS : latency;
	timing->wake_up = timing->blocking ? LATENCY_BLOCKING_NS : latency;
	timing->error = clamp(early > timing->clock_error ? early : timing->clock_error,
		CLOCK_ERROR_MIN_NS, CLOCK_ERROR_MAX_NS);
	timing->settled = 1;
}

int wait_is_short(const struct wait_timing *timing, int64_t waited, int64_t least)
{
	return waited < least || waited < CLOCK_ERRORS * timing->clock_error;
}

/* Is the excess noise, or within the variation among calls of the type? */
static int is_usual(const struct wait_timing *timing, int64_t usual, int64_t more)
{
	return wait_is_short(timing, more, WAIT_MIN_NS) || more < usual / WAIT_MIN_PART;
}

/*
 * Returns what blocked the call, ORDER_NOTHING if nothing did: an operation that ended just before
 * the call returned.  For a copy that was queued after earlier work for much of its time, it is
 * that work.
 */
static struct order_state blocked_by(const struct wait *wait, int64_t earliest, int64_t latest)
{
	struct order_state before = wait->before, own = wait->own;

	if (own.op && own.end >= earliest && own.end <= latest) {
		int64_t behind = before.op ? before.end - wait->enter : 0;

		return behind >= (wait->exit - wait->enter) / UNBLOCKED_PART ? before : own;
	}
	if (before.op && before.end >= earliest && before.end <= latest)
		return before;
	return ORDER_NOTHING;
}

/*
 * Returns what blocked the call, given its usual duration, and its excess; ORDER_NOTHING if nothing
 * did.
 */
static struct order_state judge(const struct wait *wait, const struct wait_timing *timing,
	int64_t usual, int64_t *excess)
{
	int64_t duration = wait->exit - wait->enter, slack;
	struct order_state by;
	int64_t behind = wait->before.op ? wait->before.end - wait->enter - wait->overhead : 0;

	*excess = duration - wait->overhead - usual;
	/* It did its usual work after the wait, faster than usual. */
	if (wait->works_after && behind >= usual && *excess < BLOCKED_MIN_NS)
		*excess = behind;
	/* Work that it did while the device was idle was no wait, however long. */
	if (wait->works_after && behind > 0 && *excess > behind + timing->wake_up)
		*excess = behind + timing->wake_up;
	if (is_usual(timing, usual, *excess))
		return ORDER_NOTHING;
	/* A sleeping thread may wake up late; it did wait for this operation. */
	if (wait->kind == WAIT_EXPLICIT && timing->blocking)
		return blocked_by(wait, wait->enter, wait->exit + timing->error);
	slack = usual + usual / SLACK_PART;
	if (wait->works_after && slack < duration / WORK_AFTER_PART)
		slack = duration / WORK_AFTER_PART;
	slack += timing->wake_up;
	if (slack < duration / AFTERWARDS_PART)
		slack = duration / AFTERWARDS_PART;
	by = blocked_by(wait, wait->exit - slack, wait->exit + timing->error);
	/* It took long, but earlier work ended soon after it began. */
	if (by.op && !wait->own.op && wait->kind != WAIT_EXPLICIT &&
		is_usual(timing, usual, behind + timing->error))
		return ORDER_NOTHING;
	return by;
}

/*
 * For a call that waits for the device before it begins its own work.  It waited for the pending
 * work if its usual work fits after the end of that.
 */
static struct order_state judge_by_rule(const struct wait *wait, const struct wait_timing *timing,
	int64_t work, int64_t *excess)
{
	struct order_state before = wait->before;

	if (!wait->waits_first || !before.op ||
		wait->exit - before.end < work - work / WAIT_MIN_PART - timing->error)
		return ORDER_NOTHING;
	*excess = before.end - wait->enter - wait->overhead;
	return wait_is_short(timing, *excess, WAIT_MIN_NS) ? ORDER_NOTHING : before;
}

/*
 * Returns the longest time of a copy by itself, ns, if its last part took `transferred`: everything
 * beyond what is staged ahead.
 */
static int64_t alone_at_most(const struct wait *wait, int64_t transferred)
{
	return wait->bytes > STAGED_AHEAD ? (int64_t)((double)transferred * (double)wait->bytes /
						    (double)(wait->bytes - STAGED_AHEAD))
					  : INT64_MAX;
}

/*
 * A copy whose transfer lasted until it returned had waited for the operation before that, however
 * long the transfer took: other programs use the bus too.  Most of the time after the wait must be
 * that transfer; otherwise the thread was only late.
 */
static struct order_state judge_by_transfer(const struct wait *wait,
	const struct wait_timing *timing, int64_t usual, int64_t *excess)
{
	struct order_state before = wait->before;
	int64_t duration = wait->exit - wait->enter - wait->overhead;
	int64_t until = wait->transferred < wait->exit ? wait->transferred : wait->exit;

	if (!wait->waits || !before.op || wait->transfer == WALK_NEVER ||
		wait->transfer < before.end - timing->error ||
		until - wait->transfer < (wait->exit - before.end) / TRANSFER_PART)
		return ORDER_NOTHING;
	*excess = before.end - wait->enter - wait->overhead;
	if (usual > alone_at_most(wait, until - wait->transfer))
		usual = alone_at_most(wait, until - wait->transfer);
	/* The time in which the thread could stage data was no wait. */
	if (*excess > duration - usual)
		*excess = duration - usual;
	if (*excess < duration / UNBLOCKED_PART || *excess < usual / WAIT_MIN_PART)
		return ORDER_NOTHING;
	return wait_is_short(timing, *excess, WAIT_MIN_NS) ? ORDER_NOTHING : before;
}

struct order_state wait_judge(const struct wait *wait, const struct wait_timing *timing,
	const struct wait_usual *usual, int64_t *waited)
{
	struct wait without_own = *wait;
	struct order_state by = judge(wait, timing, usual->alone, waited);

	/* The copy's own transfer is known from this run: the excess has other causes. */
	without_own.own = ORDER_NOTHING;
	if (!by.op && wait->before.op && usual->with_own)
		by = judge(&without_own, timing, usual->with_own, waited);
	if (!by.op)
		by = judge_by_transfer(wait, timing, usual->alone, waited);
	if (!by.op && wait->may_be_behind)
		by = judge_by_rule(wait, timing, usual->afterwards, waited);
	return by;
}
