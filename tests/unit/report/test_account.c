/* SPDX-License-Identifier: Apache-2.0 */
/* The loop of a run, and the causes of its idle time. */
#include "miniature.h"

#include "account.h"

static const char loop_sql[] =
	"SELECT turns || ' from ' || site || ', ' || (start / 1000) || ' to ' || (end / 1000)"
	" FROM loop";

static void account(struct mini *m)
{
	mini_exec(m,
		"DELETE FROM turn; DELETE FROM inner_loop; DELETE FROM loop; DELETE FROM account;"
		"DELETE FROM blocked");
	assert_int_equal(account_measure(&m->db), 0);
}

/* "cause time" in us of device 0, or of the host, in order of the causes' names. */
static void expect_account(struct mini *m, const char *device, const char *wanted)
{
	char sql[300];

	snprintf(sql, sizeof(sql),
		"SELECT group_concat(cause || ' ' || t, ', ') FROM "
		"(SELECT cause, sum(time) / 1000 AS t FROM account"
		" WHERE device IS %s GROUP BY cause ORDER BY cause)",
		device);
	assert_string_equal(mini_text(m, sql), wanted);
}

static void launch(struct mini *m, double at, int64_t site, double start, double end)
{
	MINI_CALL(m, .type = CALL_cuLaunchKernel, .at = at, .stream = 1, .site = site,
		.runs = { start, end });
}

/* A step: at the first site once, at the second times times, and a wait where it is given. */
static double step(struct mini *m, double at, const int64_t site[], int times, int waits)
{
	launch(m, at, site[0], at + 5, at + 10);
	for (int i = 0; i < times; i++, at += 10)
		launch(m, at + 10, site[1], at + 15, at + 20);
	if (waits)
		MINI_CALL(m, .type = CALL_cuCtxSynchronize, .at = at + 10, .site = site[2]);
	return at + 20;
}

static void turns_are_steps_whatever_their_inner_loops_do(void **state)
{
	static const int inner[] = { 4, 7, 3, 9, 4, 5 };
	struct mini m;
	double at = 100;
	int64_t site[3];

	mini_init(&m);
	for (int i = 0; i < 3; i++)
		site[i] = mini_site(&m, "f", i);
	for (size_t i = 0; i < sizeof(inner) / sizeof(*inner); i++)
		at = step(&m, at, site, inner[i], 1);
	account(&m);
	/* The sixth ends with its last call. */
	assert_string_equal(mini_text(&m, loop_sql), "6 from 1, 100 to 532");
	mini_release(&m);
}

/* Work repeated three times in a row at the beginning of a step is no step: AdamW in PyTorch. */
static void a_step_may_begin_with_loops(void **state)
{
	struct mini m;
	double at = 100;

	mini_init(&m);
	for (int i = 0; i < 28; i++)
		mini_site(&m, "f", i);
	for (int i = 0; i < 6; i++) {
		for (int k = 0; k < 24; k++, at += 10)
			launch(&m, at, 1 + k / 3, at + 5, at + 10);
		for (int k = 0; k < 20; k++, at += 10)
			launch(&m, at, 9 + k, at + 5, at + 10);
	}
	account(&m);
	assert_string_equal(mini_text(&m, loop_sql), "6 from 1, 100 to 2740");
	mini_release(&m);
}

/* One of PyTorch's first steps loads 40 kernels. */
static void what_warms_up_is_no_turn(void **state)
{
	struct mini m;
	double at = 100;
	int64_t site[3];

	mini_init(&m);
	for (int i = 0; i < 3; i++)
		site[i] = mini_site(&m, "f", i);
	at = step(&m, at, site, 2, 1) + 5000;
	for (int i = 0; i < 6; i++)
		at = step(&m, at, site, 2, 1);
	account(&m);
	assert_string_equal(mini_text(&m, loop_sql), "6 from 1, 5140 to 5372");
	mini_release(&m);
}

static void what_does_not_repeat_is_no_loop(void **state)
{
	struct mini m;

	mini_init(&m);
	for (int i = 0; i < 20; i++)
		launch(&m, 10.0 * i, mini_site(&m, "f", i), 10.0 * i + 5, 10.0 * i + 8);
	account(&m);
	assert_int_equal(mini_int(&m, "SELECT count(*) FROM loop"), 0);
	/* From the first launch to the last end. */
	assert_int_equal(mini_int(&m, "SELECT sum(time) FROM account WHERE device = 0"), 198000);
	mini_release(&m);
}

/* A site below frames of a script: the innermost first, each a line and the loop that it is in. */
static int64_t script_site(struct mini *m, int count, const int line[][2])
{
	int64_t site = mini_site(m, "library", 0);

	mini_exec(m, "INSERT INTO frame (site, depth, address, user) VALUES (%lld, 0, %lld, 0)",
		(long long)site, (long long)site);
	for (int i = 0; i < count; i++)
		mini_exec(m,
			"INSERT INTO frame (site, depth, address, file, line, user, loop) VALUES "
			"(%lld, %d, -9223372036854775807 + %d, 's.py', %d, 1, nullif(%d, 0))",
			(long long)site, i + 1, line[i][0], line[i][0], line[i][1]);
	return site;
}

/*
 * A step in line 20 makes a product for each of eight layers, lets another thread do three times as
 * much, and ends in line 30.
 */
static void the_loop_is_the_step_not_a_layer(void **state)
{
	struct mini m;
	double at = 100;
	int64_t forward, update, back[2], thread;

	mini_init(&m);
	forward = script_site(&m, 2, (const int[][2]){ { 20, 0 }, { 5, 4 } });
	update = script_site(&m, 2, (const int[][2]){ { 30, 0 }, { 5, 4 } });
	back[0] = mini_site(&m, "backward", 1);
	back[1] = mini_site(&m, "backward", 2);
	thread = mini_thread(&m);
	for (int step = 0; step < 10; step++) {
		for (int i = 0; i < 8; i++, at += 10)
			launch(&m, at, forward, at + 5, at + 10);
		for (int i = 0; i < 24; i++, at += 10)
			MINI_CALL(&m, .type = CALL_cuLaunchKernel, .at = at, .stream = 1,
				.site = back[i % 2], .thread = thread, .runs = { at + 5, at + 9 });
		launch(&m, at, update, at + 5, at + 10);
		at += 20;
	}
	account(&m);
	assert_string_equal(mini_text(&m,
				    "SELECT turns || ' ' || place || ' ' || thread FROM loop"),
		"10 s.py:5 1");
	assert_string_equal(mini_text(&m, "SELECT turns || ' ' || place FROM inner_loop"),
		"80 s.py:20");
	mini_release(&m);
}

/* A thread of a library works for the script's two loops alike, and does most of the work. */
static void the_loop_is_one_of_the_script(void **state)
{
	struct mini m;
	double at = 100;
	int64_t loop[2], back[3], thread;

	mini_init(&m);
	loop[0] = script_site(&m, 1, (const int[][2]){ { 5, 4 } });
	loop[1] = script_site(&m, 1, (const int[][2]){ { 9, 8 } });
	for (int i = 0; i < 3; i++)
		back[i] = mini_site(&m, "backward", i);
	thread = mini_thread(&m);
	for (int step = 0; step < 22; step++) {
		launch(&m, at, loop[step / 12], at + 5, at + 10);
		at += 10;
		for (int i = 0; i < 6; i++, at += 10)
			MINI_CALL(&m, .type = CALL_cuLaunchKernel, .at = at, .stream = 1,
				.site = back[i / 2], .thread = thread, .runs = { at + 5, at + 9 });
	}
	account(&m);
	assert_string_equal(mini_text(&m,
				    "SELECT turns || ' ' || place || ' ' || thread FROM loop"),
		"12 s.py:5 1");
	mini_release(&m);
}

/* Four threads run it, some steps at a time, after a shorter loop that prepares their memory. */
static void threads_may_run_one_loop(void **state)
{
	struct mini m;
	double at = 100;
	int64_t prepare, step[2], thread[4];

	mini_init(&m);
	prepare = mini_site(&m, "prepare", 5);
	step[0] = mini_site(&m, "step", 10);
	step[1] = mini_site(&m, "step", 11);
	for (int i = 0; i < 4; i++, at += 10)
		launch(&m, at, prepare, at + 5, at + 10);
	for (int i = 0; i < 4; i++)
		thread[i] = mini_thread(&m);
	for (int burst = 0; burst < 16; burst++)
		for (int i = 0; i < 10; i++, at += 10)
			MINI_CALL(&m, .type = CALL_cuLaunchKernel, .at = at, .stream = 1,
				.site = step[i % 2], .thread = thread[burst % 4],
				.runs = { at + 5, at + 10 });
	account(&m);
	assert_int_equal(mini_int(&m, "SELECT turns FROM loop"), 20);
	mini_release(&m);
}

/* Three epochs of twenty steps; each epoch ends with a wait. */
static void the_loop_is_the_step_not_an_epoch(void **state)
{
	struct mini m;
	double at = 100;
	int64_t step[2], wait;

	mini_init(&m);
	step[0] = script_site(&m, 2, (const int[][2]){ { 20, 19 }, { 5, 4 } });
	step[1] = script_site(&m, 2, (const int[][2]){ { 21, 19 }, { 5, 4 } });
	wait = script_site(&m, 1, (const int[][2]){ { 6, 4 } });
	for (int epoch = 0; epoch < 3; epoch++) {
		for (int i = 0; i < 40; i++, at += 10)
			launch(&m, at, step[i % 2], at + 5, at + 10);
		MINI_CALL(&m, .type = CALL_cuCtxSynchronize, .at = at, .site = wait);
		at += 10;
	}
	account(&m);
	assert_string_equal(mini_text(&m, "SELECT turns || ' ' || place FROM loop"), "60 s.py:20");
	mini_release(&m);
}

/* A library calls CUDA for the program: without line numbers, and with them. */
static void a_loop_has_the_name_of_the_programs_code(void **state)
{
	struct mini m;
	int64_t site;

	mini_init(&m);
	site = mini_site(&m, "library", 1);
	mini_exec(&m,
		"INSERT INTO module VALUES (1, 1, 4096, 8192, 0, '/bin/app', NULL),"
		" (2, 1, 65536, 131072, 0, '/lib/libtensor.so', NULL);"
		"INSERT INTO frame (site, depth, address, module, user) VALUES"
		" (%lld, 0, 65552, 2, 1), (%lld, 1, 65568, 2, 1), (%lld, 2, 4112, 1, 1)",
		(long long)site, (long long)site, (long long)site);
	for (int i = 0; i < 6; i++)
		launch(&m, 10.0 * i, site, 10.0 * i + 5, 10.0 * i + 8);
	account(&m);
	assert_string_equal(mini_text(&m, "SELECT place FROM loop"), "app+0x10");
	mini_exec(&m, "UPDATE frame SET file = 'src/app.cc', line = 7 WHERE depth = 2");
	account(&m);
	assert_string_equal(mini_text(&m, "SELECT place FROM loop"), "app.cc:7");
	mini_release(&m);
}

/* Each step does one of two things, and then a third: no step lacks the third. */
static void branches_are_turns_of_one_loop(void **state)
{
	struct mini m;
	double at = 100;
	int64_t site[5];

	mini_init(&m);
	for (int i = 0; i < 5; i++)
		site[i] = mini_site(&m, "f", i);
	for (int step = 0; step < 30; step++) {
		for (int i = 0; i < 2; i++, at += 10)
			launch(&m, at, site[step % 2 ? i : 2 + i], at + 5, at + 10);
		launch(&m, at, site[4], at + 5, at + 10);
		at += 10;
	}
	account(&m);
	assert_int_equal(mini_int(&m, "SELECT turns FROM loop"), 30);
	mini_release(&m);
}

/* Twenty launches are captured, and what they became is launched six times. */
static void captured_launches_are_no_work_of_the_run(void **state)
{
	struct mini m;
	int64_t site;

	mini_init(&m);
	for (int i = 0; i < 20; i++) {
		int64_t call = MINI_CALL(&m, .type = CALL_cuLaunchKernel, .at = i,
			.site = mini_site(&m, "capture", i));

		mini_exec(&m, "INSERT INTO call_object VALUES (%lld, 'captured', 1)",
			(long long)call);
	}
	site = mini_site(&m, "replay", 30);
	for (int i = 0; i < 6; i++)
		launch(&m, 100.0 + 10.0 * i, site, 105.0 + 10.0 * i, 108.0 + 10.0 * i);
	account(&m);
	assert_int_equal(mini_int(&m, "SELECT turns FROM loop"), 6);
	mini_release(&m);
}

/* A run that goes on while the device works through what was submitted. */
static void the_last_turn_ends_with_its_work(void **state)
{
	struct mini m;
	int64_t site;

	mini_init(&m);
	site = mini_site(&m, "f", 1);
	for (int i = 0; i < 5; i++)
		launch(&m, 10.0 * i, site, 100.0 * i + 5, 100.0 * i + 105);
	account(&m);
	assert_string_equal(mini_text(&m, loop_sql), "5 from 1, 0 to 505");
	expect_account(&m, "0", "kernels 500, start 3, submit 2");
	mini_release(&m);
}

/* 0 launch, 5 to 10 runs, 20 to 40 in cudaMalloc, 60 launch, 65 runs until 100. */
static void idle_time_has_a_cause(void **state)
{
	struct mini m;
	int64_t site[3];

	mini_init(&m);
	for (int i = 0; i < 3; i++)
		site[i] = mini_site(&m, "f", i);
	launch(&m, 0, site[0], 5, 10);
	MINI_CALL(&m, .type = CALL_cuMemAlloc_v2, .at = 20, .until = 40, .site = site[1]);
	launch(&m, 60, site[2], 65, 100);
	account(&m);
	expect_account(&m, "0", "call 20, kernels 40, outside 30, start 6, submit 4");
	expect_account(&m, "NULL", "call 20, outside 76, submit 4");
	assert_string_equal(mini_text(&m,
				    "SELECT from_site || ' ' || site || ' ' || time FROM account "
				    "WHERE device = 0 AND cause = 'outside' ORDER BY site"),
		"1 2 10000");
	mini_release(&m);
}

/* A copy that goes on to the end does not hide the kernels that run meanwhile. */
static void a_device_may_do_two_things_at_once(void **state)
{
	struct mini m;
	int64_t site[2];

	mini_init(&m);
	site[0] = mini_site(&m, "f", 0);
	site[1] = mini_site(&m, "f", 1);
	launch(&m, 0, site[0], 10, 100);
	mini_exec(&m, "UPDATE operation SET kind = 'memcpy', bytes = 64");
	launch(&m, 10, site[1], 20, 30);
	launch(&m, 15, site[1], 30, 50);
	account(&m);
	expect_account(&m, "0", "both 30, copies 60, start 8, submit 2");
	mini_release(&m);
}

/* Autograd's thread launches; meanwhile the main one is in a call, then waits for it. */
static void another_thread_may_have_the_host(void **state)
{
	struct mini m;
	int64_t site[3], thread;

	mini_init(&m);
	for (int i = 0; i < 3; i++)
		site[i] = mini_site(&m, "f", i);
	thread = mini_thread(&m);
	launch(&m, 0, site[0], 5, 10);
	MINI_CALL(&m, .type = CALL_cuMemAlloc_v2, .at = 10, .until = 30, .site = site[1]);
	MINI_CALL(&m, .type = CALL_cuCtxSynchronize, .at = 40, .until = 120, .site = site[1]);
	MINI_CALL(&m, .type = CALL_cuLaunchKernel, .at = 50, .stream = 1, .site = site[2],
		.thread = thread, .runs = { 55, 110 });
	account(&m);
	expect_account(&m, "0", "call 20, kernels 60, outside 20, start 6, submit 4");
	mini_release(&m);
}

static void of_what_nobody_submitted_the_cause_is_unknown(void **state)
{
	struct mini m;

	mini_init(&m);
	launch(&m, 0, mini_site(&m, "f", 0), 5, 10);
	launch(&m, 20, mini_site(&m, "f", 1), 25, 30);
	mini_exec(&m, "UPDATE operation SET call = NULL WHERE id = 2");
	account(&m);
	expect_account(&m, "0", "kernels 10, start 3, submit 2, unknown 15");
	mini_release(&m);
}

static void the_sums_are_the_whole(void **state)
{
	struct mini m;
	double at = 0;

	mini_init(&m);
	for (int i = 0; i < 4; i++)
		mini_site(&m, "f", i);
	srand(7);
	for (int i = 0; i < 300; i++) {
		double from = at + rand() % 40, until = from + 1 + rand() % 60;

		MINI_CALL(&m, .type = rand() % 3 ? CALL_cuLaunchKernel : CALL_cuMemcpyHtoDAsync_v2,
			.at = at, .until = at + 1 + rand() % 5, .stream = 1, .site = 1 + i % 4,
			.runs = { from, until });
		at += 6 + rand() % 30;
	}
	account(&m);
	assert_int_equal(mini_int(&m, "SELECT turns FROM loop"), 75);
	assert_int_equal(mini_int(&m, "SELECT sum(time) FROM account WHERE device = 0"),
		mini_int(&m, "SELECT end - start FROM loop"));
	assert_int_equal(mini_int(&m, "SELECT sum(time) FROM account WHERE device IS NULL"),
		mini_int(&m, "SELECT end - start FROM loop"));
	mini_release(&m);
}

/* From the first query in vain to the one that comes through the host is held, not outside. */
static void a_loop_of_queries_is_held(void **state)
{
	struct mini m;

	mini_init(&m);
	for (int i = 0; i < 3; i++)
		mini_site(&m, "f", i);
	for (int i = 0; i < 5; i++) {
		double t = 100 + 100 * i;

		launch(&m, t, 1, t + 5, t + 85);
		for (int k = 0; k < 4; k++)
			MINI_CALL(&m, .type = CALL_cuStreamQuery, .at = t + 6 + 25 * k,
				.until = t + 7 + 25 * k, .stream = 1, .site = 2,
				.result = k < 3 ? 600 : 0);
	}
	account(&m);
	expect_account(&m, "NULL", "held 380, outside 95, submit 10");
	mini_release(&m);
	(void)state;
}

/* A reading at the end of a gap: off us of it off the processor, switches as given. */
static void used(struct mini *m, int64_t thread, double since, double at, double off, int voluntary,
	int involuntary)
{
	mini_exec(m, "INSERT INTO usage VALUES (%lld, %lld, %lld, %lld, %d, %d)", (long long)thread,
		(long long)(since * 1000), (long long)(at * 1000), (long long)(off * 1000),
		voluntary, involuntary);
}

/* "ended stream thread: time us, times", by what ended it. */
static const char blocked_sql[] =
	"SELECT coalesce(group_concat(coalesce(ended, '-') || ' ' || coalesce(stream, '-')"
	" || ' ' ||"
	" coalesce(by_thread, '-') || ': ' || (time / 1000) || ', ' || times, '; '),"
	" '') FROM"
	" (SELECT * FROM blocked ORDER BY ended)";

/* Six turns of 200 us: a launch that runs 10 us, and off us off the processor. */
static void turns(struct mini *m, double off, int voluntary, int involuntary)
{
	mini_site(m, "f", 1);
	for (int i = 0; i < 6; i++) {
		launch(m, 200.0 * i, 1, 200.0 * i + 5, 200.0 * i + 15);
		if (i)
			used(m, 1, 200.0 * i - 200, 200.0 * i, off, voluntary, involuntary);
	}
}

static void sleep_is_no_work_of_the_host(void **state)
{
	struct mini m;

	mini_init(&m);
	turns(&m, 150, 1, 0);
	account(&m);
	/* 198 us of a turn are outside CUDA; it is taken to have slept first. */
	expect_account(&m, "NULL", "blocked 750, computing 240, outside 13, submit 12");
	expect_account(&m, "0", "blocked 685, computing 240, kernels 60, start 18, submit 12");
	assert_string_equal(mini_text(&m, blocked_sql), "- - -: 750, 5");
	mini_release(&m);
}

static void a_thread_that_gave_nothing_up_was_preempted(void **state)
{
	struct mini m;

	mini_init(&m);
	turns(&m, 150, 0, 3);
	account(&m);
	expect_account(&m, "NULL", "computing 240, outside 13, preempted 750, submit 12");
	assert_string_equal(mini_text(&m, blocked_sql), "");
	mini_release(&m);
}

/* Four readings say that a preemption takes 10 us: of the fifth's 150 us it was blocked for 130. */
static void one_that_was_both_was_preempted_as_long_as_usual(void **state)
{
	struct mini m;

	mini_init(&m);
	turns(&m, 10, 0, 1);
	mini_exec(&m,
		"UPDATE usage SET off = 150000, voluntary = 1, involuntary = 2"
		" WHERE time = 400000");
	account(&m);
	expect_account(&m, "NULL",
		"blocked 130, computing 800, outside 13, preempted 60, submit 12");
	mini_release(&m);
}

/* Nobody asked: all of it is outside CUDA, as ever. */
static void without_readings_nothing_is_split(void **state)
{
	struct mini m;

	mini_init(&m);
	turns(&m, 150, 1, 0);
	mini_exec(&m, "DELETE FROM usage");
	account(&m);
	expect_account(&m, "NULL", "outside 1003, submit 12");
	mini_release(&m);
}

/* A query in a gap of 198 us, at which nothing is read: the 99 us are divided among its parts. */
static void a_query_divides_a_gap(void **state)
{
	struct mini m;

	mini_init(&m);
	mini_site(&m, "f", 1);
	mini_site(&m, "f", 2);
	for (int i = 0; i < 6; i++) {
		double at = 200.0 * i;

		launch(&m, at, 1, at + 5, at + 15);
		MINI_CALL(&m, .type = CALL_cuEventQuery, .at = at + 68, .until = at + 69,
			.site = 2);
		if (i)
			used(&m, 1, at - 200, at, 99, 1, 0);
	}
	account(&m);
	expect_account(&m, "NULL", "blocked 494, call 6, computing 490, outside 66, submit 12");
	assert_string_equal(mini_text(&m,
				    "SELECT group_concat(from_site || ' ' || (time / 1000), ', ')"
				    " FROM (SELECT * FROM blocked ORDER BY from_site)"),
		"1 165, 2 329");
	mini_release(&m);
}

/*
 * JAX: block_until_ready puts a host function after the work and is blocked until it runs, 120 us
 * later; then the host prepares the next batch, for 70 us.
 */
static void a_host_function_ends_it(void **state)
{
	struct mini m;

	mini_init(&m);
	mini_site(&m, "f", 1);
	mini_thread(&m);
	for (int i = 0; i < 6; i++) {
		double at = 200.0 * i;
		int64_t call;

		launch(&m, at, 1, at + 5, at + 120);
		call = MINI_CALL(&m, .type = CALL_cuLaunchHostFunc, .at = at + 5, .until = at + 10,
			.stream = 1, .site = 1);
		/* Another one runs later. */
		for (int k = 0; k < 2; k++)
			mini_exec(&m, "INSERT INTO host_run VALUES (1, 2, %lld, %lld, %lld, 1, 1)",
				(long long)call, (long long)((at + 125 + 50 * k) * 1000),
				(long long)((at + 130 + 50 * k) * 1000));
		if (i)
			used(&m, 1, at - 200, at, 121, 1, 0);
	}
	account(&m);
	assert_string_equal(mini_text(&m, blocked_sql), "host_function 1 -: 605, 5");
	/* The device is idle while the host prepares, not while it is blocked: 11 us. */
	assert_int_equal(mini_int(&m,
				 "SELECT sum(time) FROM account WHERE device = 0 AND"
				 " cause = 'blocked'"),
		55000);
	assert_int_equal(mini_int(&m,
				 "SELECT sum(time) FROM account WHERE device = 0 AND"
				 " cause = 'computing'"),
		345000);
	mini_release(&m);
}

/*
 * A thread computes for 70 us, is blocked until another one's call at 170 us, and goes on.
 * The device, idle from 100 us on, waits for it for 70 us, and then for the host's 30 us.
 */
static void the_device_waits_for_who_computes(void **state)
{
	struct mini m;
	int64_t other;

	mini_init(&m);
	mini_site(&m, "f", 1);
	other = mini_thread(&m);
	for (int i = 0; i < 6; i++) {
		double at = 200.0 * i;

		launch(&m, at, 1, at + 5, at + 100);
		MINI_CALL(&m, .type = CALL_cuEventCreate, .at = at + 169, .until = at + 170,
			.site = 1, .thread = other);
		if (i)
			used(&m, 1, at - 200, at, 100, 1, 0);
	}
	account(&m);
	expect_account(&m, "0",
		"blocked 345, call 5, computing 150, kernels 570, start 18, submit 12");
	mini_release(&m);
}

/*
 * PyTorch: the main thread waits for the one that submits the backward pass.  One of its three
 * calls, of which the first is too early, is of that type.
 */
static void expect_end_by(enum call_id type, int number, int stops, const char *wanted)
{
	struct mini m;
	int64_t other;

	mini_init(&m);
	mini_site(&m, "f", 1);
	mini_site(&m, "g", 2);
	other = mini_thread(&m);
	for (int i = 0; i < 6; i++) {
		double at = 200.0 * i;

		for (int k = 0; k < 4; k++)
			launch(&m, at + 4 * k, 1, at + 5 + 5 * k, at + 8 + 5 * k);
		for (int k = 0; k < 3; k++)
			MINI_CALL(&m, .type = k == number ? type : CALL_cuLaunchKernel,
				.at = at + 30 + 40 * k, .until = at + 32 + 40 * k, .stream = 1,
				.site = 2, .thread = other,
				.runs = { at + 35 + 40 * k, at + 40 + 40 * k });
		if (!i)
			continue;
		used(&m, 1, at - 186, at, 100, 2, 0);
		used(&m, other, at - 88, at + 30, stops ? 110 : 0, stops, 0);
	}
	account(&m);
	assert_string_equal(mini_text(&m, blocked_sql), wanted);
	mini_release(&m);
}

static void another_thread_ends_it(void **state)
{
	expect_end_by(CALL_cuLaunchKernel, 2, 1, "call - 2: 500, 5");
	expect_end_by(CALL_cuStreamSynchronize, 2, 0, "wait - 2: 500, 5");
	/* Its last call counts. */
	expect_end_by(CALL_cuStreamSynchronize, 1, 0, "call - 2: 500, 5");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(turns_are_steps_whatever_their_inner_loops_do),
		cmocka_unit_test(a_step_may_begin_with_loops),
		cmocka_unit_test(what_warms_up_is_no_turn),
		cmocka_unit_test(what_does_not_repeat_is_no_loop),
		cmocka_unit_test(the_loop_is_the_step_not_a_layer),
		cmocka_unit_test(the_loop_is_one_of_the_script),
		cmocka_unit_test(threads_may_run_one_loop),
		cmocka_unit_test(the_loop_is_the_step_not_an_epoch),
		cmocka_unit_test(a_loop_has_the_name_of_the_programs_code),
		cmocka_unit_test(branches_are_turns_of_one_loop),
		cmocka_unit_test(captured_launches_are_no_work_of_the_run),
		cmocka_unit_test(the_last_turn_ends_with_its_work),
		cmocka_unit_test(idle_time_has_a_cause),
		cmocka_unit_test(a_device_may_do_two_things_at_once),
		cmocka_unit_test(another_thread_may_have_the_host),
		cmocka_unit_test(of_what_nobody_submitted_the_cause_is_unknown),
		cmocka_unit_test(the_sums_are_the_whole),
		cmocka_unit_test(a_loop_of_queries_is_held),
		cmocka_unit_test(sleep_is_no_work_of_the_host),
		cmocka_unit_test(a_thread_that_gave_nothing_up_was_preempted),
		cmocka_unit_test(one_that_was_both_was_preempted_as_long_as_usual),
		cmocka_unit_test(without_readings_nothing_is_split),
		cmocka_unit_test(a_query_divides_a_gap),
		cmocka_unit_test(a_host_function_ends_it),
		cmocka_unit_test(the_device_waits_for_who_computes),
		cmocka_unit_test(another_thread_ends_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
