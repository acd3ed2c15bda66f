/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The last operations that touched something, by stream: for each stream a ring of TOUCHED_DEPTH,
 * those of the streams that touched it last first.  The caller chooses the keys.  Of a thing that
 * more streams touch than the limit the one that came longest ago is forgotten.
 */
#ifndef CUFENCE_TOUCHED_H
#define CUFENCE_TOUCHED_H

#include "idmap.h"
#include "map.h"
#include "order_cover.h"

#define TOUCHED_DEPTH 64

/* Orders of the run without some of its waits. */
enum without { WITHOUT_HOST_WAITS, WITHOUT_EVENT_WAITS, WITHOUT_COUNT };

/* An operation that touched something. */
struct touch {
	uint32_t call, stream;
	int64_t end;             /* ns, WALK_NEVER: unknown; of what takes no time itself (an
				  * allocation) the end of what it comes after */
	struct order_epoch full; /* for order_before() of each order */
	struct order_epoch loose[WITHOUT_COUNT];
	int is_access;             /* access.h says what it is, if that is known */
	struct order_clock *clock; /* what it is after without host waits, if that was noted */
};

struct touched_ring {
	int64_t stream;
	int64_t count;         /* of all there were; the last TOUCHED_DEPTH are kept */
	struct touch last;     /* most rings have no other */
	struct touch *touch;   /* by number, up to TOUCHED_DEPTH of those before it */
	int64_t found;         /* by touched_last() */
	uint32_t newer, older; /* those whose last touch came next and before: place + 1, or 0 */
	unsigned after_all;    /* by order without: its last touch is surely after all before it */
};

struct touched_thing {
	struct touched_ring *ring;
	size_t count;
	struct map places; /* stream -> place in ring, where there are many */
	uint32_t newest, oldest;
	int forgot; /* a stream */
};

/* Zero-initialized is empty. */
struct touched {
	struct idmap things;
	size_t stream_limit; /* of one thing; 0: none */
};

/* Of a key; NULL: nobody touched it. */
const struct touched_thing *touched_find(const struct touched *touched, int64_t key);

/* The ring takes a reference to touch->clock; after_all as in struct touched_ring.  0, or -1 after
 * a message. */
int touched_note(struct touched *touched, int64_t key, const struct touch *touch,
	unsigned after_all);

/* The ring with the last touch, and the one with the last before that of a ring; NULL: none. */
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

/* Of a stream's operations any epoch, as which agent's they are. */
static inline const struct order_epoch *touched_agent(const struct touched_ring *ring)
{
	return &touched_at(ring, ring->count - 1)->full;
}

/* The number of the last one up to that number of its stream, touched_oldest() - 1 without one. */
int64_t touched_last(struct touched_ring *ring, uint32_t reach);

#endif
