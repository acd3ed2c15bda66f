/* SPDX-License-Identifier: Apache-2.0 */
/* What ended a thread's silence, with readings of its usage and without. */
#include "handovers.h"
#include "miniature.h"
#include "run_columns.h"

static void add_reading_of(struct mini *m, int thread, double at, double off, int times)
{
	mini_exec(m, "INSERT INTO usage VALUES (%d, 0, %lld, %lld, %d, 0)", thread,
		(long long)mini_ns(at), (long long)mini_ns(off), times);
}

static void add_reading(struct mini *m, double at, double off)
{
	add_reading_of(m, 1, at, off, 1);
}

static void add_function(struct mini *m, int64_t call, double until)
{
	mini_exec(m, "INSERT INTO host_run VALUES (1, 2, %lld, %lld, %lld, 1, 1)", (long long)call,
		(long long)mini_ns(until - 1), (long long)mini_ns(until));
}

/*
 * The first thread is silent from 2 us on until its second call, from 1000 to 1100; its third one
 * is from 1150 to 1300.  Another one makes a call until 502, and one at the time next.
 */
static void begin(struct mini *m, double next)
{
	const double at[] = { 900, 1000, 1050, 1120, 1150, 1200 };
	int64_t other;

	mini_init(m);
	other = mini_thread(m);
	MINI_CALL(m, .type = CALL_cuLaunchHostFunc, .at = 0, .stream = 1);
	MINI_CALL(m, .type = CALL_cuLaunchKernel, .at = 500, .stream = 1, .thread = other);
	for (size_t i = 0; i < sizeof(at) / sizeof(*at); i++)
		if (at[i] == next)
			MINI_CALL(m, .type = CALL_cuLaunchKernel, .at = next, .stream = 1,
				.thread = other);
		else if (at[i] == 1000 || at[i] == 1150)
			MINI_CALL(m, .type = CALL_cuLaunchKernel, .at = at[i],
				.until = at[i] == 1000 ? 1100 : 1300, .stream = 1);
}

/* Ends the test.  wanted: call before, what it waited for, us blocked; "": it did not wait. */
static void expect(struct mini *m, const char *wanted)
{
	struct handovers found = { 0 };
	char text[100] = "";

	m->db.run = run_open(&m->db);
	assert_non_null(m->db.run);
	assert_int_equal(handovers_find(&found, &m->db), 0);
	for (size_t i = 0; i < found.count; i++)
		if (found.list[i].thread == MINI_MAIN)
			snprintf(text, sizeof(text), "%u %s %u %lld%s", found.list[i].before,
				found.list[i].is_function ? "function" : "call", found.list[i].by,
				(long long)found.list[i].blocked / 1000,
				found.list[i].is_sure ? "" : "?");
	assert_string_equal(text, wanted);
	handovers_release(&found);
	run_close(m->db.run);
	m->db.run = NULL;
	mini_release(m);
}

static void a_thread_goes_on_after_another_ones_last_call(void **state)
{
	struct mini m;

	begin(&m, 1120);
	expect(&m, "1 call 2 500?");
	begin(&m, 1120);
	mini_exec(&m, "UPDATE process SET clock = 'virtual'");
	expect(&m, "1 call 2 500");
}

static void without_readings_they_take_turns(void **state)
{
	struct mini m;

	/* The other one goes on within this one's next call, or within a later one; */
	begin(&m, 1050);
	expect(&m, "");
	begin(&m, 1200);
	expect(&m, "");
	/* the last of its calls counts. */
	begin(&m, 900);
	expect(&m, "1 call 3 900?");
}

static void readings_say_when_it_was_blocked(void **state)
{
	struct mini m;

	begin(&m, 1120);
	add_reading(&m, 1000, 480);
	expect(&m, "1 call 2 480");
	/* Another one's call does not end what lasted until later, */
	begin(&m, 1120);
	add_reading(&m, 1000, 900);
	expect(&m, "");
	/* and who computed did not wait. */
	begin(&m, 1120);
	add_reading(&m, 1000, 3);
	expect(&m, "");
}

/* The other one may compute for long between its last call and waking this one. */
static void who_ends_it_may_have_computed_before(void **state)
{
	struct mini m;

	begin(&m, 1120);
	add_reading(&m, 1000, 900);
	add_reading_of(&m, 2, 1120, 200, 1);
	expect(&m, "1 call 2 500");
	begin(&m, 1120);
	add_reading(&m, 1000, 900);
	add_reading_of(&m, 2, 1120, 600, 1);
	expect(&m, "");
}

/* Then the time off the processor does not say when the first time ended. */
static void it_was_blocked_more_than_once(void **state)
{
	struct mini m;

	begin(&m, 1120);
	add_function(&m, 1, 700);
	add_reading_of(&m, 1, 1000, 950, 2);
	expect(&m, "1 function 1 698");
	/* Only a function of its own work tells, which explains most of the time, */
	begin(&m, 1120);
	add_function(&m, 2, 700);
	add_reading_of(&m, 1, 1000, 950, 2);
	expect(&m, "1 call 2 500");
	begin(&m, 1120);
	add_function(&m, 1, 400);
	add_reading_of(&m, 1, 1000, 950, 2);
	expect(&m, "1 call 2 500");
	/* and that is no longer than it was off the processor. */
	begin(&m, 1120);
	add_function(&m, 1, 700);
	add_reading_of(&m, 1, 1000, 500, 2);
	expect(&m, "1 call 2 500");
}

static void a_host_function_ends_it(void **state)
{
	struct mini m;

	begin(&m, 1120);
	add_function(&m, 1, 700);
	add_function(&m, 1, 900);
	add_reading(&m, 1000, 690);
	expect(&m, "1 function 1 690");
	/* Without readings it is the last one, if nothing later may have ended it. */
	begin(&m, 1120);
	add_function(&m, 1, 700);
	add_function(&m, 1, 900);
	expect(&m, "1 function 1 898?");
	begin(&m, 1120);
	add_function(&m, 1, 400);
	expect(&m, "1 call 2 500?");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_thread_goes_on_after_another_ones_last_call),
		cmocka_unit_test(without_readings_they_take_turns),
		cmocka_unit_test(readings_say_when_it_was_blocked),
		cmocka_unit_test(who_ends_it_may_have_computed_before),
		cmocka_unit_test(it_was_blocked_more_than_once),
		cmocka_unit_test(a_host_function_ends_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
