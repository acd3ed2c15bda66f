/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The last accesses to one life of an allocation.  An access is removed when a later one of its
 * lane does the same to the same bytes, or when a write that is surely ordered after it covers it.
 * No conflict is missed by this: an access that is not ordered after the removed one is not ordered
 * after the kept one either.  An access that everything later is ordered after is removed by a
 * sweep.  Beyond HISTORY_MOST the oldest are removed and counted (HAZARD_FORGOTTEN).
 */
#ifndef CUFENCE_HISTORY_H
#define CUFENCE_HISTORY_H

#include "conflict.h"
#include "order.h"
#include "walk.h"

/* At 350 bytes each; a check looks at all that its access overlaps.  Beyond it is a loss. */
#define HISTORY_MOST 4096
/*
 * Conflicts of one kind (history_check) that a check reports, the newest: reports of more of them
 * say nothing else.
 */
#define HISTORY_ALIKE 256
/* Accesses before the first sweep, which comes again when so many are kept twice over. */
#define HISTORY_SWEEP 64

/* The properties of an operation that its accesses are judged by. */
struct operation_point {
	int64_t call, stream, thread;
	int64_t lane;   /* a sequence of ordered operations: a stream, or a chain of graph nodes */
	uint64_t place; /* equal for calls of one site, with the same kernel */
	int64_t enter, start, end; /* ns; start and end WALK_NEVER: unknown */
	struct order_epoch epoch;
	enum call_kind kind;
	int stretch;       /* as walk_call.stretch */
	int is_life;       /* it allocates or frees the memory in stream order */
	int64_t upload;    /* bytes of pageable memory copied to the device, 0: none */
	int64_t fill;      /* 1 + the 32 bits that a memset repeats, 0: unknown */
	int returns_early; /* a call that looks synchronous returns before the copy is complete */
	int overlaps;      /* it may start before the previous operation of its stream ends */
	int64_t exec;      /* the executable graph that it launches, 0: none */
	int acts;  /* the graph contains event nodes, so that its nodes are ordered one by one */
	int maybe; /* it may not run at all */
	uint8_t spins;   /* it waits in a loop for a value in memory */
	uint8_t outside; /* its stream has waited for a value in memory, in a kernel or by a call */
};

struct past_access {
	struct memory_access access;
	struct operation_point by;
	uint64_t number;       /* increases with each access added */
	int ended;             /* its bytes have another life since: compared with nothing */
	uint32_t older, newer; /* 1 + the place of the neighbour by age, 0: none */
};

/* Returns how surely the operation of a past access comes before that of the current access. */
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

/* The members of a past access that are read first. */
struct past_range {
	int64_t low, high, lane;
	uint32_t at; /* its place in history.past */
	enum access_direction direction;
};

/* The accesses of one recording window. */
struct history {
	struct past_range *range; /* sorted by low, then by age, the oldest first */
	struct past_access *past;
	uint32_t *found;                 /* scratch of a check */
	size_t most;                     /* accesses kept at most, 0: HISTORY_MOST */
	size_t sweep_at;                 /* number of accesses at which to sweep */
	size_t count, room, made;        /* made: places used so far */
	size_t changes;                  /* ranges that are not reads */
	int64_t longest;                 /* length of the longest range so far */
	uint64_t last;                   /* number of the newest access */
	uint32_t oldest, newest, unused; /* 1 + places; unused ones are linked by older */
};

/*
 * Calls visit for each past access of another operation that conflicts with this access of
 * operation `by` and is not surely ordered before it.  visit returns 1 if it reports the conflict,
 * 0 if not, -1 to stop.  Once it has reported HISTORY_ALIKE conflicts of one kind (place, thread,
 * direction, what is known of bytes and order), further ones of that kind are skipped.  Returns 0,
 * or -1 if stopped.
 */
typedef int (*history_visit)(void *arg, const struct past_access *past,
	const struct access_conflict *conflict, enum order_strength strength);
int history_check(const struct history *history, const struct ordering *ordering,
	const struct memory_access *access, const struct operation_point *by, history_visit visit,
	void *arg);

/*
 * Adds an access of operation `by`.  Returns 0; 1 if the oldest access was removed to make room; -1
 * after a message.
 */
int history_add(struct history *history, const struct ordering *ordering,
	const struct memory_access *access, const struct operation_point *by);

/* Removes the past accesses that everything later is surely ordered after. */
typedef int (*history_is_over)(void *arg, const struct past_access *past);
void history_sweep(struct history *history, history_is_over is_over, void *arg);

/* Compares a past access, as passed to a visit, with no later one. */
void history_end(const struct history *history, const struct past_access *past);

/* Removes accesses between those addresses, whose memory was freed. */
void history_forget(struct history *history, int64_t low, int64_t high);

void history_release(struct history *history);

#endif
