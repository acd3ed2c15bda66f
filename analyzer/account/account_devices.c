/* SPDX-License-Identifier: Apache-2.0 */
/* What devices did, and why they idled. */
#include <stdlib.h>

#include "account_parts.h"
#include "array.h"

/* Operations of one device, in order of their start. */
struct span {
	int64_t start, end;
	uint32_t work;
	int32_t device;
};

static int by_device_and_start(const void *a, const void *b)
{
	const struct span *x = a, *y = b;

	if (x->device != y->device)
		return x->device < y->device ? -1 : 1;
	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return (x->work > y->work) - (x->work < y->work);
}

static int read_spans(const struct account *account, struct span **spans, size_t *count)
{
	const struct run *run = account->run;

	for (uint32_t id = 1; id < run_work_end(run); id++) {
		const struct run_work *work = run_work(run, id);
		const struct run_where *where = work ? run_where(run, work) : NULL;
		int64_t end = work ? run_end(run, work, id) : RUN_NEVER;
		struct span *more;

		if (!work || where->process != account->process || work->start == RUN_NEVER ||
			end == RUN_NEVER || end < work->start)
			continue;
		more = array_room(*spans, *count, sizeof(*more));
		if (!more)
			return -1;
		*spans = more;
		more[(*count)++] = (struct span){ work->start, end, id, where->device };
	}
	if (*count)
		qsort(*spans, *count, sizeof(**spans), by_device_and_start);
	return 0;
}

/* How long the operation's call loaded code between two times. */
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

/* Submitted at from, begun at until. */
static int add_submitted(struct account *account, const struct span *next, uint32_t site,
	int64_t from, int64_t until)
{
	const struct run *run = account->run;
	const struct run_work *work = run_work(run, next->work);
	const struct run_call *call = run_call(run, work->call);
	uint64_t number = map_get(&account->holds, next->work, 0);
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

/* The device idled between two times, until that operation began. */
static int add_idle(struct account *account, const struct span *next, int64_t from, int64_t until)
{
	const struct run *run = account->run;
	const struct run_work *work = run_work(run, next->work);
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

static int runs_in(const struct account *account, const struct span *span)
{
	return span->start < account->end && span->end > account->begin;
}

/* Those of one device. */
static int add_device(struct account *account, const struct span *span, size_t count)
{
	int64_t until = account->begin, busy = 0;

	for (uint32_t i = 0; i < account->run->thread_count; i++)
		account->threads[i].at = 0;
	for (size_t i = 0; i < count && until < account->end; i++) {
		int64_t start = span[i].start < account->end ? span[i].start : account->end;
		int64_t end = span[i].end < account->end ? span[i].end : account->end;

		if (start > until && add_idle(account, &span[i], until, start))
			return -1;
		start = start > until ? start : until;
		busy += end > start ? end - start : 0;
		until = end > start ? end : start;
	}
	return account_add(account, span->device, ACCOUNT_BUSY, 0, 0, busy) ||
			(until < account->end &&
				account_add(account, span->device, ACCOUNT_DONE, 0, 0,
					account->end - until))
		? -1
		: 0;
}

int account_devices(struct account *account)
{
	struct span *spans = NULL;
	size_t count = 0, end;
	int rc = read_spans(account, &spans, &count);

	for (size_t first = 0; first < count && !rc; first = end) {
		int runs = 0;

		for (end = first; end < count && spans[end].device == spans[first].device; end++)
			runs |= runs_in(account, &spans[end]);
		if (runs)
			rc = add_device(account, spans + first, end - first);
	}
	free(spans);
	return rc;
}
