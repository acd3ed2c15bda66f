/* SPDX-License-Identifier: Apache-2.0 */
#include "named_bytes.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "bounds.h"
#include "memory.h"
#include "sorted.h"

/* Spans kept of an allocation: each addition may move all of them. */
#define SPANS 256

/* In order, with gaps between. */
struct named_spans {
	struct named_span {
		int64_t low, high;
	} * span;
	size_t count;
};

/* Returns the index of the first span that ends at an address or after it. */
static size_t first_to(const struct named_spans *spans, int64_t address)
{
	return sorted_from(spans->span, spans->count, sizeof(*spans->span),
		offsetof(struct named_span, high), address);
}

static void insert(struct named_spans *spans, size_t at, const struct named_span *span)
{
	array_push(spans->span, spans->count);
	memmove(&spans->span[at + 1], &spans->span[at],
		(spans->count - at - 1) * sizeof(*spans->span));
	spans->span[at] = *span;
}

static uint64_t gap_before(const struct named_spans *spans, size_t at)
{
	return (uint64_t)spans->span[at].low - (uint64_t)spans->span[at - 1].high;
}

static void close_smallest_gap(struct named_spans *spans)
{
	size_t at = 1;

	for (size_t i = 2; i < spans->count; i++)
		if (gap_before(spans, i) < gap_before(spans, at))
			at = i;
	spans->span[at - 1].high = spans->span[at].high;
	memmove(&spans->span[at], &spans->span[at + 1],
		(--spans->count - at) * sizeof(*spans->span));
}

void named_bytes_add(struct named_bytes *named, int64_t allocation, int64_t low, int64_t high)
{
	struct named_spans *spans = id_map_need(&named->of, allocation, sizeof(*spans));
	struct named_span span = { low, high };
	size_t at = first_to(spans, low), end = at;

	for (; end < spans->count && spans->span[end].low <= high; end++) {
		span.low = at_most(span.low, spans->span[end].low);
		span.high = at_least(span.high, spans->span[end].high);
	}
	if (end == at) {
		insert(spans, at, &span);
	} else {
		spans->span[at] = span;
		memmove(&spans->span[at + 1], &spans->span[end],
			(spans->count - end) * sizeof(*spans->span));
		spans->count -= end - at - 1;
	}
	if (spans->count > SPANS)
		close_smallest_gap(spans);
}

int named_bytes_has(const struct named_bytes *named, int64_t allocation, int64_t low, int64_t high)
{
	const struct named_spans *spans = id_map_get(&named->of, allocation);
	size_t at = spans ? first_to(spans, low == INT64_MAX ? low : low + 1) : 0;

	return spans && at < spans->count && spans->span[at].low < high;
}

static void free_spans(void *object)
{
	struct named_spans *spans = object;

	free(spans->span);
	free(spans);
}

void named_bytes_release(struct named_bytes *named)
{
	id_map_release(&named->of, free_spans);
}
