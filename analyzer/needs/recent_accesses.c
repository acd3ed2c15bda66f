/* SPDX-License-Identifier: Apache-2.0 */
#include "recent_accesses.h"

#include <stdlib.h>

#include "memory.h"

static void prefetch(const void *object, size_t bytes)
{
	for (size_t i = 0; i < bytes; i += 64)
		__builtin_prefetch((const char *)object + i);
}

void recent_prefetch(const struct recent_accesses *recent, int64_t key)
{
	const struct recent_thing *thing = recent_find(recent, key);

	if (thing)
		prefetch(thing, sizeof(*thing));
}

void recent_prefetch_rings(const struct recent_accesses *recent, int64_t key, int64_t stream)
{
	const struct recent_thing *thing = recent_find(recent, key);
	const struct recent_ring *newest = thing ? recent_newest(thing) : NULL;

	if (newest)
		prefetch(newest, sizeof(*newest));
	if (thing && thing->places.size)
		prefetch(&thing->places.entry[map_slot(&thing->places, (uint64_t)stream)], 1);
}

static void release_ring(struct recent_ring *ring)
{
	int64_t before = ring->count - 1, kept = before < RECENT_DEPTH ? before : RECENT_DEPTH;

	for (int64_t k = 0; k < kept; k++)
		order_clock_unref(ring->touch[k].clock);
	order_clock_unref(ring->last.clock);
	free(ring->touch);
}

static void unlink_ring(struct recent_thing *thing, const struct recent_ring *ring)
{
	*(ring->newer ? &thing->ring[ring->newer - 1].older : &thing->newest) = ring->older;
	*(ring->older ? &thing->ring[ring->older - 1].newer : &thing->oldest) = ring->newer;
}

void recent_note(struct recent_accesses *recent, int64_t key, const struct touch *touch,
	unsigned after_all)
{
	struct recent_thing *thing = id_map_need(&recent->things, key, sizeof(*thing));
	size_t known = map_get(&thing->places, touch->stream, thing->count);
	struct recent_ring *ring;
	uint32_t place;
	int64_t last;

	if (known < thing->count) {
		ring = &thing->ring[known];
	} else {
		if (recent->stream_limit && thing->count >= recent->stream_limit) {
			/* The ring of the least recently used stream. */
			ring = &thing->ring[thing->oldest - 1];
			thing->forgot = 1;
			unlink_ring(thing, ring);
			map_remove(&thing->places, (uint64_t)ring->stream);
			release_ring(ring);
		} else {
			ring = array_push(thing->ring, thing->count);
		}
		*ring = (struct recent_ring){ .stream = touch->stream };
		map_set(&thing->places, touch->stream, (uint64_t)(ring - thing->ring));
	}
	place = (uint32_t)(ring - thing->ring) + 1;
	last = ring->count - 1;

	if (thing->newest != place) {
		if (ring->count)
			unlink_ring(thing, ring);
		ring->newer = 0;
		ring->older = thing->newest;
		*(thing->newest ? &thing->ring[thing->newest - 1].newer : &thing->oldest) = place;
		thing->newest = place;
	}
	/* Moves the last touch into the ring. */
	if (last >= RECENT_DEPTH) {
		/* The oldest one is forgotten: a later one with the same accesses stands for it. */
		const struct touch *oldest = &ring->touch[last % RECENT_DEPTH];
		uint64_t accesses = oldest->accesses;
		int64_t later = ring->forgot || !accesses ? last : last - RECENT_DEPTH + 1;

		while (later < last && recent_at(ring, later)->accesses != accesses)
			later++;
		ring->forgot |= !accesses || recent_at(ring, later)->accesses != accesses;
		order_clock_unref(oldest->clock);
	} else if (last >= 0)
		ring->touch = array_grown(ring->touch, (size_t)last, sizeof(*ring->touch));
	if (last >= 0)
		ring->touch[last % RECENT_DEPTH] = ring->last;
	ring->after_all = after_all;
	ring->last = *touch;
	order_clock_ref(touch->clock);
	ring->count++;
}

static int is_up_to(const struct recent_ring *ring, int64_t number, uint32_t reach)
{
	return recent_at(ring, number)->full.seq <= reach;
}

/* The result is mostly that for the previous call, or shortly after it. */
int64_t recent_last(struct recent_ring *ring, uint32_t reach)
{
	int64_t none = recent_oldest(ring) - 1, end = ring->count;
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
	struct recent_thing *thing = object;

	for (size_t i = 0; thing && i < thing->count; i++)
		release_ring(&thing->ring[i]);
	if (thing) {
		free(thing->ring);
		map_release(&thing->places);
	}
	free(thing);
}

void recent_forget(struct recent_accesses *recent, int64_t key)
{
	free_thing(id_map_take(&recent->things, key));
}

void recent_release(struct recent_accesses *recent)
{
	id_map_release(&recent->things, free_thing);
}
