/* SPDX-License-Identifier: Apache-2.0 */
/* The calls of threads, and the activity of the host while a device was idle. */
#include <stdlib.h>

#include "account_parts.h"
#include "array.h"

/* Parts of an interval; what remains of one with more has no cause in the account. */
#define GAPS_MOST 64

static int is_wait(const struct run *run, const struct run_call *call, uint32_t id)
{
	return kind_family(call->kind) == FAMILY_wait || run_wait_of(&run->evidence, id) != NULL;
}

static int64_t held_in(const struct run *run, uint32_t id)
{
	const struct run_wait *wait = run_wait_of(&run->evidence, id);
	int64_t held = 0;

	for (; wait; wait = run_next_wait(&run->evidence, wait))
		if (wait->waited > held)
			held = wait->waited;
	return held;
}

/* Extends the last call by a call made within it, or by its own inner call. */
static void add_inner(struct account_call *outer, const struct run *run, uint32_t id)
{
	const struct run_call *call = run_call(run, id);

	outer->held += held_in(run, id);
	if (is_wait(run, call, id))
		outer->cause = ACCOUNT_WAIT;
	else if (kind_has(call->kind, K_WORK) && outer->cause == ACCOUNT_CALL)
		outer->cause = ACCOUNT_SUBMIT;
	if (!outer->site)
		outer->site = run_link(run, id)->site;
}

/* A loop of queries that ended in success is one wait, from its first query on. */
static void merge_polls(struct account_thread *thread, int64_t since)
{
	struct account_call *last = &thread->call[thread->count - 1];
	struct account_call *first = last;

	while (first > thread->call && first[-1].exit > since)
		first--;
	first->exit = last->exit;
	first->held = first->exit - since;
	first->cause = ACCOUNT_WAIT;
	thread->count = (size_t)(first - thread->call) + 1;
}

static void add_query(struct account_thread *thread, const struct polls *polls, uint32_t id)
{
	int64_t since = polls_since(polls, id);

	if (since != INT64_MIN)
		merge_polls(thread, since);
}

static int read_thread(struct account_thread *thread, const struct run *run,
	const struct polls *polls)
{
	for (uint32_t id = run->thread[thread->thread].first; id; id = run_link(run, id)->next) {
		const struct run_call *call = run_call(run, id);
		struct account_call *more;

		if (!call)
			continue;
		if (run_link(run, id)->parent && thread->count) {
			add_inner(&thread->call[thread->count - 1], run, id);
			add_query(thread, polls, id);
			continue;
		}
		more = array_room(thread->call, thread->count, sizeof(*more));
		if (!more)
			return -1;
		thread->call = more;
		more[thread->count] = (struct account_call){ .enter = call->enter,
			.exit = run_exit(run, call, id),
			.site = run_link(run, id)->site,
			.cause = ACCOUNT_CALL };
		add_inner(&more[thread->count++], run, id);
		add_query(thread, polls, id);
	}
	return 0;
}

/* Inserts a thread into the list, which is sorted by number of calls, descending. */
static void add_busy(struct account *account, uint32_t thread)
{
	size_t at = account->busiest_count;

	if (at < ACCOUNT_BUSIEST)
		account->busiest_count++;
	for (; at &&
		account->threads[account->busiest[at - 1]].count < account->threads[thread].count;
		at--)
		if (at < ACCOUNT_BUSIEST)
			account->busiest[at] = account->busiest[at - 1];
	if (at < ACCOUNT_BUSIEST)
		account->busiest[at] = thread;
}

int account_read_calls(struct account *account)
{
	for (size_t i = 0; i < account->of_count; i++) {
		struct account_thread *thread = &account->threads[account->of[i]];

		thread->thread = account->of[i];
		if (read_thread(thread, account->run, account->polls))
			return -1;
		if (thread->count)
			add_busy(account, account->of[i]);
	}
	return 0;
}

/* --- an interval in which the device was idle --- */

struct gap {
	int64_t from, until;
};

/* Parts of an interval without a cause yet, in order of time. */
struct gaps {
	struct gap gap[GAPS_MOST];
	size_t count;
};

/* Removes an interval, and returns how much of it was left, ns. */
static int64_t remove_interval(struct gaps *gaps, int64_t from, int64_t until)
{
	struct gaps left = { .count = 0 };
	int64_t taken = 0;

	/* An array of one more suffices: an interval is split in two at most once. */
	if (gaps->count == GAPS_MOST)
		return 0;
	for (size_t i = 0; i < gaps->count; i++) {
		struct gap gap = gaps->gap[i];
		int64_t begin = gap.from > from ? gap.from : from;
		int64_t end = gap.until < until ? gap.until : until;

		if (begin >= end) {
			left.gap[left.count++] = gap;
			continue;
		}
		taken += end - begin;
		if (gap.from < begin)
			left.gap[left.count++] = (struct gap){ gap.from, begin };
		if (end < gap.until)
			left.gap[left.count++] = (struct gap){ end, gap.until };
	}
	*gaps = left;
	return taken;
}

/* The last call before and the first call after a time in which no thread was in CUDA. */
struct around {
	int64_t ended, begins;
	uint32_t from, to;
};

static void find_calls_around(struct around *around, const struct account_thread *thread,
	const struct gap *gap)
{
	for (size_t i = thread->at ? thread->at - 1 : 0; i < thread->count; i++) {
		const struct account_call *call = &thread->call[i];

		if (call->exit <= gap->from && call->exit > around->ended) {
			around->ended = call->exit;
			around->from = call->site;
		}
		if (call->enter < gap->until)
			continue;
		if (call->enter < around->begins) {
			around->begins = call->enter;
			around->to = call->site;
		}
		return;
	}
}

static int assign_calls(struct account *account, struct gaps *gaps, struct account_thread *thread,
	int32_t device, int64_t from, int64_t until, int is_other)
{
	while (thread->at < thread->count && thread->call[thread->at].exit <= from)
		thread->at++;
	for (size_t i = thread->at; i < thread->count && thread->call[i].enter < until; i++) {
		const struct account_call *call = &thread->call[i];
		int64_t taken;

		if (is_other && call->cause == ACCOUNT_WAIT)
			continue;
		taken = remove_interval(gaps, call->enter, call->exit);
		if (taken && account_add(account, device, call->cause, 0, call->site, taken))
			return -1;
	}
	return 0;
}

static const enum account_cause outside_causes[] = { ACCOUNT_COMPUTING, ACCOUNT_BLOCKED,
	ACCOUNT_PREEMPTED };
enum { OUTSIDE_CAUSES = sizeof(outside_causes) / sizeof(*outside_causes) };

/* Removes and adds the parts of an interval outside of CUDA in which a thread did that. */
static int assign_outside(struct account *account, struct gaps *gaps,
	const struct account_thread *thread, enum account_cause cause, int32_t device,
	const struct gap *gap, const struct around *around)
{
	size_t next = thread->at;
	struct account_span span[2];
	unsigned count;

	while (next < thread->count && thread->call[next].enter < gap->until)
		next++;
	count = account_split(thread, next, cause, gap->from, gap->until, span);
	for (unsigned i = 0; i < count; i++)
		if (account_add(account, device, cause, around->from, around->to,
			    remove_interval(gaps, span[i].from, span[i].until)))
			return -1;
	return 0;
}

/*
 * No thread was in CUDA.  The host computed while the submitting thread or one of the busiest did;
 * else it was what the submitting thread was.
 */
static int add_outside(struct account *account, uint32_t thread, int32_t device,
	const struct gap *gap, const struct around *around)
{
	struct gaps gaps = { .gap = { *gap }, .count = 1 };
	const struct account_thread *own = &account->threads[thread];
	int rc = assign_outside(account, &gaps, own, ACCOUNT_COMPUTING, device, gap, around);

	for (size_t i = 0; i < account->busiest_count && !rc; i++)
		if (account->busiest[i] != thread)
			rc = assign_outside(account, &gaps, &account->threads[account->busiest[i]],
				ACCOUNT_COMPUTING, device, gap, around);
	for (size_t i = 1; i < OUTSIDE_CAUSES && !rc; i++)
		rc = assign_outside(account, &gaps, own, outside_causes[i], device, gap, around);
	for (size_t i = 0; i < gaps.count && !rc; i++)
		rc = account_add(account, device, ACCOUNT_OUTSIDE, around->from, around->to,
			gaps.gap[i].until - gaps.gap[i].from);
	return rc;
}

int account_idle_host(struct account *account, int32_t device, uint32_t thread, uint32_t site,
	int64_t from, int64_t until)
{
	struct gaps gaps = { .gap = { { from, until } }, .count = 1 };
	const uint32_t *other = account->busiest;
	int rc = assign_calls(account, &gaps, &account->threads[thread], device, from, until, 0);

	for (size_t i = 0; i < account->busiest_count && !rc; i++)
		if (other[i] != thread)
			rc = assign_calls(account, &gaps, &account->threads[other[i]], device, from,
				until, 1);
	for (size_t i = 0; i < gaps.count && !rc; i++) {
		struct around around = { INT64_MIN, INT64_MAX, 0, site };

		find_calls_around(&around, &account->threads[thread], &gaps.gap[i]);
		for (size_t k = 0; k < account->busiest_count; k++)
			find_calls_around(&around, &account->threads[other[k]], &gaps.gap[i]);
		rc = add_outside(account, thread, device, &gaps.gap[i], &around);
	}
	return rc;
}

/* --- the host --- */

/* Accounts for a call between two times.  Its time in table wait is at its end. */
static int add_call(struct account *account, const struct account_call *call, int64_t from,
	int64_t until)
{
	int64_t held = call->held < until - from ? call->held : until - from;

	return (held && account_add(account, ACCOUNT_HOST, ACCOUNT_HELD, 0, call->site, held)) ||
			account_add(account, ACCOUNT_HOST, call->cause, 0, call->site,
				until - from - held)
		? -1
		: 0;
}

int account_host(struct account *account)
{
	const struct account_thread *thread = &account->threads[account->thread];
	int64_t until = account->begin;
	uint32_t from = 0;

	for (size_t i = 0; i < thread->count && until < account->end; i++) {
		const struct account_call *call = &thread->call[i];
		int64_t enter = call->enter < until ? until : call->enter;
		int64_t exit = call->exit < account->end ? call->exit : account->end;

		if (call->exit <= until) {
			from = call->site;
			continue;
		}
		if (enter > account->end)
			enter = account->end;
		if (enter > until && account_add_outside(account, thread, i, from, until, enter))
			return -1;
		until = enter;
		if (exit > enter && add_call(account, call, enter, exit))
			return -1;
		until = exit > until ? exit : until;
		from = call->site;
	}
	return until < account->end
		? account_add(account, ACCOUNT_HOST, ACCOUNT_OUTSIDE, from, 0, account->end - until)
		: 0;
}
