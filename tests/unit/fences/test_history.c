/* SPDX-License-Identifier: Apache-2.0 */
/* The accesses that are kept, against a list that is gone through from the oldest on. */
#include "unit.h"

#include "history.h"
#include "stretches.h"

enum { STREAMS = 5, MOST = 256 };

struct reference {
	struct past_access past[MOST];
	size_t count;
};

/* In each stream, the operations up to that number are surely before the present one. */
struct test {
	uint32_t random, known[STREAMS];
	uint32_t found[MOST];
	size_t count;
};

static uint32_t roll(struct test *test, uint32_t sides)
{
	test->random = test->random * 1664525 + 1013904223;
	return (test->random >> 8) % sides;
}

static enum order_strength strength_of(void *arg, const struct past_access *past,
	const struct memory_access *access)
{
	const struct test *test = arg;

	(void)access;
	return past->by.epoch.seq <= test->known[past->by.epoch.key] ? ORDER_GUARANTEED
								     : ORDER_UNORDERED;
}

static int visit(void *arg, const struct past_access *past, const struct access_conflict *conflict,
	enum order_strength strength)
{
	struct test *test = arg;

	assert_int_equal(strength, ORDER_UNORDERED);
	assert_int_not_equal(conflict->overlap, OVERLAP_NONE);
	test->found[test->count++] = past->by.epoch.seq;
	return 0;
}

static int goes(struct test *test, const struct past_access *past,
	const struct memory_access *access, const struct operation_point *by)
{
	int covers = access_covers(access, &past->access);

	if (past->by.stretch != by->stretch)
		return 1;
	if (past->by.epoch.seq == by->epoch.seq || !covers)
		return 0;
	if (past->by.lane == by->lane && past->access.direction == access->direction)
		return 1;
	return access->direction == ACCESS_WRITE &&
		strength_of(test, past, access) == ORDER_GUARANTEED;
}

static size_t check(struct reference *list, struct test *test, const struct memory_access *access,
	const struct operation_point *by)
{
	size_t met = 0, kept = 0;

	for (size_t i = 0; i < list->count; i++) {
		const struct past_access *past = &list->past[i];

		if (past->by.stretch == by->stretch && by->stretch != STRETCH_NONE &&
			past->by.epoch.seq != by->epoch.seq &&
			strength_of(test, past, access) == ORDER_UNORDERED &&
			access_conflict(&past->access, access).overlap != OVERLAP_NONE)
			assert_int_equal(test->found[met++], past->by.epoch.seq);
	}
	for (size_t i = 0; i < list->count; i++)
		if (!goes(test, &list->past[i], access, by))
			list->past[kept++] = list->past[i];
	if (kept == MOST)
		memmove(list->past, list->past + 1, --kept * sizeof(*list->past));
	list->past[kept] = (struct past_access){ .access = *access, .by = *by };
	list->count = kept + 1;
	return met;
}

static struct memory_access random_access(struct test *test, uint32_t places)
{
	struct memory_access access = { .allocation = 1, .exact = 1, .sure = 1 };

	access.low = access.start = 4096 + roll(test, places) * 16;
	access.run = 16 << roll(test, 3);
	access.high = access.low + access.run;
	access.evidence = EVIDENCE_EXACT;
	access.direction = (uint8_t)(roll(test, 4) ? ACCESS_READ : ACCESS_WRITE);
	return access;
}

static void run(uint32_t places, uint32_t seed)
{
	struct test test = { .random = seed };
	struct ordering ordering = { strength_of, &test };
	struct history history = { .most = MOST };
	static struct reference list;
	struct operation_point by = { 0 };

	list.count = 0;
	for (uint32_t i = 0; i < 4000; i++) {
		struct memory_access access = random_access(&test, places);

		if (!i || roll(&test, 3))
			by.epoch =
				(struct order_epoch){ .key = roll(&test, STREAMS), .seq = i + 1 };
		by.lane = by.epoch.key;
		if (!roll(&test, 500))
			by.stretch = roll(&test, 3) ? (int)i : STRETCH_NONE;
		if (!roll(&test, 100))
			test.known[roll(&test, STREAMS)] = i;
		test.count = 0;
		assert_int_equal(history_check(&history, &ordering, &access, &by, visit, &test), 0);
		assert_int_equal(check(&list, &test, &access, &by), test.count);
		assert_true(history_add(&history, &ordering, &access, &by) >= 0);
		assert_int_equal(history.count, list.count);
	}
	history_release(&history);
}

TEST(finds_what_a_list_finds)
{
	for (uint32_t seed = 1; seed < 5; seed++) {
		run(2, seed);
		run(40, seed);
		run(2000, seed); /* more than are kept */
	}
}

TEST(what_is_forgotten_is_not_found)
{
	struct test test = { .random = 1 };
	struct ordering ordering = { strength_of, &test };
	struct operation_point by = { .epoch = { .key = 1, .seq = 1 } };
	struct history history = { 0 };

	for (int64_t i = 0; i < 4; i++) {
		struct memory_access access = { .low = i * 16,
			.high = i * 16 + 16,
			.run = 16,
			.start = i * 16,
			.exact = 1,
			.sure = 1,
			.direction = ACCESS_WRITE };

		assert_true(history_add(&history, &ordering, &access, &by) >= 0);
	}
	history_forget(&history, 16, 48);
	assert_int_equal(history.count, 2);
	by = (struct operation_point){ .epoch = { .key = 2, .seq = 2 } };
	assert_int_equal(history_check(&history, &ordering,
				 &(struct memory_access){ .low = 0,
					 .high = 64,
					 .run = 64,
					 .exact = 1,
					 .sure = 1 },
				 &by, visit, &test),
		0);
	assert_int_equal(test.count, 2);
	history_release(&history);
}
