/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Code that is loaded while a program works: lazy-loading and hidden-load.
 */
#include "miniature.h"

static void loads(struct mini *m, int64_t call, double from, double until)
{
	mini_exec(m, "INSERT INTO overhead VALUES (1, %lld, 'lazy_loading', %lld, %lld)",
		(long long)call, (long long)mini_ns(from), (long long)mini_ns(until));
}

static void wait_for(struct mini *m, int64_t stream, double at, double until)
{
	MINI_CALL(m, .type = CALL_cuStreamSynchronize, .stream = stream, .at = at, .until = until);
}

/* --- lazy-loading --- */

struct phases {
	int64_t stream, site[8], kernel[8];
};

static struct phases phases(struct mini *m, int lines)
{
	struct phases p = { .stream = mini_stream(m, "blocking") };
	int64_t line[8];

	for (int i = 0; i < lines; i++)
		line[i] = mini_site(m, "run", 10 + i);
	for (int i = 0; i < 8; i++) {
		p.site[i] = line[i % lines];
		p.kernel[i] = mini_kernel(m, i % 2 ? "odd" : "even");
	}
	return p;
}

/* A launch that loads its kernel for 60 us and runs it for 100, and the wait for it. */
static void run_phase(struct mini *m, const struct phases *p, int number, double t)
{
	int64_t call = MINI_CALL(m, .type = CALL_cuLaunchKernel, .at = t, .until = t + 64,
		.stream = p->stream, .site = p->site[number], .kernel = p->kernel[number],
		.runs = { t + 66, t + 166 });

	loads(m, call, t + 1, t + 61);
	wait_for(m, p->stream, t + 67, t + 168);
}

static void every_round_of_a_loop_that_loads_a_kernel_is_found(void **state)
{
	struct mini *m = *state;
	struct phases p = phases(m, 1);

	wait_for(m, p.stream, 1, 3);
	for (int i = 0; i < 8; i++)
		run_phase(m, &p, i, 200 * i + 10);
	assert_string_equal(mini_shown(m), "lazy-loading 7");
	assert_string_equal(mini_text(m, "SELECT message FROM finding"),
		"cuLaunchKernel took 60 us to load the code of kernel 'odd' on stream 8");
	assert_string_equal(mini_text(m,
				    "SELECT s.line || ' ' || (other_site IS NULL) "
				    "FROM finding JOIN site s ON s.id = site"),
		"10 1");
}

/* A module that is loaded for each round brings the same kernel, to be loaded each time. */
static void a_kernel_that_is_loaded_again_is_found_each_time(void **state)
{
	struct mini *m = *state;
	struct phases p = phases(m, 1);

	for (int i = 1; i < 8; i++)
		p.kernel[i] = p.kernel[0];
	wait_for(m, p.stream, 1, 3);
	for (int i = 0; i < 8; i++)
		run_phase(m, &p, i, 200 * i + 10);
	assert_string_equal(mini_shown(m), "lazy-loading 7");
}

static void first_launches_at_lines_of_their_own_are_what_any_program_has(void **state)
{
	struct mini *m = *state;
	struct phases p = phases(m, 8);

	wait_for(m, p.stream, 1, 3);
	for (int i = 0; i < 8; i++)
		run_phase(m, &p, i, 200 * i + 10);
	assert_string_equal(mini_shown(m), "");
}

static void up_to_the_first_explicit_wait_a_program_warms_up(void **state)
{
	struct mini *m = *state;
	struct phases p = phases(m, 1);

	for (int i = 0; i < 8; i++) {
		double t = 200 * i + 10;
		int64_t call = MINI_CALL(m, .type = CALL_cuLaunchKernel, .at = t, .until = t + 64,
			.stream = p.stream, .site = p.site[i], .kernel = p.kernel[i],
			.runs = { t + 66, t + 166 });

		loads(m, call, t + 1, t + 61);
	}
	assert_string_equal(mini_shown(m), "");
}

static void a_kernel_that_is_launched_from_elsewhere_later_was_warmed_up(void **state)
{
	struct mini *m = *state;
	struct phases p = phases(m, 1);
	int64_t timed = mini_site(m, "measure", 40);

	wait_for(m, p.stream, 1, 3);
	for (int i = 0; i < 8; i++) {
		double t = 400 * i + 10;

		run_phase(m, &p, i, t);
		MINI_CALL(m, .type = CALL_cuLaunchKernel, .at = t + 200, .stream = p.stream,
			.site = timed, .kernel = p.kernel[i], .runs = { t + 208, t + 300 });
		wait_for(m, p.stream, t + 205, t + 302);
	}
	assert_string_equal(mini_shown(m), "");
}

static void a_loop_that_seldom_loads_is_what_any_program_has(void **state)
{
	struct mini *m = *state;
	struct phases p = phases(m, 1);
	double t = 10;

	wait_for(m, p.stream, 1, 3);
	for (int i = 0; i < 8; i++) {
		run_phase(m, &p, i, t);
		for (int k = 0; k < 5; k++)
			MINI_CALL(m, .type = CALL_cuLaunchKernel, .at = t + 170 + 20 * k,
				.stream = p.stream, .site = p.site[i], .kernel = p.kernel[i],
				.runs = { t + 178 + 20 * k, t + 188 + 20 * k });
		t += 300;
	}
	assert_string_equal(mini_shown(m), "");
}

static void what_is_loaded_while_the_device_is_at_work_costs_nothing(void **state)
{
	struct mini *m = *state;
	struct phases p = phases(m, 1);

	wait_for(m, p.stream, 1, 3);
	for (int i = 0; i < 8; i++) {
		double t = 70 * i + 10;
		int64_t call = MINI_CALL(m, .type = CALL_cuLaunchKernel, .at = t, .until = t + 64,
			.stream = p.stream, .site = p.site[i], .kernel = p.kernel[i],
			.runs = { 500 * i + 76, 500 * i + 575 });

		loads(m, call, t + 1, t + 61);
	}
	wait_for(m, p.stream, 600, 4100);
	assert_string_equal(mini_shown(m), "");
}

/*
 * Rounds of a module that is loaded, which waits for the one before for so long, and a kernel of
 * it, whose code is loaded by its launch for so long.
 */
static void module_rounds(struct mini *m, double waits, double takes)
{
	struct phases p = phases(m, 1);
	int64_t other = mini_stream(m, "non-blocking"), load = mini_site(m, "load", 30);
	double end = 0;

	wait_for(m, p.stream, 1, 3);
	for (int i = 0; i < 8; i++) {
		double t = i ? end + 2 : 10;
		int64_t call;

		MINI_CALL(m, .type = CALL_cuModuleLoadData, .at = i ? end - waits : t - 5,
			.until = t, .site = load);
		end = t + takes + 606;
		call = MINI_CALL(m, .type = CALL_cuLaunchKernel, .at = t, .until = t + takes + 4,
			.stream = i % 2 ? other : p.stream, .site = p.site[i],
			.kernel = p.kernel[i], .runs = { t + takes + 6, end });
		loads(m, call, t + 1, t + takes + 1);
	}
	wait_for(m, p.stream, end - 10, end + 2);
}

static void what_is_loaded_because_a_module_is_new_is_one_cause(void **state)
{
	module_rounds(*state, 500, 60);
	assert_string_equal(mini_shown(*state), "blocking-module 7");
}

/* Fixing the lesser of the two would leave most of the loss. */
static void loading_that_takes_longer_than_the_module_waited_is_found(void **state)
{
	module_rounds(*state, 500, 900);
	assert_string_equal(mini_shown(*state), "blocking-module 7, lazy-loading 7");
}

/* --- hidden-load --- */

/* Five rounds of a job in one stream, a query that loads a kernel, and that kernel in another. */
static void jobs(struct mini *m, uint64_t blocks, int waited_before, int held)
{
	int64_t a = mini_stream(m, "non-blocking"), b = mini_stream(m, "non-blocking");
	int64_t job = mini_site(m, "run_job", 20), query = mini_site(m, "choose_block", 30);

	if (waited_before)
		MINI_CALL(m, .type = CALL_cuCtxSynchronize, .at = 1, .until = 3);
	for (int i = 0; i < 5; i++) {
		double t = 3000 * i + 10, start = held ? t + 1012 : t + 120;
		int64_t load;

		MINI_CALL(m, .type = CALL_cuLaunchKernel, .at = t, .stream = a, .site = job,
			.grid = CALL_GRID(blocks, 1, 1), .block = CALL_BLOCK(256, 1, 1, 0),
			.runs = { t + 10, t + 1010 });
		load = MINI_CALL(m, .type = CALL_cuKernelGetFunction, .at = t + 20, .until = t + 82,
			.site = query);
		loads(m, load, t + 21, t + 81);
		MINI_CALL(m, .type = CALL_cuLaunchKernel, .at = t + 100, .stream = b,
			.grid = CALL_GRID(blocks, 1, 1), .block = CALL_BLOCK(256, 1, 1, 0),
			.runs = { start, start + 1000 });
		/* In a stream each, at the end of all. */
		if (i == 4)
			MINI_CALL(m, .type = CALL_cuCtxSynchronize, .at = t + 110,
				.until = start + 1003);
	}
}

static void a_load_that_holds_another_streams_kernel_is_found(void **state)
{
	struct mini *m = *state;

	jobs(m, 8, 1, 1);
	assert_string_equal(mini_shown(m), "hidden-load 5");
	assert_string_equal(mini_text(m,
				    "SELECT a.line || ' ' || b.line FROM finding "
				    "JOIN site a ON a.id = site JOIN site b ON b.id = other_site"),
		"30 20");
	assert_string_equal(mini_text(m, "SELECT message FROM finding"),
		"cuKernelGetFunction loaded code, which delayed what came next by 901 us, until "
		"the end of a kernel on stream 8");
}

static void a_load_beside_which_streams_overlap_is_none(void **state)
{
	jobs(*state, 8, 1, 0);
	assert_string_equal(mini_shown(*state), "");
}

static void kernels_that_fill_the_device_lose_no_overlap(void **state)
{
	jobs(*state, 4000, 1, 1);
	assert_string_equal(mini_shown(*state), "");
}

static void loads_before_the_first_explicit_wait_are_a_warm_up(void **state)
{
	jobs(*state, 8, 0, 1);
	assert_string_equal(mini_shown(*state), "");
}

/* The launch that loads is the one that is held; its saving is replayed without that. */
static void a_launch_that_loads_its_kernel_holds_that_itself(void **state)
{
	struct mini *m = *state;
	int64_t a = mini_stream(m, "non-blocking"), b = mini_stream(m, "non-blocking");
	int64_t job = mini_site(m, "run_job", 20), first = mini_site(m, "run_other", 30);

	MINI_CALL(m, .type = CALL_cuCtxSynchronize, .at = 1, .until = 3);
	for (int i = 0; i < 4; i++) {
		double t = 3000 * i + 10;
		int64_t load;

		MINI_CALL(m, .type = CALL_cuLaunchKernel, .at = t, .stream = a, .site = job,
			.runs = { t + 10, t + 1010 });
		load = MINI_CALL(m, .type = CALL_cuLaunchKernel, .at = t + 20, .until = t + 84,
			.stream = b, .site = first, .runs = { t + 1012, t + 2012 });
		loads(m, load, t + 21, t + 81);
		MINI_CALL(m, .type = CALL_cuCtxSynchronize, .at = t + 90, .until = t + 2015);
	}
	assert_string_equal(mini_shown(m), "hidden-load 4");
	assert_in_range(mini_int(m, "SELECT saving FROM finding"), 3500000, 4000000);
}

/* The first query of a module waits for the device itself (H200). */
static void a_query_that_waited_is_found(void **state)
{
	struct mini *m = *state;
	int64_t a = mini_stream(m, "non-blocking"), b = mini_stream(m, "non-blocking"), load;
	int64_t job = mini_site(m, "run_job", 20), query = mini_site(m, "choose_block", 30);

	MINI_CALL(m, .type = CALL_cuCtxSynchronize, .at = 1, .until = 3);
	MINI_CALL(m, .type = CALL_cuLaunchKernel, .at = 10, .stream = a, .site = job,
		.runs = { 20, 2020 });
	load = MINI_CALL(m, .type = CALL_cuKernelGetFunction, .at = 30, .until = 2060,
		.site = query);
	loads(m, load, 2050, 2058);
	MINI_CALL(m, .type = CALL_cuLaunchKernel, .at = 2070, .stream = b, .runs = { 2080, 4080 });
	MINI_CALL(m, .type = CALL_cuCtxSynchronize, .at = 2080, .until = 4083);
	assert_string_equal(mini_shown(m), "hidden-load 1");
	assert_string_equal(mini_text(m,
				    "SELECT a.line || ' ' || b.line FROM finding "
				    "JOIN site a ON a.id = site JOIN site b ON b.id = other_site"),
		"30 20");
}

/* The cost of one kind of loss says nothing about the other. */
static void what_a_query_waited_and_what_it_held_are_one_loss(void **state)
{
	struct mini *m = *state;
	int64_t a = mini_stream(m, "non-blocking"), b = mini_stream(m, "non-blocking"), load;
	int64_t job = mini_site(m, "run_job", 20), query = mini_site(m, "choose_block", 30);

	MINI_CALL(m, .type = CALL_cuCtxSynchronize, .at = 1, .until = 3);
	for (int i = 0; i < 5; i++) {
		double t = 5000 * i + 10, asked = i ? t + 82 : t + 250, start = t + 1012;

		/* In the first round the query takes until the job is done, which is soon. */
		MINI_CALL(m, .type = CALL_cuLaunchKernel, .at = t, .stream = a, .site = job,
			.runs = { t + 10, i ? t + 1010 : t + 240 });
		load = MINI_CALL(m, .type = CALL_cuKernelGetFunction, .at = t + 20, .until = asked,
			.site = query);
		loads(m, load, asked - 61, asked - 1);
		MINI_CALL(m, .type = CALL_cuLaunchKernel, .at = asked + 10, .stream = b,
			.runs = { i ? start : t + 270, start + 1000 });
		MINI_CALL(m, .type = CALL_cuCtxSynchronize, .at = asked + 20,
			.until = start + 1003);
	}
	assert_string_equal(mini_shown(m), "hidden-load 5");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, mini_setup, mini_teardown)
	const struct CMUnitTest tests[] = {
		TEST(every_round_of_a_loop_that_loads_a_kernel_is_found),
		TEST(a_kernel_that_is_loaded_again_is_found_each_time),
		TEST(first_launches_at_lines_of_their_own_are_what_any_program_has),
		TEST(up_to_the_first_explicit_wait_a_program_warms_up),
		TEST(a_kernel_that_is_launched_from_elsewhere_later_was_warmed_up),
		TEST(a_loop_that_seldom_loads_is_what_any_program_has),
		TEST(what_is_loaded_while_the_device_is_at_work_costs_nothing),
		TEST(what_is_loaded_because_a_module_is_new_is_one_cause),
		TEST(loading_that_takes_longer_than_the_module_waited_is_found),
		TEST(a_load_that_holds_another_streams_kernel_is_found),
		TEST(a_load_beside_which_streams_overlap_is_none),
		TEST(kernels_that_fill_the_device_lose_no_overlap),
		TEST(loads_before_the_first_explicit_wait_are_a_warm_up),
		TEST(a_launch_that_loads_its_kernel_holds_that_itself),
		TEST(a_query_that_waited_is_found),
		TEST(what_a_query_waited_and_what_it_held_are_one_loss),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
