/* SPDX-License-Identifier: Apache-2.0 */
/* The calls of a fence without effect, and the reason of a finding whose instances differ. */
#include "hazard_runs.h"

static int64_t new_event(struct test *test)
{
	int64_t event = mini_event(&test->m);

	MINI_CALL(&test->m, .type = CALL_cuEventCreate, .at = 1, .event = event);
	return event;
}

static void end_turn(struct test *test)
{
	MINI_CALL(&test->m, .type = CALL_cuCtxSynchronize, .at = test->t + 200);
	test->t += 300;
}

/* In the first turn the event was never recorded, in the second one by the first. */
static void a_wait_before_the_record_is_named_with_it(void **unused)
{
	struct test test;
	int64_t event;

	(void)unused;
	begin(&test);
	event = new_event(&test);
	for (int turn = 0; turn < 2; turn++) {
		launch(&test, test.writer, test.one, 0);
		wait_for(&test, event, test.two);
		record(&test, event, test.one);
		launch(&test, test.reader, test.two, 0);
		end_turn(&test);
	}
	assert_int_equal(analyze(&test.m.db), 0);
	assert_string_equal(mini_text(&test.m,
				    "SELECT group_concat(other_call || '-' || call || ' ' || why "
				    "|| ' ' || wait || ' ' || record, ', ') FROM hazard"),
		"2-5 early-wait 3 4, 7-10 early-wait 8 9");
	mini_release(&test.m);
}

/* The loop begins with the wait, before the event was ever recorded; each turn has its memory. */
static void a_wait_at_the_start_of_a_turn_is_too_early(void **unused)
{
	struct test test;
	int64_t event;

	(void)unused;
	begin(&test);
	event = new_event(&test);
	for (int turn = 0; turn < 2; turn++) {
		wait_for(&test, event, test.two);
		launch(&test, test.writer, test.one, turn * BYTES / 2);
		record(&test, event, test.one);
		launch(&test, test.reader, test.two, turn * BYTES / 2);
	}
	finish(&test,
		"missing-fence raw certain 3-5 early-wait, "
		"missing-fence raw certain 7-9 early-wait");
}

/* The fence of the previous turn is no record that comes too early. */
static void a_wait_at_the_end_of_each_turn_is_too_late(void **unused)
{
	struct test test;

	(void)unused;
	begin(&test);
	for (int turn = 0; turn < 2; turn++) {
		int64_t event = new_event(&test);

		launch(&test, test.writer, test.one, turn * BYTES / 2);
		record(&test, event, test.one);
		launch(&test, test.reader, test.two, turn * BYTES / 2);
		wait_for(&test, event, test.two);
	}
	finish(&test,
		"missing-fence raw certain 2-4 late-fence, "
		"missing-fence raw certain 7-9 late-fence");
}

/* A record, and what else names the event. */
static void a_record_before(int type, const char *wanted)
{
	struct test test;
	int64_t event;

	begin(&test);
	event = new_event(&test);
	launch(&test, test.writer, test.one, 0);
	record(&test, event, test.one);
	launch(&test, test.reader, test.two, 0);
	if (type)
		MINI_CALL(&test.m, .type = type, .at = test.t, .event = event);
	finish(&test, wanted);
}

static void an_event_that_nothing_waits_for_is_named(void **unused)
{
	(void)unused;
	a_record_before(0, "missing-fence raw certain 2-4 unused-event");
	a_record_before(CALL_cuEventDestroy_v2, "missing-fence raw certain 2-4 unused-event");
	a_record_before(CALL_cuEventQuery, "missing-fence raw certain 2-4");
	a_record_before(CALL_cuEventElapsedTime, "missing-fence raw certain 2-4");
	a_record_before(CALL_cuIpcGetEventHandle, "missing-fence raw certain 2-4");
}

/* The record ends each turn; the two operations of the second one do not overlap. */
static void most_instances_give_the_reason(void **unused)
{
	struct test test;
	int64_t event;

	(void)unused;
	begin(&test);
	event = new_event(&test);
	for (int turn = 0; turn < 3; turn++) {
		launch(&test, test.writer, test.one, 0);
		wait_for(&test, event, test.two);
		test.t += turn == 1 ? 150 : 0;
		launch(&test, test.reader, test.two, 0);
		record(&test, event, test.one);
		end_turn(&test);
	}
	assert_int_equal(analyze(&test.m.db), 0);
	assert_string_equal(mini_text(&test.m,
				    "SELECT group_concat(why || iif(gap < 0, ' overlapped', ''), "
				    "', ') FROM hazard"),
		"unrecorded-event overlapped, early-record, early-record overlapped");
	assert_string_equal(mini_text(&test.m,
				    "SELECT p.count || ' ' || p.why || ' ' || h.id || "
				    "substr(message, instr(message, ':')) "
				    "FROM finding_place p JOIN hazard h ON h.id = p.hazard"),
		"3 early-record 3: in 2 of 3 cases, the event that its stream waits for was "
		"recorded before the earlier operation");
	mini_release(&test.m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_wait_before_the_record_is_named_with_it),
		cmocka_unit_test(a_wait_at_the_start_of_a_turn_is_too_early),
		cmocka_unit_test(a_wait_at_the_end_of_each_turn_is_too_late),
		cmocka_unit_test(an_event_that_nothing_waits_for_is_named),
		cmocka_unit_test(most_instances_give_the_reason),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
