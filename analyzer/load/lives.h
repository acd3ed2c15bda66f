/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Handles and addresses are reused; a life is one use of one, from the return of the call that
 * made it to the return of the call that ended it.  Lives are found by handle and the time of the
 * call that names it: a new life can only be named after it was returned, an old one only before
 * it was given up.
 *
 * Those calls come in order of entry, which is not that of the lives: of two threads that allocate,
 * the one that entered first may get the address last, after the other one had it and freed it.
 * What holds whatever the threads do: a life is returned before the call that ends it is entered,
 * and that call is entered before the next life of the handle is returned.  So the lives of a
 * handle are in order of their beginnings.
 *
 * A life is known by its number.  Once no call can mean it any more it is retired: handed to its
 * owner for the last time, its number given to a later one.  Memory is bounded by those alive.
 */
#ifndef CUFENCE_LIVES_H
#define CUFENCE_LIVES_H

#include <stddef.h>
#include <stdint.h>

#include "map.h"

struct life {
	uint64_t handle;
	uint64_t begin, end;         /* ticks; 0: before the trace; UINT64_MAX: not ended */
	int64_t row;                 /* counted from 1 as lives_begin() was called */
	uint64_t value;              /* the owner's */
	uint32_t created, destroyed; /* call number, 0: not seen */
	uint32_t previous;           /* life of the same handle before this one, 0: none */
	uint8_t kind;                /* the owner's */
	uint32_t context;            /* row of the context that it ends with, 0: none */
};

/* Zero-initialized is empty, but for retire. */
struct lives {
	struct life *life; /* by number - 1 */
	size_t count;      /* numbers given out, those of retired lives included */
	int64_t begun;     /* rows so far */
	struct map latest; /* handle -> number of the life that begins last */
	uint32_t *ended;   /* a queue: ended_count from ended_first on, in a ring */
	size_t ended_first, ended_count, ended_size;
	uint32_t *unused; /* numbers of retired lives */
	size_t unused_count;
	/* Called for each life that is retired; NULL: none ever is.  0, or -1 after a message. */
	int (*retire)(void *arg, const struct life *life);
	void *arg;
};

/*
 * A new life: its number, or 0 when out of memory.  created is a call number, or 0 with the entry
 * of the first call that names what no call was seen to make.
 */
uint32_t lives_begin(struct lives *lives, uint64_t handle, uint64_t begin, uint32_t created);

/*
 * The life a call entered at that time means by handle: its number, 0 if none is known.  All calls
 * entered before must have begun and ended theirs.
 */
uint32_t lives_find(const struct lives *lives, uint64_t handle, uint64_t at);

/* 0, or -1 when out of memory. */
int lives_end(struct lives *lives, uint32_t life, uint64_t end, uint32_t destroyed);

/* The same for all of a context, which a call entered at that time destroyed. */
int lives_end_context(struct lives *lives, uint32_t context, uint64_t enter, uint64_t end,
	uint32_t destroyed);

/* Retires those that ended before now: no later call was entered before.  0, or retire's -1. */
int lives_retire(struct lives *lives, uint64_t now);

/* Retires all that are left, in order of their numbers. */
int lives_retire_all(struct lives *lives);

void lives_release(struct lives *lives);

/*
 * The address ranges alive at the moment, to find what an address points into.  An added range
 * counts from the moment its life begins; then it replaces those it overlaps: they are gone, or on
 * their way out in another thread.
 */
struct ranges {
	struct range {
		uint64_t start, end, begin;
		uint32_t life;
	} * range;
	size_t count;
	size_t gone; /* of them without a life: memory is mostly allocated where some was freed */
	struct range *later; /* to begin: the last one first */
	size_t later_count;
};

/* 0, or -1 when out of memory. */
int ranges_add(struct ranges *ranges, uint64_t start, uint64_t bytes, uint64_t begin,
	uint32_t life);

/* It is now, in ticks.  0, or -1 when out of memory. */
int ranges_reach(struct ranges *ranges, uint64_t now);

/* Of a life that has begun. */
void ranges_remove(struct ranges *ranges, uint64_t start, uint32_t life);

/* The life of the range that contains address, or 0. */
uint32_t ranges_find(const struct ranges *ranges, uint64_t address);

void ranges_release(struct ranges *ranges);

#endif
