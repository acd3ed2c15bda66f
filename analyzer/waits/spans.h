/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Classifies the time of an interval relative to one operation X: work that must come after X, work
 * that could have run concurrently with X, or waiting for something else.
 */
#ifndef CUFENCE_SPANS_H
#define CUFENCE_SPANS_H

#include "busy.h"

enum span_kind {
	SPAN_AFTER,     /* the device ran work ordered after X */
	SPAN_APART,     /* the device ran work independent of X */
	SPAN_ELSEWHERE, /* the thread waited for something else */
	SPAN_KINDS
};

/* Zero-initialized is empty. */
struct spans {
	struct busy up_to[SPAN_KINDS]; /* time of this kind or an earlier one */
};

static inline void spans_add(struct spans *spans, enum span_kind kind, int64_t start, int64_t end)
{
	for (int k = kind; k < SPAN_KINDS; k++)
		busy_add(&spans->up_to[k], start, end);
}

/* Sums in ns; each moment counts at most once. */
struct span_sums {
	int64_t apart; /* independent work ran, and no work ordered after X */
	int64_t idle;  /* neither ran, and the thread waited for nothing else */
};

/* Sums the spans between two times. */
static inline struct span_sums spans_sum(struct spans *spans, int64_t from, int64_t until)
{
	int64_t ns[SPAN_KINDS];

	for (int k = 0; k < SPAN_KINDS; k++) {
		busy_join(&spans->up_to[k]);
		ns[k] = busy_between(&spans->up_to[k], from, until);
	}
	return (struct span_sums){ .apart = ns[SPAN_APART] - ns[SPAN_AFTER],
		.idle = (until > from ? until - from : 0) - ns[SPAN_ELSEWHERE] };
}

static inline void spans_release(struct spans *spans)
{
	for (int k = 0; k < SPAN_KINDS; k++)
		busy_release(&spans->up_to[k]);
}

#endif
