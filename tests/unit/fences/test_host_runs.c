/* SPDX-License-Identifier: Apache-2.0 */
#include "cases.h"

#include "host_runs.h"

/* What passes ask: in order of exit, those that did not return last; and by call. */
TEST(runs_are_found_by_time_and_by_call)
{
	struct program p;
	const struct run_ended *of, *end;
	struct run *run;

	program_begin(&p);
	program_do(&p,
		"host_func n1 ran:2,300,400; host_func n2 ran:2,100,200;"
		"host_func n1 ran:2,50,60; UPDATE host_run SET exit = NULL WHERE call = $");
	run = run_open(&p.m.db);
	assert_non_null(run);
	assert_int_equal(host_run_count(run), 3);
	assert_int_equal(host_run_at(run, 0)->call, 2);
	assert_int_equal(host_run_at(run, 0)->stream, program_stream(&p, "n2"));
	assert_int_equal(host_run_at(run, 0)->thread, program_thread(&p, 2));
	assert_int_equal(host_run_at(run, 2)->exit, RUN_NEVER);
	assert_int_equal(host_runs_find(run, mini_ns(200)), 0);
	assert_int_equal(host_runs_find(run, mini_ns(200) + 1), 1);
	assert_int_equal(host_runs_find(run, mini_ns(401)), 2);
	of = host_runs_of(run, 1, &end);
	assert_int_equal(end - of, 1);
	assert_int_equal(host_run_at(run, of->what)->enter, mini_ns(300));
	assert_null(host_runs_of(run, 99, &end));
	run_close(run);
	mini_release(&p.m);
}
