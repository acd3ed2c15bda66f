/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include "lives.h"

TEST(a_reused_handle_means_the_life_of_its_time)
{
	struct lives lives = { 0 };
	uint32_t first = lives_begin(&lives, 0x5000, 10, 1), second;

	assert_int_equal(lives_find(&lives, 0x5000, 10), first);
	lives_end(&lives, first, 20, 2);
	assert_int_equal(lives_find(&lives, 0x5000, 30), 0);
	second = lives_begin(&lives, 0x5000, 40, 3);
	assert_int_equal(lives_find(&lives, 0x5000, 50), second);
	assert_int_equal(lives_find(&lives, 0x6000, 50), 0);
	lives_release(&lives);
}

/* Thread A is still in its create call when thread B destroys the old life. */
TEST(a_life_is_unknown_until_its_call_returns)
{
	struct lives lives = { 0 };
	uint32_t old = lives_begin(&lives, 7, 0, 0);
	uint32_t new = lives_begin(&lives, 7, 100, 1);

	assert_int_equal(lives_find(&lives, 7, 50), old);
	assert_int_equal(lives_find(&lives, 7, 100), new);
	lives_release(&lives);
}

/*
 * Thread A enters its create call, B creates, destroys (and is still returning from that), and A is
 * given the handle.
 */
TEST(a_handle_goes_to_whom_it_was_returned_last)
{
	struct lives lives = { 0 };
	uint32_t a = lives_begin(&lives, 7, 100, 1);
	uint32_t b = lives_begin(&lives, 7, 50, 2);

	assert_int_equal(lives_find(&lives, 7, 60), b);
	lives_end(&lives, b, 150, 3);
	assert_int_equal(lives_find(&lives, 7, 120), a);
	lives_end(&lives, a, 130, 4);
	assert_int_equal(lives.life[a - 1].destroyed, 4);
	assert_int_equal(lives.life[b - 1].destroyed, 3);
	assert_int_equal(lives_find(&lives, 7, 160), 0);
	lives_release(&lives);
}

static int retired;
static int count_retired(void *arg, const struct life *life)
{
	retired++;
	return 0;
}

TEST(a_life_between_two_others_retires)
{
	struct lives lives = { .retire = count_retired };
	uint32_t first = lives_begin(&lives, 7, 10, 1);
	uint32_t last = lives_begin(&lives, 7, 100, 2);
	uint32_t middle = lives_begin(&lives, 7, 50, 3);

	lives_end(&lives, middle, 90, 4);
	assert_int_equal(lives_retire(&lives, 91), 0);
	assert_int_equal(retired, 1);
	assert_int_equal(lives_find(&lives, 7, 100), last);
	assert_int_equal(lives_find(&lives, 7, 20), first);
	lives_release(&lives);
}

/* Its create call was not seen: it may be any time since the life before it. */
TEST(an_unseen_life_comes_behind_one_that_ended)
{
	struct lives lives = { 0 };
	uint32_t old = lives_begin(&lives, 7, 10, 1), unseen, new;

	lives_end(&lives, old, 20, 2);
	assert_int_equal(lives_find(&lives, 7, 30), 0);
	new = lives_begin(&lives, 7, 60, 3);
	unseen = lives_begin(&lives, 7, 30, 0);
	assert_int_equal(lives_find(&lives, 7, 40), unseen);
	assert_int_equal(lives_find(&lives, 7, 60), new);
	lives_release(&lives);
}

static void add_range(struct ranges *ranges, uint64_t start, uint64_t bytes, uint32_t life)
{
	ranges_add(ranges, start, bytes, 0, life);
	ranges_reach(ranges, 0);
}

TEST(an_address_is_found_in_its_range)
{
	struct ranges ranges = { 0 };

	add_range(&ranges, 300, 100, 3);
	add_range(&ranges, 100, 100, 1);
	add_range(&ranges, 200, 100, 2);
	assert_int_equal(ranges_find(&ranges, 99), 0);
	assert_int_equal(ranges_find(&ranges, 100), 1);
	assert_int_equal(ranges_find(&ranges, 199), 1);
	assert_int_equal(ranges_find(&ranges, 200), 2);
	assert_int_equal(ranges_find(&ranges, 399), 3);
	assert_int_equal(ranges_find(&ranges, 400), 0);
	ranges_remove(&ranges, 200, 2);
	assert_int_equal(ranges_find(&ranges, 250), 0);
	ranges_release(&ranges);
}

TEST(a_new_range_replaces_what_it_overlaps)
{
	struct ranges ranges = { 0 };

	for (uint32_t i = 0; i < 64; i++)
		add_range(&ranges, i * 16, 16, i + 1);
	add_range(&ranges, 24, 100, 99);
	assert_int_equal(ranges_find(&ranges, 20), 0);
	assert_int_equal(ranges_find(&ranges, 123), 99);
	assert_int_equal(ranges_find(&ranges, 127), 0);
	assert_int_equal(ranges_find(&ranges, 128), 9);
	/* The free of the life it replaced comes late and must not take the new one. */
	ranges_remove(&ranges, 24, 3);
	assert_int_equal(ranges_find(&ranges, 24), 99);
	ranges_release(&ranges);
}

/* A call that returns late has entered before the memory it is given was free. */
TEST(a_range_counts_from_its_beginning)
{
	struct ranges ranges = { 0 };

	add_range(&ranges, 100, 100, 1);
	ranges_add(&ranges, 100, 50, 30, 3);
	ranges_add(&ranges, 100, 50, 20, 2);
	ranges_reach(&ranges, 19);
	assert_int_equal(ranges_find(&ranges, 120), 1);
	ranges_reach(&ranges, 20);
	assert_int_equal(ranges_find(&ranges, 120), 2);
	ranges_remove(&ranges, 100, 2);
	assert_int_equal(ranges_find(&ranges, 120), 0);
	ranges_reach(&ranges, 100);
	assert_int_equal(ranges_find(&ranges, 120), 3);
	ranges_release(&ranges);
}

/* Nothing was recorded in between: all that has begun by now, in order. */
TEST(of_two_ranges_the_later_one_stays)
{
	struct ranges ranges = { 0 };

	ranges_add(&ranges, 100, 50, 30, 2);
	ranges_add(&ranges, 100, 50, 20, 1);
	ranges_add(&ranges, 100, 50, 30, 3);
	ranges_reach(&ranges, 40);
	assert_int_equal(ranges_find(&ranges, 120), 3);
	ranges_release(&ranges);
}

/* Whether something is allocated again where it was, over several places, or nowhere. */
TEST(what_was_removed_is_not_found)
{
	struct ranges ranges = { 0 };

	for (uint32_t i = 0; i < 100; i++)
		ranges_add(&ranges, i * 100, 50, 0, 1 + i);
	ranges_reach(&ranges, 1);
	for (uint32_t i = 0; i < 40; i++)
		ranges_remove(&ranges, i * 100, 1 + i);
	assert_int_equal(ranges_find(&ranges, 110), 0);
	assert_int_equal(ranges_find(&ranges, 4010), 41);
	ranges_add(&ranges, 100, 50, 1, 201);
	ranges_add(&ranges, 1010, 500, 1, 202);
	ranges_reach(&ranges, 1);
	for (uint32_t i = 40; i < 90; i++)
		ranges_remove(&ranges, i * 100, 1 + i);
	assert_int_equal(ranges_find(&ranges, 110), 201);
	assert_int_equal(ranges_find(&ranges, 1005), 0);
	assert_int_equal(ranges_find(&ranges, 1200), 202);
	assert_int_equal(ranges_find(&ranges, 1520), 0);
	for (uint32_t i = 16; i < 90; i++)
		assert_int_equal(ranges_find(&ranges, i * 100 + 10), 0);
	for (uint32_t i = 90; i < 100; i++)
		assert_int_equal(ranges_find(&ranges, i * 100 + 10), 1 + i);
	assert_true(ranges.count < 30);
	ranges_release(&ranges);
}
