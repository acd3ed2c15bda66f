/* SPDX-License-Identifier: Apache-2.0 */
/* The calls of threads, and the activity of the host while a device was idle. */
#include <stdlib.h>

#include "account_parts.h"
#include "memory.h"

/* Parts of an interval; what remains of one with more has no cause in the account. */
#define GAPS_MOST 64

/* Extends the last call by a call made within it, or by its own inner call. */
static void add_inner(struct account_call *outer, const struct run *run, uint32_t id)
{
	const struct run_call *call = run_call(run, id);
	const struct run_wait *wait = run_wait_of(&run->evidence, id);
	int64_t held = 0;

	if (wait || kind_family(call->kind) == FAMILY_wait)
		outer->cause = ACCOUNT_WAIT;
	else if (kind_has(call->kind, K_WORK) && outer->cause == ACCOUNT_CALL)
		outer->cause = ACCOUNT_SUBMIT;
	for (; wait; wait = run_next_wait(&run->evidence, wait))
		held = wait->waited > held ? wait->waited : held;
	outer->held += held;
	if (!outer->site)
		outer->site = run_link(run, id)->site;
}

/* A loop of queries that ended in success with this one is one wait, from its first query on. */
static void merge_polls(struct account_thread *thread, const struct polls *polls, uint32_t id)
{
	struct account_call *last = &thread->call[thread->count - 1], *first = last;
	int64_t since = polls_since(polls, id);

	if (since == INT64_MIN)
		return;
	while (first > thread->call && first[-1].exit > since)
		first--;
	first->exit = last->exit;
	first->held = first->exit - since;
	first->cause = ACCOUNT_WAIT;
	thread->count = (size_t)(first - thread->call) + 1;
}

static void read_thread(struct account_thread *thread, const struct run *run,
	const struct polls *polls)
{
	for (uint32_t id = run->thread[thread->thread].first; id; id = run_link(run, id)->next) {
		const struct run_call *call = run_call(run, id);

		if (!call)
			continue;
		if (!run_link(run, id)->parent || !thread->count)
			*array_push(thread->call, thread->count) =
				(struct account_call){ .enter = call->enter,
					.exit = run_exit(run, call, id),
					.site = run_link(run, id)->site,
					.cause = ACCOUNT_CALL };
		add_inner(&thread->call[thread->count - 1], run, id);
		merge_polls(thread, polls, id);
	}
}

void account_read_calls(struct account *account)
{
	uint32_t *busiest = account->busiest;

	for (size_t i = 0; i < account->of_count; i++) {
		struct account_thread *thread = &account->threads[account->of[i]];
		size_t at = account->busiest_count;

		thread->thread = account->of[i];
		read_thread(thread, account->run, &account->polls);
		if (!thread->count)
			continue;
		account->busiest_count += at < ACCOUNT_BUSIEST;
		for (; at && account->threads[busiest[at - 1]].count < thread->count; at--)
			if (at < ACCOUNT_BUSIEST)
				busiest[at] = busiest[at - 1];
		if (at < ACCOUNT_BUSIEST)
			busiest[at] = thread->thread;
	}
}

/* --- an interval in which the device was idle --- */

/* Parts of an interval without a cause yet, in order of time. */
struct gaps {
	struct account_span gap[GAPS_MOST];
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
		struct account_span gap = gaps->gap[i];
		int64_t begin = gap.from > from ? gap.from : from;
		int64_t end = gap.until < until ? gap.until : until;

		if (begin >= end) {
			left.gap[left.count++] = gap;
			continue;
		}
		taken += end - begin;
		if (gap.from < begin)
			left.gap[left.count++] = (struct account_span){ gap.from, begin };
		if (end < gap.until)
			left.gap[left.count++] = (struct account_span){ end, gap.until };
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
	const struct account_span *gap)
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

static void assign_calls(struct account *account, struct gaps *gaps, struct account_thread *thread,
	int32_t device, int64_t from, int64_t until, int is_other)
{
	while (thread->at < thread->count && thread->call[thread->at].exit <= from)
		thread->at++;
	for (size_t i = thread->at; i < thread->count && thread->call[i].enter < until; i++) {
		const struct account_call *call = &thread->call[i];

		if (!is_other || call->cause != ACCOUNT_WAIT)
			account_add(account, device, call->cause, 0, call->site,
				remove_interval(gaps, call->enter, call->exit));
	}
}

/* Removes and adds the parts of an interval outside of CUDA in which a thread did that. */
static void assign_outside(struct account *account, struct gaps *gaps,
	const struct account_thread *thread, enum account_cause cause, int32_t device,
	const struct account_span *gap, const struct around *around)
{
	size_t next = thread->at;
	struct account_span span[2];
	unsigned count;

	while (next < thread->count && thread->call[next].enter < gap->until)
		next++;
	count = account_split(thread, next, cause, gap->from, gap->until, span);
	for (unsigned i = 0; i < count; i++)
		account_add(account, device, cause, around->from, around->to,
			remove_interval(gaps, span[i].from, span[i].until));
}

/*
 * No thread was in CUDA.  The host computed while the submitting thread or one of the busiest did;
 * else it was what the submitting thread was.
 */
static void add_outside(struct account *account, uint32_t thread, int32_t device,
	const struct account_span *gap, const struct around *around)
{
	static const enum account_cause causes[] = ACCOUNT_OUTSIDE_CAUSES;
	struct gaps gaps = { .gap = { *gap }, .count = 1 };
	const struct account_thread *own = &account->threads[thread];

	assign_outside(account, &gaps, own, ACCOUNT_COMPUTING, device, gap, around);
	for (size_t i = 0; i < account->busiest_count; i++)
		if (account->busiest[i] != thread)
			assign_outside(account, &gaps, &account->threads[account->busiest[i]],
				ACCOUNT_COMPUTING, device, gap, around);
	for (size_t i = 1; i < sizeof(causes) / sizeof(*causes); i++)
		assign_outside(account, &gaps, own, causes[i], device, gap, around);
	for (size_t i = 0; i < gaps.count; i++)
		account_add(account, device, ACCOUNT_OUTSIDE, around->from, around->to,
			gaps.gap[i].until - gaps.gap[i].from);
}

void account_idle_host(struct account *account, int32_t device, uint32_t thread, uint32_t site,
	int64_t from, int64_t until)
{
	struct gaps gaps = { .gap = { { from, until } }, .count = 1 };
	const uint32_t *other = account->busiest;

	assign_calls(account, &gaps, &account->threads[thread], device, from, until, 0);
	for (size_t i = 0; i < account->busiest_count; i++)
		if (other[i] != thread)
			assign_calls(account, &gaps, &account->threads[other[i]], device, from,
				until, 1);
	for (size_t i = 0; i < gaps.count; i++) {
		struct around around = { INT64_MIN, INT64_MAX, 0, site };

		find_calls_around(&around, &account->threads[thread], &gaps.gap[i]);
		for (size_t k = 0; k < account->busiest_count; k++)
			find_calls_around(&around, &account->threads[other[k]], &gaps.gap[i]);
		add_outside(account, thread, device, &gaps.gap[i], &around);
	}
}

/* --- the host --- */

/* The time of a call in table wait is at its end. */
void account_host(struct account *account)
{
	const struct account_thread *thread = &account->threads[account->thread];
	int64_t until = account->begin;
	uint32_t from = 0;

	for (size_t i = 0; i < thread->count && until < account->end; i++) {
		const struct account_call *call = &thread->call[i];
		int64_t enter = call->enter < account->end ? call->enter : account->end;
		int64_t exit = call->exit < account->end ? call->exit : account->end, held;

		if (enter > until && call->exit > until) {
			account_add_outside(account, thread, i, from, until, enter);
			until = enter;
		}
		held = call->held < exit - until ? call->held : exit - until;
		if (exit > until) {
			account_add(account, ACCOUNT_HOST, ACCOUNT_HELD, 0, call->site, held);
			account_add(account, ACCOUNT_HOST, call->cause, 0, call->site,
				exit - until - held);
			until = exit;
		}
		from = call->site;
	}
	account_add(account, ACCOUNT_HOST, ACCOUNT_OUTSIDE, from, 0, account->end - until);
}
