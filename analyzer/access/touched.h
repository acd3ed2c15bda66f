/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The last operations that touched something, by stream: for each stream a ring of TOUCHED_DEPTH.
 * The caller chooses the keys.  A thing that more streams touch than the limit keeps none of them:
 * it is crowded.
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
	int64_t call, stream;
	int64_t end;             /* ns, WALK_NEVER: unknown; of what takes no time itself (an
				  * allocation) the end of what it comes after */
	struct order_epoch full; /* for order_before() of each order */
	struct order_epoch loose[WITHOUT_COUNT];
	int is_access;            /* access.h knows what it is, if anybody does */
	struct order_cover point; /* in the order without host waits, if it was noted with one */
};

struct touched_ring {
	int64_t stream;
	int64_t count; /* of all there were; the last TOUCHED_DEPTH are kept */
	struct touch *touch;
};

struct touched_thing {
	struct touched_ring *ring; /* by stream */
	size_t count;
	struct map places; /* stream -> place in ring, where there are many */
	int crowded;
};

/* Zero-initialized is empty. */
struct touched {
	struct idmap things;
	size_t stream_limit; /* of one thing; 0: none */
};

/* Of a key; NULL: nobody touched it. */
const struct touched_thing *touched_find(const struct touched *touched, int64_t key);

/* The ring took a reference to touch->point; 0, or -1 after a message. */
int touched_note(struct touched *touched, int64_t key, const struct touch *touch);

void touched_forget(struct touched *touched, int64_t key);
void touched_release(struct touched *touched);

static inline const struct touch *touched_at(const struct touched_ring *ring, int64_t number)
{
	return &ring->touch[number % TOUCHED_DEPTH];
}

static inline int64_t touched_oldest(const struct touched_ring *ring)
{
	return ring->count > TOUCHED_DEPTH ? ring->count - TOUCHED_DEPTH : 0;
}

/*
 * The number of the last one for which before() is true, touched_oldest() - 1 without one: an
 * operation of a stream is not before something that the one before it is not.
 */
int64_t touched_last(const struct touched_ring *ring,
	int (*before)(const void *arg, const struct touch *touch), const void *arg);

#endif
