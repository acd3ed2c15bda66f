/* SPDX-License-Identifier: Apache-2.0 */
#include "intervals.h"

#include <stdlib.h>

#include "memory.h"

void intervals_add(struct intervals *intervals, uint64_t low, uint64_t high, uint32_t value)
{
	if (low >= high)
		return;
	*array_push(intervals->list, intervals->count) = (struct interval){ low, high, value, 0 };
}

static int outer_first(const void *a, const void *b)
{
	const struct interval *x = a, *y = b;

	if (x->low != y->low)
		return x->low < y->low ? -1 : 1;
	if (x->high != y->high)
		return x->high > y->high ? -1 : 1;
	return (x->value > y->value) - (x->value < y->value);
}

void intervals_sort(struct intervals *intervals)
{
	struct interval *list = intervals->list;
	uint32_t outer = 0;

	if (intervals->count)
		qsort(list, intervals->count, sizeof(*list), outer_first);
	for (size_t i = 0; i < intervals->count; i++) {
		while (outer && list[outer - 1].high <= list[i].low)
			outer = list[outer - 1].outer;
		list[i].outer = outer;
		outer = (uint32_t)i + 1;
	}
}

int64_t intervals_find(const struct intervals *intervals, uint64_t address)
{
	size_t low = 0, high = intervals->count;
	uint32_t at;

	/* Intervals before low start at the address or before it. */
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (intervals->list[middle].low <= address)
			low = middle + 1;
		else
			high = middle;
	}
	for (at = (uint32_t)low; at; at = intervals->list[at - 1].outer)
		if (address < intervals->list[at - 1].high)
			return intervals->list[at - 1].value;
	return -1;
}

void intervals_release(struct intervals *intervals)
{
	free(intervals->list);
	*intervals = (struct intervals){ 0 };
}
