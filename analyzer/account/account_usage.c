/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What threads did between their calls: they computed, were blocked, or were preempted, by the
 * readings of their usage; and what ended the time in which they were blocked.
 */
#include <stdlib.h>

#include "account_parts.h"
#include "constants.h"
#include "host_runs.h"
#include "memory.h"
#include "sorted.h"

int account_read_usage(struct account *account)
{
	sqlite3_stmt *q = db_prepare(account->db,
		"SELECT thread, since, time, off, voluntary, involuntary FROM usage"
		" ORDER BY thread, time");
	int step = -1;

	while (q && (step = db_step(q)) > 0)
		*array_push(account->usage, account->usage_count) = (struct account_usage){
			.thread = (uint32_t)sqlite3_column_int64(q, 0),
			.since = sqlite3_column_int64(q, 1),
			.time = sqlite3_column_int64(q, 2),
			.off = sqlite3_column_int64(q, 3),
			.voluntary = (uint32_t)sqlite3_column_int64(q, 4),
			.involuntary = (uint32_t)sqlite3_column_int64(q, 5),
		};
	sqlite3_finalize(q);
	for (size_t i = 0; i < account->usage_count; i++) {
		const struct account_usage *usage = &account->usage[i];
		struct account_thread *thread = usage->thread < account->run->thread_count
			? &account->threads[usage->thread]
			: account->threads;

		thread->usage = thread->usage ? thread->usage : usage;
		thread->usage_count++;
	}
	return step;
}

/*
 * Returns how long a thread of the process is off its processor each time that it is preempted, ns:
 * the mean of the readings in which it was not blocked, too.
 */
static int64_t measure_preemption(const struct account *account)
{
	double off = 0, times = 0;

	for (size_t i = 0; i < account->of_count; i++) {
		const struct account_thread *thread = &account->threads[account->of[i]];

		for (size_t n = 0; n < thread->usage_count; n++) {
			if (thread->usage[n].voluntary || !thread->usage[n].involuntary)
				continue;
			off += (double)thread->usage[n].off;
			times += thread->usage[n].involuntary;
		}
	}
	return times > 0 ? (int64_t)(off / times) : 0;
}

/* How much of the time off the processor the thread was preempted. */
static int64_t preempted_of(const struct account_usage *usage, int64_t preemption)
{
	if (!usage->voluntary)
		return usage->involuntary ? usage->off : 0;
	return preemption && usage->involuntary > usage->off / preemption
		? usage->off
		: usage->involuntary * preemption;
}

static int64_t at_most(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/* Returns the number of a thread's first call that returned after a time. */
static size_t find_return(const struct account_thread *thread, int64_t after)
{
	return sorted_after(thread->call, thread->count, sizeof(*thread->call),
		offsetof(struct account_call, exit), after);
}

static int64_t set_end(struct account_gap *gap, enum account_end end,
	const struct account_thread *other, const struct account_call *call)
{
	gap->ended = (uint8_t)end;
	gap->thread = other->thread;
	gap->site = call->site;
	return call->exit;
}

/*
 * Finds what ended the blocked time of a gap, if that can have been from a time on, until the gap's
 * end: the first host function that returned, else the first wait of another thread that did, else
 * another thread's last call.  A thread that calls on right away did not hand over: it must have
 * ended, or have been blocked itself after that call.  Returns when it ended, RUN_NEVER: not known.
 */
static int64_t find_end(const struct account *account, struct account_gap *gap, uint32_t thread,
	int64_t earliest, int64_t until)
{
	const struct run *run = account->run;
	uint64_t count = host_run_count(run);
	int64_t first = RUN_NEVER, latest = INT64_MIN;

	for (uint64_t i = host_runs_find(run, earliest); i < count; i++) {
		const struct host_run *host = host_run_at(run, i);

		if (host->exit > until)
			break;
		if (host->process != account->process || host->thread == thread)
			continue;
		gap->ended = END_HOST_FUNCTION;
		gap->stream = host->stream;
		return host->exit;
	}
	for (size_t i = 0; i < account->busiest_count; i++) {
		const struct account_thread *other = &account->threads[account->busiest[i]];
		const struct account_call *end = other->call + other->count;
		const struct account_call *call = other->call + find_return(other, earliest - 1);

		while (call < end && call->exit <= until && call->cause != ACCOUNT_WAIT)
			call++;
		if (other->thread != thread && call < end && call->exit <= until &&
			call->exit < first)
			first = set_end(gap, END_WAIT, other, call);
	}
	for (size_t i = 0; i < account->busiest_count && first == RUN_NEVER; i++) {
		const struct account_thread *other = &account->threads[account->busiest[i]];
		size_t next = find_return(other, until);
		const struct account_call *last = next ? &other->call[next - 1] : NULL;

		if (other->thread != thread && last && last->exit >= earliest &&
			last->exit > latest &&
			(next == other->count ||
				(other->gap &&
					other->gap[next].preempted - other->gap[next].blocked >=
						BLOCKED_LEAST_NS)))
			latest = set_end(gap, END_CALL, other, last);
	}
	return first == RUN_NEVER && latest != INT64_MIN ? latest : first;
}

/* Is the gap before a call long enough to be read at its end, or at that of a later one? */
static int is_long(const struct account_thread *thread, size_t number)
{
	int64_t from = number ? thread->call[number - 1].exit : RUN_NEVER;
	int64_t until = thread->call[number].enter;

	return from < until && until - from > USAGE_GAP_NS;
}

/*
 * Divides the time off the processor between two readings among the thread's long gaps that begin
 * in between, in proportion: several if queries, at which nothing is read, end them.  first: the
 * number of the first call after the gaps of earlier readings.  Returns that for later ones.
 */
static size_t divide(const struct account_thread *thread, const struct account_usage *usage,
	int64_t blocked, int64_t preempted, size_t first)
{
	int64_t whole = 0;
	size_t end = first;

	for (; end < thread->count &&
		(thread->call[end - 1].exit < usage->time ||
			thread->call[end - 1].exit == RUN_NEVER);
		end++)
		if (is_long(thread, end) && thread->call[end - 1].exit >= usage->since)
			whole += thread->call[end].enter - thread->call[end - 1].exit;
	for (size_t i = first; i < end; i++) {
		int64_t from = thread->call[i - 1].exit, length;
		struct account_gap *gap = &thread->gap[i];
		double part;

		if (!is_long(thread, i) || from < usage->since)
			continue;
		length = thread->call[i].enter - from;
		part = (double)length / (double)whole;
		gap->is_read = 1;
		gap->blocked = from;
		gap->preempted = from + at_most((int64_t)(part * (double)blocked), length);
		gap->end = gap->preempted +
			at_most((int64_t)(part * (double)preempted),
				from + length - gap->preempted);
	}
	return end;
}

static void read_gaps(struct account_thread *thread, int64_t preemption)
{
	size_t next = 1;

	thread->gap = xcalloc(thread->count, sizeof(*thread->gap));
	for (size_t i = 0; i < thread->count; i++) {
		int64_t until = thread->call[i].enter;

		thread->gap[i] = (struct account_gap){ until, until, until,
			.is_read = i && !is_long(thread, i) };
	}
	for (size_t i = 0; i < thread->usage_count; i++) {
		const struct account_usage *usage = &thread->usage[i];
		int64_t preempted = preempted_of(usage, preemption);

		next = divide(thread, usage, usage->off - preempted, preempted, next);
	}
}

/* Moves the time off the processor in a gap to where it ended, if that is known. */
static void end_gap(const struct account *account, const struct account_thread *thread,
	size_t number)
{
	struct account_gap *gap = &thread->gap[number];
	int64_t until = thread->call[number].enter, blocked = gap->preempted - gap->blocked;
	/* It was blocked until a while after what ended it, as it had to be woken. */
	int64_t slack = at_most(-BLOCKED_SLACK_NS, -blocked / BLOCKED_SLACK_PART), end, later;

	if (blocked < BLOCKED_LEAST_NS)
		return;
	end = find_end(account, gap, thread->thread, gap->preempted + slack, until);
	if (end == RUN_NEVER || end <= gap->preempted)
		return;
	/* A preemption that does not fit after it was before it. */
	later = at_most(end - gap->preempted, until - gap->end);
	gap->blocked += later;
	gap->preempted += later;
	gap->end += later;
}

void account_find_gaps(struct account *account)
{
	int64_t preemption = measure_preemption(account);

	for (size_t i = 0; i < account->of_count; i++) {
		struct account_thread *thread = &account->threads[account->of[i]];

		if (thread->usage_count && thread->count)
			read_gaps(thread, preemption);
	}
	for (size_t i = 0; i < account->of_count; i++) {
		const struct account_thread *thread = &account->threads[account->of[i]];

		for (size_t n = 0; thread->gap && n < thread->count; n++)
			end_gap(account, thread, n);
	}
}

static unsigned add_span(struct account_span *span, unsigned count, int64_t from, int64_t until,
	int64_t low, int64_t high)
{
	int64_t begin = from > low ? from : low, end = until < high ? until : high;

	if (begin >= end)
		return count;
	span[count] = (struct account_span){ begin, end };
	return count + 1;
}

unsigned account_split(const struct account_thread *thread, size_t next, enum account_cause cause,
	int64_t from, int64_t until, struct account_span span[2])
{
	const struct account_gap *gap;

	if (!thread->gap || !next || next >= thread->count || !thread->gap[next].is_read)
		return 0;
	gap = &thread->gap[next];
	if (from < thread->call[next - 1].exit)
		from = thread->call[next - 1].exit;
	switch (cause) {
	case ACCOUNT_COMPUTING:
		return add_span(span, add_span(span, 0, from, until, INT64_MIN, gap->blocked), from,
			until, gap->end, INT64_MAX);
	case ACCOUNT_BLOCKED:
		return add_span(span, 0, from, until, gap->blocked, gap->preempted);
	case ACCOUNT_PREEMPTED:
		return add_span(span, 0, from, until, gap->preempted, gap->end);
	default:
		return 0;
	}
}

/* --- table blocked --- */

static void add_blocked(struct account *account, uint32_t from, uint32_t site,
	const struct account_gap *by, int64_t ns)
{
	const uint64_t words[] = { (uint64_t)from << 32 | site,
		(uint64_t)by->ended << 32 | by->stream, (uint64_t)by->thread << 32 | by->site };
	uint64_t key = map_hash_words(words, 3), known = map_get(&account->blocks, key, 0);

	if (!known) {
		*array_push(account->blocked, account->blocked_count) =
			(struct account_blocked){ from, site, *by, 0, 0 };
		known = account->blocked_count;
		map_set(&account->blocks, key, known);
	}
	account->blocked[known - 1].ns += ns;
	account->blocked[known - 1].times++;
}

void account_add_outside(struct account *account, const struct account_thread *thread, size_t next,
	uint32_t from_site, int64_t from, int64_t until)
{
	uint32_t site = thread->call[next].site;
	int64_t rest = until - from;

	for (enum account_cause i = ACCOUNT_COMPUTING; i <= ACCOUNT_PREEMPTED; i++) {
		struct account_span span[2];
		unsigned count = account_split(thread, next, i, from, until, span);

		for (unsigned k = 0; k < count; k++) {
			int64_t ns = span[k].until - span[k].from;

			rest -= ns;
			account_add(account, ACCOUNT_HOST, i, from_site, site, ns);
			if (i == ACCOUNT_BLOCKED)
				add_blocked(account, from_site, site, &thread->gap[next], ns);
		}
	}
	account_add(account, ACCOUNT_HOST, ACCOUNT_OUTSIDE, from_site, site, rest);
}
