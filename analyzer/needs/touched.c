/* SPDX-License-Identifier: Apache-2.0 */
#include "touched.h"

#include <stdlib.h>

#include "memory.h"

const struct touched_thing *touched_find(const struct touched *touched, int64_t key)
{
	return id_map_get(&touched->things, key);
}

/* Up to this many streams are searched linearly. */
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

static void release_ring(struct touched_ring *ring)
{
	int64_t before = ring->count - 1, kept = before < TOUCHED_DEPTH ? before : TOUCHED_DEPTH;

	for (int64_t k = 0; k < kept; k++)
		order_clock_unref(ring->touch[k].clock);
	order_clock_unref(ring->last.clock);
	free(ring->touch);
}

static void unlink_ring(struct touched_thing *thing, const struct touched_ring *ring)
{
	*(ring->newer ? &thing->ring[ring->newer - 1].older : &thing->newest) = ring->older;
	*(ring->older ? &thing->ring[ring->older - 1].newer : &thing->oldest) = ring->newer;
}

static void make_newest(struct touched_thing *thing, struct touched_ring *ring)
{
	uint32_t place = (uint32_t)(ring - thing->ring) + 1;

	if (thing->newest == place)
		return;
	if (ring->count)
		unlink_ring(thing, ring);
	ring->newer = 0;
	ring->older = thing->newest;
	*(thing->newest ? &thing->ring[thing->newest - 1].newer : &thing->oldest) = place;
	thing->newest = place;
}

/* Removes the least recently used stream and returns its ring for reuse. */
static struct touched_ring *forget_oldest(struct touched_thing *thing)
{
	struct touched_ring *ring = &thing->ring[thing->oldest - 1];

	thing->forgot = 1;
	unlink_ring(thing, ring);
	map_remove(&thing->places, (uint64_t)ring->stream);
	release_ring(ring);
	return ring;
}

static struct touched_ring *new_ring(const struct touched *touched, struct touched_thing *thing)
{
	if (touched->stream_limit && thing->count >= touched->stream_limit)
		return forget_oldest(thing);
	return array_push(thing->ring, thing->count);
}

static struct touched_ring *ring_of(const struct touched *touched, struct touched_thing *thing,
	int64_t stream)
{
	struct touched_ring *ring = find_ring(thing, stream);

	if (ring)
		return ring;
	ring = new_ring(touched, thing);
	if (!ring)
		return NULL;
	*ring = (struct touched_ring){ .stream = stream };
	map_set(&thing->places, (uint64_t)stream, (uint64_t)(ring - thing->ring));
	return ring;
}

/* Moves the last touch into the ring. */
static void keep_last(struct touched_ring *ring)
{
	int64_t number = ring->count - 1;

	if (number < 0)
		return;
	if (number < TOUCHED_DEPTH)
		ring->touch = array_grown(ring->touch, (size_t)number, sizeof(*ring->touch));
	else
		order_clock_unref(ring->touch[number % TOUCHED_DEPTH].clock);
	ring->touch[number % TOUCHED_DEPTH] = ring->last;
}

int touched_note(struct touched *touched, int64_t key, const struct touch *touch,
	unsigned after_all)
{
	struct touched_thing *thing = id_map_need(&touched->things, key, sizeof(*thing));
	struct touched_ring *ring = thing ? ring_of(touched, thing, touch->stream) : NULL;

	if (!ring)
		return -1;
	make_newest(thing, ring);
	ring->after_all = after_all;
	keep_last(ring);
	ring->last = *touch;
	order_clock_ref(touch->clock);
	ring->count++;
	return 0;
}

static int is_up_to(const struct touched_ring *ring, int64_t number, uint32_t reach)
{
	return touched_at(ring, number)->full.seq <= reach;
}

/* The result is mostly that for the previous call, or shortly after it. */
int64_t touched_last(struct touched_ring *ring, uint32_t reach)
{
	int64_t none = touched_oldest(ring) - 1, end = ring->count;
	int64_t low = ring->found > none ? ring->found : none, high = low + 1;

	if (low > none && !is_up_to(ring, low, reach)) {
		high = low;
		low = none;
	}
	for (int64_t step = 1; high < end && high > low && is_up_to(ring, high, reach); step *= 2) {
		low = high;
		high += step;
	}
	high = high < end ? high : end;
	while (low + 1 < high) {
		int64_t middle = low + (high - low) / 2;

		if (is_up_to(ring, middle, reach))
			low = middle;
		else
			high = middle;
	}
	return ring->found = low;
}

static void free_thing(void *object)
{
	struct touched_thing *thing = object;

	for (size_t i = 0; thing && i < thing->count; i++)
		release_ring(&thing->ring[i]);
	if (thing) {
		free(thing->ring);
		map_release(&thing->places);
	}
	free(thing);
}

void touched_forget(struct touched *touched, int64_t key)
{
	free_thing(id_map_take(&touched->things, key));
}

void touched_release(struct touched *touched)
{
	id_map_release(&touched->things, free_thing);
}
