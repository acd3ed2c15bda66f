/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ranges of addresses that are nested or disjoint, as functions and their scopes are.  A search
 * returns the innermost range around an address.  All are added, then sorted, then searched.
 * Zero-initialized is empty; the owner releases it.
 */
#ifndef CUFENCE_INTERVALS_H
#define CUFENCE_INTERVALS_H

#include <stddef.h>
#include <stdint.h>

struct interval {
	uint64_t low, high; /* without high */
	uint32_t value;     /* the caller's */
	uint32_t outer;     /* index + 1 of the one around it, 0: none */
};

struct intervals {
	struct interval *list;
	size_t count;
};

/* If two ranges are equal, the one with the greater value is inside.  0, or -1 after a message. */
void intervals_add(struct intervals *intervals, uint64_t low, uint64_t high, uint32_t value);

void intervals_sort(struct intervals *intervals);

/* The value of the innermost one around an address, -1: there is none. */
int64_t intervals_find(const struct intervals *intervals, uint64_t address);

void intervals_release(struct intervals *intervals);

#endif
