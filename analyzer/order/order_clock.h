/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What something is ordered after: a set of "everything of this agent up to this point", each with
 * how sure that is.  Private to the order engine.
 *
 * An agent is a stream or a host thread and has a key; every step of the engine that adds to one
 * takes the next sequence number, so that a number says how far an agent had come and all agents
 * share one scale.  A context has two keys of its own: one stands for all its streams, the next one
 * is its legacy stream's and stands for the blocking streams too, because an operation in the
 * legacy stream comes after everything earlier in any of them.  A clock with such a key needs none
 * for the streams it covers, which is why 10 000 streams do not cost 10 000 entries.
 *
 * Clocks are shared and never change once shared; entries are in order of key.  If all agents are
 * ordered with each other, the clocks grow with the square of their number.  So a joiner counts the
 * bytes of its clocks and the work of joining them, and both have a limit.
 */
#ifndef CUFENCE_ORDER_CLOCK_H
#define CUFENCE_ORDER_CLOCK_H

#include <stddef.h>
#include <stdint.h>

/* How sure an order is; of a chain, its weakest link, and of several chains the best. */
enum order_strength {
	ORDER_UNORDERED,
	ORDER_UNKNOWN,    /* something that is not modelled may order them, or they may overlap */
	ORDER_ASSUMED,    /* by host time: one thread knew before another one went on */
	ORDER_INCIDENTAL, /* it happened in this run; CUDA does not promise it */
	ORDER_GUARANTEED, /* documented */
};
#define ORDER_LEVELS ORDER_GUARANTEED

#define ORDER_ALL_KEY 0u           /* stands for every agent */
#define ORDER_BLOCKING 0x80000000u /* in set: legacy work orders it */

/* A point in the life of an agent.  Zero: none. */
struct order_epoch {
	uint32_t key;
	uint32_t set; /* key of the context it belongs to (0: none), with ORDER_BLOCKING */
	uint32_t seq;
};

struct order_entry {
	uint32_t key, set;
	uint32_t seq[ORDER_LEVELS]; /* by strength - 1; a stronger one is never further */
};

struct order_clock {
	uint32_t refs, count;
	uint32_t size;   /* room for entries */
	uint64_t number; /* no other clock of its joiner has or had it, nor had this one before */
	size_t *bytes;   /* of the joiner that made it */
	struct order_entry entry[];
};

/* The clock with one more owner; NULL, the empty clock, stays NULL. */
struct order_clock *order_clock_ref(struct order_clock *clock);
void order_clock_unref(struct order_clock *clock);

/* How surely epoch lies before the owner of clock; own, if not NULL, is an epoch that the owner
 * is surely after. */
enum order_strength order_clock_strength(const struct order_clock *clock,
	const struct order_epoch *own, const struct order_epoch *epoch);

/*
 * How far an agent lies surely before the owner: up to this number an epoch of it is
 * ORDER_GUARANTEED, and none beyond the larger of what is known of its key and of its set.
 */
uint32_t order_clock_covers_key(const struct order_clock *clock, const struct order_epoch *own,
	uint32_t key);
uint32_t order_clock_covers_set(const struct order_clock *clock, const struct order_epoch *own,
	uint32_t set);

/* Likewise, the larger of the two. */
uint32_t order_clock_covers(const struct order_clock *clock, const struct order_epoch *own,
	const struct order_epoch *agent);

/* How far a key is known at least that surely; 0: not at all. */
uint32_t order_clock_reach(const struct order_clock *clock, uint32_t key,
	enum order_strength strength);

/*
 * What joins clocks: scratch memory, and what the owner of the clock will contain anyway, which is
 * not added.  implied is the key of a context's streams, with ORDER_BLOCKING for its legacy and
 * blocking ones alone, 0 for nothing.
 */
struct order_joiner {
	struct order_entry *scratch;
	size_t size;
	uint32_t implied;
	size_t bytes;        /* of all clocks that this made */
	size_t limit;        /* of bytes; 0: none */
	uint64_t work;       /* entries that were merged */
	uint64_t work_limit; /* of these; 0: none */
	uint64_t numbers;    /* given to clocks so far */
	int full;            /* a limit was reached: a clock lacks what was to be added to it */
};

/*
 * Adds to *clock what another one or an epoch contains, no surer than cap.  *clock is replaced if
 * it is shared.  0, or -1 after a message when out of memory, *clock untouched.  At a limit 0, with
 * joiner->full set and *clock untouched.
 */
int order_clock_join(struct order_joiner *joiner, struct order_clock **clock,
	const struct order_epoch *own, const struct order_clock *other, enum order_strength cap);
int order_clock_add(struct order_joiner *joiner, struct order_clock **clock,
	const struct order_epoch *own, const struct order_epoch *epoch, enum order_strength cap);

/*
 * Takes out the entries for which gone() is true, of every owner's at once.  A clock that is not
 * shared gives its memory back, and *clock is replaced.
 */
void order_clock_forget(struct order_joiner *joiner, struct order_clock **clock,
	int (*gone)(void *arg, uint32_t key), void *arg);

#endif
