/* SPDX-License-Identifier: Apache-2.0 */
/* The activity of devices, and the causes of their idle time. */
#include <stdlib.h>

#include "account_parts.h"
#include "array.h"
#include "digits.h"

static int by_device_and_start(const void *a, const void *b)
{
	const struct account_work *x = a, *y = b;

	if (x->process != y->process)
		return x->process < y->process ? -1 : 1;
	if (x->device != y->device)
		return x->device < y->device ? -1 : 1;
	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return (x->id > y->id) - (x->id < y->id);
}

/* Sorts by start first, which suffices for one device. */
static int sort_works(struct account_run *all)
{
	all->work = digits_sort(all->work, all->work_count, sizeof(*all->work));
	for (size_t i = 1; i < all->work_count; i++)
		if (by_device_and_start(&all->work[i - 1], &all->work[i]) > 0) {
			qsort(all->work, all->work_count, sizeof(*all->work), by_device_and_start);
			break;
		}
	return 0;
}

int account_list_works(struct account_run *all)
{
	const struct run *run = all->run;

	for (uint32_t id = 1; id < run_work_end(run); id++) {
		const struct run_work *work = run_work(run, id);
		const struct run_where *where = work ? run_where(run, work) : NULL;
		struct account_work *more;

		if (!work)
			continue;
		more = array_room(all->work, all->work_count, sizeof(*more));
		if (!more)
			return -1;
		all->work = more;
		more[all->work_count++] = (struct account_work){ work->start,
			run_busy_end(run, work, id), id, where->process, where->device };
	}
	return all->work_count ? sort_works(all) : 0;
}

/* Returns how long the operation's call loaded code between two times, ns. */
static int64_t loading(const struct run *run, uint32_t call, int64_t from, int64_t until)
{
	const struct run_overhead *row = run_find(&run->overheads, call);
	const struct run_overhead *end = run_rows_end(&run->overheads);
	int64_t sum = 0;

	for (; row && row < end && row->call == call; row++) {
		int64_t begin = row->start > from ? row->start : from;
		int64_t stop = row->end < until ? row->end : until;

		if (row->kind == OVERHEAD_LAZY_LOADING && stop > begin)
			sum += stop - begin;
	}
	return sum < until - from ? sum : until - from;
}

/* Accounts for an operation submitted at from and begun at until. */
static int add_submitted(struct account *account, const struct account_work *next, uint32_t site,
	int64_t from, int64_t until)
{
	const struct run *run = account->run;
	const struct run_work *work = run_work(run, next->id);
	const struct run_call *call = run_call(run, work->call);
	uint64_t number = map_get(account->holds, next->id, 0);
	int64_t exit = run_exit(run, call, work->call);
	int64_t inside = exit < until ? exit : until;
	int64_t load = loading(run, work->call, from, until), held = 0;

	if (number)
		held = run->evidence.hold[number - 1].held;
	if (held > until - from - load)
		held = until - from - load;
	inside = inside > from + load ? inside - from - load : 0;
	if (inside > until - from - load - held)
		inside = until - from - load - held;
	return (load && account_add(account, next->device, ACCOUNT_LOADING, 0, site, load)) ||
			(held &&
				account_add(account, next->device, ACCOUNT_ORDER, 0, site, held)) ||
			(inside &&
				account_add(account, next->device, ACCOUNT_SUBMIT, 0, site,
					inside)) ||
			account_add(account, next->device, ACCOUNT_START, 0, site,
				until - from - load - held - inside)
		? -1
		: 0;
}

/* Accounts for the device's idle time before an operation. */
static int add_idle(struct account *account, const struct account_work *next, int64_t from,
	int64_t until)
{
	const struct run *run = account->run;
	const struct run_work *work = run_work(run, next->id);
	const struct run_call *call = run_call(run, work->call);
	uint32_t site;
	int64_t enter;

	if (!call || !call->thread || call->thread >= run->thread_count)
		return account_add(account, next->device, ACCOUNT_UNKNOWN, 0, 0, until - from);
	site = run_link(run, work->call)->site;
	enter = call->enter < from ? from : call->enter;
	if (enter >= until)
		enter = until;
	if (enter > from &&
		account_idle_host(account, next->device, call->thread, site, from, enter))
		return -1;
	return enter < until ? add_submitted(account, next, site, enter, until) : 0;
}

/* Are both times known? */
static int has_times(const struct account_work *work)
{
	return work->start != RUN_NEVER && work->end != RUN_NEVER && work->end >= work->start;
}

static int ran_in(const struct account *account, const struct account_work *work)
{
	return has_times(work) && work->start < account->end && work->end > account->begin;
}

/* Time in which a device ran copies, and other operations, within the account, ns. */
struct ran {
	int64_t copies, others, all;
	int64_t copied, until; /* ends of the latest of each */
};

static int64_t add_interval(int64_t *until, int64_t start, int64_t end)
{
	int64_t begin = start > *until ? start : *until;

	if (end <= begin)
		return 0;
	*until = end;
	return end - begin;
}

/* Memsets are kernels, mostly. */
static void add_ran(struct ran *ran, const struct run *run, uint32_t id, int64_t start, int64_t end)
{
	uint8_t kind = run_where(run, run_work(run, id))->kind;

	if (kind == WORK_MEMCPY || kind == WORK_PEER)
		ran->copies += add_interval(&ran->copied, start, end);
	else
		ran->others += add_interval(&ran->until, start, end);
}

static int add_busy_rows(struct account *account, int32_t device, const struct ran *ran)
{
	int64_t both = ran->copies + ran->others - ran->all;

	return account_add(account, device, ACCOUNT_KERNELS, 0, 0, ran->others - both) ||
			account_add(account, device, ACCOUNT_COPIES, 0, 0, ran->copies - both) ||
			account_add(account, device, ACCOUNT_BOTH, 0, 0, both)
		? -1
		: 0;
}

/* Accounts for the operations of one device. */
static int add_device(struct account *account, const struct account_work *work, size_t count)
{
	struct ran ran = { .copied = account->begin, .until = account->begin };
	int64_t until = account->begin;

	for (size_t i = 0; i < account->of_count; i++)
		account->threads[account->of[i]].at = 0;
	for (size_t i = 0; i < count && (until < account->end || work[i].start < account->end);
		i++) {
		int64_t start = work[i].start < account->end ? work[i].start : account->end;
		int64_t end = work[i].end < account->end ? work[i].end : account->end;

		if (!has_times(&work[i]))
			continue;
		if (start > until && add_idle(account, &work[i], until, start))
			return -1;
		add_ran(&ran, account->run, work[i].id, start, end);
		ran.all += add_interval(&until, start, end);
		until = until > start ? until : start;
	}
	return add_busy_rows(account, work->device, &ran) ||
			(until < account->end &&
				account_add(account, work->device, ACCOUNT_DONE, 0, 0,
					account->end - until))
		? -1
		: 0;
}

int account_devices(struct account *account)
{
	const struct account_work *work = account->work;
	size_t end;

	for (size_t first = 0; first < account->work_count; first = end) {
		int runs = 0;

		for (end = first;
			end < account->work_count && work[end].device == work[first].device; end++)
			runs |= ran_in(account, &work[end]);
		if (runs && add_device(account, work + first, end - first))
			return -1;
	}
	return 0;
}
