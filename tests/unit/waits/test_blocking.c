/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rules about calls that wait as a side effect: each on a run of a few calls that makes the
 * mistake, on its fixed twin, and on what looks like it and is none.
 */
#include "blocking.h"

/* A call that empties the device after each kernel, on streams in turn. */
static void between_kernels(struct mini *m, struct mini_call between)
{
	int64_t s[2] = { mini_stream(m, "non-blocking"), mini_stream(m, "non-blocking") };
	int64_t launched = mini_site(m, "process", 20), site = mini_site(m, "tidy", 30);
	double t = 10;

	for (int i = 0; i < ROUNDS; i++, t += 1020) {
		launch(m, t, s[i % 2], launched, t + 8, t + 1000);
		between.at = t + 5;
		between.until = t + 1010;
		between.site = site;
		mini_call(m, between);
	}
	finish(m, t, t + 3);
}

static void giving_up_pinned_memory_in_the_loop_is_found(void **state)
{
	between_kernels(*state,
		(struct mini_call){ .type = CALL_cuMemHostUnregister, .ptr = 4096 });
	assert_string_equal(shown(*state), "blocking-unregister 5 tidy process");
	assert_string_equal(message(*state),
		"cuMemHostUnregister waited 955 us for a kernel "
		"on stream 8");
}

static void unloading_in_the_loop_is_found(void **state)
{
	between_kernels(*state, (struct mini_call){ .type = CALL_cuModuleUnload });
	assert_string_equal(shown(*state), "blocking-module 5 tidy process");
}

static void setting_a_limit_in_the_loop_is_found(void **state)
{
	between_kernels(*state, (struct mini_call){ .type = CALL_cuCtxSetLimit });
	assert_string_equal(shown(*state), "blocking-resize 5 tidy process");
}

static void destroying_an_array_in_the_loop_is_found(void **state)
{
	between_kernels(*state, (struct mini_call){ .type = CALL_cuMipmappedArrayDestroy });
	assert_string_equal(shown(*state), "blocking-free 5 tidy process");
}

/* Own work of 100 us once the device is idle: more than the call usually takes. */
static void work_behind_the_wait_may_vary(void **state)
{
	struct mini *m = *state;

	between_kernels(m, (struct mini_call){ .type = CALL_cuArrayDestroy });
	mini_exec(m, "UPDATE operation SET end = end - 100000");
	assert_string_equal(shown(m), "blocking-free 5 tidy process");
	mini_exec(m, "UPDATE operation SET end = end - 300000");
	assert_string_equal(shown(m), "blocking-free 5 tidy process");
	assert_string_equal(message(m), "cuArrayDestroy waited 595 us for a kernel on stream 8");
}

/* Frees between kernels of two places; others: of how many rounds the second one is. */
static const char *frees_of_two_places(struct mini *m, int others)
{
	int64_t other = mini_site(m, "rest", 50);

	between_kernels(m, (struct mini_call){ .type = CALL_cuMemFree_v2, .ptr = 4096 });
	mini_exec(m,
		"UPDATE call SET site = %lld WHERE id IN (SELECT call FROM operation "
		"ORDER BY id LIMIT %d)",
		(long long)other, others);
	return shown(m);
}

static void what_a_call_mostly_waits_for_names_it(void **state)
{
	assert_string_equal(frees_of_two_places(*state, 1), "blocking-free 5 tidy process");
}

static void what_it_often_waits_for_is_another_place(void **state)
{
	assert_string_equal(frees_of_two_places(*state, 2), "blocking-free 5 tidy process");
	assert_string_equal(mini_text(*state,
				    "SELECT group_concat(count || ' ' || function, ', ') "
				    "FROM finding_place p JOIN site o ON o.id = p.other_site"),
		"3 process, 2 rest");
}

/* 5 ms of work after waits of 1 ms: a free while nothing is pending still takes that long. */
static void what_a_free_does_behind_its_wait_is_not_saved(void **state)
{
	struct mini *m = *state;
	int64_t s = mini_stream(m, "non-blocking"), launched = mini_site(m, "process", 20);
	int64_t site = mini_site(m, "tidy", 30);
	double t = 10;

	for (int i = 0; i < ROUNDS; i++, t += 6100) {
		launch(m, t, s, launched, t + 8, t + 1005);
		MINI_CALL(m, .type = CALL_cuMemFree_v2, .at = t + 5, .until = t + 6005,
			.site = site, .ptr = 4096);
	}
	finish(m, t, t + 3);
	assert_string_equal(shown(m), "blocking-free 6 tidy process");
	assert_int_equal(mini_int(m, "SELECT waited / 1000 FROM finding"), 6000);
	assert_int_equal(mini_int(m, "SELECT saving BETWEEN 4000000 AND 6100000 FROM finding"), 1);
}

/* The second returns at once; without the first it would have waited instead. */
static void two_frees_in_a_row_are_one_mistake(void **state)
{
	struct mini *m = *state;
	int64_t s[2] = { mini_stream(m, "non-blocking"), mini_stream(m, "non-blocking") };
	int64_t launched = mini_site(m, "process", 20), site = mini_site(m, "tidy", 30);
	double t = 10;

	for (int i = 0; i < ROUNDS; i++, t += 1020) {
		launch(m, t, s[i % 2], launched, t + 8, t + 1000);
		MINI_CALL(m, .type = CALL_cuMemFree_v2, .at = t + 5, .until = t + 1004,
			.site = site, .ptr = 4096);
		MINI_CALL(m, .type = CALL_cuMemFree_v2, .at = t + 1005, .until = t + 1008,
			.site = site, .ptr = 8192);
	}
	finish(m, t, t + 3);
	assert_string_equal(shown(m), "blocking-free 5 tidy process");
}

/* A free after kernels of two streams in turn, or of one, and the results of the round. */
static const char *free_and_results(struct mini *m, int streams, int results, double pause)
{
	int64_t s[2] = { mini_stream(m, "blocking"), mini_stream(m, "blocking") };
	int64_t launched = mini_site(m, "process", 20);
	int64_t freed = mini_site(m, "tidy", 30);
	int64_t fetched[] = { mini_site(m, "fetch", 31), mini_site(m, "fetch", 32) };
	double t = 10, copied;

	for (int i = 0; i < ROUNDS; i++, t = copied + pause) {
		launch(m, t, s[i % streams], launched, t + 8, t + 1000);
		MINI_CALL(m, .type = CALL_cuMemFree_v2, .at = t + 5, .until = t + 1004,
			.site = freed, .ptr = 4096);
		copied = t + 1006;
		for (int j = 0; j < results; j++, copied += 12)
			MINI_CALL(m, .type = CALL_cuMemcpyDtoH_v2, .at = copied,
				.until = copied + 10, .bytes = 4096, .stream = MINI_LEGACY,
				.site = fetched[j], .direction = 1 + COPY_D2H, .src = "device",
				.dst = "pageable", .runs = { copied + 4, copied + 5 });
	}
	finish(m, t, t + 3);
	return shown(m);
}

/* The copy finds the device idle, and would wait in the place of the free. */
static void a_free_and_the_copy_of_a_result_are_one_mistake(void **state)
{
	assert_string_equal(free_and_results(*state, 2, 1, 10), "blocking-free 5 tidy process");
	assert_int_equal(mini_int(*state, "SELECT saving > 2000000 FROM finding"), 1);
	assert_int_equal(mini_int(*state, "SELECT count(*) FROM finding_also"), 1);
}

static void a_free_and_the_copies_of_results_are_one_mistake(void **state)
{
	assert_string_equal(free_and_results(*state, 2, 2, 10), "blocking-free 5 tidy process");
	assert_int_equal(mini_int(*state, "SELECT saving > 2000000 FROM finding"), 1);
	assert_int_equal(mini_int(*state, "SELECT count(*) FROM finding_also"), 2);
}

static void the_copy_of_a_result_in_one_stream_is_none(void **state)
{
	assert_string_equal(free_and_results(*state, 1, 1, 10), "");
}

/* The thread looks at the result; what it submits then comes after that. */
static void time_for_a_result_behind_a_free_is_not_lost(void **state)
{
	assert_string_equal(free_and_results(*state, 1, 1, 500), "");
}

/* A free between kernels of two streams, and a copy to the device after it, or before. */
static const char *free_and_copy(struct mini *m, int copy_first)
{
	int64_t s[2] = { mini_stream(m, "blocking"), mini_stream(m, "blocking") };
	int64_t launched = mini_site(m, "process", 20);
	int64_t freed = mini_site(m, "tidy", 30), copied = mini_site(m, "upload", 31);
	struct mini_call copy = { .type = CALL_cuMemcpyHtoD_v2,
		.bytes = 4096,
		.site = copied,
		.stream = MINI_LEGACY,
		.direction = 1 + COPY_H2D,
		.src = "pinned",
		.dst = "device" };
	struct mini_call give = { .type = CALL_cuMemFree_v2, .site = freed, .ptr = 4096 };
	double t = 10;

	for (int i = 0; i < ROUNDS; i++, t += 1030) {
		launch(m, t, s[i % 2], launched, t + 8, t + 1000);
		give.at = copy_first ? t + 1008 : t + 5;
		give.until = copy_first ? t + 1011 : t + 1004;
		copy.at = copy_first ? t + 5 : t + 1005;
		copy.until = copy_first ? t + 1006 : t + 1015;
		copy.runs[0] = copy_first ? t + 1002 : t + 1009;
		copy.runs[1] = copy.runs[0] + 1;
		mini_call(m, copy_first ? copy : give);
		mini_call(m, copy_first ? give : copy);
	}
	finish(m, t, t + 3);
	return shown(m);
}

/*
 * Pinning the memory alone would leave the wait to the free, which finds the device idle: the two
 * are fixed together.
 */
static void a_free_takes_over_from_a_pageable_copy(void **state)
{
	struct mini *m = *state;
	int64_t s[2] = { mini_stream(m, "non-blocking"), mini_stream(m, "non-blocking") };
	int64_t launched = mini_site(m, "process", 20), copied = mini_site(m, "fetch", 30);
	int64_t freed = mini_site(m, "tidy", 31);
	double t = 10;

	for (int i = 0; i < ROUNDS; i++, t += 1030) {
		launch(m, t, s[i % 2], launched, t + 8, t + 1000);
		MINI_CALL(m, .type = CALL_cuMemcpyDtoHAsync_v2, .at = t + 5, .until = t + 1006,
			.bytes = 4096, .stream = s[i % 2], .site = copied,
			.direction = 1 + COPY_D2H, .src = "device", .dst = "pageable",
			.runs = { t + 1001, t + 1004 });
		MINI_CALL(m, .type = CALL_cuMemFree_v2, .at = t + 1008, .until = t + 1011,
			.site = freed, .ptr = 4096);
	}
	finish(m, t, t + 3);
	assert_string_equal(shown(m), "pageable-async-copy 5 fetch process");
	assert_string_equal(mini_text(m,
				    "SELECT group_concat(function) FROM finding_also a "
				    "JOIN site s ON s.id = a.site"),
		"tidy");
	assert_int_equal(mini_int(m, "SELECT saving > 2000000 FROM finding"), 1);
}

/*
 * A pageable copy waits for a kernel of the legacy stream. This kernel holds the next round anyway:
 * each of the two hides the other.
 */
static void what_others_hide_is_found_beside_them(void **state)
{
	struct mini *m = *state;
	int64_t s[2] = { mini_stream(m, "blocking"), mini_stream(m, "blocking") };
	int64_t launched = mini_site(m, "process", 20), counted = mini_site(m, "count", 25);
	int64_t copied = mini_site(m, "fetch", 30);
	double t = 10;

	for (int i = 0; i < ROUNDS; i++, t += 1220) {
		launch(m, t, s[i % 2], launched, t + 8, t + 1000);
		launch(m, t + 3, MINI_LEGACY, counted, t + 1002, t + 1202);
		MINI_CALL(m, .type = CALL_cuMemcpyDtoHAsync_v2, .at = t + 6, .until = t + 1212,
			.bytes = 4096, .stream = s[i % 2], .site = copied,
			.direction = 1 + COPY_D2H, .src = "device", .dst = "pageable",
			.runs = { t + 1204, t + 1208 });
	}
	finish(m, t, t + 3);
	assert_string_equal(shown(m),
		"legacy-stream-serialization 7 count process, pageable-async-copy 6 fetch count");
	assert_int_equal(mini_int(m,
				 "SELECT saving > 2000000 FROM finding "
				 "WHERE rule = 'pageable-async-copy'"),
		1);
}

/* The copy finds the device idle, and would wait in the place of the free. */
static void a_free_and_the_copy_behind_it_are_one_mistake(void **state)
{
	assert_string_equal(free_and_copy(*state, 0), "blocking-free 5 tidy process");
	assert_int_equal(mini_int(*state, "SELECT saving > 3000000 FROM finding"), 1);
	assert_string_equal(mini_text(*state,
				    "SELECT group_concat(function) FROM finding_also a "
				    "JOIN site s ON s.id = a.site"),
		"upload");
}

static void a_copy_and_the_free_behind_it_are_one_mistake(void **state)
{
	assert_string_equal(free_and_copy(*state, 1), "blocking-copy 5 upload process");
	assert_int_equal(mini_int(*state, "SELECT saving > 3000000 FROM finding"), 1);
}

/* A call after an intended wait would not wait in place of the free. */
static void behind_a_wait_that_is_meant_is_another_row(void **state)
{
	struct mini *m = *state;
	int64_t s[2] = { mini_stream(m, "blocking"), mini_stream(m, "blocking") };
	int64_t launched = mini_site(m, "process", 20);
	int64_t freed = mini_site(m, "tidy", 30), copied = mini_site(m, "upload", 31);
	double t = 10;

	for (int i = 0; i < ROUNDS; i++, t += 2030) {
		launch(m, t, s[i % 2], launched, t + 8, t + 1000);
		MINI_CALL(m, .type = CALL_cuMemFree_v2, .at = t + 5, .until = t + 1004,
			.site = freed, .ptr = 4096);
		MINI_CALL(m, .type = CALL_cuCtxSynchronize, .at = t + 2004, .until = t + 2005);
		MINI_CALL(m, .type = CALL_cuMemcpyHtoD_v2, .at = t + 2006, .until = t + 2016,
			.bytes = 4096, .site = copied, .stream = MINI_LEGACY,
			.direction = 1 + COPY_H2D, .src = "pinned", .dst = "device",
			.runs = { t + 2010, t + 2011 });
	}
	finish(m, t, t + 3);
	shown(m);
	assert_int_equal(mini_int(m, "SELECT count(*) FROM finding WHERE rule LIKE '%free'"), 1);
	assert_int_equal(mini_int(m, "SELECT count(*) FROM finding_also"), 0);
}

/* At the end: a free's own work could not have run concurrent with the last kernel. */
static void frees_of_idle_memory_at_the_end_are_not(void **state)
{
	struct mini *m = *state;
	int64_t s = mini_stream(m, "non-blocking"), site = mini_site(m, "tidy", 30);
	double t = 4010;

	launch(m, 1, s, mini_site(m, "process", 20), 10, t - 5);
	MINI_CALL(m, .type = CALL_cuMemFree_v2, .at = 5, .until = t, .site = site, .ptr = 4096);
	for (int i = 0; i < 10; i++, t += 15)
		MINI_CALL(m, .type = CALL_cuMemFree_v2, .at = t + 1, .until = t + 15, .site = site,
			.ptr = 4096);
	launch(m, t + 1, s, site, t + 10, t + 12);
	finish(m, t + 4, t + 15);
	assert_string_equal(shown(m), "");
}

/* Memsets of two streams; only the frees between them keep them from running concurrently. */
static void clearing(struct mini *m, int step)
{
	between_kernels(m, (struct mini_call){ .type = CALL_cuMemFree_v2, .ptr = 4096 });
	mini_exec(m, "UPDATE call SET type = %d, bytes = 4096 WHERE site = 1",
		CALL_cuMemsetD8Async);
	mini_exec(m, "INSERT INTO allocation VALUES (1, 1, 65536, 1 << 20, 'device', NULL, NULL)");
	mini_exec(m,
		"INSERT INTO operand SELECT id, 'dst', NULL, 65536 + id * %d, 1 FROM call "
		"WHERE site = 1",
		step);
}

static void what_writes_the_same_bytes_cannot_run_beside(void **state)
{
	clearing(*state, 0);
	shown(*state);
	/* The device's idle time up to the next one is left. */
	assert_int_equal(mini_int(*state, "SELECT max(avoidable) FROM wait"), 28000);
}

static void what_writes_other_bytes_can(void **state)
{
	clearing(*state, 4096);
	assert_string_equal(shown(*state), "blocking-free 5 tidy process");
	assert_true(mini_int(*state, "SELECT max(avoidable) FROM wait") > 900000);
}

/* Launches that return when another stream's kernel has ended: the driver emptied the device. */
static void growing(struct mini *m)
{
	int64_t s[2] = { mini_stream(m, "non-blocking"), mini_stream(m, "non-blocking") };
	int64_t working = mini_site(m, "work", 20), solving = mini_site(m, "solve", 30);
	double t = 110;

	MINI_CALL(m, .type = CALL_cuCtxSynchronize, .at = 10);
	for (int i = 0; i < ROUNDS; i++, t += 2020) {
		launch(m, t, s[0], working, t + 8, t + 1000);
		MINI_CALL(m, .type = CALL_cuLaunchKernel, .at = t + 5, .until = t + 1005,
			.stream = s[1], .site = solving, .runs = { t + 1010, t + 2010 });
	}
	finish(m, t, t + 3);
}

static void a_launch_that_empties_the_device_is_found(void **state)
{
	growing(*state);
	assert_string_equal(shown(*state), "blocking-resize 6 solve work");
}

static void a_launch_that_loads_its_kernel_is_no_resize(void **state)
{
	struct mini *m = *state;

	growing(m);
	mini_exec(m,
		"INSERT INTO overhead SELECT 1, id, 'lazy_loading', enter + 1, enter + 8000 "
		"FROM call WHERE site = 2");
	assert_string_equal(shown(m), "lazy-loading 6 solve work");
	assert_int_equal(mini_int(m, "SELECT count(*) FROM wait WHERE kind = 'internal'"), 6);
}

static void warming_up_is_no_resize(void **state)
{
	struct mini *m = *state;

	growing(m);
	mini_exec(m, "DELETE FROM call WHERE id = 1");
	assert_string_equal(shown(m), "");
}

/* One that returns while something still runs was slow for other reasons. */
static void a_launch_that_leaves_the_device_busy_is_no_resize(void **state)
{
	struct mini *m = *state;
	int64_t s = mini_stream(m, "non-blocking");

	growing(m);
	launch(m, 20, s, 1, 30, 14000);
	mini_exec(m,
		"UPDATE operation SET call = -call; UPDATE call SET id = id + 1000; "
		"UPDATE operation SET call = 1000 - call; "
		"UPDATE call SET id = 1 WHERE enter = 20000; "
		"UPDATE operation SET call = 1 WHERE end = 14000000");
	assert_string_equal(shown(m), "");
}

/* One thread makes a call after its kernels; it holds another one, on a stream of its own. */
static void two_threads_with(struct mini *m, double late, struct mini_call call)
{
	int64_t s = mini_stream(m, "non-blocking"), o = mini_stream(m, "non-blocking");
	int64_t other = mini_thread(m), launched = mini_site(m, "train", 20);
	int64_t freed = mini_site(m, "tidy", 30), ticked = mini_site(m, "tick", 40);
	double t = 10;

	for (int i = 0; i < ROUNDS; i++, t += 1520) {
		launch(m, t, s, launched, t + 8, t + 1000);
		call.at = t + 5;
		call.until = t + 1004;
		call.site = freed;
		if (call.bytes) {
			call.stream = s;
			call.runs[0] = t + 1001;
			call.runs[1] = t + 1002;
		}
		mini_call(m, call);
		MINI_CALL(m, .type = CALL_cuLaunchKernel, .at = t + 80, .until = t + 1006 + late,
			.thread = other, .stream = o, .site = ticked,
			.runs = { t + 1012 + late, t + 1022 + late });
	}
	/* It is the other thread that the run waits for in the end. */
	MINI_CALL(m, .type = CALL_cuLaunchKernel, .at = t + 6000, .thread = other, .stream = o,
		.site = ticked, .runs = { t + 6010, t + 6020 });
}

static void two_threads(struct mini *m, double late)
{
	two_threads_with(m, late, (struct mini_call){ .type = CALL_cuMemFree_v2, .ptr = 4096 });
}

static void a_launch_behind_a_free_is_found(void **state)
{
	struct mini *m = *state;

	two_threads(m, 0);
	assert_string_equal(shown(m), "blocked-behind 6 tick tidy, blocking-free 5 tidy train");
	assert_string_equal(mini_text(m, "SELECT message FROM finding WHERE rule LIKE 'blocked%'"),
		"cuLaunchKernel waited 921 us because another thread was in cuMemFree");
	/* The line to change for it is the one that it names. */
	assert_int_equal(mini_int(m, "SELECT count(*) FROM finding_also"), 0);
}

/* The lock is free once the device has finished; unmapping the memory takes longer. */
static void a_launch_that_returns_before_the_free_is_found(void **state)
{
	struct mini *m = *state;

	two_threads(m, 0);
	mini_exec(m, "UPDATE call SET exit = exit + 200000 WHERE type = %d", CALL_cuMemFree_v2);
	shown(m);
	assert_int_equal(mini_int(m, "SELECT count(*) FROM wait WHERE kind = 'behind'"), ROUNDS);
	/* Not if it goes on while the device still works. */
	mini_exec(m,
		"UPDATE call SET exit = exit - 150000 WHERE type = %d AND exit - enter > 900000",
		CALL_cuLaunchKernel);
	shown(m);
	assert_int_equal(mini_int(m, "SELECT count(*) FROM wait WHERE kind = 'behind'"), 0);
}

/* A thread that waits for one stream holds nobody, however long the other thread's call took. */
static void a_launch_behind_an_async_copy_is_held_by_something_else(void **state)
{
	struct mini *m = *state;

	two_threads_with(m, 0,
		(struct mini_call){ .type = CALL_cuMemcpyDtoHAsync_v2,
			.bytes = 4096,
			.direction = 1 + COPY_D2H,
			.src = "device",
			.dst = "pageable" });
	shown(m);
	assert_int_equal(mini_int(m, "SELECT count(*) FROM wait WHERE kind = 'implicit'"), ROUNDS);
	assert_int_equal(mini_int(m, "SELECT count(*) FROM wait WHERE kind = 'behind'"), 0);
}

static void all_that_one_line_holds_is_one_finding(void **state)
{
	struct mini *m = *state;
	int64_t second = mini_site(m, "tock", 41);

	two_threads(m, 0);
	mini_exec(m,
		"UPDATE call SET site = %lld WHERE id > (SELECT max(id) / 2 FROM call) "
		"AND site = (SELECT id FROM site WHERE function = 'tick')",
		(long long)second);
	assert_string_equal(shown(m), "blocked-behind 6 tock tidy, blocking-free 5 tidy train");
	assert_int_equal(mini_int(m, "SELECT count(*) FROM finding_also"), 0);
}

/* One that goes on for long after the free was held by something else. */
static void a_launch_that_outlasts_the_free_is_not(void **state)
{
	two_threads(*state, 300);
	assert_string_equal(shown(*state), "blocking-free 5 tidy train");
}

/* A thread in an explicit wait holds nobody. */
static void a_slow_launch_beside_an_explicit_wait_is_not(void **state)
{
	struct mini *m = *state;

	two_threads(m, 0);
	mini_exec(m, "UPDATE call SET type = %d, ptr = NULL, stream = 2 WHERE site = 2",
		CALL_cuStreamSynchronize);
	shown(m);
	assert_int_equal(mini_int(m, "SELECT count(*) FROM wait WHERE kind = 'behind'"), 0);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, mini_setup, mini_teardown)
	const struct CMUnitTest tests[] = {
		T(giving_up_pinned_memory_in_the_loop_is_found),
		T(unloading_in_the_loop_is_found),
		T(setting_a_limit_in_the_loop_is_found),
		T(destroying_an_array_in_the_loop_is_found),
		T(work_behind_the_wait_may_vary),
		T(what_a_call_mostly_waits_for_names_it),
		T(what_it_often_waits_for_is_another_place),
		T(what_a_free_does_behind_its_wait_is_not_saved),
		T(two_frees_in_a_row_are_one_mistake),
		T(a_free_and_the_copy_of_a_result_are_one_mistake),
		T(a_free_and_the_copies_of_results_are_one_mistake),
		T(the_copy_of_a_result_in_one_stream_is_none),
		T(time_for_a_result_behind_a_free_is_not_lost),
		T(a_free_takes_over_from_a_pageable_copy),
		T(what_others_hide_is_found_beside_them),
		T(a_free_and_the_copy_behind_it_are_one_mistake),
		T(a_copy_and_the_free_behind_it_are_one_mistake),
		T(behind_a_wait_that_is_meant_is_another_row),
		T(frees_of_idle_memory_at_the_end_are_not),
		T(what_writes_the_same_bytes_cannot_run_beside),
		T(what_writes_other_bytes_can),
		T(a_launch_that_empties_the_device_is_found),
		T(a_launch_that_loads_its_kernel_is_no_resize),
		T(warming_up_is_no_resize),
		T(a_launch_that_leaves_the_device_busy_is_no_resize),
		T(a_launch_behind_a_free_is_found),
		T(a_launch_that_returns_before_the_free_is_found),
		T(a_launch_behind_an_async_copy_is_held_by_something_else),
		T(all_that_one_line_holds_is_one_finding),
		T(a_launch_that_outlasts_the_free_is_not),
		T(a_slow_launch_beside_an_explicit_wait_is_not),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
