/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A clock is the set of everything that something is ordered after: for each agent the position up
 * to which it is, with a strength.  Private to the order engine.
 *
 * An agent is a stream or a host thread and has a key.  Every step of the engine that extends an
 * agent uses the next sequence number, so that positions of all agents are on one scale.  A context
 * has two keys of its own: one stands for all its streams; the next one is its legacy stream's and
 * stands for the blocking streams too, because an operation in the legacy stream comes after
 * everything earlier in any of them.  A clock with such a key needs no keys of the streams it
 * covers, so that 10 000 streams do not cost 10 000 entries.
 *
 * Clocks are shared and never change once shared; entries are sorted by key.  If all agents are
 * ordered with each other, the clocks grow with the square of their number.  Therefore a joiner
 * counts the bytes of its clocks and the work of joining them, and both have a limit.
 */
#ifndef CUFENCE_ORDER_CLOCK_H
#define CUFENCE_ORDER_CLOCK_H

#include <stddef.h>
#include <stdint.h>

/*
 * Strength of an order: of a path, that of its weakest edge; of several paths, that of the
 * strongest.
 */
enum order_strength {
	ORDER_UNORDERED,
	ORDER_UNKNOWN, /* an unmodelled cause may order them, or they may overlap */
	ORDER_ASSUMED, /* by host time: one thread had observed it before another one continued */
	ORDER_INCIDENTAL, /* true in this run, but not guaranteed by CUDA */
	ORDER_GUARANTEED, /* documented */
};
#define ORDER_LEVELS ORDER_GUARANTEED

#define ORDER_ALL_KEY 0u           /* stands for every agent */
#define ORDER_BLOCKING 0x80000000u /* in a set: ordered by legacy work */

/* A position of an agent.  Zero: none. */
struct order_epoch {
	uint32_t key;
	uint32_t set; /* key of its context (0: none), with ORDER_BLOCKING */
	uint32_t seq;
};

struct order_entry {
	uint32_t key, set;
	uint32_t seq[ORDER_LEVELS]; /* by strength - 1; never larger for a higher strength */
};

struct order_clock {
	uint32_t refs, count;
	uint32_t size;   /* allocated entries */
	uint64_t number; /* changes with the content; unique within the joiner */
	size_t *bytes;   /* counter of the joiner that made it */
	struct order_entry entry[];
};

/* Returns the clock with one more reference.  NULL, the empty clock, stays NULL. */
struct order_clock *order_clock_ref(struct order_clock *clock);
void order_clock_unref(struct order_clock *clock);

/*
 * Returns how surely epoch is ordered before the owner of clock.  own, if not NULL, is an epoch
 * that the owner is surely ordered after.
 */
enum order_strength order_clock_strength(const struct order_clock *clock,
	const struct order_epoch *own, const struct order_epoch *epoch);

/*
 * Return the position up to which an agent is surely ordered before the owner, by its key and by
 * its set.  Epochs up to the larger of the two are ORDER_GUARANTEED, later ones are not.
 */
uint32_t order_clock_covers_key(const struct order_clock *clock, const struct order_epoch *own,
	uint32_t key);
uint32_t order_clock_covers_set(const struct order_clock *clock, const struct order_epoch *own,
	uint32_t set);

/* Returns the larger of the two. */
uint32_t order_clock_covers(const struct order_clock *clock, const struct order_epoch *own,
	const struct order_epoch *agent);

/* Returns the position up to which a key is known with at least that strength; 0: none. */
uint32_t order_clock_reach(const struct order_clock *clock, uint32_t key,
	enum order_strength strength);

/*
 * Scratch memory, limits and counters for joining clocks.  Entries that the owner of the clock will
 * contain anyway are not added: implied is the key of a context's streams, with ORDER_BLOCKING for
 * its legacy and blocking streams only, 0 for none.
 */
struct order_joiner {
	struct order_entry *scratch;
	size_t size;
	uint32_t implied;
	size_t bytes;        /* of all its clocks */
	size_t limit;        /* for bytes; 0: none */
	uint64_t work;       /* merged entries */
	uint64_t work_limit; /* for work; 0: none */
	uint64_t numbers;    /* last number given to a clock */
	int full;            /* a limit was reached: some clock is incomplete */
};

/*
 * Add to *clock the content of another clock or an epoch, with at most strength cap.  *clock is
 * replaced if it is shared.  At a limit they set joiner->full and leave *clock unchanged.
 */
void order_clock_join(struct order_joiner *joiner, struct order_clock **clock,
	const struct order_epoch *own, const struct order_clock *other, enum order_strength cap);
void order_clock_add(struct order_joiner *joiner, struct order_clock **clock,
	const struct order_epoch *own, const struct order_epoch *epoch, enum order_strength cap);

/*
 * Removes the entries for which gone() is true, also for other owners of the clock.  A clock that
 * is not shared is shrunk, and *clock is replaced.
 */
void order_clock_forget(struct order_joiner *joiner, struct order_clock **clock,
	int (*gone)(void *arg, uint32_t key), void *arg);

#endif
