/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What threads did between their calls: they computed, were blocked, or were preempted, by the
 * readings of their usage; and what ended the time in which they were blocked.
 */
#include <stdlib.h>

#include "account_parts.h"
#include "array.h"
#include "constants.h"
#include "host_runs.h"
#include "sorted.h"

int account_read_usage(struct account_run *all, struct db *db)
{
	sqlite3_stmt *q = db_prepare(db,
		"SELECT thread, since, time, off, voluntary, involuntary FROM usage"
		" ORDER BY thread, time");
	int step = -1;

	while (q && (step = db_step(q)) > 0) {
		struct account_usage *more =
			array_room(all->usage, all->usage_count, sizeof(*more));

		if (!more) {
			step = -1;
			break;
		}
		all->usage = more;
		more[all->usage_count++] = (struct account_usage){
			.thread = (uint32_t)sqlite3_column_int64(q, 0),
			.since = sqlite3_column_int64(q, 1),
			.time = sqlite3_column_int64(q, 2),
			.off = sqlite3_column_int64(q, 3),
			.voluntary = (uint32_t)sqlite3_column_int64(q, 4),
			.involuntary = (uint32_t)sqlite3_column_int64(q, 5),
		};
	}
	sqlite3_finalize(q);
	return step;
}

/* Returns the number of the first reading of a thread at that time or later. */
static size_t find_usage(const struct account *account, uint32_t thread, int64_t at)
{
	size_t low = 0, high = account->usage_count;

	while (low < high) {
		size_t middle = (low + high) / 2;
		const struct account_usage *usage = &account->usage[middle];

		if (usage->thread < thread || (usage->thread == thread && usage->time < at))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/*
 * Returns how long a thread of the process is off its processor each time that it is preempted, ns:
 * the mean of the readings in which it was not blocked, too.
 */
static int64_t measure_preemption(const struct account *account)
{
	double off = 0, times = 0;

	for (size_t i = 0; i < account->of_count; i++) {
		size_t at = find_usage(account, account->of[i], INT64_MIN);

		for (; at < account->usage_count && account->usage[at].thread == account->of[i];
			at++) {
			if (account->usage[at].voluntary || !account->usage[at].involuntary)
				continue;
			off += (double)account->usage[at].off;
			times += account->usage[at].involuntary;
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

/* Returns the number of a thread's last call that had returned by then, its count: none. */
static size_t find_returned(const struct account_thread *thread, int64_t until)
{
	size_t after = sorted_after(thread->call, thread->count, sizeof(*thread->call),
		offsetof(struct account_call, exit), until);

	return after ? after - 1 : thread->count;
}

/* A gap in which a thread was blocked, and when that can have ended at the earliest. */
struct ending {
	const struct account *account;
	uint32_t thread;
	int64_t earliest, until;
	struct account_gap *gap;
};

static void set_end(const struct ending *ending, enum account_end end,
	const struct account_thread *other, size_t call)
{
	ending->gap->ended = (uint8_t)end;
	ending->gap->thread = other->thread;
	ending->gap->site = other->call[call].site;
}

/* The first wait of another thread that returned when the blocked time can have ended. */
static void look_for_wait(const struct ending *ending, const struct account_thread *other,
	int64_t *first)
{
	size_t at = find_returned(other, ending->earliest - 1);

	for (at = at == other->count ? 0 : at + 1; at < other->count; at++) {
		const struct account_call *call = &other->call[at];

		if (call->exit > ending->until || call->exit >= *first)
			return;
		if (call->cause != ACCOUNT_WAIT)
			continue;
		*first = call->exit;
		set_end(ending, END_WAIT, other, at);
		return;
	}
}

/*
 * Another thread's last call before this one went on.  One that calls on right away did not hand
 * over: it must have ended, or have been blocked itself after that.
 */
static void look_for_stop(const struct ending *ending, const struct account_thread *other,
	int64_t *latest)
{
	size_t at = find_returned(other, ending->until), next = at + 1;
	int64_t exit = at < other->count ? other->call[at].exit : INT64_MIN;

	if (exit < ending->earliest || exit <= *latest)
		return;
	if (next < other->count &&
		(!other->gap ||
			other->gap[next].preempted - other->gap[next].blocked < BLOCKED_LEAST_NS))
		return;
	*latest = exit;
	set_end(ending, END_CALL, other, at);
}

/* The first host function that returned when the blocked time can have ended; NULL: none. */
static const struct host_run *find_host_run(const struct ending *ending)
{
	const struct run *run = ending->account->run;
	uint64_t count = host_run_count(run);

	for (uint64_t i = host_runs_find(run, ending->earliest); i < count; i++) {
		const struct host_run *host = host_run_at(run, i);

		if (host->exit > ending->until)
			break;
		if (host->process == ending->account->process && host->thread != ending->thread)
			return host;
	}
	return NULL;
}

/* Returns when the blocked time ended, RUN_NEVER: nothing is known to have ended it. */
static int64_t find_end(const struct ending *ending)
{
	const struct account *account = ending->account;
	const struct host_run *host = find_host_run(ending);
	int64_t first = RUN_NEVER, latest = INT64_MIN;

	if (host) {
		ending->gap->ended = END_HOST_FUNCTION;
		ending->gap->stream = host->stream;
		return host->exit;
	}
	for (size_t i = 0; i < account->busiest_count; i++)
		if (account->busiest[i] != ending->thread)
			look_for_wait(ending, &account->threads[account->busiest[i]], &first);
	for (size_t i = 0; i < account->busiest_count && first == RUN_NEVER; i++)
		if (account->busiest[i] != ending->thread)
			look_for_stop(ending, &account->threads[account->busiest[i]], &latest);
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

static void read_gaps(const struct account *account, const struct account_thread *thread,
	size_t first_usage, int64_t preemption)
{
	size_t next = 1;

	for (size_t i = 0; i < thread->count; i++) {
		int64_t until = thread->call[i].enter;

		thread->gap[i] = (struct account_gap){ until, until, until,
			.is_read = i && !is_long(thread, i) };
	}
	for (size_t at = first_usage; at < account->usage_count; at++) {
		const struct account_usage *usage = &account->usage[at];
		int64_t preempted = preempted_of(usage, preemption);

		if (usage->thread != thread->thread)
			break;
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
	int64_t slack = at_most(-BLOCKED_SLACK_NS, -blocked / BLOCKED_SLACK_PART);
	struct ending ending = { account, thread->thread, gap->preempted + slack, until, gap };
	int64_t end = blocked >= BLOCKED_LEAST_NS ? find_end(&ending) : RUN_NEVER, later;

	if (end == RUN_NEVER || end <= gap->preempted)
		return;
	/* A preemption that does not fit after it was before it. */
	later = at_most(end - gap->preempted, until - gap->end);
	gap->blocked += later;
	gap->preempted += later;
	gap->end += later;
}

int account_find_gaps(struct account *account)
{
	int64_t preemption = measure_preemption(account);

	for (size_t i = 0; i < account->of_count; i++) {
		struct account_thread *thread = &account->threads[account->of[i]];
		size_t first = find_usage(account, thread->thread, INT64_MIN);

		if (first == account->usage_count ||
			account->usage[first].thread != thread->thread || !thread->count)
			continue;
		thread->gap = calloc(thread->count, sizeof(*thread->gap));
		if (!thread->gap) {
			fputs("cufence: out of memory\n", stderr);
			return -1;
		}
		read_gaps(account, thread, first, preemption);
	}
	for (size_t i = 0; i < account->of_count; i++) {
		const struct account_thread *thread = &account->threads[account->of[i]];

		for (size_t n = 0; thread->gap && n < thread->count; n++)
			end_gap(account, thread, n);
	}
	return 0;
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

static int add_blocked(struct account *account, uint32_t from, uint32_t site,
	const struct account_gap *by, int64_t ns)
{
	const uint64_t words[] = { (uint64_t)from << 32 | site,
		(uint64_t)by->ended << 32 | by->stream, (uint64_t)by->thread << 32 | by->site };
	uint64_t key = map_hash_words(words, 3), known = map_get(&account->blocks, key, 0);
	struct account_blocked *more;

	if (known) {
		account->blocked[known - 1].ns += ns;
		account->blocked[known - 1].times++;
		return 0;
	}
	more = array_room(account->blocked, account->blocked_count, sizeof(*more));
	if (!more)
		return -1;
	account->blocked = more;
	more[account->blocked_count++] = (struct account_blocked){ from, site, *by, ns, 1 };
	map_set(&account->blocks, key, account->blocked_count);
	return 0;
}

int account_add_outside(struct account *account, const struct account_thread *thread, size_t next,
	uint32_t from_site, int64_t from, int64_t until)
{
	static const enum account_cause causes[] = { ACCOUNT_COMPUTING, ACCOUNT_BLOCKED,
		ACCOUNT_PREEMPTED };
	uint32_t site = thread->call[next].site;
	int64_t rest = until - from;

	for (size_t i = 0; i < sizeof(causes) / sizeof(*causes); i++) {
		struct account_span span[2];
		unsigned count = account_split(thread, next, causes[i], from, until, span);

		for (unsigned k = 0; k < count; k++) {
			int64_t ns = span[k].until - span[k].from;

			rest -= ns;
			if (account_add(account, ACCOUNT_HOST, causes[i], from_site, site, ns) ||
				(causes[i] == ACCOUNT_BLOCKED &&
					add_blocked(account, from_site, site, &thread->gap[next],
						ns)))
				return -1;
		}
	}
	return account_add(account, ACCOUNT_HOST, ACCOUNT_OUTSIDE, from_site, site, rest);
}
