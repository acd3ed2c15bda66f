/* SPDX-License-Identifier: Apache-2.0 */
/* The calls that were held, and the causes. */
#include "waiting.h"

#include "constants.h"
#include "waits_usual.h"

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

static void a_free_that_ends_with_a_kernel_was_held(void **state)
{
	struct mini *m = *state;
	int64_t n = mini_stream(m, "non-blocking"), call;

	launch(m, 10, n, 20, 1000);
	call = free_memory(m, 20, 1004);
	assert_string_equal(held(m, call), "implicit:1:944");
}

/* The shipped duration is of larger memory: this one took 4 microseconds after the kernel. */
static void a_short_wait_of_a_free_that_is_quick_counts(void **state)
{
	struct mini *m = *state;
	int64_t n = mini_stream(m, "non-blocking"), call;

	launch(m, 10, n, 20, 70);
	call = free_memory(m, 20, 74);
	assert_string_equal(held(m, call), "implicit:1:50");
}

/*
 * So does a free that a thread reached late, after a third of the kernel's time: the run's own
 * frees show how long a free takes after its wait.
 */
static void a_late_free_that_is_quick_waited_for_the_rest(void **state)
{
	struct mini *m = *state;
	int64_t n = mini_stream(m, "non-blocking"), call = 0;

	for (int i = 0; i < 2; i++) {
		launch(m, 1000 * i + 10, n, 1000 * i + 20, 1000 * i + 70);
		free_memory(m, 1000 * i + 20, 1000 * i + 76);
	}
	launch(m, 5010, n, 5020, 5070);
	call = free_memory(m, 5042, 5076);
	assert_string_equal(held(m, call), "implicit:3:28");
	mini_exec(m, "UPDATE operation SET end = end - 10000 WHERE id = 3");
	assert_string_equal(held(m, call), "implicit:3:18");
	mini_exec(m, "UPDATE operation SET end = end - 14000 WHERE id = 3");
	assert_string_equal(held(m, call), "");
}

/* Frees that take as long with nothing pending did not wait. */
static void frees_that_take_as_long_alone_did_not_wait(void **state)
{
	struct mini *m = *state;
	int64_t n = mini_stream(m, "non-blocking"), call = 0;

	for (int i = 0; i < 3; i++)
		free_memory(m, 1000 * i + 20, 1000 * i + 70);
	for (int i = 5; i < 9; i++) {
		launch(m, 1000 * i + 10, n, 1000 * i + 15, 1000 * i + 50);
		call = free_memory(m, 1000 * i + 20, 1000 * i + 70);
	}
	assert_string_equal(held(m, call), "");
}

/* As long as most of its time was the wait: 250 us of 1230 came after the kernel. */
static void a_wait_that_returns_late_has_waited(void **state)
{
	struct mini *m = *state;
	int64_t n = mini_stream(m, "non-blocking"), call;

	launch(m, 10, n, 20, 1000);
	call = sync_stream(m, 20, 1250, n);
	assert_string_equal(held(m, call), "explicit:1:1228");
	mini_exec(m, "UPDATE call SET exit = exit + 300000 WHERE id = %lld", (long long)call);
	assert_string_equal(held(m, call), "");
}

/* A thread that blocks is woken up late; one that spins is not: it freed meanwhile. */
static void a_late_wake_up_is_part_of_the_wait(void **state)
{
	struct mini *m = *state;
	int64_t n = mini_stream(m, "non-blocking"), explicit_wait, call;

	launch(m, 10, n, 20, 70);
	explicit_wait = sync_stream(m, 20, 400, n);
	launch(m, 1010, n, 1020, 1070);
	call = free_memory(m, 1020, 1300);
	assert_string_equal(held(m, explicit_wait), "");
	assert_string_equal(held(m, call), "implicit:2:50");
	mini_exec(m, "UPDATE context SET flags = 12"); /* mapped memory, blocking waits */
	assert_string_equal(held(m, explicit_wait), "explicit:1:378");
	assert_string_equal(held(m, call), "implicit:2:100");
}

/* One thread frees three times in a row before the other gets its turn. */
static void frees_of_threads_take_turns_unfairly(void **state)
{
	struct mini *m = *state;
	int64_t n = mini_stream(m, "non-blocking"), second = mini_thread(m), call;

	launch(m, 10, n, 20, 100);
	call = MINI_CALL(m, .type = CALL_cuMemFree_v2, .at = 20, .until = 3150, .ptr = 0x10000,
		.thread = second);
	for (int i = 0; i < 3; i++) {
		launch(m, 1000 * i + 90, n, 1000 * i + 110, 1000 * i + 1050);
		free_memory(m, 1000 * i + 92, 1000 * i + 1080);
	}
	assert_string_equal(held(m, call), "implicit:4:3090");
}

static void a_free_with_nothing_pending_was_not(void **state)
{
	struct mini *m = *state;
	int64_t n = mini_stream(m, "non-blocking"), call;

	launch(m, 10, n, 20, 1000);
	call = free_memory(m, 1100, 2000);
	assert_string_equal(held(m, call), "");
}

/* cudaFree waits for all that is pending: one that returns before that ended was just slow. */
static void a_slow_free_beside_a_running_kernel_was_not(void **state)
{
	struct mini *m = *state;
	int64_t n = mini_stream(m, "non-blocking"), o = mini_stream(m, "non-blocking"), call;

	launch(m, 10, n, 20, 1000);
	launch(m, 14, o, 25, 5000);
	call = free_memory(m, 20, 1004);
	assert_string_equal(held(m, call), "");
}

/* On a slow host what the call does itself takes long: no part of the wait, nor a sign of none. */
static void own_work_of_any_length_does_not_hide_the_wait(void **state)
{
	static const int types[] = { CALL_cuMemFree_v2, CALL_cuMemFreeHost,
		CALL_cuMemHostUnregister, CALL_cuArrayDestroy, CALL_cuModuleUnload,
		CALL_cuCtxSetLimit };
	struct mini *m = *state;
	int64_t n = mini_stream(m, "non-blocking"), call[6];

	for (int i = 0; i < 6; i++) {
		launch(m, 10000 * i + 10, n, 10000 * i + 20, 10000 * i + 2020);
		call[i] = MINI_CALL(m, .type = types[i], .at = 10000 * i + 20,
			.until = 10000 * i + 8000, .ptr = 0x10000);
	}
	for (int i = 0; i < 6; i++) {
		char expected[40];

		snprintf(expected, sizeof(expected), "implicit:%d:2000", i + 1);
		assert_string_equal(held(m, call[i]), expected);
	}
}

/* Code may be compiled before the device is needed. */
static void a_load_that_returns_long_after_the_kernel_was_not_held(void **state)
{
	struct mini *m = *state;
	int64_t n = mini_stream(m, "non-blocking"), call;

	launch(m, 10, n, 20, 2020);
	call = MINI_CALL(m, .type = CALL_cuModuleLoadData, .at = 20, .until = 8000);
	assert_string_equal(held(m, call), "");
}

/* Both would have to wait for all that is pending. */
static void a_slow_call_that_returned_before_the_kernel_was_not(void **state)
{
	struct mini *m = *state;
	int64_t n = mini_stream(m, "non-blocking"), freed, unregistered;

	launch(m, 10, n, 20, 20000);
	freed = free_memory(m, 20, 8000);
	unregistered = MINI_CALL(m, .type = CALL_cuMemHostUnregister, .at = 8010, .until = 19980,
		.ptr = 0x10000);
	assert_string_equal(held(m, freed), "");
	assert_string_equal(held(m, unregistered), "");
}

static void a_wait_below_six_microseconds_is_noise(void **state)
{
	struct mini *m = *state;
	int64_t n = mini_stream(m, "non-blocking"), shorter, longer;

	launch(m, 10, n, 20, 25);
	shorter = sync_stream(m, 20, 27, n);
	launch(m, 110, n, 120, 130);
	longer = sync_stream(m, 120, 132, n);
	assert_string_equal(held(m, shorter), "");
	assert_string_equal(held(m, longer), "explicit:2:10");
}

/* With a clock error of 10 us, 25 us are nothing and 60 us are something. */
static void a_wait_below_three_clock_errors_is_noise(void **state)
{
	struct mini *m = *state;
	int64_t n = mini_stream(m, "non-blocking"), first, second;

	mini_exec(m, "UPDATE process SET clock_error = 10000");
	launch(m, 10, n, 20, 45);
	first = sync_stream(m, 20, 47, n);
	launch(m, 100, n, 110, 170);
	second = sync_stream(m, 110, 172, n);
	assert_string_equal(held(m, first), "");
	assert_string_equal(held(m, second), "explicit:2:60");
}

/* The device's stamp may be a few microseconds late. */
static void a_kernel_that_seems_to_end_after_the_return_counts(void **state)
{
	struct mini *m = *state;
	int64_t n = mini_stream(m, "non-blocking"), call;

	launch(m, 10, n, 20, 1004);
	call = free_memory(m, 20, 1000);
	assert_string_equal(held(m, call), "implicit:1:940");
}

static void the_runs_own_median_counts(void **state)
{
	struct mini *m = *state;
	int64_t n = mini_stream(m, "non-blocking"), call;

	for (int i = 0; i < 5; i++)
		free_memory(m, 1000 * i + 1000, 1000 * i + 1700);
	launch(m, 10010, n, 10020, 10600);
	call = free_memory(m, 10012, 10715);
	assert_string_equal(held(m, call), "");
	launch(m, 20010, n, 20020, 21000);
	call = free_memory(m, 20012, 21004);
	assert_string_equal(held(m, call), "implicit:2:292");
}

/* The driver's own work (a full queue, lazy loading) is not the device holding the call. */
static void overhead_does_not_count(void **state)
{
	struct mini *m = *state;
	int64_t n = mini_stream(m, "non-blocking"), call;

	launch(m, 10, n, 20, 1000);
	call = free_memory(m, 20, 1004);
	mini_exec(m, "INSERT INTO overhead VALUES (1, %lld, 'lazy_loading', 30000, 700000)",
		(long long)call);
	mini_exec(m, "INSERT INTO overhead VALUES (1, %lld, 'lazy_loading', 600000, 730000)",
		(long long)call);
	assert_string_equal(held(m, call), "implicit:1:244");
	mini_exec(m, "INSERT INTO overhead VALUES (1, %lld, 'lazy_loading', 730000, 980000)",
		(long long)call);
	assert_string_equal(held(m, call), "");
}

/* Nor does it belong to what calls of the type usually take. */
static void overhead_is_not_usual(void **state)
{
	struct mini *m = *state;
	int64_t n = mini_stream(m, "non-blocking"), call;

	for (int i = 0; i < 5; i++) {
		call = free_memory(m, 1000 * i + 1000, 1000 * i + 1700);
		mini_exec(m, "INSERT INTO overhead VALUES (1, %lld, '7', %d, %d)", (long long)call,
			1000000 * i + 1010000, 1000000 * i + 1690000);
	}
	launch(m, 10010, n, 10020, 10600);
	call = free_memory(m, 10020, 10604);
	assert_string_equal(held(m, call), "implicit:1:564");
}

/* cudaFree of memory from cudaMallocAsync does not wait, nor does cudaFree(NULL). */
static void pool_memory_and_null_do_not_wait(void **state)
{
	struct mini *m = *state;
	int64_t n = mini_stream(m, "non-blocking"), pool, null;

	launch(m, 10, n, 20, 1000);
	pool = free_memory(m, 20, 1004);
	mini_exec(m, "INSERT INTO allocation VALUES (1, 1, 65536, 4096, 'async', NULL, %lld)",
		(long long)pool);
	launch(m, 2010, n, 2020, 3000);
	null = MINI_CALL(m, .type = CALL_cuMemFree_v2, .at = 2020, .until = 3004);
	assert_string_equal(held(m, pool), "");
	assert_string_equal(held(m, null), "");
}

/* cudaFree waits for the device that owns the memory, not for the current one. */
static void a_free_waits_for_the_owner(void **state)
{
	struct mini *m = *state;
	int64_t second = mini_context(m, 1), n = mini_stream_in(m, second, "non-blocking");
	int64_t made, call;

	made = MINI_CALL(m, .type = CALL_cuMemAlloc_v2, .at = 1, .context = second);
	MINI_CALL(m, .type = CALL_cuLaunchKernel, .at = 10, .stream = n, .context = second,
		.runs = { 20, 1000 });
	call = free_memory(m, 20, 1004);
	assert_string_equal(held(m, call), "");
	mini_exec(m, "INSERT INTO allocation VALUES (1, 1, 65536, 4096, 'device', %lld, %lld)",
		(long long)made, (long long)call);
	assert_string_equal(held(m, call), "implicit:1:944");
}

/* A synchronous copy waits for legacy and blocking streams, not for non-blocking ones. */
static void a_copy_waits_for_blocking_streams_only(void **state)
{
	struct mini *m = *state;
	int64_t b = mini_stream(m, "blocking"), n = mini_stream(m, "non-blocking"), call, other;

	launch(m, 10, b, 20, 1000);
	call = MINI_CALL(m, .type = CALL_cuMemcpyDtoH_v2, .at = 20, .until = 1010, .bytes = 4096,
		.stream = MINI_LEGACY, .direction = 1 + COPY_D2H, .dst = "pinned",
		.runs = { 1002, 1005 });
	launch(m, 2010, n, 2020, 3000);
	other = MINI_CALL(m, .type = CALL_cuMemcpyHtoD_v2, .at = 2020, .until = 3004, .bytes = 64,
		.stream = MINI_LEGACY, .direction = 1 + COPY_H2D, .src = "pageable",
		.runs = { 3003, 3005 });
	assert_string_equal(held(m, call), "implicit:1:980");
	assert_string_equal(held(m, other), "");
}

/* Copies within the device return at once; one that lasts does so for other reasons. */
static void a_copy_within_the_device_does_not_wait(void **state)
{
	struct mini *m = *state;
	int64_t b = mini_stream(m, "blocking"), call;

	launch(m, 10, b, 20, 1000);
	call = MINI_CALL(m, .type = CALL_cuMemcpyDtoD_v2, .at = 20, .until = 1004, .bytes = 4096,
		.stream = MINI_LEGACY, .direction = 1 + COPY_D2D, .runs = { 1001, 1003 });
	assert_string_equal(held(m, call), "");
}

static void a_pageable_copy_is_held_by_what_came_before(void **state)
{
	struct mini *m = *state;
	int64_t n = mini_stream(m, "non-blocking"), call;

	launch(m, 10, n, 20, 1000);
	call = copy_back(m, 20, 1110, n, "pageable", 1002, 1100);
	assert_string_equal(held(m, call), "implicit:1:1027");
}

static void a_pageable_copy_on_an_idle_stream_is_held_by_itself(void **state)
{
	struct mini *m = *state;
	int64_t n = mini_stream(m, "non-blocking"), call;

	call = copy_back(m, 20, 1110, n, "pageable", 30, 1100);
	assert_string_equal(held(m, call), "implicit:1:1027");
}

static int64_t upload_behind(struct mini *m, double kernel_end)
{
	launch(m, 10, mini_stream(m, "blocking"), 20, kernel_end);
	return MINI_CALL(m, .type = CALL_cuMemcpyHtoD_v2, .at = 20, .until = 1110,
		.stream = MINI_LEGACY, .bytes = 1 << 20, .direction = 1 + COPY_H2D, .src = "pinned",
		.dst = "device", .runs = { kernel_end + 2, 1100 });
}

/* The rest is what the copy takes wherever it is made. */
static void a_copy_is_held_by_what_it_was_behind_for_a_good_part(void **state)
{
	struct mini *m = *state;

	assert_string_equal(held(m, upload_behind(m, 200)), "implicit:1:1081");
}

static void a_copy_behind_work_for_a_moment_is_held_by_itself(void **state)
{
	struct mini *m = *state;

	assert_string_equal(held(m, upload_behind(m, 120)), "implicit:2:1081");
}

/* One that returns while its transfer and all before it are pending has not waited for them. */
static void a_copy_that_returns_before_its_transfer_is_not_held(void **state)
{
	struct mini *m = *state;
	int64_t n = mini_stream(m, "non-blocking"), call;

	launch(m, 10, n, 20, 1000);
	call = copy_back(m, 20, 800, n, "pageable", 1002, 1100);
	assert_string_equal(held(m, call), "");
}

static void a_pinned_copy_is_not_held(void **state)
{
	struct mini *m = *state;
	int64_t n = mini_stream(m, "non-blocking"), call;

	launch(m, 10, n, 20, 1000);
	call = copy_back(m, 20, 1110, n, "pinned", 1002, 1100);
	assert_string_equal(held(m, call), "");
}

/* The host's own copying, as it stages a pageable source, is no wait for the device. */
static void staging_is_not_waiting(void **state)
{
	struct mini *m = *state;
	int64_t n = mini_stream(m, "non-blocking"), call;

	launch(m, 10, n, 20, 300);
	call = MINI_CALL(m, .type = CALL_cuMemcpyHtoDAsync_v2, .at = 20, .until = 440, .stream = n,
		.bytes = 4 << 20, .direction = 1 + COPY_H2D, .src = "pageable",
		.runs = { 302, 450 });
	assert_string_equal(held(m, call), "");
}

/* It can stage a few MiB ahead; bytes transferred after the kernel are staged after it. */
static void staging_is_as_fast_as_it_was_seen(void **state)
{
	struct mini *m = *state;
	int64_t n = mini_stream(m, "non-blocking"), call;

	launch(m, 10, n, 20, 3000);
	call = MINI_CALL(m, .type = CALL_cuMemcpyHtoDAsync_v2, .at = 20, .until = 6450, .stream = n,
		.bytes = 64 << 20, .direction = 1 + COPY_H2D, .src = "pageable",
		.runs = { 3002, 6500 });
	assert_string_equal(held(m, call), "implicit:1:2812");
}

/* Another copy of that size may take longer: this one began when what was before it had ended. */
static void what_ended_soon_after_the_call_began_did_not_hold_it(void **state)
{
	struct mini *m = *state;
	int64_t call;

	launch(m, 10, MINI_LEGACY, 20, 30);
	call = MINI_CALL(m, .type = CALL_cuMemcpyHtoD_v2, .at = 20, .until = 180,
		.stream = MINI_LEGACY, .bytes = 1 << 20, .direction = 1 + COPY_H2D,
		.src = "pageable", .dst = "device", .runs = { 170, 200 });
	assert_string_equal(held(m, call), "");
}

/* Then it was something else that took so long. */
static void a_transfer_that_began_before_waited_for_nothing(void **state)
{
	struct mini *m = *state;
	int64_t n = mini_stream(m, "non-blocking"), call;

	launch(m, 10, n, 20, 10000);
	call = MINI_CALL(m, .type = CALL_cuMemcpyHtoDAsync_v2, .at = 20, .until = 22300,
		.stream = n, .bytes = 64 << 20, .direction = 1 + COPY_H2D, .src = "pageable",
		.runs = { 5000, 22320 });
	assert_string_equal(held(m, call), "");
}

/* With other programs on the bus, a transfer takes longer than it ever does alone. */
static void a_slow_transfer_does_not_hide_the_wait(void **state)
{
	struct mini *m = *state;
	int64_t n = mini_stream(m, "non-blocking"), call, late;

	launch(m, 10, n, 20, 10000);
	call = MINI_CALL(m, .type = CALL_cuMemcpyHtoDAsync_v2, .at = 20, .until = 22300,
		.stream = n, .bytes = 64 << 20, .direction = 1 + COPY_H2D, .src = "pageable",
		.runs = { 10008, 22320 });
	launch(m, 30000, n, 30020, 40000);
	late = MINI_CALL(m, .type = CALL_cuMemcpyHtoDAsync_v2, .at = 30020, .until = 52300,
		.stream = n, .bytes = 64 << 20, .direction = 1 + COPY_H2D, .src = "pageable",
		.runs = { 40008, 42000 });
	assert_string_equal(held(m, call), "implicit:1:9980");
	assert_string_equal(held(m, late), "");
}

/* Explicit waits end up in the table with what they waited for. */
static void explicit_waits_name_their_operation(void **state)
{
	struct mini *m = *state;
	int64_t a = mini_stream(m, "non-blocking"), b = mini_stream(m, "non-blocking");
	int64_t e = mini_event(m), by_event, by_stream, by_context;

	launch(m, 10, a, 20, 1000);
	MINI_CALL(m, .type = CALL_cuEventRecord, .at = 13, .stream = a, .event = e);
	launch(m, 16, a, 1001, 2000);
	launch(m, 19, b, 30, 3000);
	by_event =
		MINI_CALL(m, .type = CALL_cuEventSynchronize, .at = 25, .until = 1002, .event = e);
	by_stream = sync_stream(m, 1010, 2002, a);
	by_context = MINI_CALL(m, .type = CALL_cuCtxSynchronize, .at = 2010, .until = 3002);
	assert_string_equal(held(m, by_event), "explicit:1:974");
	assert_string_equal(held(m, by_stream), "explicit:2:990");
	assert_string_equal(held(m, by_context), "explicit:3:985");
}

/* A run whose threads take 80 us to wake up: of an implicit wait, too, that is a part. */
static void wake_up_latency_is_the_runs_own(void **state)
{
	struct mini *m = *state;
	int64_t n = mini_stream(m, "non-blocking"), call;

	for (int i = 0; i < 10; i++) {
		launch(m, 2000 * i + 10, n, 2000 * i + 20, 2000 * i + 1000);
		sync_stream(m, 2000 * i + 20, 2000 * i + 1080, n);
	}
	launch(m, 30010, n, 30020, 30210);
	call = free_memory(m, 30020, 30335);
	assert_string_equal(held(m, call), "implicit:11:270");
	mini_exec(m, "UPDATE call SET exit = exit - 77000 WHERE type = %d",
		CALL_cuStreamSynchronize);
	assert_string_equal(held(m, call), "implicit:11:190");
}

/* Whatever kept all of a run's waits that long, it was not the time to wake up. */
static void latencies_have_a_limit(void **state)
{
	struct idmap timings = { 0 };
	struct samples samples = { 0 };

	for (int i = 0; i < 2 * LATENCY_MIN_EXAMPLES; i++)
		wait_timing_add(&samples, 1, 5 * LATENCY_MAX_NS);
	assert_int_equal(wait_timing_settle(&timings, &samples, 1)->wake_up, LATENCY_MAX_NS);
	samples_release(&samples);
	idmap_release(&timings, free);
}

/*
 * A launch of another thread that is still going on when cudaFree is entered need not be waited
 * for.
 */
static void an_overlapping_submission_does_not_clear_the_call(void **state)
{
	struct mini *m = *state;
	int64_t n = mini_stream(m, "non-blocking"), o = mini_stream(m, "non-blocking"), call;
	int64_t thread = mini_thread(m);

	launch(m, 10, n, 20, 1000);
	MINI_CALL(m, .type = CALL_cuLaunchKernel, .at = 18, .until = 1010, .stream = o,
		.thread = thread, .runs = { 1012, 5000 });
	call = free_memory(m, 20, 1004);
	assert_string_equal(held(m, call), "implicit:1:944");
}

static const char *used(struct mini *m)
{
	assert_int_equal(analyze(&m->db), 0);
	return mini_text(m,
		"SELECT ifnull(group_concat(kind || ' ' || count || ' ' || "
		"(waited / 1000), ', '), '') FROM wait_use");
}

/* Too short for a row each, and what asks for what has ended is no wait. */
static void short_waits_add_up(void **state)
{
	struct mini *m = *state;
	int64_t n = mini_stream(m, "non-blocking");

	for (int i = 0; i < 100; i++) {
		launch(m, 100 * i, n, 100 * i + 5, 100 * i + 7);
		sync_stream(m, 100 * i + 3, 100 * i + 8, n);
		sync_stream(m, 100 * i + 20, 100 * i + 22, n);
	}
	assert_string_equal(used(m), "explicit 100 400");
	assert_int_equal(mini_int(m, "SELECT count(*) FROM wait"), 0);
}

/* Each copy counts, also the first of an address: the part of its transfer that the call lasted. */
static void staged_copies_add_up(void **state)
{
	struct mini *m = *state;
	int64_t n = mini_stream(m, "non-blocking");

	for (int i = 0; i < 3; i++) {
		int64_t copy = MINI_CALL(m, .type = CALL_cuMemcpyHtoDAsync_v2, .at = 2000 * i,
			.until = 2000 * i + 1000, .stream = n, .bytes = 10 << 20,
			.direction = 1 + COPY_H2D, .dst = "device", .src = "pageable",
			.runs = { 2000 * i + 100, 2000 * i + 1100 });

		mini_exec(m, "UPDATE call SET src = 4096 WHERE id = %lld", (long long)copy);
	}
	assert_string_equal(used(m), "staged 3 2700");
}

static void loops_of_queries_add_up(void **state)
{
	struct mini *m = *state;
	int64_t n = mini_stream(m, "non-blocking");

	for (int i = 0; i < 3; i++) {
		launch(m, 2000 * i, n, 2000 * i + 10, 2000 * i + 1010);
		for (int k = 0; k < 3; k++)
			MINI_CALL(m, .type = CALL_cuStreamQuery, .at = 2000 * i + 5 + 505 * k,
				.until = 2000 * i + 6 + 505 * k, .stream = n,
				.result = k < 2 ? 600 : 0);
	}
	assert_string_equal(used(m), "polling 3 3033");
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, mini_setup, mini_teardown)
	const struct CMUnitTest tests[] = {
		T(a_free_that_ends_with_a_kernel_was_held),
		T(a_short_wait_of_a_free_that_is_quick_counts),
		T(a_late_free_that_is_quick_waited_for_the_rest),
		T(frees_that_take_as_long_alone_did_not_wait),
		T(a_late_wake_up_is_part_of_the_wait),
		T(a_wait_that_returns_late_has_waited),
		T(frees_of_threads_take_turns_unfairly),
		T(a_free_with_nothing_pending_was_not),
		T(a_slow_free_beside_a_running_kernel_was_not),
		T(own_work_of_any_length_does_not_hide_the_wait),
		T(a_load_that_returns_long_after_the_kernel_was_not_held),
		T(a_slow_call_that_returned_before_the_kernel_was_not),
		T(a_wait_below_six_microseconds_is_noise),
		T(a_wait_below_three_clock_errors_is_noise),
		T(a_kernel_that_seems_to_end_after_the_return_counts),
		T(the_runs_own_median_counts),
		T(overhead_does_not_count),
		T(overhead_is_not_usual),
		T(pool_memory_and_null_do_not_wait),
		T(a_free_waits_for_the_owner),
		T(a_copy_waits_for_blocking_streams_only),
		T(a_copy_within_the_device_does_not_wait),
		T(a_pageable_copy_is_held_by_what_came_before),
		T(a_pageable_copy_on_an_idle_stream_is_held_by_itself),
		T(a_copy_is_held_by_what_it_was_behind_for_a_good_part),
		T(a_copy_behind_work_for_a_moment_is_held_by_itself),
		T(a_copy_that_returns_before_its_transfer_is_not_held),
		T(a_pinned_copy_is_not_held),
		T(staging_is_not_waiting),
		T(staging_is_as_fast_as_it_was_seen),
		T(what_ended_soon_after_the_call_began_did_not_hold_it),
		T(a_slow_transfer_does_not_hide_the_wait),
		T(a_transfer_that_began_before_waited_for_nothing),
		T(explicit_waits_name_their_operation),
		T(wake_up_latency_is_the_runs_own),
		T(latencies_have_a_limit),
		T(an_overlapping_submission_does_not_clear_the_call),
		T(short_waits_add_up),
		T(staged_copies_add_up),
		T(loops_of_queries_add_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
