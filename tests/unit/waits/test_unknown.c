/* SPDX-License-Identifier: Apache-2.0 */
/* Processes that died before CUPTI had delivered the records of their last operations. */
#include "blocking.h"
#include "unknown.h"

enum { LOST = 40 };

/* Frees after kernels on two streams in turn; the operations of the last rounds have no record. */
static void loop_of_frees(struct mini *m, int recorded, int lost)
{
	int64_t s[2] = { mini_stream(m, "non-blocking"), mini_stream(m, "non-blocking") };
	int64_t launched = mini_site(m, "process", 20), site = mini_site(m, "tidy", 30);
	double t = 10;

	for (int i = 0; i < recorded + lost; i++, t += 1020) {
		launch(m, t, s[i % 2], launched, t + 8, t + 1000);
		MINI_CALL(m, .type = CALL_cuMemFree_v2, .ptr = 4096, .at = t + 5, .until = t + 1010,
			.site = site);
	}
	mini_exec(m, "DELETE FROM operation WHERE id > %d", recorded);
	mini_exec(m, "UPDATE process SET closed = 0, end = (SELECT max(exit) FROM call)");
}

static const char *losses(struct mini *m)
{
	return mini_text(m,
		"SELECT ifnull(group_concat(reason || ' ' || (count / 1000)), '') FROM loss");
}

static void waits_for_lost_work_do_not_show_the_usual_duration(void **state)
{
	struct mini *m = *state;

	loop_of_frees(m, ROUNDS, LOST);
	assert_string_equal(shown(m), "blocking-free 5 tidy process");
	assert_string_equal(losses(m), "unknown 40790");
	/* Work that ended in order has all its records: then nothing was waited for. */
	mini_exec(m, "UPDATE process SET closed = 1");
	assert_string_equal(shown(m), "");
	assert_string_equal(losses(m), "");
}

static void all_is_unknown_if_nothing_was_delivered(void **state)
{
	struct mini *m = *state;

	loop_of_frees(m, 0, ROUNDS);
	assert_string_equal(shown(m), "");
	mini_exec(m, "UPDATE loss SET count = 1000 * count");
	assert_string_equal(losses(m), "unknown_all 6");
}

static void loop_and_length_end_before_the_unknown(void **state)
{
	struct mini *m = *state;

	loop_of_frees(m, 2 * ROUNDS, LOST);
	assert_int_equal(analyze(&m->db), 0);
	assert_string_equal(mini_text(m, "SELECT turns || ' ' || (end / 1000) FROM loop"),
		"12 13260");
	assert_string_equal(mini_text(m, "SELECT sum(time) / 1000 FROM account WHERE device = 0"),
		"13250");
	/* A share of the time before, not of the 53 ms in all. */
	assert_string_equal(mini_text(m, "SELECT measured / 1000 FROM replay"), "12230");
}

static void later_work_of_a_stream_shows_that_earlier_is_not_unknown(void **state)
{
	struct mini *m = *state;

	struct run *run;

	loop_of_frees(m, ROUNDS, 2);
	mini_exec(m, "DELETE FROM operation WHERE id = 3");
	run = run_open(&m->db);
	assert_non_null(run);
	for (uint32_t id = 1; id < run_call_end(run); id++)
		assert_int_equal(call_is_unknown(run_call(run, id)) != 0,
			id > 2 * ROUNDS && id % 2);
	run_close(run);
}

/* Only the first wait that includes it is not judged: then it has ended. */
static void waits_for_other_work_than_the_unknown_are_judged(void **state)
{
	struct mini *m = *state;
	int64_t endless = mini_stream(m, "non-blocking"), s = mini_stream(m, "non-blocking");
	int64_t launched = mini_site(m, "process", 20), site = mini_site(m, "tidy", 30);
	double t = 100;

	launch(m, 10, endless, launched, 0, 0);
	for (int i = 0; i < ROUNDS; i++, t += 2000) {
		launch(m, t, s, launched, t + 8, t + 1000);
		MINI_CALL(m, .type = CALL_cuStreamSynchronize, .stream = s, .at = t + 5,
			.until = t + 1005);
		launch(m, t + 1010, s, launched, t + 1018, t + 1900);
		MINI_CALL(m, .type = CALL_cuCtxSetLimit, .at = t + 1015, .until = t + 1910,
			.site = site);
	}
	mini_exec(m, "UPDATE process SET closed = 0");
	assert_int_equal(analyze(&m->db), 0);
	assert_string_equal(mini_text(m,
				    "SELECT group_concat(DISTINCT kind) || ' ' || count(*) "
				    "FROM wait"),
		"explicit,implicit 11");
	assert_string_equal(losses(m), "");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, mini_setup, mini_teardown)
	const struct CMUnitTest tests[] = {
		TEST(waits_for_lost_work_do_not_show_the_usual_duration),
		TEST(all_is_unknown_if_nothing_was_delivered),
		TEST(loop_and_length_end_before_the_unknown),
		TEST(later_work_of_a_stream_shows_that_earlier_is_not_unknown),
		TEST(waits_for_other_work_than_the_unknown_are_judged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
