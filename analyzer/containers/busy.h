/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Times during which something was busy.  Intervals are added in any order and may overlap; each
 * moment counts once.  Questions need busy_join() after the last addition.  Zero-initialized is
 * empty.
 */
#ifndef CUFENCE_BUSY_H
#define CUFENCE_BUSY_H

#include <stddef.h>
#include <stdint.h>

/* Of intervals that come in order of their starts the sum suffices; until is INT64_MIN at first. */
struct busy_sum {
	int64_t until, time; /* ns */
};

static inline void busy_sum_add(struct busy_sum *sum, int64_t start, int64_t end)
{
	if (start < sum->until)
		start = sum->until;
	if (end <= start)
		return;
	sum->time += end - start;
	sum->until = end;
}

struct busy {
	struct busy_span {
		int64_t start, end; /* ns; once joined, sorted and disjoint */
		int64_t before;     /* once joined: ns in earlier spans */
	} * span;
	size_t count;
	int is_unsorted;
};

/* An interval that is empty adds nothing. */
void busy_add(struct busy *busy, int64_t start, int64_t end);

void busy_join(struct busy *busy);

/* Returns the busy time in all, ns. */
int64_t busy_total(const struct busy *busy);

/* Returns the busy time between two times, ns. */
int64_t busy_between(const struct busy *busy, int64_t from, int64_t until);

void busy_release(struct busy *busy);

#endif
