/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Handles and addresses are reused; a life is one use of one, from the return of the call that
 * made it to the return of the call that ended it.  Lives are begun and ended in the order in
 * which those calls were entered, and found by handle and the time of the call that names it: a
 * new life can only be named after it was returned, an old one only before it was given up.
 */
#ifndef CUFENCE_LIVES_H
#define CUFENCE_LIVES_H

#include <stddef.h>
#include <stdint.h>

#include "map.h"

struct life {
	uint64_t handle;
	uint64_t begin, end;       /* ticks; 0: before the trace; UINT64_MAX: not ended */
	uint32_t created, destroyed; /* call index + 1, 0: not seen */
	uint32_t previous;         /* life of the same handle before this one: index + 1, 0: none */
};

/* Zero-initialized is empty. */
struct lives {
	struct life *life;
	size_t count;
	struct map latest;         /* handle -> index + 1 */
};

/* A new life: its index + 1, or 0 when out of memory.  created is a call index + 1 or 0. */
uint32_t lives_begin(struct lives *lives, uint64_t handle, uint64_t begin, uint32_t created);

/* The life a call entered at that time means by handle: index + 1, 0 if none is known. */
uint32_t lives_find(const struct lives *lives, uint64_t handle, uint64_t at);

void lives_end(struct lives *lives, uint32_t life, uint64_t end, uint32_t destroyed);

void lives_release(struct lives *lives);

/*
 * The address ranges alive at the moment, to find what an address points into.  An added range
 * replaces those it overlaps: they are gone, or on their way out in another thread.
 */
struct ranges {
	struct range { uint64_t start, end; uint32_t life; } *range;
	size_t count;
};

int ranges_add(struct ranges *ranges, uint64_t start, uint64_t bytes, uint32_t life);
void ranges_remove(struct ranges *ranges, uint64_t start, uint32_t life);

/* The life of the range that contains address, or 0. */
uint32_t ranges_find(const struct ranges *ranges, uint64_t address);

void ranges_release(struct ranges *ranges);

#endif
