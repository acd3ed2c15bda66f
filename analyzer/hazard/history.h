/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The last accesses to one life of an allocation.  An access goes when a later one of its lane does
 * the same to the same bytes, and when a write that is surely ordered after it covers it: an access
 * that is not ordered after the removed one is not ordered after the kept one either, so that no
 * conflict is missed.  Beyond HISTORY_MOST the oldest are removed and counted.
 */
#ifndef CUFENCE_HISTORY_H
#define CUFENCE_HISTORY_H

#include "access.h"
#include "order.h"
#include "walk.h"

#define HISTORY_MOST 256

/* An operation, as far as its accesses are judged by it. */
struct operation_point {
	int64_t call, stream, thread;
	int64_t lane; /* those of one come one after the other: a stream, a chain of nodes */
	int64_t enter, start, end; /* ns; start and end WALK_NEVER: its operation is unknown */
	struct order_epoch epoch;
	enum call_kind kind;
	int stretch;       /* as walk_call.stretch */
	int is_life;       /* it allocates or frees the memory in stream order */
	int64_t upload;    /* bytes of pageable memory that it copied to the device, 0: none */
	int64_t fill;      /* 1 + the 32 bits that a memset repeats, 0: not known */
	int returns_early; /* of a call that looks synchronous, before the copy is done */
	int overlaps;      /* it may start before the operation before it in its stream ends */
	int64_t exec;      /* the graph that it is a launch of, 0: none */
	int acts;        /* events act within that, so that its nodes have an order of their own */
	int maybe;       /* whether it runs is not known */
	uint8_t spins;   /* it waits in a loop for what others store */
	uint8_t outside; /* its stream has waited for a value in memory, in a kernel or by itself */
};

struct past_access {
	struct memory_access access;
	struct operation_point by;
	uint64_t number;       /* in order of age */
	uint32_t older, newer; /* 1 + the place of another one, 0: there is none */
};

/* How surely the operation of a past access comes before the one that makes an access now. */
struct ordering {
	enum order_strength (
		*of)(void *arg, const struct past_access *past, const struct memory_access *access);
	void *arg;
};

static inline int is_same_operation(const struct operation_point *a,
	const struct operation_point *b)
{
	return a->epoch.key == b->epoch.key && a->epoch.seq == b->epoch.seq;
}

/* Of a past access what is looked at first. */
struct past_range {
	int64_t low, high, lane;
	uint32_t at; /* its place in history.past */
	enum access_direction direction;
};

/* Of one recording window. */
struct history {
	struct past_range *range; /* in order of low, of equal ones the oldest first */
	struct past_access *past;
	size_t count, room, made;        /* made: places that were used already */
	size_t changes;                  /* of them not reads */
	int64_t longest;                 /* no range is longer */
	uint64_t last;                   /* number given */
	uint32_t oldest, newest, unused; /* 1 + places; the next unused one is its older */
};

/*
 * Calls visit for each past access of another operation that conflicts with this one, made by the
 * present operation, and does not surely come before it; visit may stop it by -1.
 */
typedef int (*history_visit)(void *arg, const struct past_access *past,
	const struct access_conflict *conflict, enum order_strength strength);
int history_check(const struct history *history, const struct ordering *ordering,
	const struct memory_access *access, const struct operation_point *by, history_visit visit,
	void *arg);

/* Adds it, made by the present operation; 0; 1: the oldest one had to go; -1 after a message. */
int history_add(struct history *history, const struct ordering *ordering,
	const struct memory_access *access, const struct operation_point *by);

/* What lay between those addresses is no more. */
void history_forget(struct history *history, int64_t low, int64_t high);

void history_release(struct history *history);

#endif
