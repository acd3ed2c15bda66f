/* SPDX-License-Identifier: Apache-2.0 */
/* broad-sync: a second wait after one that is too broad, which hides it or does not. */
#include "broad.h"

static void wait_again(struct shop *s, double at, int type, int64_t stream, int64_t site)
{
	MINI_CALL(&s->mini, .type = type, .at = at, .until = at + 2, .stream = stream,
		.event = type == CALL_cuEventSynchronize ? s->event : 0, .site = site);
}

static const char *also(struct shop *s)
{
	return mini_text(&s->mini,
		"SELECT ifnull(group_concat(line), '') FROM finding_also a "
		"JOIN site ON site.id = a.site JOIN finding f ON f.id = a.finding "
		"WHERE rule = 'broad-sync'");
}

/* The second one would take the place of the first, the third that of the second. */
static void of_waits_in_a_row_all_are_mended(void **state)
{
	struct shop *s = *state;

	for (int i = 0; i < 6; i++) {
		round_at(s, 1230 * i);
		wait_again(s, 1230 * i + 1029, CALL_cuCtxSynchronize, 0, s->at_again);
		wait_again(s, 1230 * i + 1032, CALL_cuStreamSynchronize, s->b, s->at_more);
	}
	assert_string_equal(found(s), "5 30 21 3470");
	assert_string_equal(also(s), "31,32");
	/* No more than the picture leaves of a round, whose calls take less unrecorded. */
	assert_in_range(mini_int(&s->mini,
				"SELECT saving / 1000 FROM finding "
				"WHERE rule = 'broad-sync'"),
		1135, 1155);
	assert_string_equal(mini_text(&s->mini,
				    "SELECT substr(message, instr(message, ';')) "
				    "FROM finding WHERE rule = 'broad-sync'"),
		"; the next wait would take its place: fix that one, too");
}

/* The host has observed its results complete by the second wait, which covers the first. */
static void a_wait_for_the_rest_with_one_for_all_is_found(void **state)
{
	struct shop *s = *state;

	for (int i = 0; i < 6; i++) {
		double t = 1230 * i;

		search(s, t);
		launch(s, t + 6, s->b, s->at_draw, t + 25, t + 1025, s->picture);
		MINI_CALL(&s->mini, .type = CALL_cuStreamSynchronize, .at = t + 10,
			.until = t + 1028, .stream = s->b, .site = s->at_wait);
		wait_again(s, t + 1029, CALL_cuCtxSynchronize, 0, s->at_again);
	}
	assert_string_equal(found(s), "5 30 21 3470");
	assert_string_equal(also(s), "31");
}

/* A thread that waits for the picture and then for the result has asked for both. */
static void a_wait_for_each_stream_is_not(void **state)
{
	struct shop *s = *state;

	for (int i = 0; i < 6; i++) {
		double t = 1230 * i;

		search(s, t);
		launch(s, t + 6, s->b, s->at_draw, t + 25, t + 1025, s->picture);
		MINI_CALL(&s->mini, .type = CALL_cuStreamSynchronize, .at = t + 10,
			.until = t + 1028, .stream = s->b, .site = s->at_wait);
		wait_again(s, t + 1029, CALL_cuStreamSynchronize, s->a, s->at_again);
	}
	assert_string_equal(found(s), "");
}

/* A loop over all streams, as over all devices, is as wide as one wait for all. */
static void loop_at(struct shop *s, double t, int picture_first)
{
	search(s, t);
	launch(s, t + 6, s->b, s->at_draw, t + 25, t + 1025, s->picture);
	if (picture_first) {
		MINI_CALL(&s->mini, .type = CALL_cuStreamSynchronize, .at = t + 10,
			.until = t + 1028, .stream = s->b, .site = s->at_wait);
		wait_again(s, t + 1029, CALL_cuStreamSynchronize, s->a, s->at_wait);
		return;
	}
	MINI_CALL(&s->mini, .type = CALL_cuStreamSynchronize, .at = t + 10, .until = t + 334,
		.stream = s->a, .site = s->at_wait);
	MINI_CALL(&s->mini, .type = CALL_cuStreamSynchronize, .at = t + 335, .until = t + 1028,
		.stream = s->b, .site = s->at_wait);
}

static void a_loop_over_streams_for_one_result_is_found(void **state)
{
	struct shop *s = *state;

	for (int i = 0; i < 6; i++)
		loop_at(s, 1230 * i, 0);
	assert_string_equal(found(s), "5 30 21 3450");
}

static void a_loop_that_ends_with_the_result_is_found(void **state)
{
	struct shop *s = *state;

	for (int i = 0; i < 6; i++)
		loop_at(s, 1230 * i, 1);
	assert_string_equal(found(s), "5 30 21 3470");
}

/* The next round begins with what the picture is for. */
static void a_loop_that_orders_the_next_round_is_not(void **state)
{
	struct shop *s = *state;

	for (int i = 0; i < 6; i++) {
		loop_at(s, 1430 * i, i % 2);
		launch(s, 1430 * i + 1033, s->c, s->at_draw, 1430 * i + 1040, 1430 * i + 1140,
			s->picture);
	}
	assert_string_equal(found(s), "");
}

/* It then copies what was drawn: nothing says that it did not need to wait. */
static void a_loop_before_a_copy_is_not(void **state)
{
	struct shop *s = *state;

	for (int i = 0; i < 6; i++) {
		double t = 1230 * i;
		int64_t copy;

		loop_at(s, t, i % 2);
		copy = MINI_CALL(&s->mini, .type = CALL_cuMemcpyDtoH_v2, .at = t + 1032,
			.until = t + 1042, .stream = MINI_LEGACY, .bytes = 4096,
			.direction = 1 + COPY_D2H, .src = "device", .dst = "pageable",
			.runs = { t + 1036, t + 1038 });
		mini_names(&s->mini, copy, "src", s->picture);
	}
	assert_string_equal(found(s), "");
}

/* A wait for less is none for the picture. */
static void a_second_wait_for_the_result_hides_nothing(void **state)
{
	struct shop *s = *state;

	for (int i = 0; i < 6; i++) {
		double t = 1230 * i;

		search(s, t);
		MINI_CALL(&s->mini, .type = CALL_cuEventRecord, .at = t + 4.5, .event = s->event,
			.stream = s->a);
		launch(s, t + 6, s->b, s->at_draw, t + 25, t + 1025, s->picture);
		wait_device(s, t + 10, t + 1028);
		wait_again(s, t + 1029, CALL_cuEventSynchronize, 0, s->at_again);
	}
	assert_string_equal(found(s), "5 30 21 3470");
	assert_string_equal(also(s), "");
}

/* Without both nothing keeps the next kernel from the picture; the first alone saves nothing. */
static void a_second_wait_that_is_needed_stays(void **state)
{
	struct shop *s = *state;

	for (int i = 0; i < 6; i++) {
		double t = 1430 * i;

		round_at(s, t);
		wait_again(s, t + 1029, CALL_cuCtxSynchronize, 0, s->at_again);
		launch(s, t + 1033, s->c, s->at_draw, t + 1040, t + 1140, s->picture);
	}
	assert_string_equal(found(s), "");
}

/* Only the first wait delays what the thread does before it waits again. */
static void time_until_a_needed_second_wait_is_found(void **state)
{
	struct shop *s = *state;

	for (int i = 0; i < 6; i++) {
		double t = 1630 * i;

		round_at(s, t);
		wait_again(s, t + 1329, CALL_cuCtxSynchronize, 0, s->at_again);
		launch(s, t + 1333, s->c, s->at_draw, t + 1340, t + 1440, s->picture);
	}
	assert_string_equal(found(s), "6 30 21 4164");
	assert_string_equal(also(s), "");
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		T(of_waits_in_a_row_all_are_mended),
		T(a_wait_for_the_rest_with_one_for_all_is_found),
		T(a_wait_for_each_stream_is_not),
		T(a_loop_over_streams_for_one_result_is_found),
		T(a_loop_that_ends_with_the_result_is_found),
		T(a_loop_that_orders_the_next_round_is_not),
		T(a_loop_before_a_copy_is_not),
		T(a_second_wait_for_the_result_hides_nothing),
		T(a_second_wait_that_is_needed_stays),
		T(time_until_a_needed_second_wait_is_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
