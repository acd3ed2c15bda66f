/* SPDX-License-Identifier: Apache-2.0 */
#include "spans.h"

#include <stdio.h>
#include <stdlib.h>

#include "array.h"

/* The start or end of a span. */
struct turn {
	int64_t at;
	enum span_kind kind;
	int step; /* 1: start, -1: end */
};

int spans_add(struct spans *spans, enum span_kind kind, int64_t start, int64_t end)
{
	struct span *more;

	if (end <= start)
		return 0;
	more = array_room(spans->span, spans->count, sizeof(*more));
	if (!more)
		return -1;
	spans->span = more;
	spans->span[spans->count++] = (struct span){ .kind = kind, .start = start, .end = end };
	return 0;
}

static int by_time(const void *a, const void *b)
{
	const struct turn *x = a, *y = b;

	return (x->at > y->at) - (x->at < y->at);
}

static int64_t clamp(int64_t value, int64_t low, int64_t high)
{
	return value < low ? low : value > high ? high : value;
}

static void count_until(const int *open, int64_t ns, struct span_sums *sums)
{
	if (open[SPAN_AFTER])
		return;
	if (open[SPAN_APART])
		sums->apart += ns;
	else if (!open[SPAN_ELSEWHERE])
		sums->idle += ns;
}

int spans_sum(const struct spans *spans, int64_t from, int64_t until, struct span_sums *sums)
{
	struct turn *turn = calloc(2 * spans->count + 1, sizeof(*turn));
	int open[SPAN_KINDS] = { 0 };
	size_t count = 0;

	*sums = (struct span_sums){ 0 };
	if (!turn) {
		fputs("cufence: out of memory\n", stderr);
		return -1;
	}
	if (until < from)
		until = from;
	for (size_t i = 0; i < spans->count; i++) {
		const struct span *s = &spans->span[i];

		turn[count++] = (struct turn){ clamp(s->start, from, until), s->kind, 1 };
		turn[count++] = (struct turn){ clamp(s->end, from, until), s->kind, -1 };
	}
	turn[count++] = (struct turn){ until, SPAN_AFTER, 0 };
	qsort(turn, count, sizeof(*turn), by_time);
	for (size_t i = 0; i < count; i++) {
		count_until(open, turn[i].at - from, sums);
		from = turn[i].at;
		open[turn[i].kind] += turn[i].step;
	}
	free(turn);
	return 0;
}

void spans_release(struct spans *spans)
{
	free(spans->span);
	*spans = (struct spans){ 0 };
}
