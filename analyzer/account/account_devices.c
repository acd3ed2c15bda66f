/* SPDX-License-Identifier: Apache-2.0 */
/* The activity of devices, and the causes of their idle time. */
#include <stdlib.h>

#include "account_internal.h"
#include "bounds.h"
#include "busy.h"
#include "large.h"
#include "radix_sort.h"

/* Sorts by number: what has been sorted by start stays so within each device. */
static struct account_work *sort_by_device(struct account_work *works, size_t count)
{
	struct timed *place = large_need(NULL, count, sizeof(*place));
	struct account_work *sorted = large_need(NULL, count, sizeof(*sorted));

	for (size_t i = 0; i < count; i++)
		place[i] = (struct timed){ (uint32_t)works[i].device, i };
	place = radix_sort_large(place, count, sizeof(*place));
	for (size_t i = 0; i < count; i++)
		sorted[i] = works[place[i].of];
	large_free(place);
	large_free(works);
	return sorted;
}

/* Sorts by start first, which suffices for one device. */
void account_list_works(struct account *account)
{
	const struct run *run = account->run;
	struct account_work *works =
		large_need(NULL, account->last - account->first + 1, sizeof(*works));
	size_t count = 0;
	int is_one = 1;

	for (uint32_t id = account->first; id && id <= account->last; id++) {
		const struct run_work *work = run_work(run, id);
		const struct run_where *where = work ? run_where(run, work) : NULL;

		if (!where || where->process != account->process)
			continue;
		works[count] = (struct account_work){ work->start, id, where->device };
		is_one &= works[count++].device == works[0].device;
	}
	if (count)
		works = radix_sort_large(works, count, sizeof(*works));
	account->work = is_one ? works : sort_by_device(works, count);
	account->work_count = count;
}

/* --- the host while the device was idle --- */

/* Parts of an interval; what remains of one with more has no cause in the account. */
#define GAPS_MOST 64

/* Parts of an interval without a cause yet, in order of time. */
struct gaps {
	struct span gap[GAPS_MOST];
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
		struct span gap = gaps->gap[i];
		int64_t begin = at_least(gap.from, from);
		int64_t end = at_most(gap.until, until);

		if (begin >= end) {
			left.gap[left.count++] = gap;
			continue;
		}
		taken += end - begin;
		if (gap.from < begin)
			left.gap[left.count++] = (struct span){ gap.from, begin };
		if (end < gap.until)
			left.gap[left.count++] = (struct span){ end, gap.until };
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
	const struct span *gap)
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

/* Does a wait of the host last as long as another device works? */
static int waits_for_other(const struct run *run, const struct account_call *call, int32_t device)
{
	const struct run_work *work = call->op ? run_work(run, call->op) : NULL;

	return call->cause == ACCOUNT_WAIT && work && run_where(run, work)->device != device;
}

static void assign_calls(struct account *account, struct gaps *gaps, struct account_thread *thread,
	int32_t device, int64_t from, int64_t until, int is_other)
{
	while (thread->at < thread->count && thread->call[thread->at].exit <= from)
		thread->at++;
	for (size_t i = thread->at; i < thread->count && thread->call[i].enter < until; i++) {
		const struct account_call *call = &thread->call[i];

		if (is_other && call->cause == ACCOUNT_WAIT)
			continue;
		if (waits_for_other(account->run, call, device))
			account_add(account, device, ACCOUNT_HELD, 0, call->site,
				remove_interval(gaps, call->enter, call->enter + call->held));
		account_add(account, device, call->cause, 0, call->site,
			remove_interval(gaps, call->enter, call->exit));
	}
}

/* Removes and adds the parts of an interval outside of CUDA in which a thread did that. */
static void assign_outside(struct account *account, struct gaps *gaps,
	const struct account_thread *thread, enum account_cause cause, int32_t device,
	const struct span *gap, const struct around *around)
{
	size_t next = thread->at;

	while (next < thread->count && thread->call[next].enter < gap->until)
		next++;
	for (int part = 0; part < ACCOUNT_PARTS; part++) {
		struct span span = account_part(thread, next, part, gap->from, gap->until);

		if (account_parts[part] == cause)
			account_add(account, device, cause,
				account_site_of_part(thread, next, part, around->from), around->to,
				remove_interval(gaps, span.from, span.until));
	}
}

/*
 * Accounts for the host while a device was idle between two times, before an operation submitted by
 * a call of that thread.
 */
static void idle_host(struct account *account, int32_t device, uint32_t thread, uint32_t site,
	int64_t from, int64_t until)
{
	struct gaps gaps = { .gap = { { from, until } }, .count = 1 };
	struct account_thread *own = &account->threads[thread];
	struct account_thread *threads[1 + ACCOUNT_BUSIEST] = { own };
	size_t count = 1;

	for (size_t i = 0; i < account->busiest_count; i++)
		if (account->busiest[i] != thread)
			threads[count++] = &account->threads[account->busiest[i]];
	for (size_t i = 0; i < count; i++)
		assign_calls(account, &gaps, threads[i], device, from, until, i > 0);
	for (size_t i = 0; i < gaps.count; i++) {
		const struct span *gap = &gaps.gap[i];
		struct around around = { INT64_MIN, INT64_MAX, 0, site };
		struct gaps rest = { .gap = { *gap }, .count = 1 };

		for (size_t k = 0; k < count; k++)
			find_calls_around(&around, threads[k], gap);
		/*
		 * No thread was in CUDA.  The host computed while the submitting thread or one of
		 * the busiest did; else it was what the submitting thread was.
		 */
		for (size_t k = 0; k < count; k++)
			assign_outside(account, &rest, threads[k], ACCOUNT_COMPUTING, device, gap,
				&around);
		for (enum account_cause k = ACCOUNT_BLOCKED; k <= ACCOUNT_PREEMPTED; k++)
			assign_outside(account, &rest, own, k, device, gap, &around);
		for (size_t k = 0; k < rest.count; k++)
			account_add(account, device, ACCOUNT_OUTSIDE, around.from, around.to,
				rest.gap[k].until - rest.gap[k].from);
	}
}

/* --- devices --- */

/* Accounts for the device's idle time before an operation. */
static void add_idle(struct account *account, const struct account_work *next, int64_t from,
	int64_t until)
{
	const struct run_loop *turns = &account->loop.run;
	const struct run *run = account->run;
	uint32_t id = run_work(run, next->id)->call;
	const struct run_call *call = run_call(run, id);
	const struct run_overhead *row = run_find(&run->overheads, id);
	uint64_t hold = map_get(&account->holds, next->id, 0);
	int64_t load = 0, enter, held, inside, rest;
	uint32_t site;

	if (!call) {
		account_add(account, next->device, ACCOUNT_UNKNOWN, 0, 0, until - from);
		return;
	}
	site = run_link(run, id)->site;
	enter = at_most(run_loop_clock(turns, call->enter), until);
	if (enter > from) {
		idle_host(account, next->device, call->thread, site, from, enter);
		from = enter;
	}
	/* From here on it was submitted. */
	for (; row; row = run_next(&run->overheads, row))
		if (row->kind == OVERHEAD_LAZY_LOADING)
			load += time_within(run_loop_clock(turns, row->start),
				run_loop_clock(turns, row->end), from, until);
	load = at_most(load, until - from);
	rest = until - from - load;
	held = hold ? at_most(run->evidence.hold[hold - 1].held, rest) : 0;
	inside = at_most(run_loop_clock(turns, run_exit(run, call, id)), until) - from - load;
	inside = at_most(at_least(inside, 0), rest - held);
	account_add(account, next->device, ACCOUNT_LOADING, 0, site, load);
	account_add(account, next->device, ACCOUNT_ORDER, 0, site, held);
	account_add(account, next->device, ACCOUNT_SUBMIT, 0, site, inside);
	account_add(account, next->device, ACCOUNT_START, 0, site, rest - held - inside);
}

/* Returns its end without pauses, ns; INT64_MIN: one of its times is not known. */
static int64_t end_of(const struct account *account, const struct account_work *work)
{
	int64_t end = run_loop_clock(&account->loop.run, account_work_end(account, work));

	return work->start != RUN_NEVER && end != RUN_NEVER && end >= work->start ? end : INT64_MIN;
}

void account_devices(struct account *account)
{
	const struct account_work *work = account->work;
	size_t end;

	for (size_t first = 0; first < account->work_count; first = end) {
		struct busy_sum copies = { INT64_MIN, 0 }, kernels = { INT64_MIN, 0 };
		int64_t until = account->begin, ran = 0, both;
		int32_t device = work[first].device;
		int runs = 0;

		for (end = first; end < account->work_count && work[end].device == device; end++)
			runs |= work[end].start < account->end &&
				end_of(account, &work[end]) > account->begin;
		if (!runs)
			continue;
		for (size_t i = 0; i < account->of_count; i++)
			account->threads[account->of[i]].at = 0;
		for (size_t i = first;
			i < end && (until < account->end || work[i].start < account->end); i++) {
			uint8_t kind =
				run_where(account->run, run_work(account->run, work[i].id))->kind;
			int64_t start = at_most(work[i].start, account->end);
			int64_t ends = end_of(account, &work[i]);

			if (ends == INT64_MIN)
				continue;
			ends = at_most(ends, account->end);
			if (start > until)
				add_idle(account, &work[i], until, start);
			/* Memsets are kernels, mostly. */
			busy_sum_add(kind == WORK_MEMCPY || kind == WORK_PEER ? &copies : &kernels,
				at_least(start, account->begin), ends);
			until = at_least(start, until);
			ran += ends > until ? ends - until : 0;
			until = at_least(ends, until);
		}
		both = copies.time + kernels.time - ran;
		account_add(account, device, ACCOUNT_KERNELS, 0, 0, kernels.time - both);
		account_add(account, device, ACCOUNT_COPIES, 0, 0, copies.time - both);
		account_add(account, device, ACCOUNT_BOTH, 0, 0, both);
		account_add(account, device, ACCOUNT_DONE, 0, 0, account->end - until);
	}
}
