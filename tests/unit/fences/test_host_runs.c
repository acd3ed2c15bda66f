/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs of host functions order: for the thread that ran one, the work before it in its stream is
 * complete; what is submitted later by anybody may have been caused by it.
 */
#include "hazard_runs.h"

#include "analyze.h"
#include "host_runs.h"

/* A host function that a thread ran; enter and exit in us. */
static int64_t function_by(struct test *test, int64_t stream, int64_t thread, double enter,
	double exit)
{
	int64_t call =
		MINI_CALL(&test->m, .type = CALL_cuLaunchHostFunc, .at = test->t, .stream = stream);

	if (enter > 0)
		mini_exec(&test->m, "INSERT INTO host_run VALUES (1, %lld, %lld, %lld, %lld, 1, 2)",
			(long long)thread, (long long)call, (long long)mini_ns(enter),
			(long long)mini_ns(exit));
	test->t += 10;
	return call;
}

/* Its operation ends then by CUPTI's record; 0: it has none. */
static void ends_at(struct test *test, int64_t call, double end)
{
	if (end > 0)
		mini_exec(&test->m, "UPDATE operation SET end = %lld WHERE call = %lld",
			(long long)mini_ns(end), (long long)call);
	else
		mini_exec(&test->m, "DELETE FROM operation WHERE call = %lld", (long long)call);
}

/* As XLA gives staging memory back; CUPTI gave a copy before it an end seconds too late. */
static void a_run_counts_not_the_end_of_a_record(void **unused)
{
	static const double ends[] = { 115, 1e6, 0 };
	struct test test;

	(void)unused;
	for (size_t i = 0; i < 3; i++) {
		begin(&test);
		ends_at(&test, launch(&test, test.writer, test.one, 0), ends[i]);
		function_by(&test, test.one, mini_thread(&test.m), 125, 126);
		test.t = 150;
		launch(&test, test.reader, test.two, 0);
		finish(&test, "missing-fence raw possible 1-3");
	}
}

/* Whatever the reason, nobody was told before: functions run one at a time, and may wait. */
static void what_is_submitted_before_the_run_is_a_race(void **unused)
{
	static const double ends[] = { 115, 1e6, 0 };
	struct test test;

	(void)unused;
	for (size_t i = 0; i < 3; i++) {
		begin(&test);
		ends_at(&test, launch(&test, test.writer, test.one, 0), ends[i]);
		function_by(&test, test.one, mini_thread(&test.m), 200, 201);
		test.t = 150;
		launch(&test, test.reader, test.two, 0);
		finish(&test, "missing-fence raw certain 1-3");
	}
}

/* A function may tell another thread first, and do more afterwards. */
static void a_run_tells_from_its_entry_on(void **unused)
{
	struct test test;

	(void)unused;
	begin(&test);
	launch(&test, test.writer, test.one, 0);
	function_by(&test, test.one, mini_thread(&test.m), 125, 500);
	test.t = 150;
	launch(&test, test.reader, test.two, 0);
	finish(&test, "missing-fence raw possible 1-3");
}

/* Functions all the time do not hide what none of them covers. */
static void a_run_covers_what_is_before_it_in_its_stream(void **unused)
{
	struct test test;
	int64_t runner;

	(void)unused;
	begin(&test);
	runner = mini_thread(&test.m);
	launch(&test, test.reader, test.one, 0);
	function_by(&test, test.one, runner, 125, 126);
	launch(&test, test.writer, test.one, 0);
	function_by(&test, mini_stream(&test.m, "non-blocking"), runner, 45, 46);
	test.t = 150;
	launch(&test, test.reader, test.two, 0);
	finish(&test, "missing-fence raw certain 3-5");
}

/* A context that failed: its functions never run, and what ended is all that is known. */
static void without_a_run_it_is_as_if_it_began_when_the_work_ended(void **unused)
{
	struct test test;

	(void)unused;
	begin(&test);
	launch(&test, test.writer, test.one, 0);
	function_by(&test, test.one, 0, 0, 0);
	test.t = 150;
	launch(&test, test.reader, test.two, 0);
	finish(&test, "missing-fence raw possible 1-3");
}

/* It needs no fence; the thread that it told may need none. */
static void the_thread_that_ran_it_knows(void **unused)
{
	struct test test;
	int64_t runner;

	(void)unused;
	begin(&test);
	runner = mini_thread(&test.m);
	launch(&test, test.writer, test.one, 0);
	function_by(&test, test.one, runner, 125, 160);
	test.t = 150;
	launch_by(&test, runner, test.reader, test.two, 0);
	finish(&test, "");
	begin(&test);
	runner = mini_thread(&test.m);
	launch(&test, test.writer, test.one, 0);
	function_by(&test, test.one, runner, 125, 160);
	test.t = 60;
	launch_by(&test, runner, test.reader, test.two, 0);
	finish(&test, "missing-fence raw certain 1-3");
}

/* What passes ask: in order of exit, those that did not return last; and by call. */
static void runs_are_found_by_time_and_by_call(void **unused)
{
	struct test test;
	const struct run_ended *of, *end;
	struct run *run;
	int64_t runner, calls[3];

	(void)unused;
	begin(&test);
	runner = mini_thread(&test.m);
	calls[0] = function_by(&test, test.one, runner, 300, 400);
	calls[1] = function_by(&test, test.two, runner, 100, 200);
	calls[2] = function_by(&test, test.one, runner, 50, 60);
	mini_exec(&test.m, "UPDATE host_run SET exit = NULL WHERE call = %lld",
		(long long)calls[2]);
	run = run_open(&test.m.db);
	assert_non_null(run);
	assert_int_equal(host_run_count(run), 3);
	assert_int_equal(host_run_at(run, 0)->call, calls[1]);
	assert_int_equal(host_run_at(run, 0)->stream, test.two);
	assert_int_equal(host_run_at(run, 0)->thread, runner);
	assert_int_equal(host_run_at(run, 2)->exit, RUN_NEVER);
	assert_int_equal(host_runs_find(run, mini_ns(200)), 0);
	assert_int_equal(host_runs_find(run, mini_ns(200) + 1), 1);
	assert_int_equal(host_runs_find(run, mini_ns(401)), 2);
	of = host_runs_of(run, calls[0], &end);
	assert_int_equal(end - of, 1);
	assert_int_equal(host_run_at(run, of->what)->enter, mini_ns(300));
	assert_null(host_runs_of(run, 99, &end));
	run_close(run);
	mini_release(&test.m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_run_counts_not_the_end_of_a_record),
		cmocka_unit_test(what_is_submitted_before_the_run_is_a_race),
		cmocka_unit_test(a_run_tells_from_its_entry_on),
		cmocka_unit_test(a_run_covers_what_is_before_it_in_its_stream),
		cmocka_unit_test(without_a_run_it_is_as_if_it_began_when_the_work_ended),
		cmocka_unit_test(the_thread_that_ran_it_knows),
		cmocka_unit_test(runs_are_found_by_time_and_by_call),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
