/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Waits for what the thread knew complete, and what is made of them: redundant-sync.
 */
#include "miniature.h"

#include "analyze.h"

/* The known waits as "call:since ...". */
static const char *known(struct mini *m)
{
	assert_int_equal(analyze(&m->db), 0);
	return mini_text(m,
		"SELECT ifnull(group_concat(call || ':' || since, ' '), '') "
		"FROM known_wait");
}

static int64_t launch(struct mini *m, double at, int64_t stream)
{
	return MINI_CALL(m, .type = CALL_cuLaunchKernel, .at = at, .stream = stream,
		.runs = { at + 5, at + 20 });
}

static int64_t sync_stream(struct mini *m, double at, int64_t stream)
{
	return MINI_CALL(m, .type = CALL_cuStreamSynchronize, .at = at, .stream = stream);
}

static int64_t sync_context(struct mini *m, double at)
{
	return MINI_CALL(m, .type = CALL_cuCtxSynchronize, .at = at);
}

static void a_second_wait_is_known(void **state)
{
	struct mini *m = *state;
	int64_t s = mini_stream(m, "non-blocking");

	launch(m, 10, s);      /* 1 */
	sync_stream(m, 50, s); /* 2 */
	sync_stream(m, 60, s); /* 3 */
	sync_context(m, 70);   /* 4 */
	sync_context(m, 80);   /* 5 */
	assert_string_equal(known(m), "3:2 4:2 5:2");
}

/* A wait for either device is one for a copy between them, one for another stream is not. */
static void a_copy_between_devices_is_work_of_both(void **state)
{
	struct mini *m = *state;
	int64_t other = mini_context(m, 1), s = mini_stream_in(m, other, "blocking"), copy;

	launch(m, 10, s);                                                        /* 1 */
	MINI_CALL(m, .type = CALL_cuCtxSynchronize, .at = 50, .context = other); /* 2 */
	copy = MINI_CALL(m, .type = CALL_cuMemcpyAsync, .at = 60, .bytes = 4096,
		.direction = 1 + COPY_D2D, .stream = MINI_LEGACY, .runs = { 65, 70 });
	mini_exec(m,
		"INSERT INTO call_object VALUES (%lld, 'dst_context', %lld), "
		"(%lld, 'src_context', 1)",
		(long long)copy, (long long)other, (long long)copy);
	sync_stream(m, 80, s);                                                    /* 4 */
	MINI_CALL(m, .type = CALL_cuCtxSynchronize, .at = 90, .context = other);  /* 5 */
	MINI_CALL(m, .type = CALL_cuCtxSynchronize, .at = 100, .context = other); /* 6 */
	sync_context(m, 110);                                                     /* 7 */
	sync_context(m, 120);                                                     /* 8 */
	assert_string_equal(known(m), "4:2 6:5 8:7");
}

/* Everything was done, but the thread could not know. */
static void a_wait_that_found_all_done_is_not(void **state)
{
	struct mini *m = *state;
	int64_t s = mini_stream(m, "non-blocking");

	sync_stream(m, 1, s);
	sync_context(m, 5);
	launch(m, 10, s);
	sync_stream(m, 5000, s);
	launch(m, 5010, s);
	sync_stream(m, 9000, s);
	assert_string_equal(known(m), "");
}

static void a_wait_for_one_stream_says_nothing_of_another(void **state)
{
	struct mini *m = *state;
	int64_t a = mini_stream(m, "non-blocking"), b = mini_stream(m, "non-blocking");

	launch(m, 10, a);      /* 1 */
	launch(m, 20, b);      /* 2 */
	sync_stream(m, 50, a); /* 3 */
	sync_context(m, 60);   /* 4 */
	sync_stream(m, 70, a); /* 5 */
	sync_stream(m, 80, b); /* 6 */
	assert_string_equal(known(m), "5:3 6:4");
}

static void two_waits_for_a_stream_each_are_one_for_both(void **state)
{
	struct mini *m = *state;
	int64_t a = mini_stream(m, "non-blocking"), b = mini_stream(m, "non-blocking");

	launch(m, 10, a);
	launch(m, 20, b);
	sync_stream(m, 50, a); /* 3 */
	sync_stream(m, 60, b); /* 4 */
	sync_context(m, 70);   /* 5 */
	assert_string_equal(known(m), "5:4");
}

/* Any call that names the stream may be work: an event wait, a record, a host function. */
static void work_in_between_is_waited_for(void **state)
{
	static const int types[] = { CALL_cuStreamWaitEvent, CALL_cuEventRecord,
		CALL_cuLaunchHostFunc, CALL_cuMemFreeAsync };
	struct mini *m = *state;
	int64_t s = mini_stream(m, "non-blocking"), event = mini_event(m);

	for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++) {
		launch(m, 100 * (double)i + 10, s);
		sync_stream(m, 100 * (double)i + 50, s);
		MINI_CALL(m, .type = types[i], .at = 100 * (double)i + 60, .stream = s,
			.event = i < 2 ? event : 0);
		sync_stream(m, 100 * (double)i + 70, s);
	}
	assert_string_equal(known(m), "");
}

static void what_another_thread_submitted_is_not_known(void **state)
{
	struct mini *m = *state;
	int64_t s = mini_stream(m, "non-blocking"), other = mini_thread(m);

	launch(m, 10, s);
	sync_stream(m, 50, s);
	MINI_CALL(m, .type = CALL_cuLaunchKernel, .at = 60, .stream = s, .thread = other,
		.runs = { 65, 80 });
	sync_stream(m, 90, s);
	assert_string_equal(known(m), "");
}

/* It may have come before or after the second wait. */
static void a_submission_at_the_same_time_leaves_it_open(void **state)
{
	struct mini *m = *state;
	int64_t s = mini_stream(m, "non-blocking"), other = mini_thread(m);

	launch(m, 10, s);
	MINI_CALL(m, .type = CALL_cuLaunchKernel, .at = 48, .until = 52, .stream = s,
		.thread = other, .runs = { 65, 80 });
	sync_stream(m, 50, s);
	sync_stream(m, 60, s); /* 4: the first to know */
	sync_stream(m, 70, s); /* 5 */
	assert_string_equal(known(m), "5:4");
}

static void what_one_thread_knows_another_one_does_not(void **state)
{
	struct mini *m = *state;
	int64_t s = mini_stream(m, "non-blocking"), other = mini_thread(m);

	launch(m, 10, s);
	sync_stream(m, 50, s);
	MINI_CALL(m, .type = CALL_cuStreamSynchronize, .at = 60, .stream = s, .thread = other);
	assert_string_equal(known(m), "");
}

static void an_event_is_known_with_its_stream(void **state)
{
	struct mini *m = *state;
	int64_t s = mini_stream(m, "non-blocking"), e = mini_event(m);

	launch(m, 10, s);                                                            /* 1 */
	MINI_CALL(m, .type = CALL_cuEventRecord, .at = 15, .stream = s, .event = e); /* 2 */
	launch(m, 20, s);                                                            /* 3 */
	MINI_CALL(m, .type = CALL_cuEventSynchronize, .at = 60, .event = e);         /* 4 */
	MINI_CALL(m, .type = CALL_cuEventSynchronize, .at = 70, .event = e);         /* 5 */
	sync_stream(m, 80, s);                                                       /* 6 */
	MINI_CALL(m, .type = CALL_cuEventRecord, .at = 90, .stream = s, .event = e);
	MINI_CALL(m, .type = CALL_cuEventSynchronize, .at = 95, .event = e);
	assert_string_equal(known(m), "5:4");
}

/* "For transfers from device to host, the function returns only once the copy has completed." */
static void a_synchronous_copy_to_the_host_is_a_wait(void **state)
{
	struct mini *m = *state;

	launch(m, 10, MINI_LEGACY);
	MINI_CALL(m, .type = CALL_cuMemcpyDtoH_v2, .at = 30, .until = 60, .stream = MINI_LEGACY,
		.direction = 1 + COPY_D2H, .dst = "pageable", .src = "device",
		.runs = { 35, 58 }); /* 2 */
	sync_context(m, 70);         /* 3 */
	MINI_CALL(m, .type = CALL_cuMemcpyHtoD_v2, .at = 80, .until = 90, .stream = MINI_LEGACY,
		.direction = 1 + COPY_H2D, .dst = "device", .src = "pageable", .runs = { 85, 120 });
	sync_context(m, 130);
	assert_string_equal(known(m), "3:2");
}

static void a_call_that_failed_records_nothing_and_waits_for_nothing(void **state)
{
	struct mini *m = *state;
	int64_t s = mini_stream(m, "non-blocking"), e = mini_event(m);

	launch(m, 10, s);
	MINI_CALL(m, .type = CALL_cuEventRecord, .at = 15, .stream = s, .event = e, .result = 400);
	MINI_CALL(m, .type = CALL_cuEventSynchronize, .at = 20, .event = e);
	sync_stream(m, 60, s);
	launch(m, 70, MINI_LEGACY);
	MINI_CALL(m, .type = CALL_cuMemcpyDtoH_v2, .at = 80, .stream = MINI_LEGACY,
		.direction = 1 + COPY_D2H, .dst = "pageable", .src = "device", .result = 1);
	sync_context(m, 120);
	assert_string_equal(known(m), "");
}

/* One in the legacy stream comes after the work of blocking streams, and of no others. */
static void a_copy_in_the_legacy_stream_waits_for_blocking_streams(void **state)
{
	struct mini *m = *state;
	int64_t blocking = mini_stream(m, "blocking"), other = mini_stream(m, "non-blocking");

	launch(m, 10, blocking); /* 1 */
	launch(m, 20, other);    /* 2 */
	MINI_CALL(m, .type = CALL_cuMemcpyDtoH_v2, .at = 30, .until = 60, .stream = MINI_LEGACY,
		.direction = 1 + COPY_D2H, .dst = "pageable", .src = "device",
		.runs = { 35, 58 });  /* 3 */
	sync_stream(m, 70, blocking); /* 4 */
	sync_stream(m, 80, other);    /* 5 */
	sync_context(m, 90);          /* 6 */
	assert_string_equal(known(m), "4:3 6:5");
}

/* Stream b waits for what stream a was given, in several ways. */
struct two {
	int64_t a, b, early, late;
};

static struct two two_streams(struct mini *m)
{
	return (struct two){ mini_stream(m, "non-blocking"), mini_stream(m, "non-blocking"),
		mini_event(m), mini_event(m) };
}

static void record(struct mini *m, double at, int64_t event, int64_t stream)
{
	MINI_CALL(m, .type = CALL_cuEventRecord, .at = at, .event = event, .stream = stream);
}

static void stream_wait(struct mini *m, double at, int64_t stream, int64_t event)
{
	MINI_CALL(m, .type = CALL_cuStreamWaitEvent, .at = at, .event = event, .stream = stream);
}

static void a_stream_that_comes_after_an_event_need_not_wait(void **state)
{
	struct mini *m = *state;
	struct two t = two_streams(m);

	launch(m, 10, t.a);               /* 1 */
	record(m, 11, t.early, t.a);      /* 2 */
	launch(m, 12, t.a);               /* 3 */
	record(m, 13, t.late, t.a);       /* 4 */
	stream_wait(m, 14, t.b, t.late);  /* 5 */
	stream_wait(m, 15, t.b, t.early); /* 6 */
	launch(m, 16, t.b);               /* 7 */
	stream_wait(m, 17, t.b, t.late);  /* 8 */
	stream_wait(m, 18, t.a, t.late);  /* 9: its own */
	assert_string_equal(known(m), "6:1 8:3 9:3");
}

/* If there is no work between two waits, the one for more is enough. */
static void of_two_events_the_later_one_is_enough(void **state)
{
	struct mini *m = *state;
	struct two t = two_streams(m);

	launch(m, 10, t.a);
	record(m, 11, t.early, t.a);
	launch(m, 12, t.a);
	record(m, 13, t.late, t.a);
	stream_wait(m, 14, t.b, t.early); /* 5 */
	stream_wait(m, 15, t.b, t.late);  /* 6 */
	launch(m, 16, t.b);
	assert_string_equal(known(m), "5:6");
}

/* Only the work between the waits needs the first one. */
static void work_between_two_waits_needs_both(void **state)
{
	struct mini *m = *state;
	struct two t = two_streams(m);

	launch(m, 10, t.a);
	record(m, 11, t.early, t.a);
	launch(m, 12, t.a);
	record(m, 13, t.late, t.a);
	stream_wait(m, 14, t.b, t.early);
	launch(m, 15, t.b);
	stream_wait(m, 16, t.b, t.late);
	launch(m, 17, t.b);
	assert_string_equal(known(m), "");
}

/* So does what comes after all streams' waits and names none of them. */
static void what_observes_all_streams_needs_both(void **state)
{
	struct mini *m = *state;
	int64_t a = mini_stream(m, "non-blocking"), b = mini_stream(m, "blocking");
	int64_t early = mini_event(m), late = mini_event(m), all = mini_event(m);

	launch(m, 10, a);
	record(m, 11, early, a);
	launch(m, 12, a);
	record(m, 13, late, a);
	stream_wait(m, 14, b, early);
	launch(m, 15, MINI_LEGACY);
	stream_wait(m, 16, b, late);
	launch(m, 17, b);
	stream_wait(m, 18, MINI_LEGACY, late);
	launch(m, 19, a);
	record(m, 20, early, a);
	launch(m, 21, a);
	record(m, 22, late, a);
	stream_wait(m, 23, b, early);
	MINI_CALL(m, .type = CALL_cuCtxRecordEvent, .at = 24, .event = all);
	stream_wait(m, 25, b, late);
	launch(m, 26, b);
	assert_string_equal(known(m), "");
}

/* Another process may have recorded it again. */
static void an_event_of_two_processes_is_not_known(void **state)
{
	struct mini *m = *state;
	struct two t = two_streams(m);

	MINI_CALL(m, .type = CALL_cuIpcGetEventHandle, .at = 5, .event = t.early);
	launch(m, 10, t.a);
	record(m, 11, t.early, t.a);
	record(m, 12, t.late, t.a);
	stream_wait(m, 13, t.b, t.late);
	launch(m, 14, t.b);
	stream_wait(m, 15, t.b, t.early);
	launch(m, 16, t.b);
	assert_string_equal(known(m), "");
}

/*
 * The event stands for more each time; another stream does not come after it; a wait in the legacy
 * stream is one of all blocking streams.
 */
static void a_wait_for_something_new_is_none_of_them(void **state)
{
	struct mini *m = *state;
	struct two t = two_streams(m);

	for (int i = 0; i < 3; i++) {
		launch(m, 100 * i + 10, t.a);
		record(m, 100 * i + 11, t.late, t.a);
		stream_wait(m, 100 * i + 12, t.b, t.late);
		launch(m, 100 * i + 13, t.b);
	}
	stream_wait(m, 400, mini_stream(m, "non-blocking"), t.late);
	stream_wait(m, 410, MINI_LEGACY, t.late);
	stream_wait(m, 420, MINI_LEGACY, t.late);
	assert_string_equal(known(m), "");
}

/* 100 short steps; the wait at the second place is needed in each nth, 0: never. */
static void steps(struct mini *m, int nth)
{
	int64_t s = mini_stream(m, "non-blocking");
	int64_t needed = mini_site(m, "compute", 16), again = mini_site(m, "make_sure", 22);
	double t = 0;

	for (int i = 0; i < 100; i++, t += 100) {
		launch(m, t + 10, s);
		MINI_CALL(m, .type = CALL_cuStreamSynchronize, .at = t + 15, .until = t + 32,
			.stream = s, .site = needed);
		if (nth && i % nth == 0)
			launch(m, t + 40, s);
		MINI_CALL(m, .type = CALL_cuStreamSynchronize, .at = t + 75, .stream = s,
			.site = again);
	}
}

static void a_wait_never_needed_is_found(void **state)
{
	struct mini *m = *state;

	steps(m, 0);
	assert_int_equal(analyze(&m->db), 0);
	assert_string_equal(
		mini_text(m,
			"SELECT rule || ' ' || count || ' ' || a.line || ' ' || "
			"b.line || ' ' || (saving / 1000) FROM finding JOIN site a ON a.id = site "
			"JOIN site b ON b.id = other_site WHERE shown"),
		"redundant-sync 100 22 16 174");
	assert_string_equal(mini_text(m,
				    "SELECT message FROM finding WHERE rule = 'redundant-sync'"),
		"cuStreamSynchronize had "
		"nothing to wait for: nothing was submitted since cuStreamSynchronize");
}

static void a_wait_needed_now_and_then_is_not(void **state)
{
	struct mini *m = *state;

	steps(m, 4);
	assert_int_equal(analyze(&m->db), 0);
	assert_int_equal(mini_int(m, "SELECT count(*) FROM known_wait"), 75);
	assert_int_equal(
		mini_int(m, "SELECT count(*) FROM finding WHERE rule = 'redundant-sync' AND shown"),
		0);
}

static void with_records_missing_nothing_is_redundant(void **state)
{
	struct mini *m = *state;

	steps(m, 0);
	mini_exec(m, "INSERT INTO loss VALUES (1, 'dropped_records', 7)");
	assert_int_equal(analyze(&m->db), 0);
	assert_int_equal(mini_int(m, "SELECT count(*) FROM finding"), 0);
}

#define T(test) cmocka_unit_test_setup_teardown(test, mini_setup, mini_teardown)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		T(a_second_wait_is_known),
		T(a_copy_between_devices_is_work_of_both),
		T(a_wait_that_found_all_done_is_not),
		T(a_wait_for_one_stream_says_nothing_of_another),
		T(two_waits_for_a_stream_each_are_one_for_both),
		T(work_in_between_is_waited_for),
		T(what_another_thread_submitted_is_not_known),
		T(a_submission_at_the_same_time_leaves_it_open),
		T(what_one_thread_knows_another_one_does_not),
		T(an_event_is_known_with_its_stream),
		T(a_synchronous_copy_to_the_host_is_a_wait),
		T(a_call_that_failed_records_nothing_and_waits_for_nothing),
		T(a_copy_in_the_legacy_stream_waits_for_blocking_streams),
		T(a_stream_that_comes_after_an_event_need_not_wait),
		T(of_two_events_the_later_one_is_enough),
		T(work_between_two_waits_needs_both),
		T(what_observes_all_streams_needs_both),
		T(an_event_of_two_processes_is_not_known),
		T(a_wait_for_something_new_is_none_of_them),
		T(a_wait_never_needed_is_found),
		T(a_wait_needed_now_and_then_is_not),
		T(with_records_missing_nothing_is_redundant),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
