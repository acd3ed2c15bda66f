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
	struct replays *replays;
	struct replay *replay;
	int64_t before, after;

	assert_int_equal(analyze(&run->mini.db), 0);
	open_columns(&run->mini.db);
	replays = replays_open(&run->mini.db);
	assert_non_null(replays);
	replay = replays_of(replays, 1);
	before = replay_run(replay, contention);
	for (int i = 1; i < 40; i++)
		replay_change(replay, nodes[i], CHANGE_NODE, 0);
	after = replay_run(replay, contention);
	replays_close(replays);
	run_close(run->mini.db.run);
	run->mini.db.run = NULL;
	return (int)((before - after) / 1000);
}

/* A launch of 2 us, 1 unrecorded, and 2 between two of them; what is between may be needed. */
static void nodes_of_a_graph_take_the_host_no_time(void **state)
{
	struct small_run *run = *state;
	int64_t nodes[40];

	launch_rows(run, 1, nodes);
	near(saved_by_nodes(run, nodes, REPLAY_LIKELY), 39, 4);
}

static void nor_does_what_the_program_does_between_if_that_is_only_to_launch(void **state)
{
	struct small_run *run = *state;
	int64_t nodes[40];

	launch_rows(run, 1, nodes);
	/* Of 3 us each for 39 the device needs 2.2 each for 20 in a row. */
	near(saved_by_nodes(run, nodes, REPLAY_LEAST), 39 * 3 - 20 * 2, 6);
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
	struct replays *replays;
	int64_t nodes[40], recorded, bare;

	launch_rows(run, 1, nodes);
	assert_int_equal(analyze(&run->mini.db), 0);
	open_columns(&run->mini.db);
	replays = replays_open(&run->mini.db);
	recorded = replay_run(replays_of(replays, 1), REPLAY_RECORDED);
	bare = replay_run(replays_of(replays, 1), REPLAY_LIKELY);
	assert_in_range(recorded, replay_measured(replays_of(replays, 1)) - 1000,
		replay_measured(replays_of(replays, 1)) + 1000);
	/* 0.9 of the 2 us of each. */
	near((int)((recorded - bare) / 1000), 36, 2);
	replays_close(replays);
	run_close(run->mini.db.run);
	run->mini.db.run = NULL;
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
	for (int i = 0; i < 20; i++) {
		wait = MINI_CALL(m, .type = CALL_cuStreamWaitEvent, .at = run->now,
			.until = run->now + 0.2, .stream = stream, .event = event, .site = site);
		run->now += 1;
		run->tail[stream] += 0.85;
		launch(run, stream, 20);
	}
	wait_all(run, CALL_cuCtxSynchronize, 0);
	near(saved(run, wait, CHANGE_ORDER, 0, REPLAY_LIKELY), 17, 1);
}

/*
 * One of two threads that free at the same time returns 1 ms late, when work of the other is done
 * that was submitted meanwhile: that is a wait, and not what freeing takes.
 */
static void who_frees_at_the_same_time_waits_for_later_work(void **state)
{
	struct small_run *run = *state;
	struct mini *m = &run->mini;
	int64_t stream[] = { mini_stream(m, "non-blocking"), mini_stream(m, "non-blocking") };
	int64_t other = mini_thread(m), site = mini_site(m, "release", 7), freed;
	struct replays *replays;
	struct replay *replay;

	MINI_CALL(m, .type = CALL_cuLaunchKernel, .at = 10, .stream = stream[0],
		.runs = { 16, 1016 });
	freed = MINI_CALL(m, .type = CALL_cuMemFree_v2, .at = 14, .until = 2040, .ptr = 0x10000,
		.site = site);
	MINI_CALL(m, .type = CALL_cuLaunchKernel, .at = 500, .thread = other, .stream = stream[1],
		.runs = { 1020, 2020 });
	MINI_CALL(m, .type = CALL_cuCtxSynchronize, .at = 2050, .until = 2053);
	assert_int_equal(analyze(&m->db), 0);
	open_columns(&m->db);
	replays = replays_open(&m->db);
	replay = replays_of(replays, 1);
	assert_int_equal(replay->step[replay_step_of(replay, freed)].own, 20000);
	replays_close(replays);
	run_close(m->db.run);
	m->db.run = NULL;
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(nodes_of_a_graph_take_the_host_no_time),
		TEST(nor_does_what_the_program_does_between_if_that_is_only_to_launch),
		TEST(nodes_gain_nothing_where_the_device_is_busy),
		TEST(recording_is_no_part_of_what_a_launch_takes),
		TEST(a_wait_for_an_event_takes_its_stream_time),
		TEST(who_frees_at_the_same_time_waits_for_later_work),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
