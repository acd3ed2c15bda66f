/* SPDX-License-Identifier: Apache-2.0 */
/*
 * broad-sync: waits for more than the host uses next, and the many that are as wide as they must.
 */
#include "broad.h"

/*
 * 694 us of each wait are excess; the next round has 510 us of work to put there. Nothing comes
 * after the last one.
 */
static void a_wait_for_the_picture_is_found(void **state)
{
	struct shop *s = *state;

	for (int i = 0; i < 6; i++)
		round_at(s, 1230 * i);
	assert_string_equal(found(s), "5 30 21 3470");
	assert_string_equal(mini_text(&s->mini, "SELECT message FROM finding"),
		"cuCtxSynchronize waited for kernel 'touch' on stream 9, 694 us longer than for "
		"the last work that the host or later work is known to need");
}

/* The next round's kernels may reach other memory by a pointer or a variable. */
static void who_reaches_further_may_need_the_picture(void **state)
{
	static const struct {
		int reaches;
		const char *found;
	} cases[] = {
		{ 1, "" },
		{ 4, "5 30 21 3470" },
		{ 4 + 8, "" },
	};
	struct shop *s = *state;

	for (int i = 0; i < 6; i++)
		round_at(s, 1230 * i);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		mini_exec(&s->mini,
			"DELETE FROM kernel_code;"
			"INSERT INTO kernel_code VALUES (%lld, 'ptx', 0, NULL, %d, NULL)",
			(long long)s->kernel, cases[i].reaches);
		assert_string_equal(found(s), cases[i].found);
	}
}

/* Clears 4096 bytes of the picture from there on. */
static void clear_part(struct shop *s, double at, int64_t stream, int64_t from, double start,
	double end)
{
	int64_t call = MINI_CALL(&s->mini, .type = CALL_cuMemsetD8Async, .at = at, .stream = stream,
		.site = s->at_draw, .bytes = 4096, .dst = "device", .runs = { start, end });

	mini_exec(&s->mini, "INSERT INTO operand VALUES (%lld, 'dst', 8, %lld, %lld)",
		(long long)call, (long long)(4096 + from), (long long)s->picture);
}

static void rounds_in_parts(struct shop *s, int clears_last)
{
	mini_exec(&s->mini, "UPDATE allocation SET bytes = 65536 WHERE id = %lld",
		(long long)s->picture);
	for (int i = 0; i < 6; i++) {
		double t = 1300 * i;

		search(s, t);
		clear_part(s, t + 6, s->b, 0, t + 25, t + 45);
		clear_part(s, t + 8, s->b, 8192, t + 46, t + 1025);
		wait_device(s, t + 10, t + 1028);
		clear_part(s, t + 1030, s->c, 0, t + 1041, t + 1042);
		if (clears_last)
			clear_part(s, t + 1034, s->c, 8192, t + 1045, t + 1046);
	}
}

static void an_early_part_of_the_picture_needs_less(void **state)
{
	rounds_in_parts(*state, 0);
	assert_string_equal(found(*state), "5 30 21 3470");
}

/* The operation before it, of the same stream, needed the early part only. */
static void the_last_part_of_the_picture_needs_the_wait(void **state)
{
	rounds_in_parts(*state, 1);
	assert_string_equal(found(*state), "");
}

static void two_rounds_are_no_pattern(void **state)
{
	struct shop *s = *state;

	for (int i = 0; i < 3; i++)
		round_at(s, 1230 * i);
	assert_string_equal(found(s), "");
}

static void a_wait_for_an_event_is_not(void **state)
{
	struct shop *s = *state;

	for (int i = 0; i < 6; i++) {
		double t = 1230 * i;

		search(s, t);
		MINI_CALL(&s->mini, .type = CALL_cuEventRecord, .at = t + 5, .event = s->event,
			.stream = s->a);
		launch(s, t + 8, s->b, s->at_draw, t + 25, t + 1025, s->picture);
		MINI_CALL(&s->mini, .type = CALL_cuEventSynchronize, .at = t + 12, .until = t + 334,
			.event = s->event, .site = s->at_wait);
	}
	assert_string_equal(found(s), "");
}

/* A wait after which the host looks at nothing takes a time, or limits how far it is ahead. */
static void a_wait_without_results_is_not(void **state)
{
	struct shop *s = *state;

	for (int i = 0; i < 6; i++) {
		double t = 1230 * i;

		launch(s, t, s->a, s->at_search, t + 20, t + 320, s->state);
		launch(s, t + 6, s->b, s->at_draw, t + 25, t + 1025, s->picture);
		wait_device(s, t + 10, t + 1028);
	}
	assert_string_equal(found(s), "");
}

/* It waits for the device, and copies what the search found only then. */
static void rounds_that_copy_afterwards(struct shop *s, int64_t memory, int64_t launches_first)
{
	for (int i = 0; i < 6; i++) {
		double t = 1250 * i;
		int64_t copy;

		launch(s, t, s->a, s->at_search, t + 20, t + 320, s->state);
		MINI_CALL(&s->mini, .type = CALL_cuEventRecord, .at = t + 3, .event = s->event,
			.stream = s->a);
		launch(s, t + 6, s->b, s->at_draw, t + 25, t + 1025, s->picture);
		wait_device(s, t + 10, t + 1028);
		if (launches_first)
			launch(s, t + 1029, s->c, s->at_draw, t + 1034, t + 1035, s->sketch);
		copy = MINI_CALL(&s->mini, .type = CALL_cuMemcpyDtoH_v2, .at = t + 1030,
			.until = t + 1045, .bytes = 4096, .stream = MINI_LEGACY,
			.site = s->at_search, .direction = 1 + COPY_D2H, .dst = "pageable",
			.src = "device", .runs = { t + 1036, t + 1040 });
		mini_names(&s->mini, copy, "src", memory);
	}
}

static void a_wait_before_the_result_is_copied_is_found(void **state)
{
	struct shop *s = *state;

	rounds_that_copy_afterwards(s, s->state, 0);
	assert_string_equal(found(s), "5 30 21 3525");
}

static void a_wait_for_what_is_copied_is_not(void **state)
{
	struct shop *s = *state;

	rounds_that_copy_afterwards(s, s->picture, 0);
	assert_string_equal(found(s), "");
}

static void a_copy_behind_other_work_is_no_reason_to_wait(void **state)
{
	struct shop *s = *state;

	rounds_that_copy_afterwards(s, s->state, 1);
	assert_string_equal(found(s), "");
}

/* The copy waits for blocking streams itself. */
static void a_copy_that_waits_for_all_leaves_nothing(void **state)
{
	struct shop *s = *state;

	mini_exec(&s->mini, "UPDATE stream SET kind = 'blocking' WHERE id = %lld", (long long)s->b);
	rounds_that_copy_afterwards(s, s->state, 0);
	assert_string_equal(found(s), "");
}

/* The memory is freed after that: cudaFree would wait for the picture. */
static void a_wait_before_memory_is_freed_is_not(void **state)
{
	struct shop *s = *state;

	for (int i = 0; i < 6; i++) {
		double t = 1250 * i;

		round_at(s, t);
		MINI_CALL(&s->mini, .type = CALL_cuMemFree_v2, .at = t + 1030, .until = t + 1040,
			.ptr = 0x10000);
	}
	assert_string_equal(found(s), "");
}

/* Without the wait no time could be taken of the picture. */
static void a_wait_before_a_time_is_taken_is_not(void **state)
{
	struct shop *s = *state;

	for (int i = 0; i < 6; i++) {
		double t = 1230 * i;

		search(s, t);
		launch(s, t + 6, s->b, s->at_draw, t + 25, t + 1025, s->picture);
		MINI_CALL(&s->mini, .type = CALL_cuEventRecord, .at = t + 8, .event = s->event,
			.stream = s->b);
		wait_device(s, t + 11, t + 1028);
		MINI_CALL(&s->mini, .type = CALL_cuEventElapsedTime, .at = t + 1030,
			.event = s->event);
	}
	assert_string_equal(found(s), "");
}

/* A result that stays on the devices is none that the host could look at. */
static void a_wait_behind_a_copy_between_devices_is_not(void **state)
{
	struct shop *s = *state;

	for (int i = 0; i < 6; i++) {
		double t = 1230 * i;
		int64_t copy;

		launch(s, t, s->a, s->at_search, t + 20, t + 320, s->state);
		copy = MINI_CALL(&s->mini, .type = CALL_cuMemcpyPeerAsync, .at = t + 3,
			.stream = s->a, .bytes = 4096, .runs = { t + 321, t + 331 });
		mini_names(&s->mini, copy, "src", s->state);
		mini_names(&s->mini, copy, "dst", s->sketch);
		launch(s, t + 6, s->b, s->at_draw, t + 25, t + 1025, s->picture);
		wait_device(s, t + 10, t + 1028);
	}
	assert_string_equal(found(s), "");
}

static void a_result_of_the_longer_work_is_waited_for(void **state)
{
	struct shop *s = *state;

	for (int i = 0; i < 6; i++) {
		double t = 1330 * i;

		search(s, t);
		launch(s, t + 6, s->b, s->at_draw, t + 25, t + 1025, s->picture);
		download(s, t + 9, s->b, t + 1026, s->picture);
		wait_device(s, t + 13, t + 1039);
	}
	assert_string_equal(found(s), "");
}

/* Another thread has the picture copied to the host, and waits for it or leaves that to us. */
static void rounds_of_two_threads(struct shop *s, int waits_itself)
{
	struct mini *m = &s->mini;
	int64_t other = mini_thread(m), printed = mini_allocation(m, "pinned");

	for (int i = 0; i < 8; i++) {
		double t = 1250 * i;

		search(s, t);
		launch(s, t + 6, s->b, s->at_draw, t + 25, t + 1025, s->picture);
		mini_exec(m, "UPDATE call SET thread = %lld WHERE id = %lld", (long long)other,
			(long long)m->calls);
		download(s, t + 9, s->b, t + 1026, s->picture);
		mini_exec(m,
			"UPDATE call SET thread = %lld WHERE id = %lld;"
			"UPDATE operand SET allocation = %lld WHERE call = %lld AND role = 'dst'",
			(long long)other, (long long)m->calls, (long long)printed,
			(long long)m->calls);
		wait_device(s, t + 12, t + 1039);
		if (waits_itself)
			MINI_CALL(m, .type = CALL_cuStreamSynchronize, .at = t + 14,
				.until = t + 1039, .stream = s->b, .thread = other);
	}
}

static void what_another_thread_waits_for_is_its_own(void **state)
{
	struct shop *s = *state;

	rounds_of_two_threads(s, 1);
	assert_string_equal(found(s), "5 30 14 3525");
}

static void what_another_thread_leaves_is_waited_for(void **state)
{
	struct shop *s = *state;

	rounds_of_two_threads(s, 0);
	assert_string_equal(found(s), "");
}

static void memory_that_the_host_sees_is_waited_for(void **state)
{
	struct shop *s = *state;

	mini_exec(&s->mini, "UPDATE allocation SET memory = 'managed' WHERE id = %lld",
		(long long)s->picture);
	for (int i = 0; i < 6; i++)
		round_at(s, 1230 * i);
	assert_string_equal(found(s), "");
}

/* Stream c uses the picture in the next round, and only the wait orders the two. */
static void rounds_and_another_stream(struct shop *s)
{
	for (int i = 0; i < 6; i++) {
		double t = 1330 * i;

		round_at(s, t);
		launch(s, t + 1040, s->c, s->at_draw, t + 1060, t + 1110, s->picture);
	}
}

static void what_another_stream_uses_next_is_waited_for(void **state)
{
	struct shop *s = *state;

	rounds_and_another_stream(s);
	assert_string_equal(found(s), "");
}

/* Nobody writes the picture: all read a table. */
static void what_is_only_read_needs_no_order(void **state)
{
	struct shop *s = *state;

	rounds_and_another_stream(s);
	mini_exec(&s->mini,
		"INSERT INTO kernel_code VALUES (%lld, 'ptx', 1, NULL, 0, NULL);"
		"INSERT INTO kernel_access VALUES (%lld, NULL, 8, 'load', 1, NULL, NULL, NULL, "
		"NULL, NULL, NULL, NULL, NULL, NULL, 0, 0, 0, 0, NULL)",
		(long long)s->kernel, (long long)s->kernel);
	assert_string_equal(found(s), "6 30 21 4164");
}

/* The work done long before has to be waited for; the work that made the wait longer does not. */
static void what_was_done_early_does_not_need_all_of_the_wait(void **state)
{
	struct shop *s = *state;

	for (int i = 0; i < 6; i++) {
		double t = 1330 * i;

		launch(s, t, s->c, s->at_draw, t + 20, t + 50, s->sketch);
		round_at(s, t + 5);
		launch(s, t + 1050, s->b, s->at_draw, t + 1070, t + 1110, s->sketch);
	}
	assert_string_equal(found(s), "5 30 21 3470");
	assert_string_equal(mini_text(&s->mini,
				    "SELECT confidence FROM finding WHERE rule = 'broad-sync'"),
		"likely");
}

/*
 * Two pictures in turn: stream c loads one while b draws the other, and waits for what b did with
 * it two rounds ago.  Nothing goes to the host.
 */
static void two_pictures(struct shop *s)
{
	const int64_t picture[] = { s->picture, s->sketch };

	for (int i = 0; i < 8; i++) {
		double t = 1420 * i;

		MINI_CALL(&s->mini, .type = CALL_cuStreamSynchronize, .at = t,
			.until = t + (i ? 1000 : 2), .stream = s->b, .site = s->at_wait);
		launch(s, t + 1002, s->c, s->at_search, t + 1010, t + 1410, picture[i % 2]);
		MINI_CALL(&s->mini, .type = CALL_cuEventRecord, .at = t + 1006, .event = s->event,
			.stream = s->c);
		MINI_CALL(&s->mini, .type = CALL_cuStreamWaitEvent, .at = t + 1010,
			.event = s->event, .stream = s->b);
		launch(s, t + 1014, s->b, s->at_draw, t + 1412, t + 2417, picture[i % 2]);
	}
}

static void kernels_that_may_write_what_the_host_sees_need_all_of_it(void **state)
{
	struct shop *s = *state;

	two_pictures(s);
	/* Its kernels may write what the host sees. */
	assert_string_equal(found(s), "");
}

static void what_is_done_to_known_memory_needs_its_order_alone(void **state)
{
	struct shop *s = *state;

	two_pictures(s);
	mini_exec(&s->mini,
		"INSERT INTO kernel_code VALUES (%lld, 'ptx', 1, NULL, 0, NULL);"
		"INSERT INTO kernel_access VALUES (%lld, NULL, 8, 'store', 1, 0, 4096, NULL, "
		"NULL, NULL, NULL, NULL, NULL, NULL, 1, 0, 0, 0, NULL)",
		(long long)s->kernel, (long long)s->kernel);
	assert_string_equal(found(s), "6 30 21 5982");
}

/* Who else may use the memory needs all of the wait, perhaps. */
static void where_others_may_look_order_alone_is_possible(void **state)
{
	struct shop *s = *state;

	two_pictures(s);
	mini_exec(&s->mini,
		"INSERT INTO kernel_code VALUES (%lld, 'ptx', 1, NULL, 0, NULL);"
		"INSERT INTO kernel_access VALUES (%lld, NULL, 8, 'store', 1, 0, 4096, NULL, "
		"NULL, NULL, NULL, NULL, NULL, NULL, 1, 0, 0, 0, NULL)",
		(long long)s->kernel, (long long)s->kernel);
	assert_string_equal(found(s), "6 30 21 5982");
	assert_string_equal(mini_text(&s->mini,
				    "SELECT confidence FROM finding WHERE rule = 'broad-sync'"),
		"likely");
	mini_exec(&s->mini,
		"INSERT INTO module (process, start, end, file_offset, path) "
		"VALUES (1, 0, 1, 0, '/usr/lib/libmpi.so.40')");
	assert_int_equal(analyze(&s->mini.db), 0);
	assert_string_equal(mini_text(&s->mini,
				    "SELECT confidence FROM finding WHERE rule = 'broad-sync'"),
		"possible");
}

/* Device memory that nobody allocated is a variable's: who uses none needs no order with it. */
static void a_copy_to_a_variable_concerns_who_uses_them(void **state)
{
	static const struct {
		int complete, reaches;
		const char *found;
	} cases[] = {
		{ 1, 0, "5 30 21 3470" },
		{ 1, 4, "" },
		{ 0, 0, "" },
	};
	struct shop *s = *state;

	for (int i = 0; i < 6; i++) {
		double t = 1230 * i;

		MINI_CALL(&s->mini, .type = CALL_cuMemcpyHtoDAsync_v2, .at = t - 4, .stream = s->c,
			.direction = 1 + COPY_H2D, .dst = "device", .src = "pageable", .bytes = 64,
			.runs = { t + 2, t + 4 });
		round_at(s, t);
	}
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		mini_exec(&s->mini,
			"DELETE FROM kernel_code; DELETE FROM kernel_access;"
			"INSERT INTO kernel_code VALUES (%lld, 'ptx', %d, NULL, %d, NULL);"
			"INSERT INTO kernel_access VALUES (%lld, NULL, 8, 'store', 1, 0, 4096, "
			"NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1, 0, 0, 0, NULL)",
			(long long)s->kernel, cases[i].complete, cases[i].reaches,
			(long long)s->kernel);
		assert_string_equal(found(s), cases[i].found);
	}
}

/* Another place's wait is needed: stream a goes on with what stream c did. */
static void a_needed_wait_elsewhere_does_not_hide_it(void **state)
{
	struct shop *s = *state;
	int64_t elsewhere = mini_site(&s->mini, "elsewhere", 40);

	for (int i = 0; i < 6; i++) {
		double t = 1530 * i;

		round_at(s, t);
		launch(s, t + 1040, s->c, s->at_draw, t + 1060, t + 1260, s->sketch);
		MINI_CALL(&s->mini, .type = CALL_cuCtxSynchronize, .at = t + 1050,
			.until = t + 1263, .site = elsewhere);
		launch(s, t + 1270, s->a, s->at_search, t + 1290, t + 1310, s->sketch);
	}
	assert_string_equal(found(s), "6 30 21 4164");
}

/* The next work comes after the picture anyway. */
static void a_wait_that_delays_nothing_is_not(void **state)
{
	struct shop *s = *state;

	for (int i = 0; i < 6; i++) {
		double t = 1035 * i;

		launch(s, t, s->b, s->at_search, t + 20, t + 320, s->state);
		download(s, t + 3, s->b, t + 321, s->state);
		launch(s, t + 6, s->b, s->at_draw, t + 332, t + 1025, s->picture);
		MINI_CALL(&s->mini, .type = CALL_cuStreamSynchronize, .at = t + 10,
			.until = t + 1028, .stream = s->b, .site = s->at_wait);
	}
	assert_string_equal(found(s), "");
}

/* Work queued after the result in the same stream, while other streams could go on. */
static void a_wait_for_the_rest_of_a_stream_is_found(void **state)
{
	struct shop *s = *state;

	for (int i = 0; i < 6; i++) {
		double t = 2100 * i;

		search(s, t);
		launch(s, t + 6, s->a, s->at_draw, t + 332, t + 1025, s->picture);
		MINI_CALL(&s->mini, .type = CALL_cuStreamSynchronize, .at = t + 10,
			.until = t + 1028, .stream = s->a, .site = s->at_wait);
		launch(s, t + 1040, s->c, s->at_search, t + 1060, t + 2060, s->sketch);
		MINI_CALL(&s->mini, .type = CALL_cuStreamSynchronize, .at = t + 1050,
			.until = t + 2063, .stream = s->c);
	}
	assert_string_equal(found(s), "6 30 21 4164");
}

/* As a caching allocator hands it out: the picture follows the state, in one allocation. */
static void rounds_in_one_segment(struct shop *s)
{
	for (int i = 0; i < 6; i++)
		round_at(s, 1230 * i);
	mini_exec(&s->mini,
		"UPDATE allocation SET bytes = 8192 WHERE id = %lld;"
		"UPDATE operand SET allocation = %lld, address = 8192 WHERE allocation = %lld",
		(long long)s->state, (long long)s->state, (long long)s->picture);
}

static void parts_of_a_segment_may_be_the_same_memory(void **state)
{
	rounds_in_one_segment(*state);
	assert_string_equal(found(*state), "");
}

static void parts_known_to_be_apart_are_not(void **state)
{
	struct shop *s = *state;

	rounds_in_one_segment(s);
	mini_exec(&s->mini,
		"INSERT INTO kernel_code VALUES (%lld, 'ptx', 1, NULL, 0, NULL);"
		"INSERT INTO kernel_access VALUES (%lld, NULL, 8, 'store', 1, 0, 4096, NULL, "
		"NULL, NULL, NULL, NULL, NULL, NULL, 1, 0, 0, 0, NULL)",
		(long long)s->kernel, (long long)s->kernel);
	assert_string_equal(found(s), "5 30 21 3470");
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		T(a_wait_for_the_picture_is_found),
		T(who_reaches_further_may_need_the_picture),
		T(an_early_part_of_the_picture_needs_less),
		T(the_last_part_of_the_picture_needs_the_wait),
		T(two_rounds_are_no_pattern),
		T(a_wait_for_an_event_is_not),
		T(a_wait_without_results_is_not),
		T(a_wait_before_memory_is_freed_is_not),
		T(a_wait_before_a_time_is_taken_is_not),
		T(a_wait_before_the_result_is_copied_is_found),
		T(a_wait_for_what_is_copied_is_not),
		T(a_copy_behind_other_work_is_no_reason_to_wait),
		T(a_copy_that_waits_for_all_leaves_nothing),
		T(a_wait_behind_a_copy_between_devices_is_not),
		T(a_result_of_the_longer_work_is_waited_for),
		T(what_another_thread_waits_for_is_its_own),
		T(what_another_thread_leaves_is_waited_for),
		T(memory_that_the_host_sees_is_waited_for),
		T(what_another_stream_uses_next_is_waited_for),
		T(what_is_only_read_needs_no_order),
		T(parts_of_a_segment_may_be_the_same_memory),
		T(parts_known_to_be_apart_are_not),
		T(what_was_done_early_does_not_need_all_of_the_wait),
		T(kernels_that_may_write_what_the_host_sees_need_all_of_it),
		T(what_is_done_to_known_memory_needs_its_order_alone),
		T(where_others_may_look_order_alone_is_possible),
		T(a_copy_to_a_variable_concerns_who_uses_them),
		T(a_needed_wait_elsewhere_does_not_hide_it),
		T(a_wait_that_delays_nothing_is_not),
		T(a_wait_for_the_rest_of_a_stream_is_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
