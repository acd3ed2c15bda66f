/* SPDX-License-Identifier: Apache-2.0 */
/* pool-trim: pools that give their memory back in waits and map it again. */
#include "miniature.h"

enum { TURNS = 6, TURN_US = 4000, WORK_US = 1000 };

/* A turn allocates, works, frees and waits. */
struct turns {
	int64_t stream, at_alloc, at_wait, bytes;
	double mapping, late; /* us that the allocation and the wait take too long */
	int keeps_one;        /* the first allocation is never freed, and there are no others */
};

static struct turns turns(struct mini *m)
{
	return (struct turns){ .stream = mini_stream(m, "non-blocking"),
		.at_alloc = mini_site(m, "query", 10),
		.at_wait = mini_site(m, "query", 20),
		.bytes = 512 << 20,
		.mapping = 700,
		.late = 900 };
}

static int64_t allocate(struct mini *m, const struct turns *t, double at)
{
	return MINI_CALL(m, .type = CALL_cuMemAllocAsync, .stream = t->stream, .at = at,
		.until = at + 1 + t->mapping, .site = t->at_alloc, .bytes = t->bytes);
}

static void release(struct mini *m, const struct turns *t, int64_t made, double at)
{
	int64_t call = MINI_CALL(m, .type = CALL_cuMemFreeAsync, .stream = t->stream, .at = at,
		.until = at + 1);

	mini_exec(m,
		"INSERT INTO allocation (process, address, bytes, memory, created, freed) "
		"VALUES (1, 4096, %lld, 'async', %lld, %lld)",
		(long long)t->bytes, (long long)made, (long long)call);
}

static void run_turn(struct mini *m, const struct turns *t, int number)
{
	double at = 10 + (double)number * TURN_US;
	int64_t made = t->keeps_one && number ? 0 : allocate(m, t, at);

	at += 2 + t->mapping;
	MINI_CALL(m, .type = CALL_cuLaunchKernel, .stream = t->stream, .at = at,
		.runs = { at + 5, at + 5 + WORK_US });
	if (!t->keeps_one)
		release(m, t, made, at + 3);
	MINI_CALL(m, .type = CALL_cuStreamSynchronize, .stream = t->stream, .at = at + 5,
		.until = at + 10 + WORK_US + t->late, .site = t->at_wait);
}

static const char *found(struct mini *m, const struct turns *t)
{
	for (int i = 0; i < TURNS; i++)
		run_turn(m, t, i);
	assert_int_equal(analyze(&m->db), 0);
	return mini_text(m,
		"SELECT f.rule || ' ' || f.count || ' ' || s.line || ' ' || o.line FROM finding f"
		" JOIN site s ON s.id = f.site JOIN site o ON o.id = f.other_site WHERE shown");
}

static void memory_given_back_and_mapped_again_is_found(void **state)
{
	struct mini *m = *state;
	struct turns t = turns(m);

	assert_string_equal(found(m, &t), "pool-trim 5 10 20");
	/* 5 times 696 us of mapping, and 855 beyond the latency of waits. */
	assert_in_range(mini_int(m, "SELECT saving FROM finding WHERE rule = 'pool-trim'"), 7600000,
		8100000);
	assert_string_equal(mini_text(m, "SELECT message FROM finding WHERE rule = 'pool-trim'"),
		"cuMemAllocAsync mapped memory again that its pool had given back in "
		"cuStreamSynchronize, which took 1.6 ms in both");
}

static void a_pool_that_keeps_its_memory_is_not_found(void **state)
{
	struct mini *m = *state;
	struct turns t = turns(m);

	MINI_CALL(m, .type = CALL_cuMemPoolSetAttribute, .at = 1, .bytes = (int64_t)1 << 48);
	assert_string_equal(found(m, &t), "");
}

static void memory_in_use_is_not_given_back(void **state)
{
	struct mini *m = *state;
	struct turns t = turns(m);

	t.keeps_one = 1;
	assert_string_equal(found(m, &t), "");
}

static void calls_as_quick_as_usual_are_not_found(void **state)
{
	struct mini *m = *state;
	struct turns t = turns(m);

	t.mapping = 1;
	t.late = 10;
	assert_string_equal(found(m, &t), "");
}

/* 4 MiB take 0.2 ms at most: the rest of these waits has another reason. */
static void a_late_wait_counts_as_far_as_the_memory_explains_it(void **state)
{
	struct mini *m = *state;
	struct turns t = turns(m);

	t.bytes = 4 << 20;
	assert_string_equal(found(m, &t), "pool-trim 5 10 20");
	assert_in_range(mini_int(m, "SELECT waited FROM finding WHERE rule = 'pool-trim'"),
		5 * 360000, 5 * 400000);
}

int main(void)
{
#define TEST(function) cmocka_unit_test_setup_teardown(function, mini_setup, mini_teardown)
	const struct CMUnitTest tests[] = {
		TEST(memory_given_back_and_mapped_again_is_found),
		TEST(a_pool_that_keeps_its_memory_is_not_found),
		TEST(memory_in_use_is_not_given_back),
		TEST(calls_as_quick_as_usual_are_not_found),
		TEST(a_late_wait_counts_as_far_as_the_memory_explains_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
