/* SPDX-License-Identifier: Apache-2.0 */
#include "miniature.h"

#include "sorted.h"

struct row {
	uint32_t number, unused;
	int64_t value;
};

static const struct row rows[] = { { 1, 0, INT64_MIN }, { 3, 0, -5 }, { 3, 0, 7 }, { 3, 0, 7 },
	{ UINT32_MAX, 0, INT64_MAX } };

static size_t from(int64_t value)
{
	return sorted_from(rows, 5, sizeof(*rows), offsetof(struct row, value), value);
}

static size_t after(int64_t value)
{
	return sorted_after(rows, 5, sizeof(*rows), offsetof(struct row, value), value);
}

static size_t number(uint32_t value)
{
	return sorted_number(rows, 5, sizeof(*rows), offsetof(struct row, number), value);
}

TEST(the_first_of_equal_rows_is_found)
{
	assert_int_equal(from(INT64_MIN), 0);
	assert_int_equal(from(-5), 1);
	assert_int_equal(from(-4), 2);
	assert_int_equal(from(7), 2);
	assert_int_equal(from(INT64_MAX), 4);
	assert_int_equal(after(INT64_MIN), 1);
	assert_int_equal(after(7), 4);
	assert_int_equal(after(INT64_MAX), 5);
	assert_int_equal(number(0), 0);
	assert_int_equal(number(2), 1);
	assert_int_equal(number(3), 1);
	assert_int_equal(number(UINT32_MAX), 4);
	assert_int_equal(sorted_from(NULL, 0, sizeof(*rows), 0, 1), 0);
}

/* Grouped by number. */
static size_t in_group(uint32_t group, int64_t value)
{
	return sorted_in_group(rows, 5, sizeof(*rows), offsetof(struct row, number), group,
		offsetof(struct row, value), value);
}

TEST(rows_of_a_group_are_searched)
{
	assert_int_equal(in_group(3, -6), 1);
	assert_int_equal(in_group(3, -5), 2);
	assert_int_equal(in_group(3, 7), 4);
	assert_int_equal(in_group(2, INT64_MIN), 1);
	assert_int_equal(in_group(UINT32_MAX, 7), 4);
	assert_int_equal(in_group(UINT32_MAX, INT64_MAX), 5);
}
