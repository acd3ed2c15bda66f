/* SPDX-License-Identifier: Apache-2.0 */
/* Arrays keep their contents while they grow from memory to a file, and without room for it. */
#include "unit.h"

#include <signal.h>
#include <sys/resource.h>

#include "large.h"
#include "radix_sort.h"
#include "resident.h"

enum { COUNT = 3 * LARGE_BYTES / 2 / sizeof(int64_t) };

static int64_t value_of(size_t number)
{
	return (int64_t)(number * 7919 % 1000003) - 500000;
}

static int64_t *make_values(void)
{
	int64_t *value = NULL;
	size_t count = 0;

	while (count < COUNT) {
		int64_t *next = large_push(value, count);

		*next = value_of(count - 1);
	}
	return value;
}

static void check_values(const int64_t *value)
{
	for (size_t i = 0; i < COUNT; i++)
		if (value[i] != value_of(i))
			fail_msg("%zu has %lld", i, (long long)value[i]);
}

static size_t mapped_since(size_t before)
{
	size_t now = resident_bytes();

	return now > before ? now - before : 0;
}

TEST(beyond_the_limit_they_are_in_a_file)
{
	size_t before = resident_bytes();
	int64_t *value = make_values();

	check_values(value);
	assert_true(mapped_since(before) > LARGE_BYTES);
	large_free(value);
	assert_true(mapped_since(before) < LARGE_BYTES / 2);
}

TEST(without_a_folder_they_are_in_memory)
{
	size_t before = resident_bytes();
	int64_t *value;

	setenv("TMPDIR", "/nonexistent", 1);
	value = make_values();
	unsetenv("TMPDIR");
	check_values(value);
	assert_true(mapped_since(before) < LARGE_BYTES / 2);
	large_free(value);
}

/* The file may not grow beyond its first size. */
TEST(where_the_disk_is_full_they_return_to_memory)
{
	struct rlimit before, limit;
	size_t mapped = resident_bytes();
	int64_t *value = NULL;
	size_t count = LARGE_BYTES / sizeof(*value);

	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &before);
	limit = before;
	limit.rlim_cur = LARGE_BYTES + LARGE_BYTES / 8;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
	value = large_need(value, count, sizeof(*value));
	for (size_t i = 0; i < count; i++)
		value[i] = value_of(i);
	assert_true(mapped_since(mapped) > LARGE_BYTES / 2);
	value = large_need(value, COUNT, sizeof(*value));
	setrlimit(RLIMIT_FSIZE, &before);
	assert_true(mapped_since(mapped) < LARGE_BYTES / 2);
	for (size_t i = count; i < COUNT; i++)
		value[i] = value_of(i);
	check_values(value);
	large_free(value);
}

TEST(zeros_are_zeros)
{
	static const size_t counts[] = { 0, 1, LARGE_BYTES };

	for (size_t i = 0; i < sizeof(counts) / sizeof(*counts); i++) {
		uint8_t *byte = large_zeroed(counts[i], 1), any = 0;

		for (size_t k = 0; k < counts[i]; k++)
			any |= byte[k];
		assert_int_equal(any, 0);
		large_free(byte);
	}
}

TEST(they_are_sorted_as_others_are)
{
	int64_t *value = make_values();

	value = radix_sort_large(value, COUNT, sizeof(*value));
	for (size_t i = 1; i < COUNT; i++)
		if (value[i - 1] > value[i])
			fail_msg("%zu is not in order", i);
	assert_int_equal(value[0], -500000);
	large_free(value);
}
