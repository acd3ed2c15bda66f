/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include "intervals.h"

TEST(the_innermost_around_an_address_is_found)
{
	struct intervals intervals = { 0 };

	assert_int_equal(intervals_find(&intervals, 0), -1);
	intervals_add(&intervals, 50, 60, 4);
	intervals_add(&intervals, 10, 100, 0);
	intervals_add(&intervals, 20, 40, 1);
	intervals_add(&intervals, 30, 35, 2);
	intervals_add(&intervals, 30, 35, 3); /* the same: inside */
	intervals_add(&intervals, 70, 70, 5); /* empty */
	intervals_add(&intervals, 200, UINT64_MAX, 6);
	intervals_sort(&intervals);
	assert_int_equal(intervals_find(&intervals, 9), -1);
	assert_int_equal(intervals_find(&intervals, 10), 0);
	assert_int_equal(intervals_find(&intervals, 20), 1);
	assert_int_equal(intervals_find(&intervals, 34), 3);
	assert_int_equal(intervals_find(&intervals, 35), 1);
	assert_int_equal(intervals_find(&intervals, 45), 0);
	assert_int_equal(intervals_find(&intervals, 59), 4);
	assert_int_equal(intervals_find(&intervals, 70), 0);
	assert_int_equal(intervals_find(&intervals, 100), -1);
	assert_int_equal(intervals_find(&intervals, UINT64_MAX - 1), 6);
	intervals_release(&intervals);
}

TEST(each_of_many_is_found)
{
	struct intervals intervals = { 0 };

	for (uint32_t i = 0; i < 1000; i++)
		intervals_add(&intervals, 10ull * (999 - i), 10ull * (999 - i) + 5, i);
	intervals_sort(&intervals);
	for (uint32_t i = 0; i < 1000; i++) {
		assert_int_equal(intervals_find(&intervals, 10ull * i + 4), 999 - i);
		assert_int_equal(intervals_find(&intervals, 10ull * i + 5), -1);
	}
	intervals_release(&intervals);
}
