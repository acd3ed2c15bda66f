/* SPDX-License-Identifier: Apache-2.0 */
/* Replays of runs so small that what a fix saves is known by hand. */
#include "replay_run.h"

/* Rounds of a kernel in one of two streams and a free that waits for it. */
static int64_t rounds_with_frees(struct small_run *run, int count, double length)
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

/* Ten kernels of 1 ms one after the other become five concurrent with five. */
static void a_wait_gone_lets_two_streams_overlap(void **state)
{
	struct small_run *run = *state;
	int64_t call = rounds_with_frees(run, 10, 1000);

	/* Each kernel has 48 us of launch latency and free; only the last ones remain. */
	near(saved(run, call, CHANGE_WAIT, 0, REPLAY_LIKELY), 10 * 1046 - 5 * 1001 - 46, 60);
}

/* A change is for all calls of its place, and for its kind alone. */
static void a_line_is_mended_as_a_whole(void **state)
{
	struct small_run *run = *state;

	rounds_with_frees(run, 10, 1000);
	near(saved(run, 2, CHANGE_WAIT, 0, REPLAY_LIKELY), 10 * 1046 - 5 * 1001 - 46, 60);
	mini_exec(&run->mini, "UPDATE call SET site = NULL");
	/* The first alone: the second round's kernel runs concurrent with the first's. */
	near(saved(run, 2, CHANGE_WAIT, 0, REPLAY_LIKELY), 1000, 60);
}

/* The thread that is free to go on meets the next wait for the same work. */
static void the_next_wait_takes_over(void **state)
{
	struct small_run *run = *state;
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
static int64_t rounds_with_work(struct small_run *run, int type)
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
	struct small_run *run = *state;
	int64_t call = rounds_with_work(run, CALL_cuModuleUnload);

	near(saved(run, call, CHANGE_WAIT, 0, REPLAY_LIKELY), 10 * (508 - 306), 20);
	/* A late wake-up may be part of the wait. */
	assert_in_range(mini_int(&run->mini, "SELECT max(waited) FROM wait"), 190000, 260000);
}

/* A limit is set once, and that takes what it takes. */
static void the_first_limit_remains(void **state)
{
	struct small_run *run = *state;
	int64_t call = rounds_with_work(run, CALL_cuCtxSetLimit);

	/* The second kernel comes 100 us after the first one, the others follow each other. */
	near(saved(run, call, CHANGE_WAIT, 0, REPLAY_LIKELY), 10 * (508 - 201) - 100, 20);
}

/* 20 legacy kernels between those of a blocking stream: they go on concurrent with them. */
static void legacy_rounds(struct small_run *run, int64_t *call)
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
	struct small_run *run = *state;
	int64_t call;

	legacy_rounds(run, &call);
	/* 20 times 502 become 20 times 301. */
	near(saved(run, call, CHANGE_ORDER, 0, REPLAY_LIKELY), 20 * 201, 10);
}

/* A memset in the legacy stream and a kernel of so many us in a blocking one, on one allocation. */
static int64_t clear_and_count(struct small_run *run, int64_t stream, double length,
	int64_t allocation, int64_t site)
{
	double last = 0;
	int64_t clear, count;

	for (size_t i = 0; i < 8; i++)
		last = later(last, run->tail[i]);
	clear = submit(run, CALL_cuMemsetD8Async, MINI_LEGACY, 2, last, site);
	count = submit(run, CALL_cuLaunchKernel, stream, length, run->tail[MINI_LEGACY], 0);
	mini_names(&run->mini, clear, "dst", allocation);
	mini_names(&run->mini, count, "word", allocation);
	return clear;
}

/* The first thread's memsets, and the work queued after them, do not concern the second thread. */
static void threads_do_not_share_the_stream_that_their_legacy_work_moves_to(void **state)
{
	struct small_run *run = *state;
	struct mini *m = &run->mini;
	int64_t site = mini_site(m, "clear", 9), call = 0;

	for (int k = 0; k < 2; k++) {
		int64_t stream = mini_stream(m, "blocking");
		int64_t allocation = mini_allocation(m, "device");

		run->thread = k ? mini_thread(m) : MINI_MAIN;
		for (int i = 0; i < 10; i++)
			call = clear_and_count(run, stream, 1000, allocation, site);
	}
	run->thread = 0;
	wait_all(run, CALL_cuCtxSynchronize, 0);
	near(saved(run, call, CHANGE_ORDER, 0, REPLAY_LIKELY), 10 * 1004, 100);
}

/*
 * Each memset goes where its kernel is, so that the short kernels of one stream do not wait for the
 * long ones of the other: twice 10 ms at a time instead of 40.
 */
static void legacy_work_moves_to_the_stream_that_uses_its_memory(void **state)
{
	struct small_run *run = *state;
	struct mini *m = &run->mini;
	int64_t stream[] = { mini_stream(m, "blocking"), mini_stream(m, "blocking") };
	int64_t memory[] = { mini_allocation(m, "device"), mini_allocation(m, "device") };
	int64_t site = mini_site(m, "clear", 9), call = 0;

	for (int i = 0; i < 20; i++)
		call = clear_and_count(run, stream[i % 2], (i + i / 2) % 2 ? 1000 : 3000,
			memory[i % 2], site);
	wait_all(run, CALL_cuCtxSynchronize, 0);
	near(saved(run, call, CHANGE_ORDER, 0, REPLAY_LIKELY), 20000, 200);
}

/*
 * A thread enters its call first, and another one submits ten rounds before the driver comes to
 * it: what ran last was submitted last.
 */
static void what_threads_submit_at_the_same_time_is_in_the_order_of_the_device(void **state)
{
	struct small_run *run = *state;
	struct mini *m = &run->mini;
	int64_t stream[] = { mini_stream(m, "blocking"), mini_stream(m, "blocking") };
	int64_t memory[] = { mini_allocation(m, "device"), mini_allocation(m, "device") };
	int64_t site = mini_site(m, "clear", 9), thread = mini_thread(m), held, call = 0;
	double start;

	held = MINI_CALL(m, .type = CALL_cuMemsetD8Async, .at = run->now, .stream = MINI_LEGACY,
		.thread = thread, .site = site, .bytes = 4096, .runs = { 1, 2 });
	mini_names(m, held, "dst", memory[1]);
	for (int i = 0; i < 10; i++)
		call = clear_and_count(run, stream[0], 1000, memory[0], site);
	start = run->last + HANDOVER_US;
	mini_exec(m, "UPDATE call SET exit = %lld WHERE id = %lld", (long long)mini_ns(run->now),
		(long long)held);
	mini_exec(m, "UPDATE operation SET start = %lld, end = %lld WHERE call = %lld",
		(long long)mini_ns(start), (long long)mini_ns(start + 2), (long long)held);
	run->tail[MINI_LEGACY] = start + 2;
	run->thread = thread;
	mini_names(m, submit(run, CALL_cuLaunchKernel, stream[1], 1000, start + 2, 0), "word",
		memory[1]);
	run->thread = 0;
	wait_all(run, CALL_cuCtxSynchronize, 0);
	near(saved(run, call, CHANGE_ORDER, 0, REPLAY_LIKELY), 1000, 100);
}

/* No record tells that the function took 200 us: the next kernel in the order does. */
static void a_host_function_goes_on_behind_the_work_before_it(void **state)
{
	struct small_run *run = *state;
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
	struct small_run *run = *state;
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
	struct small_run *run = *state;
	int64_t call;

	legacy_rounds(run, &call);
	mini_exec(&run->mini,
		"INSERT INTO allocation VALUES (900, 1, 4096, 8192, 'device', NULL, "
		"NULL); INSERT INTO operand SELECT call, 'word', 0, 4096, 900 FROM operation");
	near(saved(run, call, CHANGE_ORDER, 0, REPLAY_LIKELY), 0, 1);
	/* Other places of one allocation may be the same memory, or not. */
	mini_exec(&run->mini, "UPDATE operand SET address = 4096 + call % 2 * 4096");
	near(saved(run, call, CHANGE_ORDER, 0, REPLAY_LIKELY), 20 * 201, 10);
	near(saved(run, call, CHANGE_ORDER, 0, REPLAY_MOST), 0, 1);
}

/* All read one buffer, which nobody writes. */
static void who_only_reads_shared_memory_needs_no_order(void **state)
{
	struct small_run *run = *state;
	int64_t call;

	legacy_rounds(run, &call);
	mini_exec(&run->mini,
		"INSERT INTO allocation VALUES (900, 1, 4096, 8192, 'device', NULL, "
		"NULL); INSERT INTO operand SELECT call, 'word', 0, 4096, 900 FROM operation");
	mini_exec(&run->mini, "INSERT INTO kernel_code VALUES (%lld, 'ptx', 1, NULL, 0, NULL)",
		(long long)run->kernel);
	mini_exec(&run->mini,
		"INSERT INTO kernel_access VALUES (%lld, NULL, 0, 'load', 1, 0, 64, "
		"NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1, 0, 0, 0, NULL)",
		(long long)run->kernel);
	near(saved(run, call, CHANGE_ORDER, 0, REPLAY_LIKELY), 20 * 201, 10);
	mini_exec(&run->mini, "UPDATE kernel_access SET direction = 'store'");
	near(saved(run, call, CHANGE_ORDER, 0, REPLAY_LIKELY), 0, 1);
}

/* Kernels that fill the device gain nothing from running at the same time. */
static void large_kernels_get_in_each_others_way(void **state)
{
	struct small_run *run = *state;
	int64_t call;

	legacy_rounds(run, &call);
	mini_exec(&run->mini,
		"UPDATE call SET grid = %llu, block = 1024 | (1 << 12) | (1 << 24) "
		"WHERE kernel NOT NULL",
		(unsigned long long)CALL_GRID(132 * 2, 1, 1));
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
	struct small_run *run = *state;
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
	struct small_run *run = *state;
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
	struct small_run *run = *state;
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

/* The runtime's own work around it, as starting CUDA, has to be done elsewhere then. */
static void what_a_runtime_call_did_besides_is_not_saved(void **state)
{
	struct small_run *run = *state;
	int64_t stream = mini_stream(&run->mini, "non-blocking"), around, call;

	launch(run, stream, 100);
	wait_all(run, CALL_cuCtxSynchronize, 0);
	around = MINI_CALL(&run->mini, .type = CALL_cudaDeviceSynchronize_11, .at = run->now,
		.until = run->now + 50000);
	call = MINI_CALL(&run->mini, .type = CALL_cuCtxSynchronize, .at = run->now + 1,
		.until = run->now + 10, .parent = around);
	run->now += 50002;
	launch(run, stream, 100);
	wait_all(run, CALL_cuCtxSynchronize, 0);
	near(saved(run, call, CHANGE_CALL, 0, REPLAY_LIKELY), 1009, 2);
}

/* A call of another thread that a free holds up to 2056, with the times of its entry and exit. */
struct held_call_of {
	int type;
	double at, back;
};
#define HELD(...) ((struct held_call_of){ __VA_ARGS__ })

static int64_t add_held(struct mini *m, const struct held_call_of *held, int64_t thread,
	int64_t stream)
{
	if (held->type == CALL_cuMemAlloc_v2)
		return MINI_CALL(m, .type = held->type, .at = held->at, .until = held->back,
			.thread = thread);
	return MINI_CALL(m, .type = held->type, .at = held->at, .until = held->back,
		.thread = thread, .stream = stream, .runs = { held->back + 4, held->back + 104 });
}

/* us saved if the free, entered at 14, does not wait; the other thread is joined. */
static int saved_by_free(struct small_run *run, const struct held_call_of held)
{
	struct mini *m = &run->mini;
	int64_t stream[] = { mini_stream(m, "non-blocking"), mini_stream(m, "non-blocking") };
	int64_t other = mini_thread(m), made, joined, freed;
	double back = held.back, synced = back + (held.type == CALL_cuMemAlloc_v2 ? 4 : 107);

	made = MINI_CALL(m, .type = CALL_pthread_create, .at = 1, .until = 5);
	MINI_CALL(m, .type = CALL_cuLaunchKernel, .at = 10, .stream = stream[0],
		.runs = { 16, 2016 });
	if (held.at < 14)
		add_held(m, &held, other, stream[1]);
	freed = MINI_CALL(m, .type = CALL_cuMemFree_v2, .at = 14, .until = 2056, .ptr = 0x10000);
	if (held.at > 14)
		add_held(m, &held, other, stream[1]);
	joined = MINI_CALL(m, .type = CALL_pthread_join, .at = 2060, .until = back + 3242);
	MINI_CALL(m, .type = CALL_cuStreamSynchronize, .at = back + 2, .until = synced,
		.thread = other, .stream = stream[1]);
	MINI_CALL(m, .type = CALL_cuLaunchKernel, .at = back + 3107, .until = back + 3109,
		.thread = other, .stream = stream[1], .runs = { back + 3113, back + 3213 });
	mini_exec(m, "UPDATE thread SET made_by = %lld, joined_by = %lld WHERE id = %lld",
		(long long)made, (long long)joined, (long long)other);
	MINI_CALL(m, .type = CALL_cuCtxSynchronize, .at = back + 3244, .until = back + 3247);
	return saved(run, freed, CHANGE_WAIT, 0, REPLAY_LIKELY);
}

/* The free returns at 54 by itself and not at 2056; all of the other thread follows. */
static void other_threads_are_let_go_as_well(void **state)
{
	near(saved_by_free(*state, HELD(CALL_cuLaunchKernel, 20, 2058)), 2002, 5);
}

/* They are let go when the device is done, and may return before the call that held them does. */
static void who_is_let_go_may_return_first(void **state)
{
	near(saved_by_free(*state, HELD(CALL_cuMemsetD8Async, 20, 2020)), 2000, 5);
}

static void who_allocates_is_held_as_well(void **state)
{
	near(saved_by_free(*state, HELD(CALL_cuMemAlloc_v2, 20, 2020)), 2000, 5);
}

/* The lock is not granted in turn.  It is not held at all by a free that comes later. */
static void who_is_held_may_have_come_first(void **state)
{
	near(saved_by_free(*state, HELD(CALL_cuLaunchKernel, 12, 2058)), 2044, 5);
}

static void a_thread_whose_last_call_is_a_join_ends_with_the_other(void **state)
{
	struct small_run *run = *state;
	struct mini *m = &run->mini;
	int64_t stream[] = { mini_stream(m, "non-blocking"), mini_stream(m, "non-blocking") };
	int64_t other = mini_thread(m), made, joined, freed;

	made = MINI_CALL(m, .type = CALL_pthread_create, .at = 1, .until = 5);
	joined = MINI_CALL(m, .type = CALL_pthread_join, .at = 7, .until = 4070);
	MINI_CALL(m, .type = CALL_cuLaunchKernel, .at = 10, .thread = other, .stream = stream[0],
		.runs = { 16, 2016 });
	freed = MINI_CALL(m, .type = CALL_cuMemFree_v2, .at = 14, .until = 2056, .thread = other,
		.ptr = 0x10000);
	MINI_CALL(m, .type = CALL_cuLaunchKernel, .at = 2058, .thread = other, .stream = stream[1],
		.runs = { 2064, 4064 });
	MINI_CALL(m, .type = CALL_cuStreamSynchronize, .at = 2062, .until = 4067, .thread = other,
		.stream = stream[1]);
	mini_exec(m, "UPDATE thread SET made_by = %lld, joined_by = %lld WHERE id = %lld",
		(long long)made, (long long)joined, (long long)other);
	near(saved(run, freed, CHANGE_WAIT, 0, REPLAY_LIKELY), 2002, 5);
}

static void engines_give_gaps_away(void **state)
{
	static struct booking booking;

	assert_int_equal(booking_reserve(&booking, 100, 50), 100);
	assert_int_equal(booking_reserve(&booking, 120, 50), 150);
	assert_int_equal(booking_reserve(&booking, 500, 50), 500);
	assert_int_equal(booking_reserve(&booking, 0, 100), 0);
	assert_int_equal(booking_reserve(&booking, 160, 300), 200);
	assert_int_equal(booking_reserve(&booking, 160, 1), 550);
	for (int i = 0; i < 4 * BOOKINGS; i++)
		assert_int_equal(booking_reserve(&booking, 1000 + 10 * i, 5), 1000 + 10 * i);
}

/* Why nothing is estimated; "" if something is. */
static const char *refusal(struct small_run *run)
{
	assert_int_equal(analyze(&run->mini.db), 0);
	return mini_text(&run->mini, "SELECT refusal FROM replay");
}

static void what_would_be_a_guess_is_not_estimated(void **state)
{
	struct small_run *run = *state;

	rounds_with_frees(run, 10, 1000);
	assert_string_equal(refusal(run), "");
	assert_int_equal(mini_int(&run->mini,
				 "SELECT saving BETWEEN saving_low AND saving_high "
				 "AND saving = (SELECT saving FROM finding) FROM replay"),
		1);
	mini_exec(&run->mini, "UPDATE kernel SET name = 'ncclDevKernel_AllReduce'");
	assert_string_equal(refusal(run), "kernels wait for other devices");
	assert_int_equal(mini_int(&run->mini, "SELECT saving_low IS NULL FROM finding"), 1);
	mini_exec(&run->mini,
		"UPDATE kernel SET name = 'work'; "
		"INSERT INTO loss VALUES (1, 'dropped_records', 3)");
	assert_string_equal(refusal(run), "a part of the run was not recorded");
}

/* Kernels of others stretch those of the run; memory of others does not. */
static void a_run_beside_other_programs_is_not_estimated(void **state)
{
	struct small_run *run = *state;

	rounds_with_frees(run, 10, 1000);
	mini_exec(&run->mini,
		"INSERT INTO other_use (process, device, seen, processes, busy) "
		"SELECT DISTINCT process, device, 'memory', 1, 0 FROM context UNION ALL "
		"SELECT DISTINCT process, device + 1, 'computing', 1, 99 FROM context");
	assert_string_equal(refusal(run), "");
	mini_exec(&run->mini,
		"UPDATE other_use SET seen = 'computing', busy = 4 WHERE seen = 'memory'");
	assert_string_equal(refusal(run), "");
	mini_exec(&run->mini, "UPDATE other_use SET busy = 5 WHERE busy = 4");
	assert_string_equal(refusal(run), "other programs computed on the device at the same time");
	assert_int_equal(mini_int(&run->mini, "SELECT saving_low IS NULL FROM finding"), 1);
}

/* Kernels that start late for no reason that is seen: who knows when they would have started. */
static void a_run_whose_streams_wait_for_values_is_not_estimated(void **state)
{
	struct small_run *run = *state;

	rounds_with_frees(run, 10, 1000);
	MINI_CALL(&run->mini, .type = CALL_cuStreamWriteValue32_v2, .at = run->now,
		.stream = mini_stream(&run->mini, "non-blocking"));
	assert_string_equal(refusal(run), "");
	MINI_CALL(&run->mini, .type = CALL_cuStreamBatchMemOp_v2, .at = run->now + 5,
		.stream = mini_stream(&run->mini, "non-blocking"));
	assert_string_equal(refusal(run), "streams wait for more than events");
}

static void a_run_that_is_not_understood_is_not_estimated(void **state)
{
	struct small_run *run = *state;

	rounds_with_frees(run, 10, 1000);
	mini_exec(&run->mini, "UPDATE operation SET start = end - 300000 WHERE id % 2 = 0");
	assert_string_equal(refusal(run), "a replay of the run as it was takes 33 % less");
}

/* Either line alone saves little, as the other blocks the thread; both together do. */
static void lines_together_are_not_their_sum(void **state)
{
	struct small_run *run = *state;
	int64_t stream[] = { mini_stream(&run->mini, "non-blocking"),
		mini_stream(&run->mini, "non-blocking") };
	int64_t site[] = { mini_site(&run->mini, "one", 7), mini_site(&run->mini, "two", 8) };

	for (int i = 0; i < 20; i++) {
		launch(run, stream[i % 2], 1000);
		wait_all(run, CALL_cuMemFree_v2, site[i % 4 / 2]);
	}
	wait_all(run, CALL_cuCtxSynchronize, 0);
	assert_int_equal(analyze(&run->mini.db), 0);
	assert_int_equal(mini_int(&run->mini,
				 "SELECT count(*) FROM finding_place "
				 "WHERE saving BETWEEN 4500000 AND 5500000"),
		2);
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
		TEST(threads_do_not_share_the_stream_that_their_legacy_work_moves_to),
		TEST(legacy_work_moves_to_the_stream_that_uses_its_memory),
		TEST(what_threads_submit_at_the_same_time_is_in_the_order_of_the_device),
		TEST(a_host_function_goes_on_behind_the_work_before_it),
		TEST(a_prefetch_in_the_legacy_stream_has_its_place),
		TEST(who_shares_memory_stays_in_order),
		TEST(who_only_reads_shared_memory_needs_no_order),
		TEST(large_kernels_get_in_each_others_way),
		TEST(copies_in_one_direction_take_turns),
		TEST(a_narrower_wait_waits_for_less),
		TEST(a_call_that_is_not_made_takes_no_time),
		TEST(what_a_runtime_call_did_besides_is_not_saved),
		TEST(other_threads_are_let_go_as_well),
		TEST(who_is_let_go_may_return_first),
		TEST(who_allocates_is_held_as_well),
		TEST(who_is_held_may_have_come_first),
		TEST(a_thread_whose_last_call_is_a_join_ends_with_the_other),
		TEST(engines_give_gaps_away),
		TEST(what_would_be_a_guess_is_not_estimated),
		TEST(a_run_beside_other_programs_is_not_estimated),
		TEST(a_run_whose_streams_wait_for_values_is_not_estimated),
		TEST(a_run_that_is_not_understood_is_not_estimated),
		TEST(lines_together_are_not_their_sum),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
