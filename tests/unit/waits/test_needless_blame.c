/* SPDX-License-Identifier: Apache-2.0 */
/*
 * needless-wait: of several waits for an operation, the one that orders what comes after it; among
 * threads, long after, and in long rows.
 */
#include "needless.h"

static void wait_at(struct shop *s, double at, int64_t stream, int64_t site, int64_t thread)
{
	MINI_CALL(&s->mini, .type = CALL_cuStreamSynchronize, .at = at, .stream = stream,
		.site = site, .thread = thread);
}

/* It submits nothing, and its wait is the last one before the next launch. */
static void a_thread_that_watches_orders_nothing(void **state)
{
	struct shop *s = *state;
	int64_t watcher = mini_thread(&s->mini);

	for (int i = 0; i < 8; i++) {
		turn(s, i, s->mine);
		wait_at(s, 330 * i + 314, i % 2 ? s->b : s->a, s->at_other, watcher);
	}
	assert_string_equal(found(s, 2640), "possible 8 40 0");
}

/* Two waits for the same work, which order what comes after: rounds with so much between them. */
static const char *two_waits(struct shop *s, double between)
{
	for (int i = 0; i < 8; i++) {
		double t = (1000 + between) * i;

		launch(s, t, s->a, s->mine);
		wait_stream(s, t + 5, t + 313, s->a);
		wait_at(s, t + 314 + between, s->a, s->at_other, MINI_MAIN);
		launch(s, t + 322 + between, s->b, s->mine);
		MINI_CALL(&s->mini, .type = CALL_cuCtxSynchronize, .at = t + 330 + between,
			.until = t + 650 + between);
	}
	return found(s, 20000);
}

static const char *redundant(struct shop *s)
{
	return mini_text(&s->mini,
		"SELECT ifnull(group_concat(count || ' ' || line), '') FROM finding "
		"JOIN site ON site.id = finding.site WHERE rule = 'redundant-sync'");
}

/* The second wait has nothing to wait for: it is redundant, and so the first one is needed. */
static void a_redundant_wait_orders_nothing(void **state)
{
	struct shop *s = *state;

	assert_string_equal(two_waits(s, 1), "");
	assert_string_equal(redundant(s), "8 40");
}

/* Time is lost until the second wait: it takes the place of the first one, and so it is needed. */
static void a_late_second_wait_replaces_the_first(void **state)
{
	struct shop *s = *state;

	assert_string_equal(two_waits(s, 400), "likely 8 20 1");
	assert_string_equal(redundant(s), "");
}

/* Streams b and c go on with what stream a made for each, after their own thread's wait. */
static void each_thread_needs_its_own_wait(void **state)
{
	struct shop *s = *state;
	int64_t thread = mini_thread(&s->mini), c = mini_stream(&s->mini, "non-blocking");

	for (int i = 0; i < 8; i++) {
		double t = 1000 * i;

		launch(s, t, s->a, s->mine);
		mini_names(&s->mini, s->mini.calls, "word", s->yours);
		wait_stream(s, t + 5, t + 313, s->a);
		launch(s, t + 314, s->b, s->mine);
		wait_at(s, t + 318, s->a, s->at_other, thread);
		launch(s, t + 322, c, s->yours);
		mini_exec(&s->mini, "UPDATE call SET thread = %lld WHERE id = %lld",
			(long long)thread, (long long)s->mini.calls);
		MINI_CALL(&s->mini, .type = CALL_cuCtxSynchronize, .at = t + 330, .until = t + 650);
	}
	assert_string_equal(found(s, 8000), "");
}

/*
 * The other thread waits for stream a and launches; stream c waits for that by an event, stream d's
 * thread for stream a. Nobody needs that a third thread has waited for stream a, too.
 */
static void who_goes_on_by_an_event_needs_the_wait_before_it(void **state)
{
	struct shop *s = *state;
	struct mini *m = &s->mini;
	int64_t thread = mini_thread(m), watcher = mini_thread(m);
	int64_t c = mini_stream(m, "non-blocking"), d = mini_stream(m, "non-blocking");
	int64_t at_more = mini_site(m, "more", 50), more = mini_allocation(m, "device");

	for (int i = 0; i < 8; i++) {
		double t = 1000 * i;

		launch(s, t, s->a, s->mine);
		mini_names(m, m->calls, "word", more);
		MINI_CALL(m, .type = CALL_cuStreamSynchronize, .at = t + 5, .until = t + 313,
			.stream = s->a, .site = s->at_wait, .thread = thread);
		launch(s, t + 314, s->b, s->yours);
		mini_exec(m, "UPDATE call SET thread = %lld WHERE id = %lld", (long long)thread,
			(long long)m->calls);
		MINI_CALL(m, .type = CALL_cuEventRecord, .at = t + 317, .event = s->event,
			.stream = s->b, .thread = thread);
		wait_at(s, t + 321, s->a, s->at_other, watcher);
		MINI_CALL(m, .type = CALL_cuStreamWaitEvent, .at = t + 324, .event = s->event,
			.stream = c);
		launch(s, t + 620, c, s->mine);
		wait_at(s, t + 623, s->a, at_more, MINI_MAIN);
		launch(s, t + 626, d, more);
		MINI_CALL(m, .type = CALL_cuCtxSynchronize, .at = t + 630, .until = t + 940);
	}
	assert_string_equal(found(s, 8000), "possible 8 40 0");
}

/* The wait for an upload is one of those before its first use; later ones are not. */
static void what_is_used_long_after_its_wait_concerns_no_later_one(void **state)
{
	struct shop *s = *state;
	int64_t table = mini_allocation(&s->mini, "device");
	int64_t c = mini_stream(&s->mini, "non-blocking");
	int64_t d = mini_stream(&s->mini, "non-blocking");
	int64_t uploads = mini_stream(&s->mini, "non-blocking");

	launch(s, 0, uploads, table);
	wait_stream(s, 5, 313, uploads);
	for (int i = 1; i < 4100; i++)
		turn(s, 2 * i + 1, s->yours);
	for (int i = 0; i < 9; i++) {
		double t = 330.0 * (8202 + i);

		launch(s, t, i % 2 ? s->b : s->a, i % 2 ? s->yours : s->mine);
		MINI_CALL(&s->mini, .type = CALL_cuStreamSynchronize, .at = t + 5, .until = t + 313,
			.stream = i % 2 ? s->b : s->a, .site = s->at_other);
		launch(s, t + 315, i % 2 ? c : d, table);
	}
	assert_string_equal(found(s, 330.0 * 8212), "likely 8 40 0");
}

/* A thread waits for what another one launches, at many places, and then memory goes. */
static void of_a_long_row_all_waits_are_for_what_comes_behind_it(void **state)
{
	struct shop *s = *state;
	struct mini *m = &s->mini;
	int64_t watcher = mini_thread(m), site[100];

	for (int i = 0; i < 100; i++)
		site[i] = mini_site(m, "watch", 100 + i);
	for (int i = 0; i < 400; i++) {
		launch(s, 330 * i, i % 2 ? s->b : s->a, i % 2 ? s->yours : s->mine);
		wait_at(s, 330 * i + 314, i % 2 ? s->b : s->a, site[i % 100], watcher);
	}
	assert_string_equal(found(s, 330 * 400), "possible 400 100 0");
	MINI_CALL(m, .type = CALL_cuMemUnmap, .at = 330 * 401, .ptr = 64, .bytes = 64,
		.thread = watcher);
	assert_string_equal(found(s, 330 * 402), "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(a_thread_that_watches_orders_nothing),
		T(a_redundant_wait_orders_nothing),
		T(a_late_second_wait_replaces_the_first),
		T(each_thread_needs_its_own_wait),
		T(who_goes_on_by_an_event_needs_the_wait_before_it),
		T(what_is_used_long_after_its_wait_concerns_no_later_one),
		T(of_a_long_row_all_waits_are_for_what_comes_behind_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
