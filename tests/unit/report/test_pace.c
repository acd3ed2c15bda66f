/* SPDX-License-Identifier: Apache-2.0 */
/* launch-bound and graph-rebuilt: what the host does again and again in each turn of a loop. */
#include "miniature.h"

enum { SITES = 6, TURNS = 8, LAUNCH_NS_US = 5 };

/* Steps of six launches by six lines, in three streams that could work side by side. */
struct steps {
	struct mini mini;
	int64_t site[SITES], stream[3], kernel[SITES];
	double now, tail[3], busy;
	int blocks_differ, waits;
};

static int setup(void **state)
{
	struct steps *s = calloc(1, sizeof(*s));

	mini_init(&s->mini);
	for (int i = 0; i < SITES; i++) {
		s->site[i] = mini_site(&s->mini, "step", 10 + i);
		s->kernel[i] = mini_kernel(&s->mini, "work");
	}
	for (int i = 0; i < 3; i++)
		s->stream[i] = mini_stream(&s->mini, "non-blocking");
	s->now = 10;
	s->busy = 2;
	*state = s;
	return 0;
}

static int teardown(void **state)
{
	struct steps *s = *state;

	mini_release(&s->mini);
	free(s);
	return 0;
}

static void submit(struct steps *s, int i, int turn)
{
	double start = s->now + 6 > s->tail[i % 3] + 1 ? s->now + 6 : s->tail[i % 3] + 1;

	MINI_CALL(&s->mini, .type = CALL_cuLaunchKernel, .at = s->now,
		.until = s->now + LAUNCH_NS_US, .stream = s->stream[i % 3], .site = s->site[i],
		.kernel = s->kernel[i], .block = CALL_BLOCK(256, 1, 1, 0),
		.grid = CALL_GRID(1 + (s->blocks_differ ? turn : 0), 1, 1),
		.runs = { start, start + s->busy });
	s->tail[i % 3] = start + s->busy;
	s->now += LAUNCH_NS_US + 0.1;
}

static void run_steps(struct steps *s)
{
	for (int turn = 0; turn < TURNS; turn++)
		for (int i = 0; i < SITES; i++) {
			submit(s, i, turn);
			if (!s->waits)
				continue;
			MINI_CALL(&s->mini, .type = CALL_cuStreamSynchronize, .at = s->now,
				.until = s->tail[i % 3] + 2, .stream = s->stream[i % 3],
				.site = s->site[i]);
			s->now = s->tail[i % 3] + 3;
		}
}

static const char pace_sql[] =
	"SELECT confidence || ' ' || count || ' ' || shown FROM finding "
	"WHERE rule = 'launch-bound'";

static const char *pace(struct steps *s)
{
	assert_int_equal(analyze(&s->mini.db), 0);
	return mini_text(&s->mini, pace_sql);
}

/* In each of seven turns, five launches become nodes of the graph that the first one launches. */
static void launches_that_come_again_are_found(void **state)
{
	struct steps *s = *state;

	for (int i = 0; i < 12; i++)
		run_steps(s);
	assert_string_equal(pace(s), "likely 480 1");
	assert_string_equal(mini_text(&s->mini, "SELECT message FROM finding"),
		"kernel 'work' on stream 9 is one of 6 submissions a turn: each takes the host "
		"5.0 us, and the device 2.0 us");
	/*
	 * A turn of 22 us, unrecorded, needs no more than 4 by the host, and twice 3 by the device.
	 */
	assert_in_range(mini_int(&s->mini, "SELECT turn_saving FROM finding"), 14000, 17000);
}

/* A graph with other blocks in each turn would have to be updated each time. */
static void other_sizes_in_each_turn_are_possible(void **state)
{
	struct steps *s = *state;

	s->blocks_differ = 1;
	run_steps(s);
	run_steps(s);
	assert_string_equal(pace(s), "possible 80 0");
}

/* Two sizes in turn are two graphs. */
static void two_kinds_of_turns_are_found(void **state)
{
	struct steps *s = *state;

	for (int i = 0; i < 50; i++) {
		s->blocks_differ = 1;
		for (int k = 0; k < SITES; k++)
			submit(s, k, i % 2);
	}
	assert_string_equal(pace(s), "likely 250 1");
}

static void a_busy_device_gains_nothing(void **state)
{
	struct steps *s = *state;

	s->busy = 30;
	for (int i = 0; i < 12; i++)
		run_steps(s);
	assert_true(!strstr(pace(s), " 1"));
}

static void what_is_waited_for_is_no_row(void **state)
{
	struct steps *s = *state;

	s->waits = 1;
	run_steps(s);
	run_steps(s);
	assert_string_equal(pace(s), "");
}

static void without_a_loop_nothing_is_said(void **state)
{
	struct steps *s = *state;

	for (int i = 0; i < 60; i++) {
		s->site[0] = mini_site(&s->mini, "once", 100 + i);
		submit(s, 0, 0);
	}
	assert_string_equal(pace(s), "");
}

/* --- graphs --- */

/* The differences of a round. */
struct round {
	int longer; /* one node more than the round before */
	int beside; /* the executable before is launched again */
	int updated, allocates, has_other_size;
};

static int64_t exec_of(struct steps *s, int64_t graph, int64_t call, int64_t capture)
{
	mini_exec(&s->mini, "INSERT INTO graph VALUES (%lld, 1, 1, %lld, NULL)", (long long)graph,
		(long long)capture);
	mini_exec(&s->mini, "INSERT INTO graph_exec VALUES (%lld, 1, 1, %lld, %lld, %lld, NULL)",
		(long long)graph, (long long)graph, (long long)call, (long long)call);
	return graph;
}

static void launch_graph(struct steps *s, int64_t exec)
{
	double start = s->now + 6;
	int64_t call =
		MINI_CALL(&s->mini, .type = CALL_cuGraphLaunch, .at = s->now, .until = s->now + 4,
			.stream = s->stream[0], .site = s->site[1], .runs = { start, start + 3 });

	mini_exec(&s->mini, "INSERT INTO call_object VALUES (%lld, 'exec', %lld)", (long long)call,
		(long long)exec);
	s->now += 12;
}

/* Captured in 10 us, made executable in 30, launched. */
static void capture_and_launch(struct steps *s, int64_t round, const struct round *how)
{
	int64_t begin = MINI_CALL(&s->mini, .type = CALL_cuStreamBeginCapture_v2, .at = s->now,
			.until = s->now + 1, .stream = s->stream[0], .site = s->site[2]),
		launch[4], made;
	int nodes = 3 + (how->longer && round % 2);

	for (int i = 0; i < nodes; i++) {
		launch[i] = MINI_CALL(&s->mini, .type = CALL_cuLaunchKernel,
			.at = s->now + 2 + 2 * i, .until = s->now + 3 + 2 * i,
			.stream = s->stream[0], .site = s->site[3], .kernel = s->kernel[i],
			.block = CALL_BLOCK(256, 1, 1, 0),
			.grid = CALL_GRID(1 + (how->has_other_size ? round : 0), 1, 1));
		mini_exec(&s->mini, "INSERT INTO call_object VALUES (%lld, 'captured', %lld)",
			(long long)launch[i], (long long)round);
	}
	MINI_CALL(&s->mini, .type = CALL_cuStreamEndCapture, .at = s->now + 9, .until = s->now + 10,
		.stream = s->stream[0], .site = s->site[5]);
	made = MINI_CALL(&s->mini, .type = CALL_cuGraphInstantiateWithFlags, .at = s->now + 11,
		.until = s->now + 41, .site = s->site[4]);
	exec_of(s, round, made, begin);
	for (int i = 0; i < nodes; i++)
		mini_exec(&s->mini,
			"INSERT INTO graph_node (graph, type, call) VALUES (%lld, '%s', %lld)",
			(long long)round, how->allocates && !i ? "alloc" : "kernel",
			(long long)launch[i]);
	s->now += 42;
	launch_graph(s, round);
	if (how->beside && round > 1)
		launch_graph(s, round - 1);
	if (how->updated)
		mini_exec(&s->mini,
			"INSERT INTO graph_update VALUES ((SELECT max(id) FROM call), %lld, %lld)",
			(long long)round, (long long)round);
}

static const char *rebuilt(struct steps *s, struct round how)
{
	for (int round = 1; round <= 20; round++)
		capture_and_launch(s, round, &how);
	MINI_CALL(&s->mini, .type = CALL_cuCtxSynchronize, .at = s->now, .until = s->now + 5);
	assert_int_equal(analyze(&s->mini.db), 0);
	return mini_text(&s->mini,
		"SELECT confidence || ' ' || count || ' ' || (waited / count) || ' ' || "
		"(SELECT count(*) FROM finding_also) FROM finding WHERE rule = 'graph-rebuilt'");
}

static int64_t saved_a_round(struct steps *s)
{
	return mini_int(&s->mini,
		"SELECT saving / 20 FROM finding WHERE rule = 'graph-rebuilt' AND shown");
}

/*
 * 30 us for the executable and 10 for the capture, which nobody needs, less the 9 that recording
 * took (recording.def): what remains is the launch.
 */
static void the_same_graph_again_is_found(void **state)
{
	struct steps *s = *state;

	assert_string_equal(rebuilt(s, (struct round){ 0 }), "likely 19 40000 1");
	assert_in_range(saved_a_round(s), 29000, 33000);
}

/* Its capture is needed, for the update. */
static void of_other_arguments_only_the_executable_is_saved(void **state)
{
	struct steps *s = *state;

	assert_string_equal(rebuilt(s, (struct round){ .has_other_size = 1 }), "likely 19 30000 0");
	assert_in_range(saved_a_round(s), 21000, 25000);
}

static void graphs_of_other_nodes_have_to_be_made(void **state)
{
	assert_string_equal(rebuilt(*state, (struct round){ .longer = 1 }), "");
}

static void executables_that_are_used_in_turn_are_needed(void **state)
{
	assert_string_equal(rebuilt(*state, (struct round){ .beside = 1 }), "");
}

static void who_updates_is_not_told_to(void **state)
{
	assert_string_equal(rebuilt(*state, (struct round){ .updated = 1 }), "");
}

static void memory_of_graphs_cannot_be_updated(void **state)
{
	assert_string_equal(rebuilt(*state, (struct round){ .allocates = 1 }), "");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(launches_that_come_again_are_found),
		TEST(other_sizes_in_each_turn_are_possible),
		TEST(two_kinds_of_turns_are_found),
		TEST(a_busy_device_gains_nothing),
		TEST(what_is_waited_for_is_no_row),
		TEST(without_a_loop_nothing_is_said),
		TEST(the_same_graph_again_is_found),
		TEST(of_other_arguments_only_the_executable_is_saved),
		TEST(graphs_of_other_nodes_have_to_be_made),
		TEST(executables_that_are_used_in_turn_are_needed),
		TEST(who_updates_is_not_told_to),
		TEST(memory_of_graphs_cannot_be_updated),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
