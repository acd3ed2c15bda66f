/* SPDX-License-Identifier: Apache-2.0 */
#include "miniature.h"

#include "named_bytes.h"

static void expect(const struct named_bytes *named, int64_t low, int64_t high, int has)
{
	assert_int_equal(named_bytes_has(named, 1, low, high), has);
}

TEST(bytes_are_those_that_were_added)
{
	struct named_bytes named = { 0 };

	expect(&named, INT64_MIN, INT64_MAX, 0);
	named_bytes_add(&named, 1, 100, 200);
	named_bytes_add(&named, 1, 400, 500);
	named_bytes_add(&named, 1, 300, 350);
	named_bytes_add(&named, 2, 0, 1000);
	expect(&named, 0, 100, 0);
	expect(&named, 99, 101, 1);
	expect(&named, 199, 200, 1);
	expect(&named, 200, 300, 0);
	expect(&named, 350, 400, 0);
	expect(&named, 500, INT64_MAX, 0);
	expect(&named, INT64_MIN, INT64_MAX, 1);
	/* Up to one span, and over two. */
	named_bytes_add(&named, 1, 200, 210);
	named_bytes_add(&named, 1, 340, 410);
	expect(&named, 209, 210, 1);
	expect(&named, 210, 300, 0);
	expect(&named, 350, 400, 1);
	expect(&named, 500, 501, 0);
	named_bytes_add(&named, 1, INT64_MIN, INT64_MAX);
	expect(&named, 0, 1, 1);
	named_bytes_release(&named);
}

TEST(of_many_gaps_the_small_ones_are_closed)
{
	struct named_bytes named = { 0 };

	for (int64_t i = 0; i < 1000; i++)
		named_bytes_add(&named, 1, 16 * i + 1, 16 * i + 9);
	named_bytes_add(&named, 1, 1 << 20, 2 << 20);
	for (int64_t i = 0; i < 1000; i++)
		expect(&named, 16 * i + 1, 16 * i + 2, 1);
	expect(&named, 0, 1, 0);
	expect(&named, 16 * 1000, 1 << 20, 0);
	named_bytes_release(&named);
}
