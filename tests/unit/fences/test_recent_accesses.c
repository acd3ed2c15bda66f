/* SPDX-License-Identifier: Apache-2.0 */
/* The last operations on a thing, by stream: access/recent_accesses.h. */
#include "unit.h"

#include "recent_accesses.h"

#define THING 7

static void note(struct recent_accesses *recent, uint32_t stream, uint32_t seq, unsigned after_all)
{
	struct touch touch = { .call = seq, .stream = stream, .full = { stream, 0, seq } };

	recent_note(recent, THING, &touch, after_all);
}

static void assert_streams(const struct recent_accesses *recent, const int64_t *stream,
	size_t count)
{
	const struct recent_thing *thing = recent_find(recent, THING);
	const struct recent_ring *ring = recent_newest(thing);

	for (size_t i = 0; i < count; i++, ring = recent_older(thing, ring)) {
		assert_non_null(ring);
		assert_int_equal(ring->stream, stream[i]);
	}
	assert_null(ring);
}

TEST(streams_stand_in_the_order_of_their_last_touch)
{
	struct recent_accesses recent = { 0 };

	for (uint32_t stream = 1; stream <= 12; stream++)
		note(&recent, stream, stream, stream == 3);
	note(&recent, 3, 13, 0);
	note(&recent, 3, 14, 2);
	note(&recent, 12, 15, 0);
	note(&recent, 1, 16, 0);
	assert_streams(&recent, (const int64_t[]){ 1, 12, 3, 11, 10, 9, 8, 7, 6, 5, 4, 2 }, 12);
	/* The last touch decides which work the stream is after. */
	assert_int_equal(recent_find(&recent, THING)->ring[2].after_all, 2);
	assert_false(recent_find(&recent, THING)->forgot);
	recent_release(&recent);
}

TEST(the_stream_that_came_longest_ago_is_forgotten)
{
	struct recent_accesses recent = { .stream_limit = 10 };
	const struct recent_thing *thing;

	for (uint32_t stream = 1; stream <= 10; stream++)
		note(&recent, stream, stream, 0);
	note(&recent, 1, 11, 0);
	assert_false(recent_find(&recent, THING)->forgot);
	note(&recent, 11, 12, 0); /* 2 goes */
	note(&recent, 12, 13, 0); /* 3 goes */
	note(&recent, 2, 14, 0);  /* 4 goes */
	assert_streams(&recent, (const int64_t[]){ 2, 12, 11, 1, 10, 9, 8, 7, 6, 5 }, 10);
	thing = recent_find(&recent, THING);
	assert_true(thing->forgot);
	/* Nothing is left of what the stream did before it was forgotten. */
	assert_int_equal(recent_newest(thing)->count, 1);
	assert_int_equal(recent_at(recent_newest(thing), 0)->call, 14);
	recent_release(&recent);
}

/* As a look at each says, wherever the last search ended. */
TEST(the_last_up_to_a_number_is_found)
{
	struct recent_accesses recent = { 0 };
	struct recent_ring *ring;
	unsigned random = 1;

	for (uint32_t number = 1; number <= 3 * RECENT_DEPTH; number++) {
		note(&recent, 1, 2 * number, 0);
		ring = recent_newest(recent_find(&recent, THING));
		for (int i = 0; i < 20; i++) {
			uint32_t reach;
			int64_t last = ring->count - 1;

			random = random * 1103515245 + 12345;
			reach = random >> 16 & 511;
			while (last >= recent_oldest(ring) &&
				recent_at(ring, last)->full.seq > reach)
				last--;
			assert_int_equal(recent_last(ring, reach), last);
		}
	}
	recent_release(&recent);
}

/* One that another with the same accesses follows is not missed. */
TEST(accesses_unlike_all_that_are_kept_are_forgotten)
{
	struct recent_accesses recent = { 0 };
	struct touch touch = { .stream = 1 };
	const struct recent_ring *ring;

	for (touch.call = 1; touch.call <= 3 * RECENT_DEPTH; touch.call++) {
		touch.full = (struct order_epoch){ 1, 0, touch.call };
		touch.accesses = touch.call % 3 + 1;
		recent_note(&recent, THING, &touch, 0);
	}
	ring = recent_newest(recent_find(&recent, THING));
	assert_false(ring->forgot);
	touch.accesses = 4;
	for (int i = 0; i < RECENT_DEPTH + 1; i++)
		recent_note(&recent, THING, &touch, 0);
	assert_true(ring->forgot);
	recent_release(&recent);

	/* Accesses that are not all known may be any. */
	touch.accesses = 0;
	for (int i = 0; i < RECENT_DEPTH + 2; i++)
		recent_note(&recent, THING, &touch, 0);
	assert_true(recent_newest(recent_find(&recent, THING))->forgot);
	recent_release(&recent);
}
