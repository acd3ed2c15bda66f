/* SPDX-License-Identifier: Apache-2.0 */
#include "busy.h"

#include <stdlib.h>

#include "large.h"
#include "radix_sort.h"
#include "memory.h"
#include "sorted.h"

/* Below this number qsort() is faster than radix_sort(), which needs a table. */
#define FEW_SPANS 4096

void busy_add(struct busy *busy, int64_t start, int64_t end)
{
	struct busy_span *last = busy->count ? &busy->span[busy->count - 1] : NULL;

	if (end <= start)
		return;
	if (last && start >= last->start && start <= last->end) {
		last->end = end > last->end ? end : last->end;
		return;
	}
	busy->is_unsorted |= last && start < last->start;
	*large_push(busy->span, busy->count) = (struct busy_span){ .start = start, .end = end };
}

static int by_start(const void *a, const void *b)
{
	const struct busy_span *x = a, *y = b;

	return (x->start > y->start) - (x->start < y->start);
}

void busy_join(struct busy *busy)
{
	struct busy_span *span;
	size_t kept = 0;

	if (busy->is_unsorted && busy->count < FEW_SPANS)
		qsort(busy->span, busy->count, sizeof(*busy->span), by_start);
	else if (busy->is_unsorted)
		busy->span = radix_sort_large(busy->span, busy->count, sizeof(*busy->span));
	span = busy->span;
	for (size_t i = 0; i < busy->count; i++) {
		struct busy_span *last = kept ? &span[kept - 1] : NULL;

		if (last && span[i].start <= last->end) {
			last->end = span[i].end > last->end ? span[i].end : last->end;
			continue;
		}
		span[kept] = span[i];
		span[kept++].before = last ? last->before + last->end - last->start : 0;
	}
	busy->count = kept;
	busy->is_unsorted = 0;
}

/* Returns the busy time up to a time, ns. */
static int64_t up_to(const struct busy *busy, int64_t time)
{
	size_t next = sorted_from(busy->span, busy->count, sizeof(*busy->span),
		offsetof(struct busy_span, start), time);
	const struct busy_span *last = next ? &busy->span[next - 1] : NULL;

	return last ? last->before + (time < last->end ? time : last->end) - last->start : 0;
}

int64_t busy_total(const struct busy *busy)
{
	return up_to(busy, INT64_MAX);
}

int64_t busy_between(const struct busy *busy, int64_t from, int64_t until)
{
	return until > from ? up_to(busy, until) - up_to(busy, from) : 0;
}

void busy_release(struct busy *busy)
{
	large_free(busy->span);
	*busy = (struct busy){ 0 };
}
