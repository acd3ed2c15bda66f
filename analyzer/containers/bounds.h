/* SPDX-License-Identifier: Apache-2.0 */
/* Bounds of times, ns, and of intervals. */
#ifndef CUFENCE_BOUNDS_H
#define CUFENCE_BOUNDS_H

#include <stdint.h>

/* From one time to another. */
struct span {
	int64_t from, until;
};

static inline int64_t at_most(int64_t value, int64_t most)
{
	return value < most ? value : most;
}

static inline int64_t at_least(int64_t value, int64_t least)
{
	return value > least ? value : least;
}

static inline int64_t clamp(int64_t value, int64_t low, int64_t high)
{
	return value < low ? low : value > high ? high : value;
}

/* Returns how much of one interval is in another one. */
static inline int64_t time_within(int64_t start, int64_t end, int64_t from, int64_t until)
{
	return at_least(at_most(end, until) - at_least(start, from), 0);
}

#endif
