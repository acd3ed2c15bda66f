/* SPDX-License-Identifier: Apache-2.0 */
/* Replays of what the host does by itself: nodes of graphs, graphs, what recording takes. */
#include "replay_run.h"

/* Two streams in turn, launched faster than the device works, or not. */
static int64_t launch_rows(struct small_run *run, double length, int64_t nodes[40])
{
	int64_t stream[] = { mini_stream(&run->mini, "non-blocking"),
		mini_stream(&run->mini, "non-blocking") };

	for (int i = 0; i < 40; i++)
		nodes[i] = launch(run, stream[i % 2], length);
	return wait_all(run, CALL_cuCtxSynchronize, 0);
}

/* us that the run takes less if all launches but the first are nodes of what it launches. */
static int saved_by_nodes(struct small_run *run, const int64_t nodes[40],
	enum replay_contention contention)
{
	struct savings *savings;
	struct replay *replay;
	int64_t before, after;

	assert_int_equal(analyze(&run->mini.db), 0);
	open_columns(&run->mini.db);
	savings = savings_open(&run->mini.db);
	assert_non_null(savings);
	replay = idmap_get(&savings->processes, 1);
	before = replay_run(replay, contention);
	for (int i = 1; i < 40; i++)
		replay_change(replay, nodes[i], CHANGE_NODE, 0);
	after = replay_run(replay, contention);
	savings_close(savings);
	run_close(run->mini.db.run);
	run->mini.db.run = NULL;
	return (int)((before - after) / 1000);
}

/* A launch of 2 us, 1.4 unrecorded, and 2 between two of them; what is between may be needed. */
static void nodes_of_a_graph_take_the_host_no_time(void **state)
{
	struct small_run *run = *state;
	int64_t nodes[40];

	launch_rows(run, 1, nodes);
	near(saved_by_nodes(run, nodes, REPLAY_LIKELY), 54, 4);
}

static void nor_does_what_the_program_does_between_if_that_is_only_to_launch(void **state)
{
	struct small_run *run = *state;
	int64_t nodes[40];

	launch_rows(run, 1, nodes);
	/* 39 launches take 3.4 us each; the device needs 2.2 each for 20 in a row. */
	near(saved_by_nodes(run, nodes, REPLAY_LEAST), 39 * 34 / 10 - 20 * 2, 6);
}

static void nodes_gain_nothing_where_the_device_is_busy(void **state)
{
	struct small_run *run = *state;
	int64_t nodes[40];

	launch_rows(run, 50, nodes);
	near(saved_by_nodes(run, nodes, REPLAY_LIKELY), 0, 1);
}

/* The run as it was measured is compared with itself; a saving is one of the program unrecorded. */
static void recording_is_no_part_of_what_a_launch_takes(void **state)
{
	struct small_run *run = *state;
	struct savings *savings;
	struct replay *replay;
	int64_t nodes[40], recorded, bare;

	launch_rows(run, 1, nodes);
	assert_int_equal(analyze(&run->mini.db), 0);
	open_columns(&run->mini.db);
	savings = savings_open(&run->mini.db);
	replay = idmap_get(&savings->processes, 1);
	recorded = replay_run(replay, REPLAY_RECORDED);
	bare = replay_run(replay, REPLAY_LIKELY);
	assert_in_range(recorded, replay->measured - 1000, replay->measured + 1000);
	/* 900 of 3150 parts of the 2 us of each (recording.def). */
	near((int)((recorded - bare) / 1000), 23, 2);
	savings_close(savings);
	run_close(run->mini.db.run);
	run->mini.db.run = NULL;
}

static struct replay *open_first(struct small_run *run, struct savings **savings)
{
	assert_int_equal(analyze(&run->mini.db), 0);
	open_columns(&run->mini.db);
	*savings = savings_open(&run->mini.db);
	return idmap_get(&(*savings)->processes, 1);
}

static void close_all(struct small_run *run, struct savings *savings)
{
	savings_close(savings);
	run_close(run->mini.db.run);
	run->mini.db.run = NULL;
}

/* CUPTI takes its time for each node of a graph, at most twice what it takes in recording.def. */
static void recording_a_graph_takes_time_for_each_node(void **state)
{
	struct small_run *run = *state;
	struct mini *m = &run->mini;
	int64_t stream = mini_stream(m, "non-blocking"), made, call[2];
	struct savings *savings;
	struct replay *replay;

	made = MINI_CALL(m, .type = CALL_cuGraphInstantiateWithFlags, .at = 10, .until = 60);
	mini_exec(m,
		"INSERT INTO graph VALUES (1, 1, 65, NULL, NULL); "
		"INSERT INTO graph_exec VALUES (1, 1, 99, 1, %lld, %lld, NULL)",
		(long long)made, (long long)made);
	for (int i = 0; i < 10; i++)
		mini_exec(m,
			"INSERT INTO graph_node (graph, type, call) VALUES (1, 'kernel', %lld)",
			(long long)made);
	for (int i = 0; i < 2; i++) {
		call[i] = MINI_CALL(m, .type = CALL_cuGraphLaunch, .at = 100 + 100 * i,
			.until = 135 + 100 * i, .stream = stream,
			.runs = { 145 + 100 * i, 155 + 100 * i });
		mini_exec(m, "INSERT INTO call_object VALUES (%lld, 'exec', 1)",
			(long long)call[i]);
	}
	replay = open_first(run, &savings);
	assert_int_equal(replay->step[replay_step_of(replay, made)].recorded,
		2 * (2560 + 10 * 335));
	assert_int_equal(replay->step[replay_step_of(replay, call[0])].recorded, 12248);
	assert_int_equal(replay->step[replay_step_of(replay, call[1])].recorded,
		2 * (1840 + 10 * 235));
	close_all(run, savings);
}

/* The graph is that of the call that begins its capture; the call that ends it has the time. */
static void recording_a_capture_takes_time_for_each_node(void **state)
{
	struct small_run *run = *state;
	struct mini *m = &run->mini;
	int64_t begin, end, stream = mini_stream(m, "non-blocking");
	struct savings *savings;
	struct replay *replay;

	launch(run, stream, 10);
	begin = MINI_CALL(m, .type = CALL_cuStreamBeginCapture_v2, .at = 100, .until = 101,
		.stream = stream);
	end = MINI_CALL(m, .type = CALL_cuStreamEndCapture, .at = 129, .until = 130,
		.stream = stream);
	mini_exec(m, "INSERT INTO graph VALUES (1, 1, 65, %lld, NULL)", (long long)begin);
	for (int i = 0; i < 10; i++)
		mini_exec(m,
			"INSERT INTO graph_node (graph, type, call) VALUES (1, 'kernel', %lld)",
			(long long)begin);
	replay = open_first(run, &savings);
	assert_int_equal(replay->step[replay_step_of(replay, end)].recorded, 2 * (105 + 10 * 240));
	close_all(run, savings);
}

/* A run that is bound by its host is shorter where that is quicker. */
static void a_quick_host_takes_less(void **state)
{
	struct small_run *run = *state;
	struct savings *savings;
	struct replay *replay;
	int64_t nodes[40], likely;

	launch_rows(run, 1, nodes);
	replay = open_first(run, &savings);
	likely = replay_run(replay, REPLAY_LIKELY);
	near((int)((likely - replay_run(replay, REPLAY_QUICK)) / 1000), (int)(likely / 4000), 4);
	close_all(run, savings);
}

/* The host copies from pageable memory, and that after the call has waited for a kernel. */
static void a_quick_host_copies_from_pageable_memory_in_less(void **state)
{
	struct small_run *run = *state;
	struct mini *m = &run->mini;
	int64_t stream = mini_stream(m, "non-blocking");
	struct savings *savings;
	struct replay *replay;
	int64_t likely;

	for (int i = 0; i < 20; i++) {
		double start = run->now + LAUNCH_US;

		/* The first copies show how long one takes by itself. */
		if (i >= 10) {
			launch(run, stream, 2000);
			start = run->last + 2;
		}
		MINI_CALL(m, .type = CALL_cuMemcpyHtoDAsync_v2, .at = run->now,
			.until = start + 1001, .stream = stream, .direction = 1 + COPY_H2D,
			.src = "pageable", .dst = "device", .bytes = 16 << 20,
			.runs = { start, start + 1000 });
		run->last = run->tail[stream] = start + 1000;
		run->now = run->last + 3;
	}
	wait_all(run, CALL_cuCtxSynchronize, 0);
	replay = open_first(run, &savings);
	likely = replay_run(replay, REPLAY_LIKELY);
	near((int)((likely - replay_run(replay, REPLAY_QUICK)) / 1000), 20 * 1000 / 4, 100);
	close_all(run, savings);
}

/* The removed wait kept a kernel after the one whose result it reads. */
static void data_that_is_needed_is_waited_for_without_the_wait(void **state)
{
	struct small_run *run = *state;
	struct mini *m = &run->mini;
	int64_t stream[] = { mini_stream(m, "non-blocking"), mini_stream(m, "non-blocking") };
	int64_t site = mini_site(m, "release", 7), first, wait, second, before;
	struct savings *savings;
	struct replay *replay;

	first = launch(run, stream[0], 1000);
	wait = wait_all(run, CALL_cuMemFree_v2, site);
	second = launch(run, stream[1], 1000);
	wait_all(run, CALL_cuCtxSynchronize, 0);
	for (int needed = 0; needed < 2; needed++) {
		if (needed)
			mini_exec(m,
				"INSERT INTO allocation (id, process, address, bytes, memory) "
				"VALUES (1, 1, 4096, 4096, 'device')");
		replay = open_first(run, &savings);
		close_all(run, savings);
		if (needed)
			mini_exec(m,
				"INSERT INTO hazard (process, rule, kind, confidence, call, "
				"other_call, allocation, low, high, via, evidence, "
				"other_evidence) VALUES (1, 'accidental-order', 'raw', "
				"'certain', %lld, %lld, 1, 4096, 8192, %lld, 'exact', 'exact')",
				(long long)second, (long long)first, (long long)wait);
		open_columns(&m->db);
		savings = savings_open(&m->db);
		replay = idmap_get(&savings->processes, 1);
		before = replay_run(replay, REPLAY_LIKELY);
		replay_change(replay, wait, CHANGE_WAIT, 0);
		near((int)((before - replay_run(replay, REPLAY_LIKELY)) / 1000), needed ? 45 : 1000,
			60);
		close_all(run, savings);
	}
}

/* A stream is busy with a wait, too, though the event was reached long ago. */
static void a_wait_for_an_event_takes_its_stream_time(void **state)
{
	struct small_run *run = *state;
	struct mini *m = &run->mini;
	int64_t stream = mini_stream(m, "non-blocking"), other = mini_stream(m, "non-blocking");
	int64_t event = mini_event(m), site = mini_site(m, "wait", 7), wait = 0;

	launch(run, other, 1);
	MINI_CALL(m, .type = CALL_cuEventRecord, .at = run->now, .stream = other, .event = event);
	run->now += 4;
	launch(run, stream, 500);
	for (int i = 0; i < 100; i++) {
		/* Two in a row take it no longer than one. */
		for (int n = 0; n < 2; n++) {
			wait = MINI_CALL(m, .type = CALL_cuStreamWaitEvent, .at = run->now,
				.until = run->now + 0.2, .stream = stream, .event = event,
				.site = site);
			run->now += 1;
		}
		run->tail[stream] += 0.18;
		launch(run, stream, 20);
	}
	wait_all(run, CALL_cuCtxSynchronize, 0);
	near(saved(run, wait, CHANGE_ORDER, 0, REPLAY_LIKELY), 18, 1);
}

/* The own time of a cudaFree that lasts from 14 us on, while another thread launches, ns. */
static int64_t own_of_free(struct small_run *run, double until, double launched, double ran)
{
	struct mini *m = &run->mini;
	int64_t stream[] = { mini_stream(m, "non-blocking"), mini_stream(m, "non-blocking") };
	int64_t other = mini_thread(m), site = mini_site(m, "release", 7), freed, own;
	struct savings *savings;
	struct replay *replay;

	MINI_CALL(m, .type = CALL_cuLaunchKernel, .at = 10, .stream = stream[0],
		.runs = { 16, 1016 });
	freed = MINI_CALL(m, .type = CALL_cuMemFree_v2, .at = 14, .until = until, .ptr = 0x10000,
		.site = site);
	MINI_CALL(m, .type = CALL_cuLaunchKernel, .at = launched, .until = launched + 20,
		.thread = other, .stream = stream[1], .runs = { ran, ran + 1000 });
	MINI_CALL(m, .type = CALL_cuCtxSynchronize, .at = 5000, .until = 5003);
	replay = open_first(run, &savings);
	own = replay->step[replay_step_of(replay, freed)].own;
	close_all(run, savings);
	return own;
}

/*
 * One of two threads that free at the same time returns 1 ms late, when work of the other is done
 * that was submitted meanwhile: that is a wait, and not what freeing takes.
 */
static void who_frees_at_the_same_time_waits_for_later_work(void **state)
{
	assert_int_equal(own_of_free(*state, 2040, 500, 1020), 20000);
}

/* Nor was it freeing yet when another thread's launch, which excludes that, was made. */
static void who_frees_has_waited_for_calls_of_other_threads_made_meanwhile(void **state)
{
	assert_int_equal(own_of_free(*state, 3000, 2940, 3200), 40000);
}

/*
 * A thread is blocked outside of CUDA for 105 us, until a host function has run, and then computes
 * for 331 us: only the former is saved.
 */
static void who_is_blocked_outside_computes_all_the_same(void **state)
{
	struct small_run *run = *state;
	struct mini *m = &run->mini;
	int64_t stream = mini_stream(m, "non-blocking"), function;

	launch(run, stream, 100);
	function = MINI_CALL(m, .type = CALL_cuLaunchHostFunc, .at = 14, .stream = stream);
	mini_exec(m, "INSERT INTO host_run VALUES (1, 2, %lld, %lld, %lld, 1, 1)",
		(long long)function, (long long)mini_ns(117), (long long)mini_ns(119));
	mini_exec(m, "INSERT INTO usage VALUES (1, 0, %lld, %lld, 1, 0)", (long long)mini_ns(450),
		(long long)mini_ns(105));
	run->now = 450;
	launch(run, stream, 20);
	wait_all(run, CALL_cuCtxSynchronize, 0);
	near(saved(run, function, CHANGE_OUTSIDE, 0, REPLAY_LIKELY), 103, 3);
}

/* The first of three copies to the same pageable memory takes 1.8 ms more: pages are made. */
static void who_pins_memory_makes_its_pages_too(void **state)
{
	struct small_run *run = *state;
	struct mini *m = &run->mini;
	int64_t stream = mini_stream(m, "non-blocking"), site = mini_site(m, "fetch", 7), copy[3];
	struct savings *savings;
	struct replay *replay;

	for (int i = 0; i < 3; i++) {
		double start = run->now + LAUNCH_US, until = start + (i ? 300 : 2100);

		copy[i] = MINI_CALL(m, .type = CALL_cuMemcpyDtoHAsync_v2, .at = run->now,
			.until = until, .stream = stream, .site = site, .direction = 1 + COPY_D2H,
			.src = "device", .dst = "pageable", .bytes = 1 << 20,
			.runs = { start, start + 100 });
		mini_exec(m, "UPDATE call SET dst = 65536 WHERE id = %lld", (long long)copy[i]);
		run->now = until + 3;
	}
	replay = open_first(run, &savings);
	assert_int_equal(replay->step[replay_step_of(replay, copy[0])].pinning, 75000 + 1800000);
	assert_int_equal(replay->step[replay_step_of(replay, copy[1])].pinning, 0);
	close_all(run, savings);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(nodes_of_a_graph_take_the_host_no_time),
		TEST(nor_does_what_the_program_does_between_if_that_is_only_to_launch),
		TEST(nodes_gain_nothing_where_the_device_is_busy),
		TEST(recording_is_no_part_of_what_a_launch_takes),
		TEST(recording_a_graph_takes_time_for_each_node),
		TEST(recording_a_capture_takes_time_for_each_node),
		TEST(a_quick_host_takes_less),
		TEST(a_quick_host_copies_from_pageable_memory_in_less),
		TEST(data_that_is_needed_is_waited_for_without_the_wait),
		TEST(a_wait_for_an_event_takes_its_stream_time),
		TEST(who_frees_at_the_same_time_waits_for_later_work),
		TEST(who_is_blocked_outside_computes_all_the_same),
		TEST(who_pins_memory_makes_its_pages_too),
		TEST(who_frees_has_waited_for_calls_of_other_threads_made_meanwhile),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
