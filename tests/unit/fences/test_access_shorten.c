/* SPDX-License-Identifier: Apache-2.0 */
/* Long lists of accesses: what is known exactly stays so. */
#include "unit.h"

#include "access_internal.h"

#define MANY 2000

struct list {
	struct memory_access access[MANY];
	struct accesses accesses;
};

static int setup(void **state)
{
	struct list *list = calloc(1, sizeof(*list));

	list->accesses.access = list->access;
	*state = list;
	return 0;
}

static int teardown(void **state)
{
	free(*state);
	return 0;
}

#define LIST_TEST(name) TEST_OF(name, struct list, list, setup, teardown)

static struct memory_access *add(struct list *list, int64_t allocation, int64_t low, int64_t high,
	int exact)
{
	struct memory_access *access = &list->access[list->accesses.count++];

	*access = (struct memory_access){ .allocation = allocation,
		.low = low,
		.high = high,
		.start = low,
		.run = high - low,
		.direction = ACCESS_READ,
		.evidence = EVIDENCE_EXACT,
		.sure = 1,
		.exact = (uint8_t)exact,
		.node = (uint32_t)list->accesses.count };
	return access;
}

/* A piece of 8 bytes in each 16, from the address on. */
static void add_many(struct list *list, int64_t allocation, int64_t from, int count, int exact)
{
	for (int i = 0; i < count; i++)
		add(list, allocation, from + 16 * i, from + 16 * i + 8, exact);
}

static void expect(const struct memory_access *access, int64_t low, int64_t high, int exact)
{
	assert_int_equal(access->low, low);
	assert_int_equal(access->high, high);
	assert_int_equal(access->start, low);
	assert_int_equal(access->run, high - low);
	assert_int_equal(access->exact, exact);
	assert_int_equal(access->sure, 1);
}

LIST_TEST(few_stay)
{
	add_many(list, 1, 1000, 64, 0);
	access_shorten(&list->accesses);
	assert_int_equal(list->accesses.count, 64);
}

LIST_TEST(unknown_pieces_are_one_span)
{
	add_many(list, 1, 1000, 100, 0);
	access_shorten(&list->accesses);
	assert_int_equal(list->accesses.count, 1);
	expect(list->access, 1000, 1000 + 16 * 99 + 8, 0);
	assert_int_equal(list->access->node, 0);
}

LIST_TEST(what_is_known_stays_beside_it)
{
	add_many(list, 1, 1000, 100, 0);
	add(list, 1, 50, 60, 1);
	add(list, 1, 5000, 5010, 1);
	access_shorten(&list->accesses);
	assert_int_equal(list->accesses.count, 3);
	expect(&list->access[0], 1000, 1000 + 16 * 99 + 8, 0);
	expect(&list->access[1], 50, 60, 1);
	expect(&list->access[2], 5000, 5010, 1);
	assert_int_equal(list->access[2].node, 102);
}

LIST_TEST(neighbours_are_one)
{
	struct memory_access *other;

	for (int i = 0; i < 100; i++)
		add(list, 1, 10 * i, 10 * i + 10, 1);
	other = add(list, 1, 1000, 1010, 1);
	other->direction = ACCESS_WRITE;
	access_shorten(&list->accesses);
	assert_int_equal(list->accesses.count, 2);
	expect(&list->access[0], 0, 1000, 1);
	expect(&list->access[1], 1000, 1010, 1);
}

/*
 * An access that may not happen, or not to this memory, does not make overlapping ones less
 * certain.
 */
LIST_TEST(doubts_do_not_spread)
{
	add_many(list, 1, 1000, 70, 1);
	for (int i = 0; i < 70; i++)
		add(list, 1, 1000, 2000, 1)->maybe = 1;
	access_shorten(&list->accesses);
	assert_int_equal(list->accesses.count, 71);
	assert_int_equal(list->access[0].maybe, 1);
	expect(&list->access[1], 1000, 1008, 1);
	assert_int_equal(list->access[1].maybe, 0);
}

LIST_TEST(strides_stay)
{
	struct memory_access *rows;

	add_many(list, 1, 1000, 100, 0);
	rows = add(list, 1, 100, 900, 1);
	rows->run = 8;
	rows->stride_count = 1;
	rows->stride[0] = (struct access_stride){ 80, 10 };
	add(list, 1, 500, 520, 1);
	access_shorten(&list->accesses);
	assert_int_equal(list->accesses.count, 3);
	assert_int_equal(list->access[1].stride_count, 1);
	assert_int_equal(list->access[1].run, 8);
	expect(&list->access[2], 500, 520, 1);
}

/* An access that begins before its kernel waits stays known, and separate from the others. */
LIST_TEST(early_ones_stay)
{
	add_many(list, 1, 1000, 100, 0);
	add(list, 1, 50, 60, 1)->early = 1;
	add(list, 1, 60, 70, 1);
	access_shorten(&list->accesses);
	assert_int_equal(list->accesses.count, 3);
	expect(&list->access[1], 60, 70, 1);
	expect(&list->access[2], 50, 60, 1);
	assert_int_equal(list->access[2].early, 1);
}

LIST_TEST(too_many_are_one_span)
{
	add_many(list, 1, 1000, 1500, 1);
	add(list, 2, 100, 200, 1);
	access_shorten(&list->accesses);
	assert_int_equal(list->accesses.count, 2);
	expect(&list->access[0], 1000, 1000 + 16 * 1499 + 8, 0);
	expect(&list->access[1], 100, 200, 0);
}
