/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Replays of runs so small that what mending saves is known by hand.  Between calls the host takes
 * 2 us, a launch 2, an operation starts 6 us after its launch or 1 us after what it comes after,
 * and a wait returns 3 us after what it waited for.
 */
#include "miniature.h"

#include "analyze.h"
#include "replay_parts.h"
#include "savings.h"

#define LAUNCH_US 6
#define HANDOVER_US 1
#define WAKE_US 3
/* What a cudaFree takes by itself. */
#define FREE_US 40

struct run {
	struct mini mini;
	double now, last;            /* us: the host's time, the end of all work */
	double tail[8];              /* by stream */
	int64_t site, kernel;
};

static int setup(void **state)
{
	struct run *run = calloc(1, sizeof(*run));

	mini_init(&run->mini);
	run->now = 10;
	run->kernel = mini_kernel(&run->mini, "work");
	*state = run;
	return 0;
}

static int teardown(void **state)
{
	struct run *run = *state;

	mini_release(&run->mini);
	free(run);
	return 0;
}

static double later(double a, double b)
{
	return a > b ? a : b;
}

/* An operation in a stream, after what else it comes after. */
static int64_t submit(struct run *run, int type, int64_t stream, double length, double after,
	int64_t site)
{
	double start = later(later(run->tail[stream], after) + HANDOVER_US, run->now + LAUNCH_US);
	int64_t call = MINI_CALL(&run->mini, .type = type, .at = run->now, .stream = stream,
		.site = site, .kernel = type == CALL_cuLaunchKernel ? run->kernel : 0,
		.direction = type == CALL_cuMemcpyHtoDAsync_v2 ? 1 + COPY_H2D : 0,
		.src = type == CALL_cuMemcpyHtoDAsync_v2 ? "pinned" : NULL,
		.dst = type == CALL_cuMemcpyHtoDAsync_v2 ? "device" : NULL, .bytes = 4096,
		.grid = CALL_GRID(8, 1, 1), .block = CALL_BLOCK(256, 1, 1, 0),
		.runs = { start, start + length });

	run->tail[stream] = start + length;
	run->last = later(run->last, start + length);
	run->now += 4;
	return call;
}

static int64_t launch(struct run *run, int64_t stream, double length)
{
	return submit(run, CALL_cuLaunchKernel, stream, length, 0, 0);
}

/* Returns once everything is complete. */
static int64_t wait_all(struct run *run, int type, int64_t site)
{
	double own = type == CALL_cuMemFree_v2 ? FREE_US : 2;
	double until = run->last > run->now + own ? run->last + WAKE_US : run->now + own;
	int64_t call;

	if (type == CALL_cuMemFree_v2 && run->last > run->now)
		until = later(until, run->last + FREE_US);
	call = MINI_CALL(&run->mini, .type = type, .at = run->now, .until = until, .site = site,
		.ptr = 0x10000);
	run->now = until + 2;
	return call;
}

/* us that a change of a call saves, rounded. */
static int saved(struct run *run, int64_t call, unsigned change, int64_t still_needs,
	enum replay_contention contention)
{
	struct replays *replays;
	struct replay *replay;
	int64_t before, after;

	assert_int_equal(analyze(&run->mini.db), 0);
	replays = replays_open(&run->mini.db);
	assert_non_null(replays);
	replay = replays_of(replays, 1);
	assert_null(replay_refusal(replay));
	before = replay_run(replay, contention);
	assert_in_range(before, replay_measured(replay) - 2000, replay_measured(replay) + 2000);
	replay_change(replay, call, change, still_needs);
	after = replay_run(replay, contention);
	replay_restore(replay);
	assert_int_equal(replay_run(replay, contention), before);
	replays_close(replays);
	return (int)((before - after + (before > after ? 500 : -500)) / 1000);
}

static void near(int us, int expected, int slack)
{
	if (us < expected - slack || us > expected + slack)
		fail_msg("%d us are saved and not about %d", us, expected);
}

/* Rounds of a kernel in one of two streams and a free that waits for it. */
static int64_t rounds_with_frees(struct run *run, int count, double length)
{
	int64_t stream[] = { mini_stream(&run->mini, "non-blocking"),
		mini_stream(&run->mini, "non-blocking") };
	int64_t site = mini_site(&run->mini, "release", 7), call = 0;

	for (int i = 0; i < count; i++) {
		launch(run, stream[i % 2], length);
		call = wait_all(run, CALL_cuMemFree_v2, site);
	}
	wait_all(run, CALL_cuCtxSynchronize, 0);
	return call;
}

/* Ten kernels of 1 ms one after the other become five beside five. */
static void a_wait_gone_lets_two_streams_overlap(void **state)
{
	struct run *run = *state;
	int64_t call = rounds_with_frees(run, 10, 1000);

	/* Of each kernel's launch latency and free, 48 us, the last ones remain. */
	near(saved(run, call, CHANGE_WAIT, 0, REPLAY_LIKELY), 10 * 1046 - 5 * 1001 - 46, 60);
}

/* A change is for all calls of its place, and for its kind alone. */
static void a_line_is_mended_as_a_whole(void **state)
{
	struct run *run = *state;

	rounds_with_frees(run, 10, 1000);
	near(saved(run, 2, CHANGE_WAIT, 0, REPLAY_LIKELY), 10 * 1046 - 5 * 1001 - 46, 60);
	mini_exec(&run->mini, "UPDATE call SET site = NULL");
	/* The first alone: the second round's kernel runs beside the first's. */
	near(saved(run, 2, CHANGE_WAIT, 0, REPLAY_LIKELY), 1000, 60);
}

/* What is free to go on meets the next wait for the same work. */
static void the_next_wait_takes_over(void **state)
{
	struct run *run = *state;
	int64_t stream = mini_stream(&run->mini, "non-blocking");
	int64_t site = mini_site(&run->mini, "release", 7), call = 0;

	for (int i = 0; i < 5; i++) {
		launch(run, stream, 500);
		call = wait_all(run, CALL_cuMemFree_v2, site);
		wait_all(run, CALL_cuCtxSynchronize, 0);
	}
	/*
	 * The free's own 40 us, and what lies between it and the wait, go into the kernel's time.
	 */
	near(saved(run, call, CHANGE_WAIT, 0, REPLAY_LIKELY), 5 * 42, 10);
}

/* Ten rounds of a kernel of 200 us and a call that waits for it and then works for 300 itself. */
static int64_t rounds_with_work(struct run *run, int type)
{
	int64_t stream = mini_stream(&run->mini, "non-blocking"), call = 0;
	int64_t site = mini_site(&run->mini, "release", 7);

	for (int i = 0; i < 10; i++) {
		double until;

		launch(run, stream, 200);
		until = run->last + 300;
		call = MINI_CALL(&run->mini, .type = type, .at = run->now, .until = until,
			.site = site, .ptr = 0x10000 + i % 2 * 0x1000);
		run->now = until + 2;
	}
	wait_all(run, CALL_cuCtxSynchronize, 0);
	return call;
}

/* Code is unloaded some time: of 508 us the kernel's time is what can be had, but for the last. */
static void the_work_of_an_unload_remains(void **state)
{
	struct run *run = *state;
	int64_t call = rounds_with_work(run, CALL_cuModuleUnload);

	near(saved(run, call, CHANGE_WAIT, 0, REPLAY_LIKELY), 10 * (508 - 306), 20);
	/* A late wake-up may be part of the wait. */
	assert_in_range(mini_int(&run->mini, "SELECT max(waited) FROM wait"), 190000, 260000);
}

/* A limit is set once, and that takes what it takes. */
static void the_first_limit_remains(void **state)
{
	struct run *run = *state;
	int64_t call = rounds_with_work(run, CALL_cuCtxSetLimit);

	/* The second kernel comes 100 us after the first one, the others follow each other. */
	near(saved(run, call, CHANGE_WAIT, 0, REPLAY_LIKELY), 10 * (508 - 201) - 100, 20);
}

/* 20 legacy kernels between those of a blocking stream: they go on beside them. */
static void legacy_rounds(struct run *run, int64_t *call)
{
	int64_t stream = mini_stream(&run->mini, "blocking");
	int64_t site = mini_site(&run->mini, "side", 9);

	for (int i = 0; i < 20; i++) {
		submit(run, CALL_cuLaunchKernel, stream, 300, run->tail[MINI_LEGACY], 0);
		*call = submit(run, CALL_cuLaunchKernel, MINI_LEGACY, 200, run->tail[stream], site);
	}
	wait_all(run, CALL_cuCtxSynchronize, 0);
}

static void legacy_work_goes_on_in_a_stream_of_its_own(void **state)
{
	struct run *run = *state;
	int64_t call;

	legacy_rounds(run, &call);
	/* 20 times 502 become 20 times 301. */
	near(saved(run, call, CHANGE_ORDER, 0, REPLAY_LIKELY), 20 * 201, 10);
}

/* No record tells that the function took 200 us: the next kernel in the order does. */
static void a_host_function_goes_on_behind_the_work_before_it(void **state)
{
	struct run *run = *state;
	struct mini *m = &run->mini;
	int64_t stream[] = { mini_stream(m, "blocking"), mini_stream(m, "blocking") };
	int64_t site = mini_site(m, "side", 9), call = 0;

	for (int i = 0; i < 20; i++) {
		submit(run, CALL_cuLaunchKernel, stream[i % 2], 300, run->tail[MINI_LEGACY], 0);
		call = MINI_CALL(m, .type = CALL_cuLaunchHostFunc, .at = run->now,
			.stream = MINI_LEGACY, .site = site);
		run->now += 4;
		run->tail[MINI_LEGACY] = run->tail[stream[i % 2]] + 200;
	}
	submit(run, CALL_cuLaunchKernel, stream[0], 10, run->tail[MINI_LEGACY], 0);
	wait_all(run, CALL_cuCtxSynchronize, 0);
	/* 20 times 501 become 10 times that in each stream, or 20 functions in a row. */
	near(saved(run, call, CHANGE_ORDER, 0, REPLAY_LIKELY), 10 * 501, 100);
	near(saved(run, call, CHANGE_ORDER, 0, REPLAY_LEAST), 20 * 501 - 20 * 200, 100);
}

/* There is no record of it at all, and yet it comes after one stream and before the other. */
static void a_prefetch_in_the_legacy_stream_has_its_place(void **state)
{
	struct run *run = *state;
	struct mini *m = &run->mini;
	int64_t stream[] = { mini_stream(m, "blocking"), mini_stream(m, "blocking") };
	int64_t site = mini_site(m, "side", 9), call = 0;

	for (int i = 0; i < 20; i++) {
		submit(run, CALL_cuLaunchKernel, stream[i % 2], 300, run->tail[MINI_LEGACY], 0);
		call = MINI_CALL(m, .type = CALL_cuMemPrefetchAsync, .at = run->now,
			.stream = MINI_LEGACY, .site = site);
		run->now += 4;
		run->tail[MINI_LEGACY] = run->tail[stream[i % 2]];
	}
	wait_all(run, CALL_cuCtxSynchronize, 0);
	/* 20 times 301 become 10 times that in each stream. */
	near(saved(run, call, CHANGE_ORDER, 0, REPLAY_LEAST), 10 * 301, 20);
}

static void who_shares_memory_stays_in_order(void **state)
{
	struct run *run = *state;
	int64_t call;

	legacy_rounds(run, &call);
	mini_exec(&run->mini, "INSERT INTO allocation VALUES (900, 1, 4096, 8192, 'device', NULL, "
		"NULL); INSERT INTO operand SELECT call, 'word', 0, 4096, 900 FROM operation");
	near(saved(run, call, CHANGE_ORDER, 0, REPLAY_LIKELY), 0, 1);
	/* Other places of one allocation may be the same memory, or not. */
	mini_exec(&run->mini, "UPDATE operand SET address = 4096 + call % 2 * 4096");
	near(saved(run, call, CHANGE_ORDER, 0, REPLAY_LIKELY), 20 * 201, 10);
	near(saved(run, call, CHANGE_ORDER, 0, REPLAY_MOST), 0, 1);
}

/* Kernels that fill the device gain nothing from running at the same time. */
static void large_kernels_get_in_each_others_way(void **state)
{
	struct run *run = *state;
	int64_t call;

	legacy_rounds(run, &call);
	mini_exec(&run->mini, "UPDATE call SET grid = %llu, block = 1024 | (1 << 12) | (1 << 24) "
		"WHERE kernel NOT NULL", (unsigned long long)CALL_GRID(132 * 2, 1, 1));
	near(saved(run, call, CHANGE_ORDER, 0, REPLAY_LEAST), 20 * 201, 10);
	near(saved(run, call, CHANGE_ORDER, 0, REPLAY_LIKELY), 20, 40);
	/* Half of the device each: perhaps. */
	mini_exec(&run->mini, "UPDATE call SET grid = %llu WHERE kernel NOT NULL",
		(unsigned long long)CALL_GRID(132, 1, 1));
	near(saved(run, call, CHANGE_ORDER, 0, REPLAY_LIKELY), 20 * 201, 10);
	near(saved(run, call, CHANGE_ORDER, 0, REPLAY_MOST), 20, 40);
}

/* One engine per direction: copies of two streams take turns, kernels do not mind. */
static void copies_in_one_direction_take_turns(void **state)
{
	struct run *run = *state;
	int64_t stream[] = { mini_stream(&run->mini, "non-blocking"),
		mini_stream(&run->mini, "non-blocking") };
	int64_t site = mini_site(&run->mini, "release", 7), call = 0;

	for (int i = 0; i < 10; i++) {
		submit(run, CALL_cuMemcpyHtoDAsync_v2, stream[i % 2], 600, 0, 0);
		launch(run, stream[i % 2], 200);
		call = wait_all(run, CALL_cuMemFree_v2, site);
	}
	mini_exec(&run->mini, "UPDATE operation SET copy_kind = 1 WHERE kind = 'memcpy'");
	wait_all(run, CALL_cuCtxSynchronize, 0);
	/* Ten copies in turn and the last kernel, instead of ten rounds. */
	near(saved(run, call, CHANGE_WAIT, 0, REPLAY_LEAST), 10 * 850 - 6000 - 250, 100);
}

/* The wait becomes one for the small kernel alone, at every step, and the large one goes on. */
static void a_narrower_wait_waits_for_less(void **state)
{
	struct run *run = *state;
	int64_t small = mini_stream(&run->mini, "non-blocking");
	int64_t large = mini_stream(&run->mini, "non-blocking");
	int64_t site = mini_site(&run->mini, "look", 8), call = 0, needed = 0;

	for (int i = 0; i < 10; i++) {
		launch(run, large, 1000);
		needed = launch(run, small, 400);
		call = wait_all(run, CALL_cuCtxSynchronize, site);
		run->now += 500;
	}
	/*
	 * A round of 1511 is as long as its large kernel then, 1001, or as 400 and 500 and calls.
	 */
	near(saved(run, call, CHANGE_WAIT, needed, REPLAY_LIKELY), 10 * 512 - 500, 60);
}

static void a_call_that_is_not_made_takes_no_time(void **state)
{
	struct run *run = *state;
	int64_t stream = mini_stream(&run->mini, "non-blocking"), call;

	launch(run, stream, 100);
	wait_all(run, CALL_cuCtxSynchronize, 0);
	call = MINI_CALL(&run->mini, .type = CALL_cuCtxSynchronize, .at = run->now,
		.until = run->now + 9);
	run->now += 11;
	launch(run, stream, 100);
	wait_all(run, CALL_cuCtxSynchronize, 0);
	assert_int_equal(saved(run, call, CHANGE_CALL, 0, REPLAY_LIKELY), 9);
}

/* Launches of a thread are held while another one frees; joining it is over that much sooner. */
static void other_threads_are_let_go_as_well(void **state)
{
	struct run *run = *state;
	struct mini *m = &run->mini;
	int64_t stream[] = { mini_stream(m, "non-blocking"), mini_stream(m, "non-blocking") };
	int64_t other = mini_thread(m), made, joined, freed;

	made = MINI_CALL(m, .type = CALL_pthread_create, .at = 1, .until = 5);
	MINI_CALL(m, .type = CALL_cuLaunchKernel, .at = 10, .stream = stream[0],
		.runs = { 16, 2016 });
	freed = MINI_CALL(m, .type = CALL_cuMemFree_v2, .at = 14, .until = 2056, .ptr = 0x10000);
	MINI_CALL(m, .type = CALL_cuLaunchKernel, .at = 20, .until = 2058, .thread = other,
		.stream = stream[1], .runs = { 2062, 2162 });
	joined = MINI_CALL(m, .type = CALL_pthread_join, .at = 2060, .until = 5300);
	MINI_CALL(m, .type = CALL_cuStreamSynchronize, .at = 2060, .until = 2165, .thread = other,
		.stream = stream[1]);
	MINI_CALL(m, .type = CALL_cuLaunchKernel, .at = 5165, .until = 5167, .thread = other,
		.stream = stream[1], .runs = { 5171, 5271 });
	mini_exec(m, "UPDATE thread SET made_by = %lld, joined_by = %lld WHERE id = %lld",
		(long long)made, (long long)joined, (long long)other);
	MINI_CALL(m, .type = CALL_cuCtxSynchronize, .at = 5302, .until = 5305);
	/* The free returns at 54 by itself and not at 2056; all of the other thread follows. */
	near(saved(run, freed, CHANGE_WAIT, 0, REPLAY_LIKELY), 2002, 5);
}

static void a_thread_whose_last_call_is_a_join_ends_with_the_other(void **state)
{
	struct run *run = *state;
	struct mini *m = &run->mini;
	int64_t stream[] = { mini_stream(m, "non-blocking"), mini_stream(m, "non-blocking") };
	int64_t other = mini_thread(m), made, joined, freed;

	made = MINI_CALL(m, .type = CALL_pthread_create, .at = 1, .until = 5);
	joined = MINI_CALL(m, .type = CALL_pthread_join, .at = 7, .until = 4070);
	MINI_CALL(m, .type = CALL_cuLaunchKernel, .at = 10, .thread = other, .stream = stream[0],
		.runs = { 16, 2016 });
	freed = MINI_CALL(m, .type = CALL_cuMemFree_v2, .at = 14, .until = 2056, .thread = other,
		.ptr = 0x10000);
	MINI_CALL(m, .type = CALL_cuLaunchKernel, .at = 2058, .thread = other,
		.stream = stream[1], .runs = { 2064, 4064 });
	MINI_CALL(m, .type = CALL_cuStreamSynchronize, .at = 2062, .until = 4067, .thread = other,
		.stream = stream[1]);
	mini_exec(m, "UPDATE thread SET made_by = %lld, joined_by = %lld WHERE id = %lld",
		(long long)made, (long long)joined, (long long)other);
	near(saved(run, freed, CHANGE_WAIT, 0, REPLAY_LIKELY), 2002, 5);
}

static void engines_give_gaps_away(void **state)
{
	static struct booking booking;

	assert_int_equal(booking_take(&booking, 100, 50), 100);
	assert_int_equal(booking_take(&booking, 120, 50), 150);
	assert_int_equal(booking_take(&booking, 500, 50), 500);
	assert_int_equal(booking_take(&booking, 0, 100), 0);
	assert_int_equal(booking_take(&booking, 160, 300), 200);
	assert_int_equal(booking_take(&booking, 160, 1), 550);
	for (int i = 0; i < 4 * BOOKINGS; i++)
		assert_int_equal(booking_take(&booking, 1000 + 10 * i, 5), 1000 + 10 * i);
}

/* Why nothing is estimated; "" if something is. */
static const char *refusal(struct run *run)
{
	assert_int_equal(analyze(&run->mini.db), 0);
	return mini_text(&run->mini, "SELECT refusal FROM replay");
}

static void what_would_be_a_guess_is_not_estimated(void **state)
{
	struct run *run = *state;

	rounds_with_frees(run, 10, 1000);
	assert_string_equal(refusal(run), "");
	assert_int_equal(mini_int(&run->mini, "SELECT saving BETWEEN saving_low AND saving_high "
		"AND saving = (SELECT saving FROM finding) FROM replay"), 1);
	mini_exec(&run->mini, "UPDATE kernel SET name = 'ncclDevKernel_AllReduce'");
	assert_string_equal(refusal(run), "kernels wait for other devices");
	assert_int_equal(mini_int(&run->mini, "SELECT saving_low IS NULL FROM finding"), 1);
	mini_exec(&run->mini, "UPDATE kernel SET name = 'work'; "
		"INSERT INTO loss VALUES (1, 'dropped_records', 3)");
	assert_string_equal(refusal(run), "a part of the run was not recorded");
}

/* Kernels that start late for no reason that is seen: who knows when they would have started. */
static void a_run_that_is_not_understood_is_not_estimated(void **state)
{
	struct run *run = *state;

	rounds_with_frees(run, 10, 1000);
	mini_exec(&run->mini, "UPDATE operation SET start = end - 300000 WHERE id % 2 = 0");
	assert_string_equal(refusal(run), "a replay of the run as it was takes 33 % less");
}

/* Either finding alone saves little, as the other holds the thread; both together do. */
static void findings_together_are_not_their_sum(void **state)
{
	struct run *run = *state;
	int64_t stream[] = { mini_stream(&run->mini, "non-blocking"),
		mini_stream(&run->mini, "non-blocking") };
	int64_t site[] = { mini_site(&run->mini, "one", 7), mini_site(&run->mini, "two", 8) };

	for (int i = 0; i < 20; i++) {
		launch(run, stream[i % 2], 1000);
		wait_all(run, CALL_cuMemFree_v2, site[i % 4 / 2]);
	}
	wait_all(run, CALL_cuCtxSynchronize, 0);
	assert_int_equal(analyze(&run->mini.db), 0);
	assert_int_equal(mini_int(&run->mini, "SELECT count(*) FROM finding WHERE shown "
		"AND saving BETWEEN 4500000 AND 5500000"), 2);
	near((int)(mini_int(&run->mini, "SELECT saving FROM replay") / 1000),
		20 * 1046 - 10 * 1001 - 46, 100);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	static const struct CMUnitTest tests[] = {
		TEST(a_wait_gone_lets_two_streams_overlap),
		TEST(a_line_is_mended_as_a_whole),
		TEST(the_next_wait_takes_over),
		TEST(the_work_of_an_unload_remains),
		TEST(the_first_limit_remains),
		TEST(legacy_work_goes_on_in_a_stream_of_its_own),
		TEST(a_host_function_goes_on_behind_the_work_before_it),
		TEST(a_prefetch_in_the_legacy_stream_has_its_place),
		TEST(who_shares_memory_stays_in_order),
		TEST(large_kernels_get_in_each_others_way),
		TEST(copies_in_one_direction_take_turns),
		TEST(a_narrower_wait_waits_for_less),
		TEST(a_call_that_is_not_made_takes_no_time),
		TEST(other_threads_are_let_go_as_well),
		TEST(a_thread_whose_last_call_is_a_join_ends_with_the_other),
		TEST(engines_give_gaps_away),
		TEST(what_would_be_a_guess_is_not_estimated),
		TEST(a_run_that_is_not_understood_is_not_estimated),
		TEST(findings_together_are_not_their_sum),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
