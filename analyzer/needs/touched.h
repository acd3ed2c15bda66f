/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The last operations that touched something, by stream: each stream has a ring of TOUCHED_DEPTH
 * operations, the most recently used stream first.  The caller chooses the keys.  Beyond the limit
 * of streams for a key, the least recently used stream is forgotten.
 */
#ifndef CUFENCE_TOUCHED_H
#define CUFENCE_TOUCHED_H

#include "id_map.h"
#include "map.h"
#include "order_cover.h"

#define TOUCHED_DEPTH 64

/* Orders of the run without some of its waits. */
enum without { WITHOUT_HOST_WAITS, WITHOUT_EVENT_WAITS, WITHOUT_COUNT };

/* An operation that touched a key. */
struct touch {
	uint32_t call, stream;
	/* ns, WALK_NEVER: unknown; for an allocation, which takes no time, that of earlier work */
	int64_t end;
	struct order_epoch full; /* for order_before() in each order */
	struct order_epoch loose[WITHOUT_COUNT];
	int is_access;             /* access.h has its accesses, if known */
	struct order_clock *clock; /* its order without host waits; NULL: not noted */
};

struct touched_ring {
	int64_t stream;
	int64_t count;         /* in all; the last TOUCHED_DEPTH are kept */
	struct touch last;     /* most rings have no other */
	struct touch *touch;   /* the previous ones by number, up to TOUCHED_DEPTH */
	int64_t found;         /* result of the last touched_last() */
	uint32_t newer, older; /* 1 + place of the ring used next and before, 0: none */
	/* A bit per order, with the waits that are needed: its last touch is after all others. */
	unsigned after_all;
};

struct touched_thing {
	struct touched_ring *ring;
	size_t count;
	struct map places; /* stream -> place in ring, if there are many */
	uint32_t newest, oldest;
	int forgot; /* a stream was forgotten */
};

/* Empty when zero-initialized. */
struct touched {
	struct id_map things;
	size_t stream_limit; /* per key; 0: no limit */
};

/* Returns NULL if nothing touched the key. */
const struct touched_thing *touched_find(const struct touched *touched, int64_t key);

/*
 * Adds a touch, with a reference to touch->clock; after_all as in struct touched_ring.  Returns 0,
 * or -1 after a message.
 */
int touched_note(struct touched *touched, int64_t key, const struct touch *touch,
	unsigned after_all);

/* Return the most recently used ring, and the one used before another; NULL: none. */
static inline struct touched_ring *touched_newest(const struct touched_thing *thing)
{
	return thing->newest ? &thing->ring[thing->newest - 1] : NULL;
}

static inline struct touched_ring *touched_older(const struct touched_thing *thing,
	const struct touched_ring *ring)
{
	return ring->older ? &thing->ring[ring->older - 1] : NULL;
}

void touched_forget(struct touched *touched, int64_t key);
void touched_release(struct touched *touched);

static inline const struct touch *touched_at(const struct touched_ring *ring, int64_t number)
{
	return number == ring->count - 1 ? &ring->last : &ring->touch[number % TOUCHED_DEPTH];
}

static inline int64_t touched_oldest(const struct touched_ring *ring)
{
	return ring->count > TOUCHED_DEPTH ? ring->count - TOUCHED_DEPTH : 0;
}

/* Returns the epoch of any operation, which identifies the stream's agent. */
static inline const struct order_epoch *touched_agent(const struct touched_ring *ring)
{
	return &touched_at(ring, ring->count - 1)->full;
}

/* Returns the number of the last touch with an epoch up to reach, touched_oldest() - 1 if none. */
int64_t touched_last(struct touched_ring *ring, uint32_t reach);

#endif
