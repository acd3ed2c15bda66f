/* SPDX-License-Identifier: Apache-2.0 */
#include "touched.h"

#include <stdlib.h>

#include "array.h"

const struct touched_thing *touched_find(const struct touched *touched, int64_t key)
{
	return idmap_get(&touched->things, key);
}

/* So many are searched one by one. */
#define FEW_STREAMS 8

static struct touched_ring *find_ring(const struct touched_thing *thing, int64_t stream)
{
	size_t place;

	if (thing->count > FEW_STREAMS) {
		place = map_get(&thing->places, (uint64_t)stream, thing->count);
		return place < thing->count ? &thing->ring[place] : NULL;
	}
	for (size_t i = 0; i < thing->count; i++)
		if (thing->ring[i].stream == stream)
			return &thing->ring[i];
	return NULL;
}

static struct touched_ring *ring_of(struct touched_thing *thing, int64_t stream)
{
	struct touched_ring *ring = find_ring(thing, stream), *more;

	if (ring)
		return ring;
	more = array_room(thing->ring, thing->count, sizeof(*more));
	if (!more || map_set(&thing->places, (uint64_t)stream, thing->count))
		return NULL;
	thing->ring = more;
	more[thing->count] = (struct touched_ring){ .stream = stream };
	return &more[thing->count++];
}

static void put(struct touch *place, const struct touch *touch, int is_new)
{
	if (!is_new)
		order_cover_release(&place->point);
	*place = *touch;
	order_clock_ref(place->point.clock);
}

int touched_note(struct touched *touched, int64_t key, const struct touch *touch)
{
	struct touched_thing *thing = idmap_need(&touched->things, key, sizeof(*thing));
	struct touched_ring *ring;
	struct touch *more;

	if (!thing || thing->crowded)
		return thing ? 0 : -1;
	if (touched->stream_limit && thing->count >= touched->stream_limit) {
		thing->crowded = 1;
		return 0;
	}
	ring = ring_of(thing, touch->stream);
	if (!ring)
		return -1;
	if (ring->count < TOUCHED_DEPTH) {
		more = array_room(ring->touch, (size_t)ring->count, sizeof(*more));
		if (!more)
			return -1;
		ring->touch = more;
	}
	put(&ring->touch[ring->count % TOUCHED_DEPTH], touch, ring->count < TOUCHED_DEPTH);
	ring->count++;
	return 0;
}

/* Mostly it is one of the newest. */
int64_t touched_last(const struct touched_ring *ring,
	int (*before)(const void *arg, const struct touch *touch), const void *arg)
{
	int64_t none = touched_oldest(ring) - 1, low = ring->count - 1, high = low;

	for (int64_t step = 1; low > none && !before(arg, touched_at(ring, low)); step *= 2) {
		high = low - 1;
		low -= step;
	}
	low = low > none ? low : none;
	while (low < high) {
		int64_t middle = low + (high - low + 1) / 2;

		if (before(arg, touched_at(ring, middle)))
			low = middle;
		else
			high = middle - 1;
	}
	return low;
}

static void free_thing(void *object)
{
	struct touched_thing *thing = object;

	for (size_t i = 0; thing && i < thing->count; i++) {
		struct touched_ring *ring = &thing->ring[i];
		int64_t kept = ring->count < TOUCHED_DEPTH ? ring->count : TOUCHED_DEPTH;

		for (int64_t k = 0; k < kept; k++)
			order_cover_release(&ring->touch[k].point);
		free(ring->touch);
	}
	if (thing) {
		free(thing->ring);
		map_release(&thing->places);
	}
	free(thing);
}

void touched_forget(struct touched *touched, int64_t key)
{
	free_thing(idmap_take(&touched->things, key));
}

void touched_release(struct touched *touched)
{
	idmap_release(&touched->things, free_thing);
}
