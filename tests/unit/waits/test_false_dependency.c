/* SPDX-License-Identifier: Apache-2.0 */
/*
 * false-dependency: waits for events that cover more than what is shared, and the many that are
 * needed for something, which must stay silent.
 */
#include "dependency.h"
#include "ptx.h"

/* Rounds of which each waits for the one before, as data that goes in a circle does. */
static void rounds(struct shop *s)
{
	double t = 0;

	for (int i = 0; i < 5; i++) {
		t = round_at(s, t, s->model);
		record(s, t - 1400, s->answered, s->b);
		MINI_CALL(&s->mini, .type = CALL_cuStreamWaitEvent, .at = t - 1397,
			.event = s->answered, .stream = s->a);
	}
	end(s, t);
}

static void a_late_record_is_found(void **state)
{
	struct shop *s = *state;

	rounds(s);
	/* Five rounds of 600 us. */
	assert_string_equal(found(s), "5 25 19 3000");
	assert_string_equal(mini_text(&s->mini, "SELECT message FROM finding"),
		"cuStreamWaitEvent delayed its stream until the end of kernel 'touch' on stream 8, "
		"600 us longer than the memory they are known to share requires");
}

/* The order of the run has room, the one without the waits has not: what is needed is unknown. */
static void nothing_is_found_where_the_order_is_given_up(void **state)
{
	struct shop *s = *state;

	rounds(s);
	s->mini.db.order_limit = 256;
	assert_string_equal(found(s), "");
	assert_int_equal(mini_int(&s->mini,
				 "SELECT count(*) FROM loss WHERE reason = 'order_given_up'"),
		1);
}

/* The plain case of which the following ones are variants. */
static void rounds_apart_are_found(void **state)
{
	struct shop *s = *state;

	for (int i = 0; i < 5; i++)
		round_at(s, 2000 * i, s->model);
	end(s, 10000);
	assert_string_equal(found(s), "5 25 19 3000");
}

/* The process died in it: its record does not say what it copies. */
static void a_copy_in_progress_at_the_end_needs_nothing(void **state)
{
	struct shop *s = *state;
	struct mini *m = &s->mini;
	int rounds = 400;

	for (int i = 0; i < rounds; i++) {
		s->a = mini_stream(m, "non-blocking");
		s->b = mini_stream(m, "non-blocking");
		round_at(s, 2000 * i, s->model);
		end(s, 2000 * i + 1600);
	}
	MINI_CALL(m, .type = CALL_cuMemcpyDtoH_v2, .at = 2000 * rounds, .stream = MINI_LEGACY,
		.never_returned = 1);
	assert_string_equal(found(s), "400 25 19 240000");
}

static void sync_with(struct shop *s, double at, double until, int64_t stream)
{
	MINI_CALL(&s->mini, .type = CALL_cuStreamSynchronize, .at = at, .until = until,
		.stream = stream);
}

/*
 * Rounds in which streams a and c each refine something (300 us) and write a protocol of it, until
 * a_end and c_end; stream b waits for both and uses one and two.
 */
static void rows(struct shop *s, const double (*ends)[2], int64_t one, int64_t two)
{
	int64_t drawn = mini_event(&s->mini), at_other = mini_site(&s->mini, "wait_drawn", 26);
	int64_t notes = mini_allocation(&s->mini, "device");

	for (int i = 0; i < 5; i++) {
		double t = 2000 * i, a_end = t + ends[i % 2][0], c_end = t + ends[i % 2][1];

		launch(s, t, s->a, s->at_refine, t + 20, t + 320, s->model, 0);
		launch(s, t + 3, s->a, s->at_protocol, t + 321, a_end, s->protocol, 0);
		record(s, t + 6, s->refined, s->a);
		launch(s, t + 9, s->c, s->at_refine, t + 20, t + 320, s->other, 0);
		launch(s, t + 12, s->c, s->at_protocol, t + 321, c_end, notes, 0);
		record(s, t + 15, drawn, s->c);
		wait_for(s, t + 18, s->refined, s->b);
		MINI_CALL(&s->mini, .type = CALL_cuStreamWaitEvent, .at = t + 21, .event = drawn,
			.stream = s->b, .site = at_other);
		a_end = a_end > c_end ? a_end : c_end;
		launch(s, t + 24, s->b, s->at_use, a_end + 1, a_end + 501, one, two ? two : notes);
		sync_with(s, t + 27, a_end + 504, s->b);
	}
	end(s, 10000);
}

/* Each alone saves next to nothing, both what each of them is late. */
static void two_late_records_in_a_row_are_found(void **state)
{
	static const double ends[2][2] = { { 920, 921 }, { 920, 921 } };
	struct shop *s = *state;

	rows(s, ends, s->model, s->other);
	assert_string_equal(found(s), "5 26 19 3000");
	assert_true(mini_int(&s->mini, "SELECT saving / 1000 FROM finding") > 2400);
	assert_string_equal(mini_text(&s->mini,
				    "SELECT substr(message, "
				    "instr(message, ';')) FROM finding"),
		"; another wait before the same work comes as late: fix that one, too");
	assert_string_equal(mini_text(&s->mini,
				    "SELECT group_concat(line) FROM finding_also "
				    "JOIN site ON site.id = site"),
		"25");
}

/* Whichever wait is the last one to end. */
static void two_in_turn_are_one_finding(void **state)
{
	static const double ends[2][2] = { { 920, 921 }, { 922, 900 } };
	struct shop *s = *state;

	rows(s, ends, s->model, s->other);
	assert_string_equal(found(s), "5 26 19 3002");
}

static void of_a_row_the_longer_one_is_told(void **state)
{
	static const double ends[2][2] = { { 920, 720 }, { 920, 720 } };
	struct shop *s = *state;

	rows(s, ends, s->model, s->other);
	assert_string_equal(found(s), "5 25 19 2995");
	assert_string_equal(mini_text(&s->mini,
				    "SELECT group_concat(line) FROM finding_also "
				    "JOIN site ON site.id = site"),
		"26");
}

/* Nothing is won before the one that is needed is over. */
static void a_needed_wait_in_the_row_remains(void **state)
{
	static const double same[2][2] = { { 920, 921 }, { 920, 921 } };
	struct shop *s = *state;

	rows(s, same, s->model, 0);
	assert_string_equal(found(s), "");
}

static void what_outlasts_the_needed_one_is_found(void **state)
{
	static const double ends[2][2] = { { 920, 720 }, { 920, 720 } };
	struct shop *s = *state;

	rows(s, ends, s->model, 0);
	assert_string_equal(found(s), "5 25 19 1000");
	assert_int_equal(mini_int(&s->mini, "SELECT count(*) FROM finding_also"), 0);
}

/* The reason for a wait of the row cannot be seen if nothing after it shares memory. */
static void a_wait_between_strangers_in_the_row_remains(void **state)
{
	static const double same[2][2] = { { 920, 921 }, { 920, 921 } };
	struct shop *s = *state;

	rows(s, same, s->model, s->answer);
	assert_string_equal(found(s), "");
}

static void a_record_in_time_is_not(void **state)
{
	struct shop *s = *state;

	for (int i = 0; i < 5; i++) {
		double t = 2000 * i;

		launch(s, t, s->a, s->at_refine, t + 20, t + 320, s->model, 0);
		record(s, t + 3, s->refined, s->a);
		launch(s, t + 6, s->a, s->at_protocol, t + 321, t + 921, s->protocol, 0);
		wait_for(s, t + 9, s->refined, s->b);
		launch(s, t + 12, s->b, s->at_use, t + 321, t + 821, s->model, s->answer);
	}
	end(s, 10000);
	assert_string_equal(found(s), "");
	assert_int_equal(mini_int(&s->mini, "SELECT count(*) FROM hold WHERE reason = 'event'"), 5);
}

/* The reason for a wait may lie in memory that no parameter points to. */
static void a_wait_between_strangers_is_not(void **state)
{
	struct shop *s = *state;

	for (int i = 0; i < 5; i++)
		round_at(s, 2000 * i, s->other);
	end(s, 10000);
	assert_string_equal(found(s), "");
}

static void what_comes_later_in_the_stream_may_need_it(void **state)
{
	struct shop *s = *state;

	for (int i = 0; i < 5; i++) {
		double t = round_at(s, 2000 * i, s->model);

		launch(s, t - 1300, s->b, s->at_use, t + 1, t + 50, s->protocol, 0);
	}
	end(s, 10000);
	assert_string_equal(found(s), "");
}

/* By an event that comes after the wait. */
static void what_another_stream_does_may_need_it(void **state)
{
	struct shop *s = *state;

	for (int i = 0; i < 5; i++) {
		double t = round_at(s, 2000 * i, s->model);

		record(s, t - 1400, s->answered, s->b);
		MINI_CALL(&s->mini, .type = CALL_cuStreamWaitEvent, .at = t - 1397,
			.event = s->answered, .stream = s->c);
		launch(s, t - 1390, s->c, s->at_use, t + 1, t + 50, s->protocol, 0);
	}
	end(s, 10000);
	assert_string_equal(found(s), "");
}

/* The thread waits for stream b, and so for stream a's work that b waited for. */
static void what_is_submitted_after_a_host_wait_may_need_it(void **state)
{
	struct shop *s = *state;

	for (int i = 0; i < 5; i++) {
		double t = round_at(s, 2000 * i, s->model);

		MINI_CALL(&s->mini, .type = CALL_cuStreamSynchronize, .at = t - 1400,
			.until = t + 3, .stream = s->b);
		launch(s, t + 10, s->c, s->at_use, t + 20, t + 50, s->protocol, 0);
	}
	end(s, 10000);
	assert_string_equal(found(s), "");
}

/* Rounds with a copy to the host in place of the protocol; each: a stream to wait for in each. */
static void rounds_with_a_copy(struct shop *s, int64_t each)
{
	for (int i = 0; i < 5; i++) {
		double t = 2000 * i;

		launch(s, t, s->a, s->at_refine, t + 20, t + 320, s->model, 0);
		mini_names(&s->mini,
			MINI_CALL(&s->mini, .type = CALL_cuMemcpyDtoHAsync_v2, .at = t + 3,
				.stream = s->a, .site = s->at_protocol, .bytes = 4096,
				.direction = 1 + COPY_D2H, .dst = "pinned", .src = "device",
				.runs = { t + 321, t + 921 }),
			"src", s->protocol);
		record(s, t + 6, s->refined, s->a);
		wait_for(s, t + 9, s->refined, s->b);
		launch(s, t + 12, s->b, s->at_use, t + 922, t + 1422, s->model, s->answer);
		if (each)
			sync_with(s, t + 15, t + 1425, each);
	}
}

/* The thread that waits for stream b may look at what was copied in stream a. */
static void what_the_host_sees_may_need_it(void **state)
{
	struct shop *s = *state;

	rounds_with_a_copy(s, s->b);
	end(s, 10000);
	assert_string_equal(found(s), "");
}

/* It submits all rounds, and looks when it has waited for b. */
static void what_the_host_sees_later_may_need_it(void **state)
{
	struct shop *s = *state;

	rounds_with_a_copy(s, 0);
	sync_with(s, 9500, 9502, s->b);
	end(s, 10000);
	assert_string_equal(found(s), "");
}

/* It asks how long b took, which succeeds when b has been waited for. */
static void what_the_host_sees_once_it_has_a_time_may_need_it(void **state)
{
	struct shop *s = *state;

	rounds_with_a_copy(s, 0);
	record(s, 9450, s->answered, s->b);
	MINI_CALL(&s->mini, .type = CALL_cuEventElapsedTime, .at = 9500, .event = s->answered);
	end(s, 10000);
	assert_string_equal(found(s), "");
}

static void what_the_host_waits_for_itself_does_not(void **state)
{
	struct shop *s = *state;

	rounds_with_a_copy(s, 0);
	sync_with(s, 9400, 9402, s->a);
	sync_with(s, 9500, 9502, s->b);
	end(s, 10000);
	assert_string_equal(found(s), "5 25 19 3000");
}

/* A function that runs after the wait may look at it as well. */
static void what_a_host_function_sees_may_need_it(void **state)
{
	struct shop *s = *state;

	rounds_with_a_copy(s, 0);
	MINI_CALL(&s->mini, .type = CALL_cuLaunchHostFunc, .at = 9500, .stream = s->b);
	end(s, 11000);
	assert_string_equal(found(s), "");
}

/* Nothing can be said of a kernel whose parameters are not known. */
static void an_unknown_kernel_may_need_it(void **state)
{
	struct shop *s = *state;
	int64_t unknown = mini_kernel(&s->mini, "unknown");

	for (int i = 0; i < 5; i++) {
		double t = round_at(s, 2000 * i, s->model);

		MINI_CALL(&s->mini, .type = CALL_cuLaunchKernel, .at = t - 1300, .stream = s->b,
			.kernel = unknown, .runs = { t + 1, t + 50 });
	}
	end(s, 10000);
	assert_string_equal(found(s), "");
}

/*
 * A graph of one kernel that was given the model and goes to other memory by a pointer, a variable
 * or not at all.
 */
static void a_graph_may_need_what_its_kernels_reach(void **state)
{
	static const struct {
		int reaches;
		const char *found;
	} cases[] = {
		{ 0, "5 25 19 3000" },
		{ PTX_REACH_POINTER, "" },
		{ PTX_REACH_VARIABLE | PTX_REACH_VARIABLE_STORE, "5 25 19 3000" },
	};
	struct shop *s = *state;
	struct mini *m = &s->mini;
	int64_t node = MINI_CALL(m, .type = CALL_cuGraphAddKernelNode_v2, .at = 1,
		.kernel = mini_kernel(m, "gather"));
	int64_t made = MINI_CALL(m, .type = CALL_cuGraphInstantiateWithFlags, .at = 2);

	mini_exec(m, "UPDATE kernel SET parameter_count = 2");
	mini_names(m, node, "word", s->model);
	mini_exec(m,
		"INSERT INTO graph VALUES (1, 1, 64, NULL, NULL);"
		"INSERT INTO graph_node VALUES (1, 1, NULL, 'kernel', %lld, NULL, NULL, NULL, "
		"NULL); INSERT INTO graph_exec VALUES (1, 1, 65, 1, %lld, NULL, NULL)",
		(long long)node, (long long)made);
	for (int i = 0; i < 5; i++)
		round_at(s, 10 + 2000 * i, s->model);
	end(s, 10010);
	mini_exec(m,
		"UPDATE call SET type = %d, kernel = NULL WHERE site = %lld;"
		"INSERT INTO call_object SELECT id, 'exec', 1 FROM call WHERE site = %lld",
		CALL_cuGraphLaunch, (long long)s->at_use, (long long)s->at_use);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		mini_exec(m,
			"DELETE FROM kernel_code; INSERT INTO kernel_code "
			"SELECT kernel, 'ptx', 0, NULL, %d, NULL FROM call WHERE id = %lld",
			cases[i].reaches, (long long)node);
		assert_string_equal(found(s), cases[i].found);
	}
}

/* Held by the older part of what it waits for anyway. */
static void only_what_comes_after_the_shared_part_is_lost(void **state)
{
	struct shop *s = *state;

	rounds(s);
	mini_exec(&s->mini,
		"UPDATE operation SET end = start + 899000 WHERE call IN "
		"(SELECT id FROM call WHERE site = %lld)",
		(long long)s->at_refine);
	mini_exec(&s->mini,
		"UPDATE operation SET start = start + 599000 WHERE call IN "
		"(SELECT id FROM call WHERE site = %lld)",
		(long long)s->at_protocol);
	assert_string_equal(found(s), "");
}

/*
 * While none of the process's work runs, another process may have the device: the protocol takes 10
 * us, between which and the model there are 590: the 10 of five rounds count.
 */
static void time_of_other_processes_is_not_lost(void **state)
{
	struct shop *s = *state;

	rounds(s);
	mini_exec(&s->mini,
		"UPDATE operation SET start = start + 590000 WHERE call IN "
		"(SELECT id FROM call WHERE site = %lld)",
		(long long)s->at_protocol);
	assert_string_equal(found(s), "5 25 19 50");
}

/* Stream b uses the protocol as well, after a wait of its own or without one. */
static void rounds_that_use_both(struct shop *s, int waits_again)
{
	double t = 0;

	for (int i = 0; i < 4; i++) {
		round_at(s, t, s->model);
		record(s, t + 14, s->answered, s->a);
		if (waits_again)
			wait_for(s, t + 16, s->answered, s->b);
		launch(s, t + 18, s->b, s->at_use, t + 1423, t + 1623, s->protocol, 0);
		end(s, t + 1700);
		t += 1720;
	}
}

static void a_later_wait_covers_what_comes_behind_it(void **state)
{
	struct shop *s = *state;

	rounds_that_use_both(s, 1);
	assert_string_equal(found(s), "4 25 19 2400");
}

static void what_comes_behind_no_other_wait_needs_this_one(void **state)
{
	struct shop *s = *state;

	rounds_that_use_both(s, 0);
	assert_string_equal(found(s), "");
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		T(a_later_wait_covers_what_comes_behind_it),
		T(what_comes_behind_no_other_wait_needs_this_one),
		T(a_late_record_is_found),
		T(nothing_is_found_where_the_order_is_given_up),
		T(rounds_apart_are_found),
		T(a_copy_in_progress_at_the_end_needs_nothing),
		T(two_late_records_in_a_row_are_found),
		T(two_in_turn_are_one_finding),
		T(of_a_row_the_longer_one_is_told),
		T(a_needed_wait_in_the_row_remains),
		T(what_outlasts_the_needed_one_is_found),
		T(a_wait_between_strangers_in_the_row_remains),
		T(a_record_in_time_is_not),
		T(a_wait_between_strangers_is_not),
		T(what_comes_later_in_the_stream_may_need_it),
		T(what_another_stream_does_may_need_it),
		T(what_is_submitted_after_a_host_wait_may_need_it),
		T(what_the_host_sees_may_need_it),
		T(what_the_host_sees_later_may_need_it),
		T(what_the_host_sees_once_it_has_a_time_may_need_it),
		T(what_the_host_waits_for_itself_does_not),
		T(what_a_host_function_sees_may_need_it),
		T(an_unknown_kernel_may_need_it),
		T(a_graph_may_need_what_its_kernels_reach),
		T(only_what_comes_after_the_shared_part_is_lost),
		T(time_of_other_processes_is_not_lost),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
