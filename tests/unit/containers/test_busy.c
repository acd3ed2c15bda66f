/* SPDX-License-Identifier: Apache-2.0 */
#include "miniature.h"

#include "busy.h"

TEST(each_moment_counts_once)
{
	struct busy busy = { 0 };

	assert_int_equal(busy_total(&busy), 0);
	assert_int_equal(busy_between(&busy, 0, 10), 0);
	busy_add(&busy, 30, 40);
	busy_add(&busy, 10, 20);
	busy_add(&busy, 15, 25); /* overlaps */
	busy_add(&busy, 40, 50); /* touches */
	busy_add(&busy, 60, 60); /* takes no time */
	busy_add(&busy, 70, 65);
	busy_join(&busy);
	assert_int_equal(busy.count, 2);
	assert_int_equal(busy_total(&busy), 35);
	assert_int_equal(busy_between(&busy, 12, 35), 18);
	assert_int_equal(busy_between(&busy, 25, 30), 0);
	assert_int_equal(busy_between(&busy, 35, 12), 0);
	assert_int_equal(busy_between(&busy, INT64_MIN, INT64_MAX), 35);
	busy_add(&busy, 20, 30); /* between both */
	busy_join(&busy);
	assert_int_equal(busy_total(&busy), 40);
	busy_release(&busy);
	assert_int_equal(busy.count, 0);
}

enum { TIMES = 20000 };

/* Against a map of moments, with few and with many intervals. */
TEST(many_are_the_moments_they_cover)
{
	unsigned seed = 1;

	for (int count = 1; count < 20000; count *= 3) {
		static char is_busy[TIMES];
		struct busy busy = { 0 };
		int total = 0, part = 0;

		memset(is_busy, 0, sizeof(is_busy));
		for (int i = 0; i < count; i++) {
			int start, length;

			seed = seed * 1103515245u + 12345u;
			start = (int)(seed >> 16) % (TIMES - 64);
			seed = seed * 1103515245u + 12345u;
			length = 1 + (int)(seed >> 16) % (1 + 60000 / (count + 1000));
			memset(is_busy + start, 1, (size_t)length);
			busy_add(&busy, start, start + length);
		}
		for (int i = 0; i < TIMES; i++) {
			total += is_busy[i];
			part += i >= 5000 && i < 9000 && is_busy[i];
		}
		busy_join(&busy);
		assert_int_equal(busy_total(&busy), total);
		assert_int_equal(busy_between(&busy, 5000, 9000), part);
		busy_release(&busy);
	}
}
