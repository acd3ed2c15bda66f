/* SPDX-License-Identifier: Apache-2.0 */
/*
 * false-dependency: a wait that many others follow in its stream before what needs it.
 */
#include "dependency.h"

/*
 * Stream c works for 100 us at a time, and stream b comes after each by a wait, which holds it: why
 * is not seen.
 */
static double hand_over(struct shop *s, double submit, double t, int count, int64_t site)
{
	for (int i = 0; i < count; i++, t += 200, submit += 12) {
		launch(s, submit, s->c, s->at_refine, t, t + 100, s->other, 0);
		record(s, submit + 3, s->answered, s->c);
		MINI_CALL(&s->mini, .type = CALL_cuStreamWaitEvent, .at = submit + 6,
			.event = s->answered, .stream = s->b, .site = site);
		launch(s, submit + 9, s->b, s->at_use, t + 101, t + 150, s->answer, 0);
	}
	return t;
}

/* The later kernel needs all of each round's wait, or needs work from long before it. */
static void rounds_with_more_waits(struct shop *s, int64_t used, int older)
{
	int64_t at_other = mini_site(&s->mini, "hand_over", 26);

	for (int i = 0; i < 4; i++) {
		double t = 10000 * i, over;

		round_at(s, t, s->model);
		over = hand_over(s, t + 20, t + 1500, 17, at_other);
		for (int k = 0; k < older; k++)
			launch(s, t + 300 + 3 * k, s->a, s->at_protocol, over + 2 * k,
				over + 2 * k + 1, used, 0);
		launch(s, t + 600, s->b, s->at_use, over, over + 100, used, 0);
		end(s, t + 9000);
	}
}

static void what_comes_many_waits_later_may_need_it(void **state)
{
	struct shop *s = *state;

	rounds_with_more_waits(s, s->protocol, 0);
	assert_string_equal(found(s), "");
}

/* The wait is for what stream b used at once. */
static void the_same_later_needs_no_more_of_it(void **state)
{
	struct shop *s = *state;

	rounds_with_more_waits(s, s->model, 0);
	assert_string_equal(found(s), "4 25 19 2400");
}

/* Too many kernels have used it since in stream a. */
static void what_is_not_remembered_may_need_it(void **state)
{
	struct shop *s = *state;

	rounds_with_more_waits(s, s->protocol, 70);
	assert_string_equal(found(s), "");
}

/* Streams that are in no order with those. */
static void who_is_apart_needs_none_of_it(void **state)
{
	struct shop *s = *state;
	int64_t b = s->b, a = s->a, d = mini_stream(&s->mini, "non-blocking");
	int64_t e = mini_stream(&s->mini, "non-blocking"), at_wait = s->at_wait;

	s->at_wait = mini_site(&s->mini, "elsewhere", 28);
	s->a = d;
	s->b = e;
	for (int i = 0; i < 20; i++)
		round_at(s, 1500 * i, s->model);
	s->a = a;
	s->b = b;
	s->at_wait = at_wait;
	hand_over(s, 29000, 30000, 1, s->at_use);
	for (int k = 0; k < 70; k++)
		launch(s, 29100 + 3 * k, s->c, s->at_protocol, 30200 + 2 * k, 30201 + 2 * k,
			s->protocol, 0);
	launch(s, 29400, s->b, s->at_use, 30400, 30500, s->protocol, 0);
	end(s, 90000);
	assert_string_equal(found(s), "20 28 19 12000");
}

/* All rounds use what stream c made at first, for which stream b waited then. */
static void what_an_early_wait_is_for_needs_no_later_one(void **state)
{
	struct shop *s = *state;
	int64_t once = mini_site(&s->mini, "once", 27), table = mini_allocation(&s->mini, "device");

	launch(s, 0, s->c, s->at_refine, 20, 120, table, 0);
	record(s, 3, s->answered, s->c);
	MINI_CALL(&s->mini, .type = CALL_cuStreamWaitEvent, .at = 6, .event = s->answered,
		.stream = s->b, .site = once);
	launch(s, 9, s->b, s->at_use, 121, 221, s->answer, 0);
	for (int i = 0; i < 40; i++) {
		round_at(s, 1100 + 2000 * i, s->model);
		mini_names(&s->mini, s->mini.calls, "word", table);
	}
	end(s, 90000);
	assert_string_equal(found(s), "40 25 19 24000");
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		T(what_comes_many_waits_later_may_need_it),
		T(the_same_later_needs_no_more_of_it),
		T(what_is_not_remembered_may_need_it),
		T(who_is_apart_needs_none_of_it),
		T(what_an_early_wait_is_for_needs_no_later_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
