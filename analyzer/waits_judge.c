/* SPDX-License-Identifier: Apache-2.0 */
#include "waits_judge.h"

/* A wait shorter than this part of what the call usually takes is not told from noise either. */
#define WAIT_MIN_PART 4

/*
 * What a call does after the last operation has ended is a small part of a long wait: on an H200
 * 67 us in cudaDeviceSynchronize when pools are trimmed, 150 to 300 us in cuModuleUnload.
 */
#define AFTERWARDS_PART 16

/*
 * Wake-up latency: from the end of what an explicit wait waited for to its return.  On an H200,
 * spinning threads take 2 microseconds (99 %: 3 to 14 by call), 16 at once 50 to 360.  Where a
 * context lets its threads block, it is 27 to 29 microseconds on a processor that is awake, but 230
 * to 700 for one wait in ten to one in a hundred, and for most of a program's first.
 */
#define LATENCY_DEFAULT_NS 50000
#define LATENCY_BLOCKING_NS 700000
#define LATENCY_FLOOR_NS 15000
#define LATENCY_CAP_NS 200000
#define LATENCY_MIN_EXAMPLES 8
#define LATENCY_LIMIT_NS 1000000

/* Clocks of host and device drift apart by a few microseconds between calibrations. */
#define ERROR_FLOOR_NS 5000
#define ERROR_CAP_NS 20000

/*
 * What a call does itself once the device is idle (unmapping memory, say) varies more than what it
 * takes on an idle device; it counts as held if that was the last of so many parts of its time.  On
 * an H200 a new stack limit takes 240 us, and 390 to 650 after 2 ms of waiting.
 */
#define WORK_AFTER_PART 3

static int64_t clamp(int64_t value, int64_t low, int64_t high)
{
	return value < low ? low : value > high ? high : value;
}

int wait_timing_add(struct wait_timing *timing, int64_t latency)
{
	if (latency < -ERROR_CAP_NS || latency > LATENCY_LIMIT_NS)
		return 0;
	return sample_add(&timing->latency, latency);
}

/* A wait that seems to return before what it waited for has ended shows how far the clocks are
 * apart. */
void wait_timing_settle(struct wait_timing *timing)
{
	int64_t latency = LATENCY_DEFAULT_NS, early = 0;

	if (timing->latency.count >= LATENCY_MIN_EXAMPLES)
		latency = clamp(sample_quantile(&timing->latency, 0.99), LATENCY_FLOOR_NS,
			LATENCY_CAP_NS);
	if (timing->latency.count)
		early = -sample_quantile(&timing->latency, 0);
	/* How late a thread that sleeps woke up is not told from what the call did then. */
	timing->usually_late = timing->blocking ? LATENCY_DEFAULT_NS : latency;
	timing->wake_up = timing->blocking ? LATENCY_BLOCKING_NS : latency;
	timing->error = clamp(early > timing->clock_error ? early : timing->clock_error,
		ERROR_FLOOR_NS, ERROR_CAP_NS);
	timing->settled = 1;
}

int wait_is_short(const struct wait_timing *timing, int64_t waited)
{
	return waited < WAIT_MIN_NS || waited < 3 * timing->clock_error;
}

/*
 * What held the call, ORDER_NOTHING if it was not held: it ended just before the call returned.
 * A copy that spent a good part of its time behind earlier work is named after that work.
 */
static struct order_state held_by(const struct wait_candidate *candidate, int64_t earliest,
	int64_t latest)
{
	struct order_state before = candidate->before, own = candidate->own;

	if (own.op && own.end >= earliest && own.end <= latest) {
		int64_t behind = before.op ? before.end - candidate->enter : 0;

		return behind >= (candidate->exit - candidate->enter) / UNBLOCKED_PART ? before
										: own;
	}
	if (before.op && before.end >= earliest && before.end <= latest)
		return before;
	return ORDER_NOTHING;
}

/*
 * What held the call if it usually takes that long, and for how much longer in excess;
 * ORDER_NOTHING if nothing did.
 */
static struct order_state judge(const struct wait_candidate *candidate,
	const struct wait_timing *timing, int64_t usual, int64_t *excess)
{
	int64_t duration = candidate->exit - candidate->enter, slack;
	int64_t behind = candidate->before.op
		? candidate->before.end - candidate->enter - candidate->overhead : 0;

	*excess = duration - candidate->overhead - usual;
	/* It did its usual work after the wait, in less than the usual time. */
	if (candidate->works_after && behind >= usual && *excess < WAIT_MIN_NS)
		*excess = behind;
	/* What it did when the device was idle was no wait, however long that takes elsewhere. */
	if (candidate->works_after && behind > 0 && *excess > behind + timing->wake_up)
		*excess = behind + timing->wake_up;
	if (wait_is_short(timing, *excess) || *excess < usual / WAIT_MIN_PART)
		return ORDER_NOTHING;
	/* A thread that sleeps may be woken up late; what it asked for was this. */
	if (candidate->explicit_wait && timing->blocking)
		return held_by(candidate, candidate->enter, candidate->exit + timing->error);
	/* Pageable copies of 64 MiB, 6.3 ms alone, took 6.5 to 8.2 once their stream was free. */
	slack = usual + usual / 2;
	if (candidate->works_after && slack < duration / WORK_AFTER_PART)
		slack = duration / WORK_AFTER_PART;
	slack += timing->wake_up;
	if (slack < duration / AFTERWARDS_PART)
		slack = duration / AFTERWARDS_PART;
	return held_by(candidate, candidate->exit - slack, candidate->exit + timing->error);
}

/*
 * A call that waits for the device before it begins its own work, however long that takes: it
 * waited for what was pending, if its usual work had room behind the end of that.
 */
static struct order_state judge_by_rule(const struct wait_candidate *candidate,
	const struct wait_timing *timing, int64_t work, int64_t *excess)
{
	struct order_state before = candidate->before;

	if (!candidate->waits_first || !before.op ||
		candidate->exit - before.end < work - work / WAIT_MIN_PART - timing->error)
		return ORDER_NOTHING;
	*excess = before.end - candidate->enter - candidate->overhead;
	return wait_is_short(timing, *excess) ? ORDER_NOTHING : before;
}

/*
 * A copy that was still at its own transfer when it returned had waited for whatever that comes
 * after, however long the transfer took: other programs share the bus.  What it stayed for behind
 * the wait must be that transfer, most of it, or the thread was only late.
 */
static struct order_state judge_by_transfer(const struct wait_candidate *candidate,
	const struct wait_timing *timing, int64_t usual, int64_t *excess)
{
	struct order_state before = candidate->before;
	int64_t duration = candidate->exit - candidate->enter - candidate->overhead;
	int64_t until = candidate->transferred < candidate->exit ? candidate->transferred
								 : candidate->exit;

	if (!candidate->waits || !before.op || candidate->transfer == WALK_NEVER ||
		candidate->transfer < before.end - timing->error ||
		until - candidate->transfer < (candidate->exit - before.end) / 2)
		return ORDER_NOTHING;
	*excess = before.end - candidate->enter - candidate->overhead;
	/* What the thread can have staged meanwhile was no wait. */
	if (*excess > duration - usual)
		*excess = duration - usual;
	if (*excess < duration / UNBLOCKED_PART || *excess < usual / WAIT_MIN_PART)
		return ORDER_NOTHING;
	return wait_is_short(timing, *excess) ? ORDER_NOTHING : before;
}

struct order_state wait_judge(const struct wait_candidate *candidate,
	const struct wait_timing *timing, const struct wait_usual *usual, int64_t *waited)
{
	struct wait_candidate without_own = *candidate;
	struct order_state by = judge(candidate, timing, usual->alone, waited);

	/* A copy whose own transfer is known from this run: what is beyond that, others caused. */
	without_own.own = ORDER_NOTHING;
	if (!by.op && candidate->before.op && usual->with_own)
		by = judge(&without_own, timing, usual->with_own, waited);
	if (!by.op)
		by = judge_by_transfer(candidate, timing, usual->alone, waited);
	if (!by.op && candidate->may_be_behind)
		by = judge_by_rule(candidate, timing, usual->afterwards, waited);
	return by;
}

