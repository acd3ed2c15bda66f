/* SPDX-License-Identifier: Apache-2.0 */
/* Launches for which memory that all kernels share was made larger, and what they waited for. */
#include "waiting.h"

/* "kind:op:waited us" of the wait at a call, "" if it was not held. */
static const char *held(struct mini *m, int64_t call)
{
	char sql[200];

	assert_int_equal(analyze(&m->db), 0);
	snprintf(sql, sizeof(sql),
		"SELECT kind || ':' || op || ':' || (waited / 1000) FROM wait "
		"WHERE call = %lld",
		(long long)call);
	return mini_text(m, sql);
}

enum { NOT_KNOWN = -1 };

static int64_t kernel(struct mini *m, int local, int prints)
{
	int64_t row = mini_kernel(m, "k");

	if (local != NOT_KNOWN)
		mini_exec(m, "UPDATE kernel SET local_bytes = %d WHERE id = %lld", local,
			(long long)row);
	if (prints != NOT_KNOWN)
		mini_exec(m, "INSERT INTO kernel_code VALUES (%lld, 'ptx', 1, NULL, 0, %d)",
			(long long)row, prints);
	return row;
}

/* Concurrent with 1 ms of other work; it lasts so long from the beginning of that work on. */
static int64_t launch_beside(struct mini *m, double at, int64_t row, double lasts)
{
	int64_t n = mini_stream(m, "non-blocking");

	MINI_CALL(m, .type = CALL_cuLaunchKernel, .at = at, .stream = n, .kernel = kernel(m, 0, 0),
		.runs = { at + 5, at + 1000 });
	return MINI_CALL(m, .type = CALL_cuLaunchKernel, .at = at + 10, .until = at + lasts,
		.stream = n, .kernel = row, .runs = { at + lasts - 2, at + lasts + 50 });
}

/* 413 us on one host, 150 ms on another: if that matters, 50 us to wake up count as well. */
static void growing_takes_what_it_takes(void **state)
{
	struct mini *m = *state;
	int64_t small = launch_beside(m, 0, kernel(m, 1024, 0), 1004);
	int64_t quick = launch_beside(m, 10000, kernel(m, 2048, 0), 1410);
	int64_t slow = launch_beside(m, 20000, kernel(m, 4096, 0), 150000);

	assert_string_equal(held(m, small), "");
	assert_string_equal(held(m, quick), "internal:3:1040");
	assert_string_equal(held(m, slow), "internal:5:990");
}

static void one_that_returns_before_the_work_has_ended_did_not_wait(void **state)
{
	struct mini *m = *state;
	int64_t call = launch_beside(m, 0, kernel(m, 4096, 0), 900);

	assert_string_equal(held(m, call), "");
}

/* The room once made is kept, so that another cause held it. */
static void a_kernel_that_needs_no_more_than_one_before_never_waits(void **state)
{
	struct mini *m = *state;
	int64_t large = kernel(m, 4096, 0), smaller, again;

	launch_beside(m, 0, large, 1500);
	smaller = launch_beside(m, 10000, kernel(m, 2048, 0), 1004);
	again = launch_beside(m, 20000, large, 1004);
	assert_string_equal(held(m, smaller), "");
	assert_string_equal(held(m, again), "");
}

static void a_larger_stack_limit_makes_the_room(void **state)
{
	struct mini *m = *state;
	int64_t call;

	MINI_CALL(m, .type = CALL_cuCtxSetLimit, .at = 1, .bytes = 4096);
	call = launch_beside(m, 1000, kernel(m, 4096, 0), 1004);
	assert_string_equal(held(m, call), "");
	mini_exec(m, "UPDATE call SET result = 1 WHERE id = 1");
	assert_string_equal(held(m, call), "internal:1:989");
}

static void each_context_has_its_own(void **state)
{
	struct mini *m = *state;
	int64_t other = mini_context(m, 0), n = mini_stream_in(m, other, "non-blocking"), call;
	int64_t large = kernel(m, 4096, 0);

	launch_beside(m, 0, large, 1500);
	MINI_CALL(m, .type = CALL_cuLaunchKernel, .at = 10000, .stream = n, .context = other,
		.kernel = kernel(m, 0, 0), .runs = { 10005, 11000 });
	call = MINI_CALL(m, .type = CALL_cuLaunchKernel, .at = 10010, .until = 19000, .stream = n,
		.context = other, .kernel = large, .runs = { 19000, 19005 });
	assert_string_equal(held(m, call), "internal:3:990");
}

/* By its times alone, as long as the kernel did not run before. */
static void a_kernel_of_unknown_needs_is_judged_by_measurement(void **state)
{
	struct mini *m = *state;
	int64_t unknown = kernel(m, NOT_KNOWN, NOT_KNOWN);
	int64_t first = launch_beside(m, 0, unknown, 1004), again, long_after;

	again = launch_beside(m, 10000, unknown, 1004);
	long_after = launch_beside(m, 20000, kernel(m, NOT_KNOWN, 0), 150000);
	assert_string_equal(held(m, first), "internal:1:989");
	assert_string_equal(held(m, again), "");
	assert_string_equal(held(m, long_after), "");
}

/* It, or what a graph launched, may have needed more. */
static void behind_unknown_kernels_growing_is_not_certain(void **state)
{
	struct mini *m = *state;
	int64_t call;

	launch_beside(m, 0, kernel(m, NOT_KNOWN, 0), 15);
	call = launch_beside(m, 10000, kernel(m, 4096, 0), 150000);
	assert_string_equal(held(m, call), "");
	mini_exec(m, "UPDATE kernel SET local_bytes = 0 WHERE local_bytes IS NULL");
	assert_string_equal(held(m, call), "internal:3:990");
	mini_exec(m, "UPDATE call SET type = %d WHERE id = 1", CALL_cuGraphLaunch);
	assert_string_equal(held(m, call), "");
}

static void the_first_kernel_that_prints_waits(void **state)
{
	struct mini *m = *state;
	int64_t first, second, before = kernel(m, 8, 0);

	launch_beside(m, 0, before, 15);
	first = launch_beside(m, 10000, kernel(m, 8, 1), 5000);
	second = launch_beside(m, 20000, kernel(m, 8, 1), 1004);
	assert_string_equal(held(m, first), "internal:3:990");
	assert_string_equal(held(m, second), "");
	mini_exec(m, "UPDATE kernel_code SET prints = NULL WHERE kernel = %lld", (long long)before);
	assert_string_equal(held(m, first), "");
}

/* Loading the kernel empties the device as well. */
static void a_launch_that_loads_its_kernel_is_judged_by_measurement(void **state)
{
	struct mini *m = *state;
	int64_t call = launch_beside(m, 0, kernel(m, 0, 0), 1040);

	mini_exec(m, "INSERT INTO overhead VALUES (1, %lld, 'lazy_loading', 1005000, 1035000)",
		(long long)call);
	assert_string_equal(held(m, call), "internal:1:995");
}

/* Its operation had to wait for its own stream's work anyway. */
static void other_streams_work_is_named_if_it_ends_nearly_last(void **state)
{
	struct mini *m = *state;
	int64_t n = mini_stream(m, "non-blocking"), o = mini_stream(m, "non-blocking");
	int64_t small = kernel(m, 0, 0), call[2];

	for (int i = 0; i < 2; i++) {
		double at = 10000 * i;

		MINI_CALL(m, .type = CALL_cuLaunchKernel, .at = at, .stream = o, .kernel = small,
			.runs = { at + 5, at + (i ? 500 : 990) });
		MINI_CALL(m, .type = CALL_cuLaunchKernel, .at = at + 4, .stream = n,
			.kernel = small, .runs = { at + 8, at + 1000 });
		call[i] = MINI_CALL(m, .type = CALL_cuLaunchKernel, .at = at + 10,
			.until = at + 1480, .stream = n, .kernel = kernel(m, 2048 << i, 0),
			.runs = { at + 1478, at + 1550 });
	}
	assert_string_equal(held(m, call[0]), "internal:1:1030");
	assert_string_equal(held(m, call[1]), "internal:5:1040");
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, mini_setup, mini_teardown)
	const struct CMUnitTest tests[] = {
		T(growing_takes_what_it_takes),
		T(one_that_returns_before_the_work_has_ended_did_not_wait),
		T(a_kernel_that_needs_no_more_than_one_before_never_waits),
		T(a_larger_stack_limit_makes_the_room),
		T(each_context_has_its_own),
		T(a_kernel_of_unknown_needs_is_judged_by_measurement),
		T(behind_unknown_kernels_growing_is_not_certain),
		T(the_first_kernel_that_prints_waits),
		T(a_launch_that_loads_its_kernel_is_judged_by_measurement),
		T(other_streams_work_is_named_if_it_ends_nearly_last),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
