/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ordering rules, a case each: what of CUDA's documentation it shows stands above it.
 */
#include "miniature.h"

#include "analyze.h"
#include "order_path.h"

static double now;

/* One call in a run whose times do not matter. */
static int64_t on(struct mini *m, int type, int64_t stream)
{
	now += 10;
	return MINI_CALL(m, .type = type, .at = now, .stream = stream);
}

static int64_t launch(struct mini *m, int64_t stream)
{
	return on(m, CALL_cuLaunchKernel, stream);
}

static int64_t event_call(struct mini *m, int type, int64_t event, int64_t stream)
{
	now += 10;
	return MINI_CALL(m, .type = type, .at = now, .stream = stream, .event = event);
}

static int64_t record(struct mini *m, int64_t event, int64_t stream)
{
	return event_call(m, CALL_cuEventRecord, event, stream);
}

static int64_t wait_for(struct mini *m, int64_t event, int64_t stream)
{
	return event_call(m, CALL_cuStreamWaitEvent, event, stream);
}

#define assert_needs(m, call, expected) assert_string_equal(mini_needs(m, call), expected)

static int setup(void **state)
{
	struct mini *m = malloc(sizeof(*m));

	now = 0;
	mini_init(m);
	*state = m;
	return 0;
}

static int teardown(void **state)
{
	mini_release(*state);
	free(*state);
	return 0;
}

/* Programming guide, "Streams": "a sequence of commands that execute in order". */
static void operations_of_a_stream_are_in_order(void **state)
{
	struct mini *m = *state;
	int64_t a = mini_stream(m, "blocking"), b = mini_stream(m, "blocking");

	launch(m, a);
	launch(m, b);
	launch(m, a);
	assert_int_equal(analyze(&m->db), 0);
	assert_needs(m, 1, "");
	assert_needs(m, 2, "");
	assert_needs(m, 3, "1:stream");
}

/* Every call that submits: copies and memsets of all kinds, launches, host functions. */
static void every_submission_takes_its_place(void **state)
{
	static const int types[] = { CALL_cuMemcpyHtoDAsync_v2, CALL_cuMemsetD8Async,
		CALL_cuLaunchKernelEx, CALL_cuLaunchHostFunc, CALL_cuMemcpyAsync };
	struct mini *m = *state;
	int64_t s = mini_stream(m, "non-blocking");
	char expected[32];

	launch(m, s);
	for (int i = 0; i < 5; i++)
		on(m, types[i], s);
	assert_int_equal(analyze(&m->db), 0);
	for (int i = 0; i < 5; i++) {
		snprintf(expected, sizeof(expected), "%d:stream", i + 1);
		assert_needs(m, i + 2, expected);
	}
}

/* A call that returned an error has submitted nothing. */
static void a_failed_call_orders_nothing(void **state)
{
	struct mini *m = *state;
	int64_t s = mini_stream(m, "blocking"), failed;

	launch(m, s);
	failed = MINI_CALL(m, .type = CALL_cuLaunchKernel, .at = 20, .stream = s, .result = 1);
	launch(m, s);
	assert_int_equal(analyze(&m->db), 0);
	assert_needs(m, failed, "");
	assert_needs(m, 3, "1:stream");
}

/* A call that never returned may have submitted. */
static void a_hanging_launch_still_counts(void **state)
{
	struct mini *m = *state;
	int64_t s = mini_stream(m, "blocking");

	launch(m, s);
	MINI_CALL(m, .type = CALL_cuLaunchKernel, .at = 20, .stream = s, .never_returned = 1);
	assert_int_equal(analyze(&m->db), 0);
	assert_needs(m, 2, "1:stream");
}

/*
 * cuStreamWaitEvent: "Makes all future work submitted to hStream wait for all work captured in
 * hEvent"; and only for that.
 */
static void an_event_orders_what_was_before_its_record(void **state)
{
	struct mini *m = *state;
	int64_t a = mini_stream(m, "non-blocking"), b = mini_stream(m, "non-blocking");
	int64_t e = mini_event(m), consumer;

	launch(m, a);
	record(m, e, a);
	launch(m, a);
	wait_for(m, e, b);
	consumer = launch(m, b);
	assert_int_equal(analyze(&m->db), 0);
	assert_needs(m, consumer, "1:event");
}

/* cuEventRecord: the event captures the contents of the stream at the time of this call. */
static void a_wait_keeps_the_record_it_saw(void **state)
{
	struct mini *m = *state;
	int64_t a = mini_stream(m, "non-blocking"), b = mini_stream(m, "non-blocking");
	int64_t e = mini_event(m), consumer;

	launch(m, a);
	record(m, e, a);
	wait_for(m, e, b);
	launch(m, a);
	record(m, e, a);
	consumer = launch(m, b);
	assert_int_equal(analyze(&m->db), 0);
	assert_needs(m, consumer, "1:event");
}

/*
 * cuEventRecord: "cuEventRecord() can be called multiple times on the same event and will overwrite
 * the previously captured state".
 */
static void a_later_record_replaces_the_earlier(void **state)
{
	struct mini *m = *state;
	int64_t a = mini_stream(m, "non-blocking"), b = mini_stream(m, "non-blocking");
	int64_t c = mini_stream(m, "non-blocking"), e = mini_event(m), consumer;

	launch(m, a);
	record(m, e, a);
	launch(m, b);
	record(m, e, b);
	wait_for(m, e, c);
	consumer = launch(m, c);
	assert_int_equal(analyze(&m->db), 0);
	assert_needs(m, consumer, "3:event");
}

/* cuStreamWaitEvent on an event that was never recorded acts as if it had completed. */
static void a_wait_for_an_unrecorded_event_is_nothing(void **state)
{
	struct mini *m = *state;
	int64_t a = mini_stream(m, "non-blocking"), b = mini_stream(m, "non-blocking");
	int64_t e = mini_event(m), consumer;

	launch(m, a);
	wait_for(m, e, b);
	record(m, e, a);
	consumer = launch(m, b);
	assert_int_equal(analyze(&m->db), 0);
	assert_needs(m, consumer, "");
}

static void a_failed_record_leaves_the_event_as_it_was(void **state)
{
	struct mini *m = *state;
	int64_t a = mini_stream(m, "non-blocking"), b = mini_stream(m, "non-blocking");
	int64_t e = mini_event(m), consumer;

	launch(m, a);
	MINI_CALL(m, .type = CALL_cuEventRecord, .at = 20, .stream = a, .event = e, .result = 400);
	wait_for(m, e, b);
	consumer = launch(m, b);
	assert_int_equal(analyze(&m->db), 0);
	assert_needs(m, consumer, "");
}

/* An event also stands for the work that its stream waited for. */
static void an_event_carries_the_waits_of_its_stream(void **state)
{
	struct mini *m = *state;
	int64_t a = mini_stream(m, "non-blocking"), b = mini_stream(m, "non-blocking");
	int64_t c = mini_stream(m, "non-blocking"), e = mini_event(m), f = mini_event(m), r, last;

	launch(m, a);
	record(m, e, a);
	launch(m, b);
	wait_for(m, e, b);
	r = record(m, f, b);
	wait_for(m, f, c);
	last = launch(m, c);
	assert_int_equal(analyze(&m->db), 0);
	assert_needs(m, r, "1:event 3:stream");
	assert_needs(m, last, "5:event");
}

static void an_event_of_the_same_stream_adds_nothing(void **state)
{
	struct mini *m = *state;
	int64_t a = mini_stream(m, "non-blocking"), e = mini_event(m), last;

	launch(m, a);
	record(m, e, a);
	launch(m, a);
	wait_for(m, e, a);
	last = launch(m, a);
	assert_int_equal(analyze(&m->db), 0);
	assert_needs(m, last, "3:stream");
}

/* An event recorded and waited for by a stream that is gone since still orders. */
static void an_event_survives_its_stream(void **state)
{
	struct mini *m = *state;
	int64_t a = mini_stream(m, "non-blocking"), b = mini_stream(m, "non-blocking");
	int64_t e = mini_event(m), consumer;

	launch(m, a);
	record(m, e, a);
	on(m, CALL_cuStreamDestroy_v2, a);
	wait_for(m, e, b);
	event_call(m, CALL_cuEventDestroy_v2, e, 0);
	consumer = launch(m, b);
	assert_int_equal(analyze(&m->db), 0);
	assert_needs(m, consumer, "1:event");
}

/*
 * "Stream synchronization behavior": "the legacy stream first waits on all blocking streams ... and
 * then all blocking streams wait on the legacy stream".
 */
static void legacy_work_comes_between_blocking_work(void **state)
{
	struct mini *m = *state;
	int64_t a = mini_stream(m, "blocking"), b = mini_stream(m, "blocking");

	launch(m, a);
	launch(m, b);
	launch(m, MINI_LEGACY);
	launch(m, a);
	launch(m, a);
	launch(m, b);
	assert_int_equal(analyze(&m->db), 0);
	assert_needs(m, 3, "1:legacy 2:legacy");
	assert_needs(m, 4, "1:stream 3:legacy");
	assert_needs(m, 5, "4:stream");
	assert_needs(m, 6, "2:stream 3:legacy");
}

/* "... non-blocking streams, which do not synchronize with the legacy stream." */
static void non_blocking_streams_ignore_legacy_work(void **state)
{
	struct mini *m = *state;
	int64_t n = mini_stream(m, "non-blocking");

	launch(m, n);
	launch(m, MINI_LEGACY);
	launch(m, n);
	assert_int_equal(analyze(&m->db), 0);
	assert_needs(m, 2, "");
	assert_needs(m, 3, "1:stream");
}

/*
 * "The per-thread default stream is not a non-blocking stream and will synchronize with the legacy
 * default stream if both are used in a program."
 */
static void per_thread_default_streams_are_blocking_streams(void **state)
{
	struct mini *m = *state;
	int64_t p = mini_stream(m, "per-thread"), q = mini_stream(m, "per-thread");

	launch(m, p);
	launch(m, MINI_LEGACY);
	launch(m, q);
	assert_int_equal(analyze(&m->db), 0);
	assert_needs(m, 2, "1:legacy");
	assert_needs(m, 3, "2:legacy");
}

/*
 * Event record, event wait and host function in the legacy stream are actions like a launch
 * (documented for the wait, measured on an H200 for all three).
 */
static void legacy_actions_without_work_order_too(void **state)
{
	struct mini *m = *state;
	int64_t a = mini_stream(m, "blocking"), b = mini_stream(m, "blocking");
	int64_t n = mini_stream(m, "non-blocking"), e = mini_event(m), f = mini_event(m);

	launch(m, a);
	record(m, e, MINI_LEGACY);
	launch(m, b);
	on(m, CALL_cuLaunchHostFunc, MINI_LEGACY);
	launch(m, a);
	launch(m, n);
	record(m, f, n);
	wait_for(m, f, MINI_LEGACY);
	launch(m, b);
	assert_int_equal(analyze(&m->db), 0);
	assert_needs(m, 2, "1:legacy");
	assert_needs(m, 3, "2:legacy");
	assert_needs(m, 4, "2:stream 3:legacy");
	assert_needs(m, 5, "1:stream 4:legacy");
	assert_needs(m, 8, "4:stream 5:legacy 6:event");
	assert_needs(m, 9, "3:stream 8:legacy");
}

/* An event recorded in the legacy stream stands for all blocking streams. */
static void a_legacy_event_stands_for_blocking_streams(void **state)
{
	struct mini *m = *state;
	int64_t a = mini_stream(m, "blocking"), n = mini_stream(m, "non-blocking");
	int64_t e = mini_event(m), consumer;

	launch(m, a);
	record(m, e, MINI_LEGACY);
	wait_for(m, e, n);
	consumer = launch(m, n);
	assert_int_equal(analyze(&m->db), 0);
	assert_needs(m, 2, "1:legacy");
	assert_needs(m, consumer, "2:event");
}

/* The rule speaks of streams of one context. */
static void legacy_streams_of_two_contexts_are_apart(void **state)
{
	struct mini *m = *state;
	int64_t other = mini_context(m, 1), b = mini_stream_in(m, other, "blocking"), c;

	MINI_CALL(m, .type = CALL_cuLaunchKernel, .at = 10, .stream = b, .context = other);
	launch(m, MINI_LEGACY);
	c = MINI_CALL(m, .type = CALL_cuLaunchKernel, .at = 90, .stream = b, .context = other);
	assert_int_equal(analyze(&m->db), 0);
	assert_needs(m, 2, "");
	assert_needs(m, c, "1:stream");
}

/* cudaStreamDestroy with work pending: the work completes, and legacy work still follows it. */
static void a_destroyed_blocking_stream_still_precedes_legacy_work(void **state)
{
	struct mini *m = *state;
	int64_t a = mini_stream(m, "blocking"), l;

	launch(m, a);
	on(m, CALL_cuStreamDestroy_v2, a);
	l = launch(m, MINI_LEGACY);
	assert_int_equal(analyze(&m->db), 0);
	assert_needs(m, l, "1:legacy");
}

/* A run that makes a stream for each job would else have a row for each free and each stream. */
static void what_destroyed_streams_did_is_joined_once(void **state)
{
	struct mini *m = *state;
	int64_t a = mini_stream(m, "blocking"), free_call[2];

	launch(m, a);
	on(m, CALL_cuStreamDestroy_v2, a);
	for (int i = 0; i < 2; i++) {
		now += 10;
		free_call[i] = MINI_CALL(m, .type = CALL_cuMemFree_v2, .at = now, .ptr = 4096);
	}
	assert_int_equal(analyze(&m->db), 0);
	assert_needs(m, free_call[0], "1:incident");
	assert_needs(m, free_call[1], "");
}

/* cuStreamSynchronize: "Waits until the device has completed all operations in the stream". */
static void what_follows_a_stream_synchronize_is_ordered(void **state)
{
	struct mini *m = *state;
	int64_t a = mini_stream(m, "non-blocking"), b = mini_stream(m, "non-blocking");

	launch(m, a);
	on(m, CALL_cuStreamSynchronize, a);
	launch(m, b);
	launch(m, b);
	assert_int_equal(analyze(&m->db), 0);
	assert_needs(m, 2, "1:wait");
	assert_needs(m, 3, "2:host");
	assert_needs(m, 4, "3:stream");
}

static void waits_of_a_thread_add_up(void **state)
{
	struct mini *m = *state;
	int64_t a = mini_stream(m, "non-blocking"), b = mini_stream(m, "non-blocking");
	int64_t c = mini_stream(m, "non-blocking");

	launch(m, a);
	launch(m, b);
	on(m, CALL_cuStreamSynchronize, a);
	on(m, CALL_cuStreamSynchronize, b);
	launch(m, c);
	assert_int_equal(analyze(&m->db), 0);
	assert_needs(m, 4, "2:wait 3:host");
	assert_needs(m, 5, "4:host");
}

static void another_threads_wait_is_not_ours(void **state)
{
	struct mini *m = *state;
	int64_t a = mini_stream(m, "non-blocking"), b = mini_stream(m, "non-blocking");
	int64_t thread = mini_thread(m);

	launch(m, a);
	on(m, CALL_cuStreamSynchronize, a);
	MINI_CALL(m, .type = CALL_cuLaunchKernel, .at = 90, .stream = b, .thread = thread);
	assert_int_equal(analyze(&m->db), 0);
	assert_needs(m, 3, "");
}

static void event_synchronize_and_successful_queries_are_waits(void **state)
{
	struct mini *m = *state;
	int64_t a = mini_stream(m, "non-blocking"), b = mini_stream(m, "non-blocking");
	int64_t e = mini_event(m);

	launch(m, a);
	record(m, e, a);
	launch(m, a);
	event_call(m, CALL_cuEventSynchronize, e, 0);
	launch(m, b);
	MINI_CALL(m, .type = CALL_cuStreamQuery, .at = 200, .stream = a, .result = 600);
	on(m, CALL_cuStreamQuery, a);
	launch(m, b);
	assert_int_equal(analyze(&m->db), 0);
	assert_needs(m, 4, "1:wait");
	assert_needs(m, 5, "4:host");
	assert_needs(m, 6, "");
	assert_needs(m, 7, "3:wait 4:host");
	assert_needs(m, 8, "5:stream 7:host");
}

/*
 * cuCtxSynchronize: "Blocks until the current context has completed all preceding requested tasks".
 */
static void device_synchronize_covers_all_streams_of_the_context(void **state)
{
	struct mini *m = *state;
	int64_t a = mini_stream(m, "non-blocking"), b = mini_stream(m, "blocking");
	int64_t other = mini_context(m, 1), c = mini_stream_in(m, other, "blocking");

	launch(m, a);
	launch(m, b);
	MINI_CALL(m, .type = CALL_cuLaunchKernel, .at = 50, .stream = c, .context = other);
	on(m, CALL_cuStreamDestroy_v2, a);
	on(m, CALL_cuCtxSynchronize, 0);
	launch(m, b);
	assert_int_equal(analyze(&m->db), 0);
	assert_needs(m, 5, "1:wait 2:wait");
	assert_needs(m, 6, "2:stream 5:host");
}

/*
 * Measured on an H200: synchronizing the legacy stream waits for blocking streams, not for
 * non-blocking ones; synchronizing an idle blocking stream ignores pending legacy work.
 */
static void synchronizing_legacy_covers_blocking_streams(void **state)
{
	struct mini *m = *state;
	int64_t a = mini_stream(m, "blocking"), n = mini_stream(m, "non-blocking");

	launch(m, a);
	launch(m, n);
	on(m, CALL_cuStreamSynchronize, MINI_LEGACY);
	launch(m, MINI_LEGACY);
	on(m, CALL_cuStreamSynchronize, a);
	assert_int_equal(analyze(&m->db), 0);
	assert_needs(m, 3, "1:wait");
	assert_needs(m, 4, "1:legacy 3:host");
	assert_needs(m, 5, "");
}

/*
 * "For transfers from device memory to either pageable or pinned host memory, the function returns
 * only once the copy has completed"; not so to the device from pageable memory.
 */
static void a_copy_to_the_host_is_a_wait(void **state)
{
	struct mini *m = *state;
	int64_t n = mini_stream(m, "non-blocking"), o = mini_stream(m, "non-blocking");

	MINI_CALL(m, .type = CALL_cuMemcpyHtoD_v2, .at = 10, .stream = MINI_LEGACY,
		.direction = 1 + COPY_H2D, .src = "pageable", .dst = "device");
	launch(m, n);
	MINI_CALL(m, .type = CALL_cuMemcpyDtoH_v2, .at = 30, .stream = MINI_LEGACY,
		.direction = 1 + COPY_D2H, .src = "device", .dst = "pageable");
	now = 100;
	launch(m, o);
	assert_int_equal(analyze(&m->db), 0);
	/* The host has waited for the work before the copy. */
	assert_needs(m, 2, "1:start");
	assert_needs(m, 4, "3:host");
}

/* Many streams: each takes part in a legacy operation once, and not again without new work. */
static void edges_grow_with_work_not_with_streams(void **state)
{
	struct mini *m = *state;
	int64_t stream[100];

	for (int i = 0; i < 100; i++)
		launch(m, stream[i] = mini_stream(m, "blocking"));
	for (int i = 0; i < 100; i++) {
		launch(m, MINI_LEGACY);
		on(m, CALL_cuCtxSynchronize, 0);
		launch(m, stream[0]);
	}
	assert_int_equal(analyze(&m->db), 0);
	assert_in_range(mini_int(m, "SELECT count(*) FROM dependency"), 500, 1100);
}

/* Whatever was asked before, of the same earlier call or of another. */
static void a_way_is_found_after_one_that_was_not(void **state)
{
	struct mini *m = *state;
	int64_t first = mini_stream(m, "non-blocking"), second = mini_stream(m, "non-blocking");
	int64_t event = mini_event(m), call[6];
	struct order_path *path;

	call[0] = launch(m, first);
	call[1] = launch(m, first);
	call[2] = launch(m, first);
	call[3] = launch(m, second);
	record(m, event, first);
	wait_for(m, event, second);
	call[4] = launch(m, second);
	call[5] = launch(m, second);
	assert_int_equal(analyze(&m->db), 0);
	path = order_path_open(&m->db);
	assert_non_null(path);
	for (int twice = 0; twice < 2; twice++) {
		assert_int_equal(order_path_exists(path, call[3], call[0]), 0);
		assert_int_equal(order_path_exists(path, call[1], call[0]), 1);
		assert_int_equal(order_path_exists(path, call[2], call[0]), 1);
		assert_int_equal(order_path_exists(path, call[3], call[0]), 0);
		assert_int_equal(order_path_exists(path, call[4], call[0]), 1);
		assert_int_equal(order_path_exists(path, call[5], call[0]), 1);
		assert_int_equal(order_path_exists(path, call[4], call[3]), 1);
		assert_int_equal(order_path_exists(path, call[2], call[3]), 0);
		assert_int_equal(order_path_exists(path, call[5], call[3]), 1);
	}
	order_path_close(path);
}

/* Work that only its stream orders is skipped, but none that is asked for or moved. */
static void a_way_leads_along_a_stream(void **state)
{
	enum { COUNT = 40, MOVED = 25 };
	struct mini *m = *state;
	int64_t first = mini_stream(m, "non-blocking"), second = mini_stream(m, "non-blocking");
	int64_t event = mini_event(m), call[COUNT], last, other;
	struct order_path *path;

	other = launch(m, second);
	for (int i = 0; i < COUNT; i++)
		call[i] = launch(m, first);
	record(m, event, first);
	wait_for(m, event, second);
	last = launch(m, second);
	assert_int_equal(analyze(&m->db), 0);
	path = order_path_open(&m->db);
	assert_non_null(path);
	for (int i = 0; i < COUNT; i++) {
		const int64_t moved[] = { other, call[MOVED] };

		assert_int_equal(order_path_exists(path, last, call[i]), 1);
		assert_int_equal(order_path_exists(path, call[i], other), 0);
		assert_int_equal(order_path_exists(path, call[COUNT - 1], call[i]), 1);
		assert_int_equal(order_path_exists(path, call[0], call[i]), i == 0);
		assert_int_equal(order_path_exists_moved(path, last, call[i], moved, 2),
			i >= MOVED);
		assert_int_equal(order_path_exists_moved(path, last, call[i], moved, 1), 1);
	}
	order_path_close(path);
}

/* A kernel that may begin early need not come after the one before it. */
static void what_follows_from_a_stream_is_not_stored(void **state)
{
	struct mini *m = *state;
	int64_t s = mini_stream(m, "non-blocking"), o = mini_stream(m, "non-blocking"), early;

	launch(m, s);
	launch(m, o);
	launch(m, s);
	early = launch(m, s);
	launch(m, s);
	mini_exec(m, "INSERT INTO call_object VALUES (%lld, 'attributes', 2)", (long long)early);
	assert_int_equal(analyze(&m->db), 0);
	assert_needs(m, 3, "1:stream");
	assert_needs(m, 4, "3:afterwards 3:start");
	assert_needs(m, 5, "4:stream");
	assert_string_equal(mini_text(m, "SELECT group_concat(call || ':' || needs) FROM edge"),
		"4:3,4:3");
	assert_string_equal(mini_text(m, "SELECT group_concat(first || '-' || last) FROM apart"),
		"4-4");
}

static void each_wait_for_an_event_has_its_record(void **state)
{
	struct mini *m = *state;
	int64_t s = mini_stream(m, "non-blocking"), o = mini_stream(m, "non-blocking");
	int64_t event = mini_event(m), other = mini_event(m), call[6];

	MINI_CALL(m, .type = CALL_cuEventCreate, .at = now += 10, .event = event);
	MINI_CALL(m, .type = CALL_cuEventCreate, .at = now += 10, .event = other);
	call[0] = wait_for(m, event, o);
	launch(m, s);
	record(m, event, s);
	call[2] = record(m, event, s);
	call[3] = wait_for(m, event, o);
	call[4] = MINI_CALL(m, .type = CALL_cuEventSynchronize, .at = now += 10, .event = event);
	MINI_CALL(m, .type = CALL_cuEventQuery, .at = now += 10, .event = event, .result = 600);
	call[5] = MINI_CALL(m, .type = CALL_cuEventQuery, .at = now += 10, .event = other);
	assert_int_equal(analyze(&m->db), 0);
	assert_int_equal(mini_int(m, "SELECT count(*) FROM event_wait WHERE sure"), 4);
	assert_int_equal(mini_int(m, "SELECT count(DISTINCT record) FROM event_wait"), 1);
	assert_int_equal(mini_int(m, "SELECT max(record) FROM event_wait"), call[2]);
	assert_int_equal(mini_int(m, "SELECT sum(call) FROM event_wait WHERE record IS NOT NULL"),
		call[3] + call[4]);
	assert_int_equal(mini_int(m, "SELECT sum(call) FROM event_wait WHERE record IS NULL"),
		call[0] + call[5]);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(operations_of_a_stream_are_in_order),
		T(every_submission_takes_its_place),
		T(a_failed_call_orders_nothing),
		T(a_hanging_launch_still_counts),
		T(an_event_orders_what_was_before_its_record),
		T(a_wait_keeps_the_record_it_saw),
		T(a_later_record_replaces_the_earlier),
		T(a_wait_for_an_unrecorded_event_is_nothing),
		T(a_failed_record_leaves_the_event_as_it_was),
		T(an_event_carries_the_waits_of_its_stream),
		T(an_event_of_the_same_stream_adds_nothing),
		T(an_event_survives_its_stream),
		T(legacy_work_comes_between_blocking_work),
		T(non_blocking_streams_ignore_legacy_work),
		T(per_thread_default_streams_are_blocking_streams),
		T(legacy_actions_without_work_order_too),
		T(a_legacy_event_stands_for_blocking_streams),
		T(legacy_streams_of_two_contexts_are_apart),
		T(a_destroyed_blocking_stream_still_precedes_legacy_work),
		T(what_destroyed_streams_did_is_joined_once),
		T(what_follows_a_stream_synchronize_is_ordered),
		T(waits_of_a_thread_add_up),
		T(another_threads_wait_is_not_ours),
		T(event_synchronize_and_successful_queries_are_waits),
		T(device_synchronize_covers_all_streams_of_the_context),
		T(synchronizing_legacy_covers_blocking_streams),
		T(a_copy_to_the_host_is_a_wait),
		T(edges_grow_with_work_not_with_streams),
		T(a_way_is_found_after_one_that_was_not),
		T(a_way_leads_along_a_stream),
		T(what_follows_from_a_stream_is_not_stored),
		T(each_wait_for_an_event_has_its_record),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
