/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Launches that waited for room in the queue of their stream: what of that was lost, and the rule
 * launch-queue-full.
 */
#include "miniature.h"

static int64_t launch(struct mini *m, double at, int64_t stream, int64_t site, double start,
	double end)
{
	return MINI_CALL(m, .type = CALL_cuLaunchKernel, .at = at, .stream = stream, .site = site,
		.runs = { start, end }, .grid = CALL_GRID(8, 1, 1),
		.block = CALL_BLOCK(256, 1, 1, 0));
}

static void launch_held(struct mini *m, double at, double until, int64_t stream, int64_t site,
	double start, double end)
{
	int64_t call = MINI_CALL(m, .type = CALL_cuLaunchKernel, .at = at, .until = until,
		.stream = stream, .site = site, .runs = { start, end }, .grid = CALL_GRID(8, 1, 1),
		.block = CALL_BLOCK(256, 1, 1, 0));

	mini_exec(m, "INSERT INTO overhead VALUES (1, %lld, 'queue_full', %lld, %lld)",
		(long long)call, (long long)mini_ns(at + 1), (long long)mini_ns(until - 1));
}

struct frames {
	int64_t drawing, sounding;         /* streams */
	int64_t background, sprite, sound; /* sites */
};

static struct frames frames(struct mini *m)
{
	return (struct frames){
		.drawing = mini_stream(m, "non-blocking"),
		.sounding = mini_stream(m, "non-blocking"),
		.background = mini_site(m, "draw_background", 10),
		.sprite = mini_site(m, "draw_sprite", 20),
		.sound = mini_site(m, "compute_sound", 30),
	};
}

/* From t on: a kernel of 10 ms, some small ones, and one more that is held until the first ends. */
static void draw(struct mini *m, const struct frames *f, double t)
{
	launch(m, t, f->drawing, f->background, t + 10, t + 10000);
	for (int i = 1; i < 4; i++)
		launch(m, t + 3 * i, f->drawing, f->sprite, t + 10000 + 2 * i, t + 10001 + 2 * i);
	launch_held(m, t + 20, t + 10010, f->drawing, f->sprite, t + 10012, t + 10013);
}

static void wait_for(struct mini *m, int64_t stream, double at, double until)
{
	MINI_CALL(m, .type = CALL_cuStreamSynchronize, .stream = stream, .at = at, .until = until);
}

static void a_launch_that_keeps_another_stream_idle_is_found(void **state)
{
	struct mini *m = *state;
	struct frames f = frames(m);

	for (int i = 0; i < 3; i++) {
		double t = 30000 * i + 10;

		draw(m, &f, t);
		launch(m, t + 10015, f.sounding, f.sound, t + 10022, t + 18022);
		wait_for(m, f.drawing, t + 10020, t + 10023);
		wait_for(m, f.sounding, t + 10030, t + 18025);
	}
	assert_string_equal(mini_shown(m), "launch-queue-full 3");
	assert_string_equal(mini_text(m, "SELECT message FROM finding"),
		"submissions like a kernel on stream 8 waited 10 ms for room in the launch "
		"queue, behind a kernel on stream 8");
	assert_string_equal(mini_text(m,
				    "SELECT a.line || ' ' || b.line FROM finding "
				    "JOIN site a ON a.id = site JOIN site b ON b.id = other_site"),
		"20 10");
	/* The time of the other stream's work, not the whole wait. */
	assert_in_range(mini_int(m, "SELECT sum(avoidable) FROM wait WHERE kind = 'queue'"),
		3 * 7900000, 3 * 8000000);
}

/* A small upload from pageable memory is staged: the thread goes on with its stream still full. */
static void a_staged_copy_is_no_wait_for_the_stream(void **state)
{
	struct mini *m = *state;
	struct frames f = frames(m);

	for (int i = 0; i < 3; i++) {
		double t = 30000 * i + 10;

		draw(m, &f, t);
		MINI_CALL(m, .type = CALL_cuMemcpyHtoDAsync_v2, .at = t + 10011, .until = t + 10014,
			.stream = f.drawing, .bytes = 4096, .direction = 1 + COPY_H2D,
			.dst = "device", .src = "pageable", .runs = { t + 10015, t + 10016 });
		launch(m, t + 10016, f.sounding, f.sound, t + 10022, t + 18022);
		wait_for(m, f.drawing, t + 10020, t + 10023);
		wait_for(m, f.sounding, t + 10030, t + 18025);
	}
	assert_string_equal(mini_shown(m), "launch-queue-full 3");
}

static void who_has_submitted_the_other_work_before_loses_nothing(void **state)
{
	struct mini *m = *state;
	struct frames f = frames(m);

	for (int i = 0; i < 3; i++) {
		double t = 30000 * i + 10;

		launch(m, t, f.sounding, f.sound, t + 10, t + 8010);
		draw(m, &f, t + 4);
		wait_for(m, f.drawing, t + 10020, t + 10023);
		wait_for(m, f.sounding, t + 10030, t + 10032);
	}
	assert_string_equal(mini_shown(m), "");
	assert_int_equal(mini_int(m, "SELECT count(*) FROM wait WHERE kind = 'queue'"), 3);
	assert_int_equal(mini_int(m, "SELECT sum(avoidable) FROM wait"), 0);
}

static void a_stream_that_was_busy_all_the_while_loses_nothing(void **state)
{
	struct mini *m = *state;
	struct frames f = frames(m);

	for (int i = 0; i < 3; i++) {
		double t = 30000 * i + 10;

		launch(m, t, f.sounding, f.sound, t + 10, t + 10010);
		draw(m, &f, t + 4);
		launch(m, t + 10017, f.sounding, f.sound, t + 10022, t + 18022);
		wait_for(m, f.drawing, t + 10021, t + 10024);
		wait_for(m, f.sounding, t + 10030, t + 18025);
	}
	assert_string_equal(mini_shown(m), "");
}

static void work_that_needs_the_result_loses_nothing(void **state)
{
	struct mini *m = *state;
	struct frames f = frames(m);
	int64_t event = mini_event(m);

	for (int i = 0; i < 3; i++) {
		double t = 30000 * i + 10;

		draw(m, &f, t);
		MINI_CALL(m, .type = CALL_cuEventRecord, .stream = f.drawing, .event = event,
			.at = t + 10011);
		MINI_CALL(m, .type = CALL_cuStreamWaitEvent, .stream = f.sounding, .event = event,
			.at = t + 10013);
		launch(m, t + 10016, f.sounding, f.sound, t + 10022, t + 18022);
		wait_for(m, f.sounding, t + 10030, t + 18025);
	}
	assert_string_equal(mini_shown(m), "");
}

/* After the last launch the thread works for a while, and waits then. */
static void frames_and_own_work(struct mini *m, double work, double device)
{
	struct frames f = frames(m);

	for (int i = 0; i < 3; i++) {
		double t = 30000 * i + 10, ready = t + 10015 + work, end = t + 10020 + device;

		draw(m, &f, t);
		launch(m, t + 10012, f.drawing, f.sprite, t + 10018, end);
		wait_for(m, f.drawing, ready, end > ready ? end + 3 : ready + 3);
	}
}

static void the_threads_own_work_counts_once_the_device_is_idle(void **state)
{
	frames_and_own_work(*state, 6000, 0);
	assert_string_equal(mini_shown(*state), "launch-queue-full 3");
}

static void the_threads_own_work_beside_the_devices_is_no_loss(void **state)
{
	frames_and_own_work(*state, 6000, 7000);
	assert_string_equal(mini_shown(*state), "");
}

/* 300 launches that wait 8 us each, and those before them that made room. */
static void draw_in_small_steps(struct mini *m, const struct frames *f, double t)
{
	for (int i = 0; i < 4; i++)
		launch(m, t + 3 * i, f->drawing, f->background, t + 20 + 10 * i, t + 29 + 10 * i);
	for (int i = 0; i < 300; i++) {
		double at = t + 20 + 10 * i;

		launch_held(m, at, at + 10, f->drawing, f->sprite, at + 40, at + 49);
	}
}

static void many_short_holds_are_one_wait(void **state)
{
	struct mini *m = *state;
	struct frames f = frames(m);

	for (int i = 0; i < 3; i++) {
		double t = 30000 * i + 10;

		draw_in_small_steps(m, &f, t);
		launch(m, t + 3025, f.sounding, f.sound, t + 3030, t + 5030);
		wait_for(m, f.drawing, t + 3030, t + 3072);
		wait_for(m, f.sounding, t + 3080, t + 5035);
	}
	assert_string_equal(mini_shown(m), "launch-queue-full 3");
	assert_int_equal(mini_int(m, "SELECT waited FROM finding"), 3 * 300 * 8000);
	assert_in_range(mini_int(m, "SELECT sum(avoidable) FROM wait WHERE kind = 'queue'"),
		3 * 1900000, 3 * 2000000);
	assert_int_equal(mini_int(m, "SELECT a.line FROM finding JOIN site a ON a.id = site"), 20);
}

static void running_ahead_in_small_steps_loses_nothing(void **state)
{
	struct mini *m = *state;
	struct frames f = frames(m);

	draw_in_small_steps(m, &f, 10);
	wait_for(m, f.drawing, 3040, 3082);
	assert_string_equal(mini_shown(m), "");
	assert_int_equal(mini_int(m, "SELECT count(*) FROM wait WHERE kind = 'queue'"), 1);
	assert_int_equal(mini_int(m, "SELECT sum(avoidable) FROM wait WHERE kind = 'queue'"), 0);
}

static void a_second_full_stream_does_not_hide_the_first(void **state)
{
	struct mini *m = *state;
	struct frames f = frames(m);

	draw_in_small_steps(m, &f, 10);
	f.drawing = f.sounding;
	draw_in_small_steps(m, &f, 3050);
	wait_for(m, f.drawing, 6090, 6122);
	assert_string_equal(mini_shown(m), "launch-queue-full 1");
	/*
	 * The second one began when the first one had ended, and could have begun with it, or as
	 * soon as 300 launches are made that take 0.6 us less unrecorded.
	 */
	assert_in_range(mini_int(m, "SELECT saving FROM finding"), 2560000, 2660000);
}

/* The thread is held by both in turn, and what comes late was kept back by each hold once. */
static void holds_of_two_streams_in_turn_count_once(void **state)
{
	struct mini *m = *state;
	struct frames f = frames(m), g = f;
	int64_t third = mini_stream(m, "non-blocking");

	g.drawing = f.sounding;
	launch(m, 2, f.drawing, f.background, 15, 29);
	launch(m, 5, g.drawing, f.background, 15, 29);
	for (int i = 0; i < 300; i++)
		launch_held(m, 20 + 10 * i, 30 + 10 * i, i % 2 ? f.drawing : g.drawing, f.sprite,
			30 + 10 * i, 49 + 10 * i);
	launch(m, 3025, third, f.sound, 3030, 8030);
	wait_for(m, f.drawing, 3030, 3052);
	wait_for(m, g.drawing, 3055, 3058);
	wait_for(m, third, 3060, 8035);
	assert_string_equal(mini_shown(m), "launch-queue-full 2");
	assert_int_equal(mini_int(m, "SELECT count(*) FROM wait WHERE kind = 'queue'"), 300);
	assert_int_equal(mini_int(m, "SELECT waited FROM finding"), 300 * 8000);
	assert_in_range(mini_int(m, "SELECT sum(avoidable) FROM wait WHERE kind = 'queue'"),
		2300000, 2400000);
}

/* However much the other stream is given before, by calls that may wait for it. */
static void what_comes_late_in_another_stream_is_lost_as_well(void **state)
{
	struct mini *m = *state;
	struct frames f = frames(m);
	double t = 10;

	draw(m, &f, t);
	mini_exec(m, "BEGIN");
	for (int i = 0; i < 5000; i++)
		MINI_CALL(m, .type = CALL_cuMemcpyHtoDAsync_v2, .at = t + 10011 + i / 1000.,
			.until = t + 10011 + i / 1000. + 0.0005, .stream = f.sounding,
			.site = f.sound, .direction = 1 + COPY_H2D, .src = "pageable",
			.dst = "device", .bytes = 64, .runs = { t + 10020 + i, t + 10020.5 + i });
	mini_exec(m, "COMMIT");
	launch(m, t + 10017, f.sounding, f.sound, t + 15022, t + 23022);
	wait_for(m, f.drawing, t + 10020, t + 10023);
	wait_for(m, f.sounding, t + 10030, t + 23025);
	assert_string_equal(mini_shown(m), "launch-queue-full 1");
	assert_in_range(mini_int(m, "SELECT sum(avoidable) FROM wait WHERE kind = 'queue'"),
		7900000, 10000000);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, mini_setup, mini_teardown)
	const struct CMUnitTest tests[] = {
		TEST(a_launch_that_keeps_another_stream_idle_is_found),
		TEST(a_staged_copy_is_no_wait_for_the_stream),
		TEST(who_has_submitted_the_other_work_before_loses_nothing),
		TEST(a_stream_that_was_busy_all_the_while_loses_nothing),
		TEST(work_that_needs_the_result_loses_nothing),
		TEST(the_threads_own_work_counts_once_the_device_is_idle),
		TEST(the_threads_own_work_beside_the_devices_is_no_loss),
		TEST(many_short_holds_are_one_wait),
		TEST(running_ahead_in_small_steps_loses_nothing),
		TEST(a_second_full_stream_does_not_hide_the_first),
		TEST(holds_of_two_streams_in_turn_count_once),
		TEST(what_comes_late_in_another_stream_is_lost_as_well),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
