/* SPDX-License-Identifier: Apache-2.0 */
/* The reasons why operations waited on the device: table hold, and the rules made of it. */
#include "miniature.h"

#include "analyze.h"

static int64_t launch(struct mini *m, double at, int64_t stream, int64_t site, double start,
	double end)
{
	return MINI_CALL(m, .type = CALL_cuLaunchKernel, .at = at, .stream = stream, .site = site,
		.runs = { start, end }, .grid = CALL_GRID(8, 1, 1),
		.block = CALL_BLOCK(256, 1, 1, 0));
}

/*
 * Five times a kernel, a call in the legacy stream, and a kernel in another blocking stream that
 * starts gap us after the first one's end.
 */
static void legacy_call_between(struct mini *m, int type, double gap)
{
	int64_t a = mini_stream(m, "blocking"), b = mini_stream(m, "blocking");
	int64_t site = mini_site(m, "advance", 20), other = mini_site(m, "report", 29);
	int64_t event = mini_event(m);

	for (int i = 0; i < 5; i++) {
		double t = 20000 * i;

		launch(m, t + 10, a, site, t + 20, t + 1000);
		MINI_CALL(m, .type = type, .at = t + 14, .stream = MINI_LEGACY, .site = other,
			.event = type == CALL_cuEventRecord ? event : 0);
		launch(m, t + 18, b, site, t + 1000 + gap, t + 2000 + gap);
		MINI_CALL(m, .type = CALL_cuCtxSynchronize, .at = t + 22, .until = t + 2003 + gap);
	}
}

/* A host function takes its time between the two, of which the device records nothing. */
static void a_host_function_in_the_legacy_stream_is_found(void **state)
{
	struct mini *m = *state;

	legacy_call_between(m, CALL_cuLaunchHostFunc, 60);
	assert_string_equal(mini_shown(m), "legacy-stream-serialization 5");
	assert_string_equal(mini_text(m,
				    "SELECT a.line || ' ' || b.line FROM finding "
				    "JOIN site a ON a.id = site JOIN site b ON b.id = other_site"),
		"29 20");
	assert_int_equal(mini_int(m, "SELECT held / 1000 FROM hold LIMIT 1"), 1031);
}

/*
 * Step by step a kernel, a copy to the other device, and what that gets.  The copy has an operation
 * on each device; that one comes after the other is no need of the work before both.
 */
static void peer_copy_between(struct mini *m, const char *kind)
{
	int legacy = !strcmp(kind, "legacy");
	int64_t to = mini_context(m, 1), stream = legacy ? MINI_LEGACY : mini_stream(m, kind);
	int64_t other = mini_stream_in(m, to, kind), copy;
	int64_t site = mini_site(m, "advance", 37), sent = mini_site(m, "send", 50);

	for (int i = 0; i < 5; i++) {
		double t = 3000 * i;

		launch(m, t + 10, stream, site, t + 20, t + 1000);
		copy = MINI_CALL(m, .type = CALL_cuMemcpyPeer, .at = t + 15, .site = sent,
			.bytes = 4096, .direction = 1 + COPY_D2D, .stream = MINI_LEGACY,
			.runs = { t + 1002, t + 1005 });
		mini_exec(m,
			"INSERT INTO operation (id, process, call, kind, start, end, device, "
			"context, correlation, bytes, copy_kind) SELECT id + 1, process, call, "
			"kind, start + 9000, end + 9000, 1, %lld, correlation, bytes, %d "
			"FROM operation WHERE id = %lld",
			(long long)to, COPY_H2D, (long long)m->ops);
		m->ops++;
		mini_exec(m,
			"INSERT INTO call_object VALUES (%lld, 'src_context', 1), "
			"(%lld, 'dst_context', %lld)",
			(long long)copy, (long long)copy, (long long)to);
		mini_names(m, copy, "dst", mini_allocation(m, "device"));
		MINI_CALL(m, .type = legacy ? CALL_cuLaunchKernel : CALL_cuMemcpyHtoDAsync_v2,
			.at = t + 18, .context = to, .stream = other, .site = site,
			.bytes = 1 << 20, .direction = 1 + COPY_H2D, .src = "pinned",
			.dst = "device", .runs = { t + 1016, t + 2000 });
		MINI_CALL(m, .type = CALL_cuCtxSynchronize, .at = t + 22, .until = t + 1009);
		MINI_CALL(m, .type = CALL_cuCtxSynchronize, .at = t + 1010, .until = t + 2003,
			.context = to);
	}
	mini_exec(m, "UPDATE operation SET device = 1 WHERE context = %lld", (long long)to);
	assert_string_equal(mini_shown(m), "legacy-stream-serialization 5");
	assert_string_equal(mini_text(m, "SELECT function FROM finding JOIN site s ON s.id = site"),
		"send");
}

static void a_synchronous_peer_copy_is_found(void **state)
{
	peer_copy_between(*state, "blocking");
}

static void a_peer_copy_that_ties_two_default_streams_is_found(void **state)
{
	peer_copy_between(*state, "legacy");
}

/* A late start after a long host function may have had other reasons, too. */
static void of_a_late_start_after_a_host_function_only_the_sure_part_counts(void **state)
{
	struct mini *m = *state;

	legacy_call_between(m, CALL_cuLaunchHostFunc, 3000);
	assert_string_equal(mini_shown(m), "legacy-stream-serialization 5");
	assert_int_equal(mini_int(m, "SELECT held / 1000 FROM hold LIMIT 1"), 971);
}

static void a_late_start_after_an_event_record_is_something_else(void **state)
{
	struct mini *m = *state;

	legacy_call_between(m, CALL_cuEventRecord, 60);
	assert_string_equal(mini_shown(m), "");
}

/* A memset and a copy within the device are work like any other: it waits, and is waited for. */
static void memory_work_in_the_legacy_stream_is_found(void **state)
{
	static const int types[] = { CALL_cuMemsetD8Async, CALL_cuMemcpyDtoDAsync_v2 };
	struct mini *m = *state;
	int64_t a = mini_stream(m, "blocking"), b = mini_stream(m, "blocking");
	int64_t site = mini_site(m, "advance", 20), other = mini_site(m, "clear", 29);

	for (int i = 0; i < 6; i++) {
		double t = 20000 * i;

		launch(m, t + 10, a, site, t + 20, t + 1000);
		MINI_CALL(m, .type = types[i % 2], .at = t + 14, .stream = MINI_LEGACY,
			.site = other, .bytes = 4096, .direction = 1 + COPY_D2D, .dst = "device",
			.src = i % 2 ? "device" : NULL, .runs = { t + 1002, t + 1004 });
		launch(m, t + 18, b, site, t + 1006, t + 2000);
		MINI_CALL(m, .type = CALL_cuCtxSynchronize, .at = t + 22, .until = t + 2003);
	}
	assert_string_equal(mini_shown(m), "legacy-stream-serialization 12");
}

/* Ten rounds of a kernel in each of two streams, and what keeps them from running concurrently. */
static void two_between(struct mini *m, int first, int second)
{
	int64_t a = mini_stream(m, "blocking"), b = mini_stream(m, "blocking");
	int64_t site = mini_site(m, "advance", 20);
	const int types[] = { first, second };
	int64_t clear[] = { mini_site(m, "clear", 29), mini_site(m, "clear", 30) };
	double at = 10, t = 10;

	for (int i = 0; i < 10; i++, at += 12, t += 2001) {
		launch(m, at, a, site, t + 10, t + 1000);
		for (int k = 0; k < 2; k++)
			MINI_CALL(m, .type = types[k], .at = at + 3 + 3 * k, .stream = MINI_LEGACY,
				.site = clear[k], .bytes = 4096, .dst = "device",
				.runs = { t + 1002 + 2 * k, t + 1003 + 2 * k });
		launch(m, at + 9, b, site, t + 1006, t + 2010);
	}
	MINI_CALL(m, .type = CALL_cuCtxSynchronize, .at = at, .until = t + 13);
}

/* Each does what the other one does: to fix one wins nothing, and one is reported. */
static void legacy_work_in_a_row_is_found(void **state)
{
	struct mini *m = *state;

	two_between(m, CALL_cuMemsetD8Async, CALL_cuMemsetD8Async);
	assert_string_equal(mini_shown(m), "legacy-stream-serialization 20");
	assert_int_equal(
		mini_int(m,
			"SELECT count(*) FROM finding WHERE shown AND message LIKE "
			"'%; other work of the legacy stream next to it does the same and has "
			"to be moved "
			"as well'"),
		1);
	assert_string_equal(
		mini_text(m,
			"SELECT group_concat(line) FROM (SELECT DISTINCT line "
			"FROM finding_place p JOIN site s ON s.id = p.site ORDER BY line)"),
		"29,30");
	/* Analyzed again, nothing of before is left. */
	assert_string_equal(mini_shown(m), "legacy-stream-serialization 20");
}

/*
 * Whatever it is that CUDA puts into the legacy stream: "When an action is taken in the legacy
 * stream" (CUDA runtime API, "Stream synchronization behavior").
 */
static void legacy_work_of_any_kind_in_a_row_is_found(void **state)
{
	static const int others[] = { CALL_cuMemcpyPeerAsync, CALL_cuMemcpyBatchAsync };
	struct mini *m = *state;

	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++) {
		two_between(m, others[i], others[i]);
		assert_int_equal(analyze(&m->db), 0);
		assert_int_equal(
			mini_int(m,
				"SELECT count(*) FROM finding WHERE message LIKE "
				"'%; other work of the legacy stream next to it does the same%'"),
			1);
		mini_teardown(state);
		mini_setup(state);
		m = *state;
	}
}

static int64_t clear(struct mini *m, int64_t thread, double at, double until, double start)
{
	return MINI_CALL(m, .type = CALL_cuMemsetD8Async, .at = at, .until = until,
		.thread = thread, .stream = MINI_LEGACY, .bytes = 4096, .dst = "device",
		.runs = { start, start + 2 });
}

/* Legacy work of other threads holds a thread's work like any legacy work. */
static void legacy_work_behind_that_of_another_thread_is_held(void **state)
{
	struct mini *m = *state;
	int64_t a = mini_stream(m, "blocking"), other = mini_thread(m);
	int64_t op;

	launch(m, 10, a, 0, 20, 1000);
	clear(m, MINI_MAIN, 13, 0, 1002);
	launch(m, 16, a, 0, 1006, 2000);
	clear(m, other, 19, 0, 2002);
	op = m->ops;
	launch(m, 22, a, 0, 2006, 3000);
	/* It waits by intent if it is queued after its own thread's work. */
	clear(m, other, 25, 0, 3002);
	assert_int_equal(analyze(&m->db), 0);
	assert_int_equal(op, 4);
	assert_int_equal(mini_int(m, "SELECT held FROM hold WHERE op = 4 AND reason = 'legacy'"),
		mini_ns(2002 - 19 - 11));
	assert_int_equal(mini_int(m, "SELECT held FROM hold WHERE op = 6 AND reason = 'legacy'"),
		mini_ns(3002 - 2004));
}

/* The call was entered first and came last: the device says so. */
static void what_ran_before_legacy_work_of_a_call_that_took_long_held_it(void **state)
{
	struct mini *m = *state;
	int64_t a = mini_stream(m, "blocking"), other = mini_thread(m);

	clear(m, other, 8, 60, 3002);
	launch(m, 10, a, 0, 20, 1000);
	clear(m, MINI_MAIN, 13, 0, 1002);
	launch(m, 16, a, 0, 1006, 3000);
	assert_int_equal(analyze(&m->db), 0);
	assert_string_equal(mini_text(m,
				    "SELECT group_concat(op || ':' || behind || ' ' || "
				    "reason || ' ' || via, ', ') FROM hold"),
		"1:4 legacy 1, 3:2 legacy 3, 4:3 legacy 3");
}

/*
 * By the order of entries the kernels, and so the other clears, came after the first clear, which
 * ran last: two operations of one stream do not hold each other.
 */
static void of_contested_calls_legacy_work_is_held_by_what_ran_before(void **state)
{
	struct mini *m = *state;
	int64_t a = mini_stream(m, "blocking"), other = mini_thread(m);

	clear(m, other, 8, 60, 2006);
	launch(m, 10, a, 0, 20, 1000);
	clear(m, MINI_MAIN, 13, 0, 1002);
	launch(m, 16, a, 0, 1006, 2000);
	clear(m, MINI_MAIN, 19, 0, 2002);
	assert_int_equal(analyze(&m->db), 0);
	assert_string_equal(mini_text(m,
				    "SELECT group_concat(op || ':' || behind || ' ' || "
				    "reason || ' ' || via, ', ') FROM hold"),
		"1:4 legacy 1, 3:2 legacy 3, 4:3 legacy 3, 5:4 legacy 5");
}

/* --- threads that share a legacy stream --- */

static int64_t launch_of(struct mini *m, int64_t thread, double at, double start, double end)
{
	return MINI_CALL(m, .type = CALL_cuLaunchKernel, .thread = thread, .at = at,
		.until = at + 5, .stream = MINI_LEGACY, .runs = { start, end });
}

static const char *holds_of(struct mini *m)
{
	assert_int_equal(analyze(&m->db), 0);
	return mini_text(m,
		"SELECT ifnull(group_concat(op || ':' || behind || ' ' || reason, ', '), '') "
		"FROM hold");
}

static void threads_that_share_the_legacy_stream_hold_each_other(void **state)
{
	struct mini *m = *state;
	int64_t other = mini_thread(m);

	launch_of(m, MINI_MAIN, 10, 20, 1000);
	/* Both are in calls at the same time. */
	launch_of(m, other, 13, 1001, 2000);
	/* Its own work comes first by intent. */
	launch_of(m, other, 20, 2001, 3000);
	/* The other one has gone on. */
	launch_of(m, MINI_MAIN, 30, 4001, 5000);
	launch_of(m, other, 32, 3001, 4000);
	assert_string_equal(holds_of(m), "2:1 legacy, 4:5 legacy");
	/* Streams of their own would save time, however busy the one stream is. */
	assert_int_equal(mini_int(m,
				 "SELECT count(*) FROM finding WHERE "
				 "rule = 'legacy-stream-serialization' AND saving > 100000"),
		1);
}

/* Main waits outside of CUDA while the other thread submits, and then the other one does. */
static void a_thread_that_hands_over_holds_nothing(void **state)
{
	struct mini *m = *state;
	int64_t other = mini_thread(m);

	launch_of(m, MINI_MAIN, 10, 20, 1000);
	launch_of(m, other, 30, 1001, 2000);
	launch_of(m, other, 40, 2001, 3000);
	launch_of(m, MINI_MAIN, 50, 3001, 4000);
	launch_of(m, other, 60, 4001, 5000);
	assert_string_equal(holds_of(m), "");
}

/* --- late, though nothing orders it --- */

static int64_t launch_blocks(struct mini *m, double at, int64_t stream, uint64_t blocks,
	double start, double end)
{
	return MINI_CALL(m, .type = CALL_cuLaunchKernel, .at = at, .stream = stream,
		.runs = { start, end }, .grid = CALL_GRID(blocks, 1, 1),
		.block = CALL_BLOCK(1024, 1, 1, 0));
}

/* The holds as "held operation:operation behind reason". */
static const char *holds(struct mini *m)
{
	assert_int_equal(analyze(&m->db), 0);
	return mini_text(m,
		"SELECT ifnull(group_concat(op || ':' || ifnull(behind, '-') || ' ' "
		"|| reason, ', '), '') FROM hold");
}

/* A device of 132 multiprocessors with 2048 threads each takes 264 such blocks. */
static void a_kernel_that_did_not_fit_waited_for_room(void **state)
{
	struct mini *m = *state;
	int64_t a = mini_stream(m, "non-blocking"), b = mini_stream(m, "non-blocking");
	int64_t c = mini_stream(m, "non-blocking");

	launch_blocks(m, 10, a, 100, 20, 900);
	launch_blocks(m, 13, b, 100, 22, 800);
	launch_blocks(m, 16, c, 100, 801, 1000);
	assert_string_equal(holds(m), "3:2 full");
}

static void a_copy_waited_for_one_in_its_direction(void **state)
{
	struct mini *m = *state;
	int64_t s[2] = { mini_stream(m, "non-blocking"), mini_stream(m, "non-blocking") };

	for (int i = 0; i < 2; i++)
		MINI_CALL(m, .type = CALL_cuMemcpyHtoDAsync_v2, .at = 10 + 3 * i, .stream = s[i],
			.bytes = 1 << 20, .direction = 1 + COPY_H2D, .dst = "device",
			.src = "pinned", .runs = { 20 + 400 * i, 419 + 400 * i });
	assert_string_equal(holds(m), "2:1 engine");
}

/* A small kernel after another small one: for no reason, or as their streams share a queue. */
static void small_kernels(struct mini *m, int streams)
{
	int64_t stream[12];

	for (int i = 0; i < streams; i++) {
		stream[i] = mini_stream(m, "non-blocking");
		launch_blocks(m, 10 + 3 * i, stream[i], 1, 20 + 3 * i, 60 + 3 * i);
	}
	launch_blocks(m, 110, stream[0], 1, 120, 900);
	launch_blocks(m, 113, stream[1], 1, 902, 1000);
}

static void streams_beyond_the_connections_share_them(void **state)
{
	struct mini *m = *state;

	small_kernels(m, 9);
	assert_string_equal(holds(m), "11:10 channel");
	mini_exec(m, "INSERT INTO property VALUES (1, 'CUDA_DEVICE_MAX_CONNECTIONS', '32')");
	assert_string_equal(holds(m), "11:10 unknown");
}

static void few_streams_do_not(void **state)
{
	struct mini *m = *state;

	small_kernels(m, 8);
	assert_string_equal(holds(m), "10:9 unknown");
}

/* Loading code lets the next kernel of every stream start when what ran has ended. */
static void a_code_load_holds_other_streams(void **state)
{
	struct mini *m = *state;
	int64_t a = mini_stream(m, "non-blocking"), b = mini_stream(m, "non-blocking");
	int64_t load;

	launch_blocks(m, 10, a, 1, 20, 900);
	load = MINI_CALL(m, .type = CALL_cuFuncGetAttribute, .at = 50, .until = 100);
	mini_exec(m, "INSERT INTO overhead VALUES (1, %lld, 'lazy_loading', 52000, 98000)",
		(long long)load);
	launch_blocks(m, 110, b, 1, 902, 1000);
	assert_string_equal(holds(m), "2:1 load");
	assert_int_equal(mini_int(m, "SELECT via FROM hold"), load);
}

static void a_late_start_on_an_idle_device_was_held_by_nothing(void **state)
{
	struct mini *m = *state;
	int64_t a = mini_stream(m, "non-blocking");

	launch_blocks(m, 10, a, 1, 20, 30);
	launch_blocks(m, 100, a, 1, 180, 200);
	assert_string_equal(holds(m), "2:- queue");
}

/* Its stream and its own call account for a start; a host function's end is not recorded. */
static void what_is_accounted_for_is_no_hold(void **state)
{
	struct mini *m = *state;
	int64_t a = mini_stream(m, "non-blocking"), b = mini_stream(m, "non-blocking");

	launch_blocks(m, 10, a, 1, 20, 900);
	launch_blocks(m, 13, a, 1, 901, 1000);
	MINI_CALL(m, .type = CALL_cuLaunchHostFunc, .at = 15, .stream = a);
	launch_blocks(m, 18, a, 1, 1080, 1100);
	MINI_CALL(m, .type = CALL_cuLaunchKernel, .at = 30, .until = 990, .stream = b,
		.runs = { 1000, 1010 }, .grid = CALL_GRID(1, 1, 1),
		.block = CALL_BLOCK(1, 1, 1, 0));
	assert_string_equal(holds(m), "");
}

#define T(test) cmocka_unit_test_setup_teardown(test, mini_setup, mini_teardown)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		T(a_host_function_in_the_legacy_stream_is_found),
		T(a_synchronous_peer_copy_is_found),
		T(a_peer_copy_that_ties_two_default_streams_is_found),
		T(of_a_late_start_after_a_host_function_only_the_sure_part_counts),
		T(a_late_start_after_an_event_record_is_something_else),
		T(memory_work_in_the_legacy_stream_is_found),
		T(legacy_work_in_a_row_is_found),
		T(legacy_work_of_any_kind_in_a_row_is_found),
		T(legacy_work_behind_that_of_another_thread_is_held),
		T(threads_that_share_the_legacy_stream_hold_each_other),
		T(a_thread_that_hands_over_holds_nothing),
		T(what_ran_before_legacy_work_of_a_call_that_took_long_held_it),
		T(of_contested_calls_legacy_work_is_held_by_what_ran_before),
		T(a_kernel_that_did_not_fit_waited_for_room),
		T(a_copy_waited_for_one_in_its_direction),
		T(streams_beyond_the_connections_share_them),
		T(few_streams_do_not),
		T(a_code_load_holds_other_streams),
		T(a_late_start_on_an_idle_device_was_held_by_nothing),
		T(what_is_accounted_for_is_no_hold),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
