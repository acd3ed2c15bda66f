/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The last operations that touched something, by stream: each stream has a ring of RECENT_DEPTH
 * operations, the most recently used stream first.  The caller chooses the keys.  Beyond the limit
 * of streams for a key, the least recently used stream is forgotten.
 *
 * Nothing is lost with an operation that is forgotten after a later one of its stream with the same
 * accesses: what is ordered after the later one is after both, and what conflicts with one does
 * with both.
 */
#ifndef CUFENCE_RECENT_ACCESSES_H
#define CUFENCE_RECENT_ACCESSES_H

#include "id_map.h"
#include "map.h"
#include "order_cover.h"

#define RECENT_DEPTH 64

/* Orders of the run without some of its waits. */
enum without { WITHOUT_HOST_WAITS, WITHOUT_EVENT_WAITS, WITHOUT_COUNT };

/* An operation that touched a key. */
struct touch {
	uint32_t call, stream;
	/* ns, WALK_NEVER: unknown; for an allocation, which takes no time, that of earlier work */
	int64_t end;
	struct order_epoch full; /* for order_before() in each order */
	struct order_epoch loose[WITHOUT_COUNT];
	int is_access; /* access.h has its accesses, if known */
	/* Its list of accesses, if they are all known (struct accesses.number); 0: unlike others */
	uint64_t accesses;
	struct order_clock *clock; /* its order without host waits; NULL: not noted */
};

struct recent_ring {
	int64_t stream;
	int64_t count;         /* in all; the last one and RECENT_DEPTH before it are kept */
	struct touch last;     /* most rings have no other */
	struct touch *touch;   /* the previous ones by number, up to RECENT_DEPTH */
	int64_t found;         /* result of the last recent_last() */
	int forgot;            /* one is not kept that had accesses unlike all that are */
	uint32_t newer, older; /* 1 + place of the ring used next and before, 0: none */
	/* A bit per order, with the waits that are needed: its last touch is after all others. */
	unsigned after_all;
};

struct recent_thing {
	struct recent_ring *ring;
	size_t count;
	struct map places; /* stream -> place in ring */
	uint32_t newest, oldest;
	int forgot; /* a stream was forgotten */
};

/* Empty when zero-initialized. */
struct recent_accesses {
	struct id_map things;
	size_t stream_limit; /* per key; 0: no limit */
};

/* Returns NULL if nothing touched the key. */
static inline const struct recent_thing *recent_find(const struct recent_accesses *recent,
	int64_t key)
{
	return id_map_get(&recent->things, key);
}

/*
 * Load what recent_find() and recent_note() will read of a key, most of which is in no cache, while
 * the caller does something else; the second one some time after the first.
 */
void recent_prefetch(const struct recent_accesses *recent, int64_t key);
void recent_prefetch_rings(const struct recent_accesses *recent, int64_t key, int64_t stream);

/* Adds a touch, with a reference to touch->clock; after_all as in struct recent_ring. */
void recent_note(struct recent_accesses *recent, int64_t key, const struct touch *touch,
	unsigned after_all);

/* Return the most recently used ring, and the one used before another; NULL: none. */
static inline struct recent_ring *recent_newest(const struct recent_thing *thing)
{
	return thing->newest ? &thing->ring[thing->newest - 1] : NULL;
}

static inline struct recent_ring *recent_older(const struct recent_thing *thing,
	const struct recent_ring *ring)
{
	return ring->older ? &thing->ring[ring->older - 1] : NULL;
}

void recent_forget(struct recent_accesses *recent, int64_t key);
void recent_release(struct recent_accesses *recent);

static inline const struct touch *recent_at(const struct recent_ring *ring, int64_t number)
{
	return number == ring->count - 1 ? &ring->last : &ring->touch[number % RECENT_DEPTH];
}

static inline int64_t recent_oldest(const struct recent_ring *ring)
{
	return ring->count > RECENT_DEPTH + 1 ? ring->count - RECENT_DEPTH - 1 : 0;
}

/* Returns the epoch of any operation, which identifies the stream's agent. */
static inline const struct order_epoch *recent_agent(const struct recent_ring *ring)
{
	return &recent_at(ring, ring->count - 1)->full;
}

/* Returns the number of the last touch with an epoch up to reach, recent_oldest() - 1 if none. */
int64_t recent_last(struct recent_ring *ring, uint32_t reach);

#endif
