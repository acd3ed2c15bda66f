/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Handles and addresses are reused.  A life is one use of a handle, from the return of the call
 * that created it to the return of the call that destroyed it.  Lives are found by handle and entry
 * time of the call that names it: a program can name a new life only after its creation returned,
 * and the old one only before its destruction was called.
 *
 * Calls are processed in order of entry, which is not the order of lives: of two threads that
 * allocate, the one that entered first may get the address last, after the other one had and freed
 * it.  Two facts hold for any threads: a life's creation returns before the call that destroys it
 * is entered, and that call is entered before the creation of the handle's next life returns.  So
 * the lives of a handle are ordered by their beginnings.
 *
 * A life is identified by its number.  Once no later call can refer to it, it is retired: passed to
 * its owner for the last time, and its number is reused.  Memory is bounded by the number of live
 * objects.
 */
#ifndef CUFENCE_LIVES_H
#define CUFENCE_LIVES_H

#include <stddef.h>
#include <stdint.h>

#include "map.h"

struct life {
	uint64_t handle;
	uint64_t begin, end;         /* ticks; 0: before the trace; UINT64_MAX: still alive */
	int64_t row;                 /* counted from 1 in order of lives_begin() */
	uint64_t value;              /* for the owner */
	uint32_t created, destroyed; /* call numbers, 0: not recorded */
	uint32_t previous;           /* previous life of the same handle, 0: none */
	uint8_t kind;                /* for the owner */
	uint32_t context;            /* row of the context whose destruction ends it, 0: none */
};

/* Zero-initialized is empty, except for retire. */
struct lives {
	struct life *life; /* by number - 1 */
	size_t count;      /* numbers in use, including those of retired lives */
	int64_t begun;     /* rows so far */
	struct map latest; /* handle -> number of the life that begins last */
	uint32_t *ended;   /* ring of lives, ended_count from ended_first on */
	size_t ended_first, ended_count, ended_size;
	uint32_t *unused; /* numbers of retired lives */
	size_t unused_count;
	/*
	 * Called for each retired life; NULL: lives are never retired.  Returns 0, or -1 after a
	 * message.
	 */
	int (*retire)(void *arg, const struct life *life);
	void *arg;
};

/*
 * Adds a life; returns its number.  created is a call number, or 0 with begin
 * as the entry of the first call that names an object of unknown origin.
 */
uint32_t lives_begin(struct lives *lives, uint64_t handle, uint64_t begin, uint32_t created);

/*
 * Returns the number of the life that a call entered at that time means by handle, 0 if unknown.
 * Lives begun and ended by calls entered before must have been added.
 */
uint32_t lives_find(const struct lives *lives, uint64_t handle, uint64_t at);

/* Ends a life. */
void lives_end(struct lives *lives, uint32_t life, uint64_t end, uint32_t destroyed);

/* Ends all lives of a context that was destroyed by a call entered at that time. */
void lives_end_context(struct lives *lives, uint32_t context, uint64_t enter, uint64_t end,
	uint32_t destroyed);

/*
 * Retires lives that ended before now, the lowest entry time of later calls.  Returns 0, or
 * retire's -1.
 */
int lives_retire(struct lives *lives, uint64_t now);

/* Retires all remaining lives, in order of their numbers. */
int lives_retire_all(struct lives *lives);

void lives_release(struct lives *lives);

/*
 * The address ranges alive at the moment, to find the allocation of an address.  An added range
 * takes effect when its life begins.  It then replaces the ranges it overlaps: these are freed, or
 * being freed in another thread.
 */
struct ranges {
	struct range {
		uint64_t start, end, begin;
		uint32_t life;
	} * range;
	size_t count;
	size_t gone; /* those without a life: memory is mostly allocated where some was freed */
	struct range *later; /* not yet begun, the last one first */
	size_t later_count;
};

void ranges_add(struct ranges *ranges, uint64_t start, uint64_t bytes, uint64_t begin,
	uint32_t life);

/* Advances the time, in ticks. */
void ranges_reach(struct ranges *ranges, uint64_t now);

/* Removes the range of a life that has begun. */
void ranges_remove(struct ranges *ranges, uint64_t start, uint32_t life);

/* The life of the range that contains address, or 0. */
uint32_t ranges_find(const struct ranges *ranges, uint64_t address);

void ranges_release(struct ranges *ranges);

#endif
