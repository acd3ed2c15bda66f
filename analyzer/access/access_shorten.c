/* SPDX-License-Identifier: Apache-2.0 */
/* Shortens lists of accesses: a captured training step has thousands. */
#include <stdlib.h>

#include "access_internal.h"

/*
 * Beyond ACCESS_LIMIT accesses, those that are not exact become one span.  If more than EXACT_LIMIT
 * remain, all become one span.  A span has all their bytes and is not exact: a race stays, at a
 * lower confidence.
 */
#define ACCESS_LIMIT 64
#define EXACT_LIMIT 1024

/* The access surely covers exactly its bytes. */
static int is_exact(const struct memory_access *access)
{
	return access->exact && access->sure && !access->maybe;
}

/* Accesses of different groups are not joined. */
static int group(const struct memory_access *access)
{
	return access->direction << 4 | access->early << 3 | access->spins << 2 |
		access->loose << 1 | is_exact(access);
}

static int compare_groups(const struct memory_access *x, const struct memory_access *y)
{
	if (x->allocation != y->allocation)
		return x->allocation < y->allocation ? -1 : 1;
	return group(x) - group(y);
}

static int compare(const void *a, const void *b)
{
	const struct memory_access *x = a, *y = b;
	int order = compare_groups(x, y);

	if (order)
		return order;
	if (x->evidence != y->evidence)
		return x->evidence - y->evidence;
	return x->low < y->low ? -1 : x->low > y->low;
}

/* Joining two accesses of a group loses no information. */
static int is_one_span(const struct memory_access *x, const struct memory_access *y)
{
	return !is_exact(x) ||
		(x->evidence == y->evidence && !x->stride_count && !y->stride_count &&
			y->low <= x->high);
}

static void join(struct memory_access *to, const struct memory_access *from)
{
	to->low = from->low < to->low ? from->low : to->low;
	to->high = from->high > to->high ? from->high : to->high;
	if (from->evidence < to->evidence)
		to->evidence = from->evidence;
	to->sure &= from->sure;
	to->maybe |= from->maybe;
	to->node = to->node == from->node ? to->node : 0;
	to->start = to->low;
	to->run = to->high - to->low;
	to->stride_count = 0;
	to->exact = is_exact(to) && is_exact(from);
}

/* Makes one span for each allocation and group; of exact accesses only adjacent ones are joined. */
static void join_spans(struct accesses *sum)
{
	struct memory_access *last = NULL;
	size_t kept = 0;

	qsort(sum->access, sum->count, sizeof(*sum->access), compare);
	for (size_t i = 0; i < sum->count; i++) {
		const struct memory_access *access = &sum->access[i];

		if (last && !compare_groups(last, access) && is_one_span(last, access)) {
			join(last, access);
		} else {
			last = &sum->access[kept++];
			*last = *access;
		}
	}
	sum->count = kept;
}

/* Marks all accesses as not exact. */
static void clear_exact(struct accesses *sum)
{
	for (size_t i = 0; i < sum->count; i++)
		sum->access[i].exact = 0;
}

void access_shorten(struct accesses *sum)
{
	if (sum->count > ACCESS_LIMIT)
		join_spans(sum);
	if (sum->count > EXACT_LIMIT) {
		clear_exact(sum);
		join_spans(sum);
	}
}
