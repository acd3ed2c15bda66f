/* SPDX-License-Identifier: Apache-2.0 */
/*
 * blocking-copy: synchronous copies and memsets between streams, on a run of a few calls that
 * makes the mistake, on its fixed twin, and on what looks like it and is none.
 */
#include "blocking.h"

static int64_t copy_to_device(struct mini *m, double at, double until, int64_t site, double start)
{
	return MINI_CALL(m, .type = CALL_cuMemcpyHtoD_v2, .at = at, .until = until, .bytes = 4096,
		.stream = MINI_LEGACY, .site = site, .direction = 1 + COPY_H2D, .src = "pinned",
		.dst = "device", .runs = { start, start + 1 });
}

static int64_t copy_to_host(struct mini *m, double at, double until, int64_t site, double start)
{
	return MINI_CALL(m, .type = CALL_cuMemcpyDtoH_v2, .at = at, .until = until, .bytes = 4096,
		.stream = MINI_LEGACY, .site = site, .direction = 1 + COPY_D2H, .src = "device",
		.dst = "pageable", .runs = { start, start + 1 });
}

/* Chunks on two streams in turn, each brought by a synchronous copy. */
static void pipeline(struct mini *m, const char *kind)
{
	int64_t s[2] = { mini_stream(m, kind), mini_stream(m, kind) };
	int64_t launched = mini_site(m, "process", 20), copied = mini_site(m, "upload", 30);
	double t = 10;

	for (int i = 0; i < ROUNDS; i++, t += 1020) {
		launch(m, t, s[i % 2], launched, t + 8, t + 1000);
		copy_to_device(m, t + 5, t + 1006, copied, t + 1002);
	}
	finish(m, t, t + 3);
}

static void a_synchronous_copy_between_streams_is_found(void **state)
{
	pipeline(*state, "blocking");
	assert_string_equal(shown(*state), "blocking-copy 5 upload process");
	assert_string_equal(message(*state), "cuMemcpyHtoD waited 992 us for a kernel on stream 8");
}

/* The second copy of a round finds the device idle, and would wait in the place of the first. */
static void copies_in_a_row_are_found(void **state)
{
	struct mini *m = *state;
	int64_t s[2] = { mini_stream(m, "blocking"), mini_stream(m, "blocking") };
	int64_t launched = mini_site(m, "process", 20);
	int64_t copied[2] = { mini_site(m, "upload", 30), mini_site(m, "upload", 31) };
	double t = 10;

	for (int i = 0; i < ROUNDS; i++, t += 1030) {
		launch(m, t, s[i % 2], launched, t + 8, t + 1000);
		copy_to_device(m, t + 5, t + 1006, copied[0], t + 1002);
		copy_to_device(m, t + 1007, t + 1015, copied[1], t + 1011);
	}
	finish(m, t, t + 3);
	assert_string_equal(shown(m), "blocking-copy 5 upload process");
	assert_int_equal(mini_int(m, "SELECT saving > 3000000 FROM finding"), 1);
}

/* With some of the second copies the device begins late, as where other programs share it. */
static void copies_in_a_row_are_found_though_one_is_late(void **state)
{
	struct mini *m = *state;
	int64_t s[2] = { mini_stream(m, "blocking"), mini_stream(m, "blocking") };
	int64_t launched = mini_site(m, "process", 20);
	int64_t copied[2] = { mini_site(m, "upload", 30), mini_site(m, "upload", 31) };
	double t = 10, late;

	for (int i = 0; i < ROUNDS; i++, t += 1030 + late) {
		late = i == 1 || i == 3 ? 300 : 0;
		launch(m, t, s[i % 2], launched, t + 8, t + 1000);
		copy_to_device(m, t + 5, t + 1006, copied[0], t + 1002);
		copy_to_device(m, t + 1007, t + 1015 + late, copied[1], t + 1011 + late);
	}
	finish(m, t, t + 3);
	assert_string_equal(shown(m), "blocking-copy 5 upload process");
	assert_int_equal(mini_int(m,
				 "SELECT count(*) FROM wait w JOIN operation o "
				 "ON o.id = w.op AND o.call = w.call"),
		2);
	assert_int_equal(mini_int(m, "SELECT saving > 3000000 FROM finding"), 1);
}

/*
 * A call that would wait in place of an Async copy is not fixed with it: pinned memory is its own
 * fix.
 */
static void an_async_copy_begins_no_row(void **state)
{
	struct mini *m = *state;
	int64_t s[2] = { mini_stream(m, "blocking"), mini_stream(m, "blocking") };
	int64_t launched = mini_site(m, "process", 20), copied = mini_site(m, "upload", 30);
	double t = 10;

	for (int i = 0; i < ROUNDS; i++, t += 1030) {
		launch(m, t, s[i % 2], launched, t + 8, t + 1000);
		MINI_CALL(m, .type = CALL_cuMemcpyDtoHAsync_v2, .at = t + 5, .until = t + 1006,
			.bytes = 4096, .stream = s[i % 2], .site = copied,
			.direction = 1 + COPY_D2H, .src = "device", .dst = "pageable",
			.runs = { t + 1002, t + 1003 });
		copy_to_device(m, t + 1007, t + 1015, copied, t + 1011);
	}
	finish(m, t, t + 3);
	shown(m);
	assert_int_equal(mini_int(m, "SELECT count(*) FROM wait WHERE kind = 'implicit'"), ROUNDS);
	assert_int_equal(mini_int(m, "SELECT max(avoidable) < 100000 FROM wait"), 1);
}

/* Gives each operation of a pipeline its memory: calls alternate between launch and copy. */
static void give(struct mini *m, int64_t launch_offset, int64_t launch_step, int64_t copy_step)
{
	mini_exec(m, "INSERT INTO allocation VALUES (1, 1, 65536, 1 << 20, 'device', NULL, NULL)");
	mini_exec(m,
		"INSERT INTO operand SELECT id, 'word', 0, 65536 + %lld + id / 2 * %lld, 1 "
		"FROM call WHERE site = 1",
		(long long)launch_offset, (long long)launch_step);
	mini_exec(m,
		"INSERT INTO operand SELECT id, 'dst', NULL, 65536 + id / 2 * %lld, 1 "
		"FROM call WHERE site = 2",
		(long long)copy_step);
}

/* Each chunk has bytes of its own. */
static void chunks_of_one_allocation_are_found(void **state)
{
	pipeline(*state, "blocking");
	give(*state, 0, 4096, 4096);
	assert_string_equal(shown(*state), "blocking-copy 5 upload process");
}

/* All kernels read what the copy overwrites: it stands between them whatever makes it wait. */
static void a_copy_that_stands_between_by_its_data_is_not(void **state)
{
	pipeline(*state, "blocking");
	give(*state, 0, 0, 0);
	assert_string_equal(shown(*state), "");
}

/* Kernels that are given the allocation's start may go as far as the copy. */
static void kernels_that_may_reach_the_copy_are_not(void **state)
{
	pipeline(*state, "blocking");
	give(*state, 0, 0, 4096);
	mini_exec(*state, "UPDATE operand SET address = address + 16384 WHERE role = 'dst'");
	assert_string_equal(shown(*state), "");
}

/* The thread's default stream has work, and gets the copy that another stream's work needs. */
static void own_default_stream(struct mini *m, int words)
{
	int64_t own = mini_stream(m, "per-thread"), other = mini_stream(m, "non-blocking");
	int64_t launched = mini_site(m, "process", 20), copied = mini_site(m, "upload", 30);
	double t = 10;

	for (int i = 0; i < ROUNDS; i++, t += 2040) {
		launch(m, t, own, launched, t + 8, t + 1000);
		MINI_CALL(m, .type = CALL_cuMemcpyHtoD_v2, .at = t + 5, .until = t + 1006,
			.stream = own, .site = copied, .runs = { t + 1001, t + 1002 },
			.bytes = 4096, .direction = 1 + COPY_H2D, .src = "pageable",
			.dst = "device");
		launch(m, t + 1010, other, launched, t + 1018, t + 2010);
		MINI_CALL(m, .type = CALL_cuStreamSynchronize, .stream = other, .at = t + 1015,
			.until = t + 2013);
	}
	if (words)
		give(m, 0, 0, 0);
	finish(m, t, t + 3);
}

static void a_copy_in_the_thread_s_default_stream_is_found(void **state)
{
	own_default_stream(*state, 0);
	assert_string_equal(shown(*state), "blocking-copy 6 upload process");
}

static void a_copy_of_what_the_default_stream_uses_is_not(void **state)
{
	own_default_stream(*state, 1);
	assert_string_equal(shown(*state), "");
}

/* The legacy stream has nothing to do with them. */
static void a_copy_beside_non_blocking_streams_is_not(void **state)
{
	struct mini *m = *state;
	int64_t s = mini_stream(m, "non-blocking"), site = mini_site(m, "f", 1);

	for (int i = 0; i < ROUNDS; i++) {
		double t = 2000 * i + 10;

		launch(m, t, s, site, t + 8, t + 1800);
		copy_to_device(m, t + 5, t + 30, site, t + 10);
	}
	finish(m, 20000, 20003);
	assert_string_equal(shown(m), "");
}

/* A result fetched in each round of one stream, looked at for as long as it takes. */
static int64_t fetch_results(struct mini *m, const char *kind, int streams)
{
	int64_t s[2] = { mini_stream(m, kind), mini_stream(m, kind) };
	int64_t launched = mini_site(m, "process", 20), copied = mini_site(m, "fetch", 30);
	double t = 10;

	for (int i = 0; i < ROUNDS; i++, t += 1500) {
		launch(m, t, s[i % streams], launched, t + 8, t + 1000);
		copy_to_host(m, t + 5, t + 1010, copied, t + 1002);
	}
	finish(m, t, t + 3);
	return copied;
}

static void reading_results_of_one_stream_is_not(void **state)
{
	fetch_results(*state, "blocking", 1);
	assert_string_equal(shown(*state), "");
	assert_int_equal(mini_int(*state, "SELECT count(*) FROM wait WHERE kind = 'implicit'"), 6);
}

static void reading_results_between_streams_is_found(void **state)
{
	fetch_results(*state, "blocking", 2);
	assert_string_equal(shown(*state), "blocking-copy 5 fetch process");
}

/* Two results of a kernel: the second copy would wait in the place of the first. */
static void results_fetched_one_by_one_are_found(void **state)
{
	struct mini *m = *state;
	int64_t s[2] = { mini_stream(m, "blocking"), mini_stream(m, "blocking") };
	int64_t launched = mini_site(m, "process", 20);
	int64_t copied[2] = { mini_site(m, "fetch", 30), mini_site(m, "fetch", 31) };
	double t = 10;

	for (int i = 0; i < ROUNDS; i++, t += 1500) {
		launch(m, t, s[i % 2], launched, t + 8, t + 1000);
		copy_to_host(m, t + 5, t + 1010, copied[0], t + 1002);
		copy_to_host(m, t + 1011, t + 1021, copied[1], t + 1015);
	}
	finish(m, t, t + 3);
	assert_string_equal(shown(m), "blocking-copy 5 fetch process");
	assert_int_equal(mini_int(m, "SELECT saving > 3000000 FROM finding"), 1);
}

/*
 * A thread that waits for both streams before it goes on does not mean them to overlap with the
 * next round.
 */
static void a_result_and_a_wait_for_the_rest_are_not(void **state)
{
	struct mini *m = *state;
	int64_t rest = mini_stream(m, "non-blocking"), first = mini_site(m, "prepare", 10);
	int64_t launched = mini_site(m, "process", 20), copied = mini_site(m, "fetch", 30);
	double t = 10;

	for (int i = 0; i < ROUNDS; i++, t += 1500) {
		launch(m, t, rest, first, t + 6, t + 400);
		launch(m, t + 410, MINI_LEGACY, launched, t + 415, t + 1000);
		copy_to_host(m, t + 415, t + 1010, copied, t + 1002);
		MINI_CALL(m, .type = CALL_cuStreamSynchronize, .at = t + 1012, .until = t + 1013,
			.stream = rest);
	}
	finish(m, t, t + 3);
	assert_string_equal(shown(m), "");
	mini_exec(m, "DELETE FROM call WHERE type = %d", CALL_cuStreamSynchronize);
	assert_string_equal(shown(m), "blocking-copy 5 fetch process");
}

/* Two devices at work, whose results are fetched one by one; the second one's takes longer. */
static void results_of_several_devices_are_not(void **state)
{
	struct mini *m = *state;
	int64_t second = mini_context(m, 1), b = mini_stream(m, "blocking"), last;
	int64_t c = mini_stream_in(m, second, "blocking");
	int64_t legacy = mini_stream_in(m, second, "legacy");
	int64_t launched = mini_site(m, "process", 20), copied = mini_site(m, "fetch", 30);
	double t = 10;

	for (int i = 0; i < ROUNDS; i++, t += 1500) {
		launch(m, t, b, launched, t + 8, t + 1000);
		MINI_CALL(m, .type = CALL_cuLaunchKernel, .at = t + 3, .stream = c,
			.context = second, .site = launched, .runs = { t + 11, t + 1300 });
		copy_to_host(m, t + 5, t + 1010, copied, t + 1002);
		last = MINI_CALL(m, .type = CALL_cuMemcpyDtoH_v2, .at = t + 1011, .until = t + 1310,
			.bytes = 4096, .stream = legacy, .context = second, .site = copied,
			.direction = 1 + COPY_D2H, .src = "device", .dst = "pageable",
			.runs = { t + 1302, t + 1303 });
	}
	finish(m, t, t + 3);
	assert_string_equal(shown(m), "");
	mini_exec(m,
		"DELETE FROM operation WHERE call IN (SELECT id FROM call WHERE stream = "
		"(SELECT stream FROM call WHERE id = %lld))",
		(long long)last);
	mini_exec(m, "DELETE FROM call WHERE stream = (SELECT stream FROM call WHERE id = %lld)",
		(long long)last);
	assert_string_equal(shown(m), "blocking-copy 5 fetch process");
}

/* A ring of buffers, each asked whether it is free: what the copy has shown is no news. */
static void a_wait_for_what_is_known_is_no_end_of_a_round(void **state)
{
	struct mini *m = *state;
	int64_t s[2] = { mini_stream(m, "blocking"), mini_stream(m, "blocking") };
	int64_t launched = mini_site(m, "process", 20), copied = mini_site(m, "fetch", 30);
	double t = 10;

	for (int i = 0; i < ROUNDS; i++, t += 1500) {
		launch(m, t, s[i % 2], launched, t + 8, t + 1000);
		copy_to_host(m, t + 5, t + 1010, copied, t + 1002);
		MINI_CALL(m, .type = CALL_cuStreamSynchronize, .at = t + 1012, .until = t + 1013,
			.stream = s[(i + 1) % 2]);
	}
	finish(m, t, t + 3);
	/* Nothing shows that the other stream was empty in the first round. */
	assert_string_equal(shown(m), "blocking-copy 4 fetch process");
}

/* Jobs one after the other, each with a stream made for it: there was nothing to overlap with. */
static void a_stream_made_later_was_not_kept_waiting(void **state)
{
	struct mini *m = *state;
	int64_t launched = mini_site(m, "process", 20), copied = mini_site(m, "fetch", 30), s;
	double t = 10;

	for (int i = 0; i < ROUNDS; i++, t += 1500) {
		s = mini_stream(m, "blocking");
		mini_exec(m, "UPDATE stream SET created = %lld WHERE id = %lld",
			(long long)MINI_CALL(m, .type = CALL_cuStreamCreate, .at = t - 5),
			(long long)s);
		launch(m, t, s, launched, t + 8, t + 1000);
		copy_to_host(m, t + 5, t + 1010, copied, t + 1002);
	}
	finish(m, t, t + 3);
	assert_string_equal(shown(m), "");
	mini_exec(m, "UPDATE stream SET created = NULL");
	assert_string_equal(shown(m), "blocking-copy 5 fetch process");
}

static void make_script(struct mini *m, int64_t site)
{
	mini_exec(m,
		"INSERT INTO frame (site, depth, address, function, file, line, user) "
		"SELECT id, 0, (1 << 63) | (7 << 32) | line, function, 'train.py', line, 1 "
		"FROM site WHERE id = %lld",
		(long long)site);
}

/* Below a line of a script nobody sees the copy: the idle device counts. */
static void a_copy_hidden_below_a_script_is_found(void **state)
{
	make_script(*state, fetch_results(*state, "blocking", 1));
	assert_string_equal(shown(*state), "blocking-copy 6 fetch process");
}

/* .item(): a copy to the host and the wait for it, and what the device idles before more comes. */
static int64_t items(struct mini *m, const char *memory, int64_t other_line)
{
	int64_t launched = mini_site(m, "forward", 20), item = mini_site(m, "item", 30);
	int64_t wait = other_line ? mini_site(m, "item", 31) : item;
	int pageable = memory[1] == 'a';
	double t = 10;

	for (int i = 0; i < ROUNDS; i++, t += 1100) {
		launch(m, t, MINI_LEGACY, launched, t + 8, t + 1000);
		MINI_CALL(m, .type = CALL_cuMemcpyDtoHAsync_v2, .at = t + 5,
			.until = pageable ? t + 1006 : t + 7, .stream = MINI_LEGACY, .site = item,
			.bytes = 4, .direction = 1 + COPY_D2H, .dst = memory, .src = "device",
			.runs = { t + 1001, t + 1002 });
		MINI_CALL(m, .type = CALL_cuStreamSynchronize, .at = pageable ? t + 1007 : t + 8,
			.until = pageable ? t + 1009 : t + 1004, .stream = MINI_LEGACY,
			.site = wait);
	}
	make_script(m, item);
	if (other_line)
		make_script(m, wait);
	finish(m, t, t + 3);
	return item;
}

static void a_pinned_item_is_found(void **state)
{
	items(*state, "pinned", 0);
	assert_string_equal(shown(*state), "blocking-copy 6 item forward");
}

static void a_pageable_item_is_found_as_the_same(void **state)
{
	items(*state, "pageable", 0);
	assert_string_equal(shown(*state), "blocking-copy 6 item forward");
	assert_int_equal(mini_int(*state, "SELECT count(*) FROM wait WHERE partner = call + 1"), 6);
}

/* A wait on a line of its own is meant. */
static void a_wait_in_the_next_line_is_meant(void **state)
{
	items(*state, "pinned", 1);
	assert_string_equal(shown(*state), "");
	assert_int_equal(mini_int(*state, "SELECT count(*) FROM wait WHERE partner NOT NULL"), 0);
}

/* A macro of C with both: reading a result, in one stream. */
static void a_copy_and_its_wait_without_a_script_are_a_result(void **state)
{
	items(*state, "pinned", 0);
	mini_exec(*state, "DELETE FROM frame");
	assert_string_equal(shown(*state), "");
}

/* The time a transfer takes by itself is what was asked for. */
static void its_own_transfer_is_no_finding(void **state)
{
	struct mini *m = *state;
	int64_t s = mini_stream(m, "blocking"), site = mini_site(m, "f", 1);

	for (int i = 0; i < ROUNDS; i++) {
		double t = 3000 * i + 10;

		MINI_CALL(m, .type = CALL_cuMemcpyDtoH_v2, .at = t, .until = t + 1010,
			.bytes = 40 << 20, .stream = MINI_LEGACY, .site = site,
			.direction = 1 + COPY_D2H, .src = "device", .dst = "pinned",
			.runs = { t + 5, t + 1005 });
		launch(m, t + 1012, s, site, t + 1020, t + 2000);
		MINI_CALL(m, .type = CALL_cuCtxSynchronize, .at = t + 1020, .until = t + 2003);
	}
	assert_string_equal(shown(m), "");
}

static void clearing_pinned_memory_between_streams_is_found(void **state)
{
	struct mini *m = *state;

	pipeline(m, "blocking");
	mini_exec(m,
		"UPDATE call SET type = %d, dst_memory = 'pinned', src_memory = NULL "
		"WHERE site = 2",
		CALL_cuMemsetD8_v2);
	assert_string_equal(shown(m), "blocking-copy 5 upload process");
	/* That the memsets themselves were held, too, is no other mistake. */
	assert_int_equal(mini_int(m, "SELECT count(*) FROM hold WHERE reason = 'legacy'"), ROUNDS);
	assert_int_equal(mini_int(m, "SELECT count(*) FROM finding"), 1);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, mini_setup, mini_teardown)
	const struct CMUnitTest tests[] = {
		T(a_synchronous_copy_between_streams_is_found),
		T(copies_in_a_row_are_found),
		T(copies_in_a_row_are_found_though_one_is_late),
		T(an_async_copy_begins_no_row),
		T(chunks_of_one_allocation_are_found),
		T(a_copy_that_stands_between_by_its_data_is_not),
		T(kernels_that_may_reach_the_copy_are_not),
		T(a_copy_in_the_thread_s_default_stream_is_found),
		T(a_copy_of_what_the_default_stream_uses_is_not),
		T(a_copy_beside_non_blocking_streams_is_not),
		T(reading_results_of_one_stream_is_not),
		T(reading_results_between_streams_is_found),
		T(results_fetched_one_by_one_are_found),
		T(a_result_and_a_wait_for_the_rest_are_not),
		T(results_of_several_devices_are_not),
		T(a_wait_for_what_is_known_is_no_end_of_a_round),
		T(a_stream_made_later_was_not_kept_waiting),
		T(a_copy_hidden_below_a_script_is_found),
		T(a_pinned_item_is_found),
		T(a_pageable_item_is_found_as_the_same),
		T(a_wait_in_the_next_line_is_meant),
		T(a_copy_and_its_wait_without_a_script_are_a_result),
		T(its_own_transfer_is_no_finding),
		T(clearing_pinned_memory_between_streams_is_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
