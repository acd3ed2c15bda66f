/* SPDX-License-Identifier: Apache-2.0 */
#include "worked.h"

#include <stdlib.h>

#include "array.h"

static int by_process_and_start(const void *a, const void *b)
{
	const struct worked_span *x = a, *y = b;

	if (x->process != y->process)
		return x->process < y->process ? -1 : 1;
	return (x->start > y->start) - (x->start < y->start);
}

static int collect(struct worked *worked, const struct run *run)
{
	for (uint32_t id = 1; id < run_work_end(run); id++) {
		const struct run_work *work = run_work(run, id);
		int64_t end = work ? run_busy_end(run, work, id) : RUN_NEVER;
		struct worked_span *more;

		if (!work || work->start == RUN_NEVER || end == RUN_NEVER || end <= work->start)
			continue;
		more = array_room(worked->span, worked->count, sizeof(*more));
		if (!more)
			return -1;
		worked->span = more;
		more[worked->count++] = (struct worked_span){ .start = work->start,
			.end = end,
			.process = run_where(run, work)->process };
	}
	return 0;
}

int worked_list(struct worked *worked, const struct run *run)
{
	struct worked_span *span;
	size_t kept = 0;

	if (collect(worked, run))
		return -1;
	span = worked->span;
	if (worked->count)
		qsort(span, worked->count, sizeof(*span), by_process_and_start);
	for (size_t i = 0; i < worked->count; i++) {
		struct worked_span *last = kept ? &span[kept - 1] : NULL;

		if (last && last->process == span[i].process && span[i].start <= last->end) {
			last->end = span[i].end > last->end ? span[i].end : last->end;
			continue;
		}
		span[i].before = last ? last->before + last->end - last->start : 0;
		span[kept++] = span[i];
	}
	worked->count = kept;
	return 0;
}

/* Time worked from the first span of the process up to this time, ns. */
static int64_t until(const struct worked *worked, uint32_t process, int64_t time)
{
	const struct worked_span at = { .process = process, .start = time }, *last;
	size_t low = 0, high = worked->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (by_process_and_start(&worked->span[middle], &at) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low)
		return 0;
	last = &worked->span[low - 1];
	if (last->process != process || last->end < time)
		time = last->end;
	return last->before + time - last->start;
}

int64_t worked_between(const struct worked *worked, uint32_t process, int64_t from, int64_t end)
{
	return end > from ? until(worked, process, end) - until(worked, process, from) : 0;
}

void worked_release(struct worked *worked)
{
	free(worked->span);
	*worked = (struct worked){ 0 };
}
