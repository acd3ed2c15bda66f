/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What threads did between their calls: they computed, were blocked, or were preempted, by the
 * readings of their usage; and what ended the time in which they were blocked.
 */
#include <stdlib.h>

#include "account_internal.h"
#include "bounds.h"
#include "constants.h"
#include "large.h"

/* Is the gap before a call long enough to be read at its end, or at that of a later one? */
static int is_long(const struct account_thread *thread, size_t number)
{
	int64_t from = number ? thread->call[number - 1].exit : RUN_NEVER;
	int64_t until = thread->call[number].enter;

	return from < until && until - from > USAGE_GAP_NS;
}

/* preemption: how long the thread is off its processor each time, ns. */
static void read_gaps(struct account_thread *thread, int64_t preemption)
{
	size_t next = 1, end; /* numbers of calls after gaps of earlier readings, and of this one */
	int64_t whole;

	thread->gap = large_zeroed(thread->count, sizeof(*thread->gap));
	for (size_t i = 0; i < thread->count; i++) {
		int64_t until = thread->call[i].enter;

		thread->gap[i] = (struct account_gap){ until, until, until,
			.is_read = i && !is_long(thread, i) };
	}
	for (size_t i = 0; i < thread->usage_count; i++) {
		const struct usage_reading *usage = &thread->usage[i];
		int64_t preempted = usage->involuntary * preemption;

		if (preemption && usage->involuntary > usage->off / preemption)
			preempted = usage->off;
		if (!usage->voluntary)
			preempted = usage->involuntary ? usage->off : 0;
		/*
		 * The time off the processor between two readings is divided among the thread's
		 * long gaps that begin in between, in proportion: several if queries, at which
		 * nothing is read, end them.
		 */
		whole = 0;
		for (end = next; end < thread->count &&
			(thread->call[end - 1].exit < usage->time ||
				thread->call[end - 1].exit == RUN_NEVER);
			end++)
			if (is_long(thread, end) && thread->call[end - 1].exit >= usage->since)
				whole += thread->call[end].enter - thread->call[end - 1].exit;
		for (; next < end; next++) {
			int64_t from = thread->call[next - 1].exit, length;
			struct account_gap *gap = &thread->gap[next];
			double part;

			if (!is_long(thread, next) || from < usage->since)
				continue;
			length = thread->call[next].enter - from;
			part = (double)length / (double)whole;
			gap->is_read = 1;
			gap->blocked = from;
			gap->preempted = from +
				at_most((int64_t)(part * (double)(usage->off - preempted)), length);
			gap->end = gap->preempted +
				at_most((int64_t)(part * (double)preempted),
					from + length - gap->preempted);
		}
	}
}

void account_find_gaps(struct account *account)
{
	double off = 0, times = 0;
	int64_t preemption;

	/*
	 * How long a thread of the process is off its processor each time that it is preempted: the
	 * mean of the readings in which it was not blocked, too.
	 */
	for (size_t i = 0; i < account->of_count; i++) {
		const struct account_thread *thread = &account->threads[account->of[i]];

		for (size_t n = 0; n < thread->usage_count; n++) {
			if (thread->usage[n].voluntary || !thread->usage[n].involuntary)
				continue;
			off += (double)thread->usage[n].off;
			times += thread->usage[n].involuntary;
		}
	}
	preemption = times > 0 ? (int64_t)(off / times) : 0;
	for (size_t i = 0; i < account->of_count; i++) {
		struct account_thread *thread = &account->threads[account->of[i]];

		if (!thread->usage_count || !thread->count)
			continue;
		read_gaps(thread, preemption);
		/* The time off the processor is where it ended, if that is known. */
		for (size_t n = 0; n < thread->count; n++) {
			struct account_gap *gap = &thread->gap[n];
			int64_t until = thread->call[n].enter, later;

			if (gap->preempted - gap->blocked < BLOCKED_LEAST_NS)
				continue;
			gap->ended = handovers_at(&account->run->evidence.handovers, thread->thread,
				until);
			if (!gap->ended)
				continue;
			/* A preemption that does not fit after it was before it. */
			later = at_most(gap->ended->ended - gap->preempted, until - gap->end);
			later = at_least(later, 0);
			gap->blocked += later;
			gap->preempted += later;
			gap->end += later;
		}
	}
}

const enum account_cause account_parts[ACCOUNT_PARTS] = { ACCOUNT_COMPUTING, ACCOUNT_BLOCKED,
	ACCOUNT_PREEMPTED, ACCOUNT_COMPUTING };

struct span account_part(const struct account_thread *thread, size_t next, int part, int64_t from,
	int64_t until)
{
	const struct account_gap *gap =
		thread->gap && next && next < thread->count ? &thread->gap[next] : NULL;
	const int64_t *starts;

	if (!gap || !gap->is_read)
		return (struct span){ from, from };
	from = at_least(from, thread->call[next - 1].exit);
	starts = (const int64_t[]){ from, gap->blocked, gap->preempted, gap->end, until };
	return (struct span){ at_least(from, starts[part]), at_most(until, starts[part + 1]) };
}

uint32_t account_site_of_part(const struct account_thread *thread, size_t next, int part,
	uint32_t before)
{
	const struct handover *ended =
		thread->gap && next < thread->count ? thread->gap[next].ended : NULL;

	return account_parts[part] == ACCOUNT_BLOCKED && ended && ended->asleep ? ended->asleep
										: before;
}
