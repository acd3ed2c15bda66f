/* SPDX-License-Identifier: Apache-2.0 */
/* The last operations on a thing, by stream: access/touched.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "touched.h"

#define THING 7

static void note(struct touched *touched, uint32_t stream, uint32_t seq, unsigned after_all)
{
	struct touch touch = { .call = seq, .stream = stream, .full = { stream, 0, seq } };

	assert_int_equal(touched_note(touched, THING, &touch, after_all), 0);
}

static void assert_streams(const struct touched *touched, const int64_t *stream, size_t count)
{
	const struct touched_thing *thing = touched_find(touched, THING);
	const struct touched_ring *ring = touched_newest(thing);

	for (size_t i = 0; i < count; i++, ring = touched_older(thing, ring)) {
		assert_non_null(ring);
		assert_int_equal(ring->stream, stream[i]);
	}
	assert_null(ring);
}

static void streams_stand_in_the_order_of_their_last_touch(void **state)
{
	struct touched touched = { 0 };

	(void)state;
	for (uint32_t stream = 1; stream <= 12; stream++)
		note(&touched, stream, stream, stream == 3);
	note(&touched, 3, 13, 0);
	note(&touched, 3, 14, 2);
	note(&touched, 12, 15, 0);
	note(&touched, 1, 16, 0);
	assert_streams(&touched, (const int64_t[]){ 1, 12, 3, 11, 10, 9, 8, 7, 6, 5, 4, 2 }, 12);
	/* The last touch decides which work the stream is after. */
	assert_int_equal(touched_find(&touched, THING)->ring[2].after_all, 2);
	assert_false(touched_find(&touched, THING)->forgot);
	touched_release(&touched);
}

static void the_stream_that_came_longest_ago_is_forgotten(void **state)
{
	struct touched touched = { .stream_limit = 10 };
	const struct touched_thing *thing;

	(void)state;
	for (uint32_t stream = 1; stream <= 10; stream++)
		note(&touched, stream, stream, 0);
	note(&touched, 1, 11, 0);
	assert_false(touched_find(&touched, THING)->forgot);
	note(&touched, 11, 12, 0); /* 2 goes */
	note(&touched, 12, 13, 0); /* 3 goes */
	note(&touched, 2, 14, 0);  /* 4 goes */
	assert_streams(&touched, (const int64_t[]){ 2, 12, 11, 1, 10, 9, 8, 7, 6, 5 }, 10);
	thing = touched_find(&touched, THING);
	assert_true(thing->forgot);
	/* Nothing is left of what the stream did before it was forgotten. */
	assert_int_equal(touched_newest(thing)->count, 1);
	assert_int_equal(touched_at(touched_newest(thing), 0)->call, 14);
	touched_release(&touched);
}

/* As a look at each says, wherever the last search ended. */
static void the_last_up_to_a_number_is_found(void **state)
{
	struct touched touched = { 0 };
	struct touched_ring *ring;
	unsigned random = 1;

	(void)state;
	for (uint32_t number = 1; number <= 3 * TOUCHED_DEPTH; number++) {
		note(&touched, 1, 2 * number, 0);
		ring = touched_newest(touched_find(&touched, THING));
		for (int i = 0; i < 20; i++) {
			uint32_t reach;
			int64_t last = ring->count - 1;

			random = random * 1103515245 + 12345;
			reach = random >> 16 & 511;
			while (last >= touched_oldest(ring) &&
				touched_at(ring, last)->full.seq > reach)
				last--;
			assert_int_equal(touched_last(ring, reach), last);
		}
	}
	touched_release(&touched);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(streams_stand_in_the_order_of_their_last_touch),
		cmocka_unit_test(the_stream_that_came_longest_ago_is_forgotten),
		cmocka_unit_test(the_last_up_to_a_number_is_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
