/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How much of a wait its thread or the device could have used.
 */
#include "waiting.h"

/* us, -1 if the call was not held. */
static int64_t avoidable(struct mini *m, int64_t call)
{
	char sql[100];

	assert_int_equal(analyze(&m->db), 0);
	snprintf(sql, sizeof(sql), "SELECT avoidable / 1000 FROM wait WHERE call = %lld",
		(long long)call);
	return db_int(&m->db, sql, -1);
}

/* A pageable copy and at once the wait that the program wrote for it: nothing to gain. */
static void a_wait_that_follows_at_once_leaves_nothing_to_gain(void **state)
{
	struct mini *m = *state;
	int64_t n = mini_stream(m, "non-blocking"), copy;

	launch(m, 10, n, 20, 1000);
	copy = copy_back(m, 20, 1110, n, "pageable", 1002, 1100);
	sync_stream(m, 1112, 1114, n);
	launch(m, 1200, n, 1210, 2000);
	assert_int_equal(avoidable(m, copy), 0);
}

/* The wait may be one for an event recorded after the copy. */
static void a_wait_by_event_covers_too(void **state)
{
	struct mini *m = *state;
	int64_t n = mini_stream(m, "non-blocking"), o = mini_stream(m, "non-blocking");
	int64_t e = mini_event(m), copy;

	launch(m, 10, n, 20, 1000);
	copy = copy_back(m, 20, 1110, n, "pageable", 1002, 1100);
	MINI_CALL(m, .type = CALL_cuEventRecord, .at = 1112, .stream = n, .event = e);
	MINI_CALL(m, .type = CALL_cuEventSynchronize, .at = 1116, .event = e);
	launch(m, 1600, o, 1610, 2000);
	assert_int_equal(avoidable(m, copy), 0);
}

/* A wait for another stream does not: until the next that does the thread has time to use. */
static void a_wait_for_another_stream_does_not_cover(void **state)
{
	struct mini *m = *state;
	int64_t n = mini_stream(m, "non-blocking"), o = mini_stream(m, "non-blocking"), copy;

	launch(m, 10, n, 20, 1000);
	copy = copy_back(m, 20, 1110, n, "pageable", 1002, 1100);
	sync_stream(m, 1112, 1114, o);
	sync_stream(m, 1510, 1512, n);
	launch(m, 1600, n, 1610, 2000);
	assert_int_equal(avoidable(m, copy), 400);
}

/* Time spent in another wait is not the thread's to use. */
static void waiting_elsewhere_is_not_using_time(void **state)
{
	struct mini *m = *state;
	int64_t n = mini_stream(m, "non-blocking"), o = mini_stream(m, "non-blocking"), copy;

	launch(m, 10, n, 20, 1000);
	launch(m, 14, o, 25, 1700);
	copy = copy_back(m, 20, 1110, n, "pageable", 1002, 1100);
	sync_stream(m, 1112, 1702, o);
	sync_stream(m, 1704, 1706, n);
	launch(m, 1800, n, 1810, 2000);
	assert_int_equal(avoidable(m, copy), 0);
}

/* A copy of 1 ms, from memory that was copied before; from pinned memory it would take as long. */
static int64_t upload(struct mini *m, double at, int64_t stream)
{
	int64_t copy = MINI_CALL(m, .type = CALL_cuMemcpyHtoDAsync_v2, .at = at, .until = at + 1000,
		.stream = stream, .bytes = 48 << 20, .direction = 1 + COPY_H2D, .dst = "device",
		.src = "pageable", .runs = { at + 5, at + 999 });

	mini_exec(m, "UPDATE call SET src = 4096 WHERE id = %lld", (long long)copy);
	return copy;
}

/* The next upload to the stream would wait as well: what is late by that is none of this one's. */
static void a_held_copy_of_the_same_stream_covers(void **state)
{
	struct mini *m = *state;
	int64_t n = mini_stream(m, "non-blocking"), o = mini_stream(m, "non-blocking"), copy;

	upload(m, 10, n);
	copy = upload(m, 1100, n);
	launch(m, 2102, o, 2110, 2310);
	upload(m, 2120, n);
	launch(m, 3122, o, 3130, 3330);
	sync_stream(m, 3200, 3332, o);
	launch(m, 3400, n, 3410, 3500);
	assert_in_range(avoidable(m, copy), 190, 210);
}

/* Synchronizing the legacy stream covers a blocking stream's copy. */
static void a_legacy_wait_covers_blocking_streams(void **state)
{
	struct mini *m = *state;
	int64_t b = mini_stream(m, "blocking"), n = mini_stream(m, "non-blocking");
	int64_t covered, uncovered;

	covered = copy_back(m, 20, 1110, b, "pageable", 30, 1100);
	sync_stream(m, 1112, 1114, MINI_LEGACY);
	uncovered = copy_back(m, 2020, 3110, n, "pageable", 2030, 3100);
	sync_stream(m, 3112, 3114, MINI_LEGACY);
	launch(m, 3500, b, 3600, 3700);
	sync_stream(m, 4000, 4002, n);
	assert_int_equal(avoidable(m, covered), 0);
	assert_true(avoidable(m, uncovered) > 800);
}

/*
 * Only the copy's own wait orders work submitted after a copy to the host: without it both would
 * overlap.
 */
static void the_wait_itself_orders_nothing(void **state)
{
	struct mini *m = *state;
	int64_t b = mini_stream(m, "blocking"), n = mini_stream(m, "non-blocking"), copy;

	launch(m, 10, b, 20, 1000);
	copy = MINI_CALL(m, .type = CALL_cuMemcpyDtoH_v2, .at = 20, .until = 1010, .bytes = 4096,
		.stream = MINI_LEGACY, .direction = 1 + COPY_D2H, .dst = "pinned",
		.runs = { 1002, 1005 });
	launch(m, 1020, n, 1030, 1430);
	MINI_CALL(m, .type = CALL_cuCtxSynchronize, .at = 1030, .until = 1432);
	launch(m, 1500, n, 1510, 1600);
	assert_int_equal(avoidable(m, copy), 400);
}

/*
 * From host memory to host memory nothing comes that the thread could be waiting for, unless the
 * device writes there.
 */
static void a_copy_within_the_host_is_no_result(void **state)
{
	struct mini *m = *state;
	int64_t b = mini_stream(m, "blocking"), pinned = mini_allocation(m, "pinned"), copy;

	launch(m, 10, b, 20, 1000);
	copy = MINI_CALL(m, .type = CALL_cuMemcpy, .at = 20, .until = 1010, .bytes = 4096,
		.stream = MINI_LEGACY, .direction = 1 + COPY_H2H, .dst = "pageable",
		.src = "pinned", .runs = { 1002, 1005 });
	mini_names(m, copy, "src", pinned);
	sync_stream(m, 1500, 1502, b);
	launch(m, 1510, b, 1520, 1600);
	assert_int_equal(avoidable(m, copy), 490);
	mini_names(m, copy - 1, "word", pinned);
	assert_int_equal(avoidable(m, copy), 0);
}

/*
 * The upload for the next round goes to the other one of two buffers: it could have come sooner,
 * concurrent with the kernel. It could not if it goes to the kernel's buffer, or if that is not
 * known.
 */
static void an_upload_could_have_run_beside(void **state)
{
	struct mini *m = *state;
	int64_t one = mini_allocation(m, "device"), two = mini_allocation(m, "device");
	int64_t kernel, copy;

	kernel = launch(m, 10, MINI_LEGACY, 20, 1000);
	copy = MINI_CALL(m, .type = CALL_cuMemcpyHtoD_v2, .at = 20, .until = 1410, .bytes = 1 << 20,
		.stream = MINI_LEGACY, .direction = 1 + COPY_H2D, .src = "pinned", .dst = "device",
		.runs = { 1002, 1402 });
	launch(m, 1412, MINI_LEGACY, 1420, 2000);
	MINI_CALL(m, .type = CALL_cuCtxSynchronize, .at = 1414, .until = 2003);
	launch(m, 2010, MINI_LEGACY, 2020, 2100);
	mini_names(m, copy, "dst", two);
	assert_int_equal(avoidable(m, copy), 0);
	mini_names(m, kernel, "word", one);
	assert_int_equal(avoidable(m, copy), 400);
	mini_exec(m, "UPDATE operand SET allocation = %lld WHERE role = 'word'", (long long)two);
	assert_int_equal(avoidable(m, copy), 0);
}

/* The frees at the end of a program, after its last device work. */
static void teardown_costs_nothing(void **state)
{
	struct mini *m = *state;
	int64_t n = mini_stream(m, "non-blocking"), call;

	launch(m, 10, n, 20, 100000);
	call = free_memory(m, 20, 100004);
	MINI_CALL(m, .type = CALL_cuStreamDestroy_v2, .at = 101000, .stream = n);
	MINI_CALL(m, .type = CALL_cuDevicePrimaryCtxReset_v2, .at = 110000, .until = 150000);
	assert_int_equal(avoidable(m, call), 0);
}

/*
 * One stream: without the wait only the host's part of the loop would run concurrent with the
 * kernel.
 */
static void in_one_stream_the_hosts_part_is_avoidable(void **state)
{
	struct mini *m = *state;
	int64_t n = mini_stream(m, "non-blocking"), call;

	launch(m, 10, n, 20, 1000);
	call = free_memory(m, 20, 1004);
	launch(m, 1204, n, 1210, 2200);
	free_memory(m, 1214, 2204);
	assert_int_equal(avoidable(m, call), 210);
}

/* Two streams: the next stream's kernel would have run concurrent with the one waited for. */
static void independent_work_behind_a_wait_is_avoidable(void **state)
{
	struct mini *m = *state;
	int64_t n = mini_stream(m, "non-blocking"), o = mini_stream(m, "non-blocking"), call;

	launch(m, 10, n, 20, 1000);
	call = free_memory(m, 20, 1004);
	launch(m, 1010, o, 1020, 1420);
	free_memory(m, 1014, 1424);
	launch(m, 2010, n, 2020, 2420);
	assert_int_equal(avoidable(m, call), 420);
}

/* ... but not if an event orders it after that kernel. */
static void ordered_work_behind_a_wait_is_not(void **state)
{
	struct mini *m = *state;
	int64_t n = mini_stream(m, "non-blocking"), o = mini_stream(m, "non-blocking");
	int64_t e = mini_event(m), call;

	launch(m, 10, n, 20, 1000);
	MINI_CALL(m, .type = CALL_cuEventRecord, .at = 13, .stream = n, .event = e);
	MINI_CALL(m, .type = CALL_cuStreamWaitEvent, .at = 16, .stream = o, .event = e);
	call = free_memory(m, 20, 1004);
	launch(m, 1010, o, 1020, 1420);
	free_memory(m, 1014, 1424);
	launch(m, 2010, n, 2020, 2420);
	assert_int_equal(avoidable(m, call), 20);
}

/* Two streams, each copy back waits for its kernel and delays the other stream's launch. */
static void a_pageable_pipeline_could_overlap(void **state)
{
	struct mini *m = *state;
	int64_t s[2] = { mini_stream(m, "non-blocking"), mini_stream(m, "non-blocking") };
	int64_t copy[4];

	for (int i = 0; i < 4; i++) {
		double t = 1000 * i;

		launch(m, t + 10, s[i % 2], t + 20, t + 900);
		copy[i] = copy_back(m, t + 14, t + 990, s[i % 2], "pageable", t + 902, t + 985);
	}
	sync_stream(m, 4000, 4002, s[0]);
	sync_stream(m, 4003, 4005, s[1]);
	assert_int_equal(avoidable(m, copy[0]), 913);
	assert_int_equal(avoidable(m, copy[2]), 913);
	assert_int_equal(avoidable(m, copy[3]), 0);
}

/* The copy of a first result, after its kernel, and the next kernel with its copy. */
static int64_t copied_behind(struct mini *m, int64_t work, int64_t copies)
{
	int64_t e = mini_event(m), copy;

	launch(m, 10, work, 20, 1000);
	MINI_CALL(m, .type = CALL_cuEventRecord, .at = 13, .stream = work, .event = e);
	MINI_CALL(m, .type = CALL_cuStreamWaitEvent, .at = 16, .stream = copies, .event = e);
	copy = copy_back(m, 20, 1410, copies, "pageable", 1002, 1400);
	launch(m, 1420, work, 1430, 2430);
	copy_back(m, 1424, 2850, copies, "pageable", 2432, 2840);
	launch(m, 2860, work, 2870, 2900);
	return copy;
}

/*
 * The next kernel comes after the first. It would have run concurrent with its result's transfer.
 */
static void work_beside_a_copys_own_transfer_is_avoidable(void **state)
{
	struct mini *m = *state;
	int64_t n = mini_stream(m, "non-blocking"), o = mini_stream(m, "non-blocking");

	assert_int_equal(avoidable(m, copied_behind(m, n, o)), 410);
}

/*
 * In one stream it comes after the transfer, too: the device idled no longer than after any copy
 * that is waited for.
 */
static void work_behind_a_copys_own_transfer_is_not(void **state)
{
	struct mini *m = *state;
	int64_t n = mini_stream(m, "non-blocking");

	assert_int_equal(avoidable(m, copied_behind(m, n, n)), 0);
}

/* Two results for each kernel: the second copy would wait in the place of the first. */
static void copies_of_one_stream_are_one_mistake(void **state)
{
	struct mini *m = *state;
	int64_t s[2] = { mini_stream(m, "non-blocking"), mini_stream(m, "non-blocking") };
	int64_t line[2] = { mini_site(m, "fetch", 1), mini_site(m, "fetch", 2) };
	int64_t first[4], second[4];

	for (int i = 0; i < 4; i++) {
		double t = 1000 * i;

		launch(m, t + 10, s[i % 2], t + 20, t + 900);
		first[i] = copy_back(m, t + 14, t + 920, s[i % 2], "pageable", t + 902, t + 915);
		second[i] = copy_back(m, t + 922, t + 940, s[i % 2], "pageable", t + 924, t + 936);
		mini_exec(m,
			"UPDATE call SET site = CASE id WHEN %lld THEN %lld ELSE %lld END "
			"WHERE id IN (%lld, %lld)",
			(long long)first[i], (long long)line[0], (long long)line[1],
			(long long)first[i], (long long)second[i]);
	}
	sync_stream(m, 4000, 4002, s[0]);
	sync_stream(m, 4003, 4005, s[1]);
	assert_in_range(avoidable(m, first[0]), 830, 906);
	assert_int_equal(avoidable(m, second[0]), -1);
	assert_int_equal(db_int(&m->db,
				 "SELECT count(*) FROM finding WHERE "
				 "rule = 'pageable-async-copy' AND saving > 1500000",
				 -1),
		1);
	assert_int_equal(db_int(&m->db, "SELECT count(*) FROM finding_also", -1), 1);
}

static void explicit_waits_are_never_avoidable_here(void **state)
{
	struct mini *m = *state;
	int64_t n = mini_stream(m, "non-blocking"), call;

	launch(m, 10, n, 20, 1000);
	call = sync_stream(m, 20, 1002, n);
	launch(m, 5000, n, 5010, 6000);
	assert_int_equal(avoidable(m, call), 0);
}

static int count_steps(void *steps)
{
	(*(int64_t *)steps)++;
	return 0;
}

/* Thousands of SQLite's steps that an analysis of so many copies that were held takes. */
static int64_t steps_of(int copies)
{
	struct mini m;
	int64_t stream, steps = 0;

	mini_init(&m);
	stream = mini_stream(&m, "non-blocking");
	for (int i = 0; i < copies; i++) {
		launch(&m, 2000 * i + 10, stream, 2000 * i + 20, 2000 * i + 1000);
		copy_back(&m, 2000 * i + 20, 2000 * i + 1110, stream, "pageable", 2000 * i + 1002,
			2000 * i + 1100);
	}
	assert_int_equal(analyze(&m.db), 0);
	/* As if most calls had thousands of operations. */
	mini_exec(&m, "ANALYZE");
	mini_exec(&m,
		"UPDATE sqlite_stat1 SET stat = '100000 ' || CASE idx WHEN 'operation_call' "
		"THEN 20000 ELSE 1 END WHERE tbl = 'operation'");
	mini_exec(&m, "ANALYZE sqlite_schema");
	sqlite3_progress_handler(m.db.handle, 1000, count_steps, &steps);
	assert_int_equal(analyze(&m.db), 0);
	assert_true(db_int(&m.db, "SELECT count(*) FROM wait", 0) > copies / 2);
	mini_release(&m);
	return steps;
}

static void statistics_do_not_make_it_quadratic(void **unused)
{
	(void)unused;
	assert_in_range(steps_of(800), 0, 5 * steps_of(200));
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, mini_setup, mini_teardown)
	const struct CMUnitTest tests[] = {
		T(a_wait_that_follows_at_once_leaves_nothing_to_gain),
		T(a_wait_by_event_covers_too),
		T(a_wait_for_another_stream_does_not_cover),
		T(a_held_copy_of_the_same_stream_covers),
		T(waiting_elsewhere_is_not_using_time),
		T(a_legacy_wait_covers_blocking_streams),
		T(the_wait_itself_orders_nothing),
		T(a_copy_within_the_host_is_no_result),
		T(an_upload_could_have_run_beside),
		T(teardown_costs_nothing),
		T(in_one_stream_the_hosts_part_is_avoidable),
		T(independent_work_behind_a_wait_is_avoidable),
		T(ordered_work_behind_a_wait_is_not),
		T(a_pageable_pipeline_could_overlap),
		T(work_beside_a_copys_own_transfer_is_avoidable),
		T(work_behind_a_copys_own_transfer_is_not),
		T(copies_of_one_stream_are_one_mistake),
		T(explicit_waits_are_never_avoidable_here),
		cmocka_unit_test(statistics_do_not_make_it_quadratic),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
