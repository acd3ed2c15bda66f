/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a run to its findings: each rule on a buggy miniature and on its fixed twin, and what is
 * true of all findings.
 */
#include "miniature.h"

#include "analyze.h"
#include "pass.h"
#include "rules.h"

/* A launch as __cudaLaunchKernel makes it: the runtime call and the driver call beneath. */
static int64_t launch(struct mini *m, double at, int64_t stream, int64_t site, int64_t kernel,
	double start, double end)
{
	int64_t user = MINI_CALL(m, .type = CALL___cudaLaunchKernel_13, .at = at, .until = at + 3,
		.site = site);

	return MINI_CALL(m, .type = CALL_cuLaunchKernel, .at = at + 0.5, .stream = stream,
		.parent = user, .kernel = kernel, .runs = { start, end },
		.grid = CALL_GRID(8, 1, 1), .block = CALL_BLOCK(256, 1, 1, 0));
}

static void free_memory(struct mini *m, double at, double until, int64_t site)
{
	int64_t user =
		MINI_CALL(m, .type = CALL_cudaFree_11, .at = at, .until = until + 1, .site = site);

	MINI_CALL(m, .type = CALL_cuMemFree_v2, .at = at + 0.5, .until = until, .parent = user,
		.ptr = 0x10000);
}

/* Tiles on two streams in turn; buggy: each frees its scratch memory at once. */
static void tiles(struct mini *m, int buggy)
{
	int64_t stream[2] = { mini_stream(m, "blocking"), mini_stream(m, "blocking") };
	int64_t launched = mini_site(m, "smooth", 40), freed = mini_site(m, "smooth", 44);
	int64_t kernel = mini_kernel(m, "stencil");
	double t = 10, end[2] = { 0, 0 };

	for (int i = 0; i < 10; i++) {
		double start = end[i % 2] > t + 8 ? end[i % 2] + 1 : t + 8;

		end[i % 2] = start + 1000;
		launch(m, t, stream[i % 2], launched, kernel, start, end[i % 2]);
		if (buggy)
			free_memory(m, t + 4, end[i % 2] + 4, freed);
		t = buggy ? end[i % 2] + 10 : t + 10;
	}
	MINI_CALL(m, .type = CALL_cuCtxSynchronize, .at = t, .until = end[1] + 3);
	free_memory(m, end[1] + 10, end[1] + 50, freed);
}

static void a_free_in_the_loop_is_found(void **state)
{
	struct mini *m = *state;

	tiles(m, 1);
	assert_string_equal(mini_shown(m), "blocking-free 9");
	assert_string_equal(mini_text(m, "SELECT message FROM finding"),
		"cudaFree waited 968 us for kernel 'stencil' on stream 8");
	assert_string_equal(mini_text(m, "SELECT fingerprint FROM finding"),
		"blocking-free smooth#1 smooth#1 stencil");
	assert_string_equal(mini_text(m,
				    "SELECT a.line || ' ' || b.line FROM finding "
				    "JOIN site a ON a.id = site JOIN site b ON b.id = other_site"),
		"44 40");
	assert_string_equal(mini_text(m, "SELECT severity || ' ' || confidence FROM finding"),
		"high certain");
}

/* The fix halves the run: what is predicted is near that, and not the 9 times 1 ms waited. */
static void a_saving_never_exceeds_what_the_streams_allow(void **state)
{
	struct mini *m = *state;

	tiles(m, 1);
	analyze(&m->db);
	assert_in_range(mini_int(m, "SELECT saving / 1000 FROM finding"), 5000, 5300);
	assert_in_range(mini_int(m, "SELECT waited / 1000 FROM finding"), 8600, 8800);
}

static void frees_after_the_loop_are_not(void **state)
{
	struct mini *m = *state;

	tiles(m, 0);
	assert_string_equal(mini_shown(m), "");
	assert_int_equal(mini_int(m, "SELECT count(*) FROM finding"), 0);
}

/* Chunks on two streams in turn, copied back to pageable or to pinned memory. */
static void chunks(struct mini *m, const char *memory, int streams, int waits_at_once)
{
	int64_t stream[2] = { mini_stream(m, "non-blocking"), mini_stream(m, "non-blocking") };
	int64_t launched = mini_site(m, "process", 20), copied = mini_site(m, "process", 24);
	int64_t kernel = mini_kernel(m, "scale");
	int pageable = memory[1] == 'a';
	double t = 10, end[2] = { 0, 0 };

	for (int i = 0; i < 10; i++) {
		int s = i % streams;
		double start = end[s] > t + 8 ? end[s] + 1 : t + 8;
		double until = pageable ? start + 560 : t + 8;

		end[s] = start + 550;
		launch(m, t, stream[s], launched, kernel, start, start + 500);
		MINI_CALL(m, .type = CALL_cuMemcpyDtoHAsync_v2, .at = t + 5, .until = until,
			.stream = stream[s], .site = copied, .bytes = 1 << 20,
			.direction = 1 + COPY_D2H, .dst = memory, .src = "device",
			.runs = { start + 501, end[s] });
		t = until + 2;
		if (waits_at_once) {
			MINI_CALL(m, .type = CALL_cuStreamSynchronize, .at = t,
				.until = end[s] + 3 > t + 2 ? end[s] + 3 : t + 2,
				.stream = stream[s]);
			t = (end[s] > t ? end[s] : t) + 5;
		}
	}
	MINI_CALL(m, .type = CALL_cuCtxSynchronize, .at = t, .until = t + 1500);
}

static void pageable_copies_between_streams_are_found(void **state)
{
	struct mini *m = *state;

	chunks(m, "pageable", 2, 0);
	assert_string_equal(mini_shown(m), "pageable-async-copy 9");
	assert_string_equal(mini_text(m, "SELECT message FROM finding"),
		"cuMemcpyDtoHAsync waited 500 us for kernel 'scale' on stream 8");
}

static void pinned_copies_are_not(void **state)
{
	struct mini *m = *state;

	chunks(m, "pinned", 2, 0);
	assert_string_equal(mini_shown(m), "");
}

/* "... and that line did not wait for it anyway" */
static void pageable_copies_waited_for_at_once_are_not(void **state)
{
	struct mini *m = *state;

	chunks(m, "pageable", 1, 1);
	assert_string_equal(mini_shown(m), "");
}

/*
 * Batches are uploaded from one buffer or from one each.  After each upload a kernel is launched
 * that does not need it, or in the same stream.
 */
static void uploads(struct mini *m, int buffers, int streams, int mib)
{
	int64_t up = mini_stream(m, "non-blocking"), own = mini_stream(m, "non-blocking");
	int64_t work = streams == 2 ? own : up;
	int64_t launched = mini_site(m, "process", 30), copied = mini_site(m, "upload", 24);
	int64_t kernel = mini_kernel(m, "scale");
	double t = 10;

	for (int i = 0; i < 10; i++, t += 9200) {
		int64_t copy = MINI_CALL(m, .type = CALL_cuMemcpyHtoDAsync_v2, .at = t,
			.until = t + 6100, .stream = up, .site = copied, .bytes = mib << 20,
			.direction = 1 + COPY_H2D, .dst = "device", .src = "pageable",
			.runs = { t + 10, t + 6105 });

		mini_exec(m, "UPDATE call SET src = %lld WHERE id = %lld",
			0x10000000LL * (1 + i % buffers), (long long)copy);
		launch(m, t + 6102, work, launched, kernel, t + 6110, t + 9110);
		MINI_CALL(m, .type = CALL_cuStreamSynchronize, .at = t + 6106, .until = t + 6108,
			.stream = up);
		MINI_CALL(m, .type = CALL_cuStreamSynchronize, .at = t + 6110, .until = t + 9113,
			.stream = work);
	}
}

/* It waited for nothing but itself; from pinned memory the kernel had run meanwhile. */
static void a_pageable_copy_that_keeps_a_kernel_waiting_is_found(void **state)
{
	struct mini *m = *state;

	uploads(m, 1, 2, 64);
	assert_string_equal(mini_shown(m), "pageable-async-copy 9");
	assert_string_equal(mini_text(m, "SELECT message FROM finding"),
		"cuMemcpyHtoDAsync waited 6.1 ms for its own transfer");
	assert_in_range(mini_int(m, "SELECT share * 100 FROM finding"), 30, 75);
}

/* To pin it takes longer than that one copy. */
static void memory_that_is_copied_once_is_not_for_pinning(void **state)
{
	struct mini *m = *state;

	uploads(m, 10, 2, 64);
	assert_string_equal(mini_shown(m), "");
}

/* Once, whichever copy comes first; to pin more than there is memory saves nothing. */
static void memory_is_pinned_as_far_as_its_longest_copy(void **state)
{
	static const struct {
		int64_t first, others, saving;
	} cases[] = {
		{ 64 << 20, 64 << 20, 56127000 },
		{ 1 << 20, 64 << 20, 56127000 },
		{ 64 << 20, 1 << 20, 56127000 },
		{ (1LL << 48) - 1, 64 << 20, 0 },
	};
	struct mini *m = *state;

	uploads(m, 1, 2, 64);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		mini_exec(m,
			"UPDATE call SET bytes = iif(id = 1, %lld, %lld) WHERE bytes NOT NULL;"
			"UPDATE operation SET bytes = (SELECT bytes FROM call c WHERE c.id = call)",
			(long long)cases[i].first, (long long)cases[i].others);
		assert_string_equal(mini_shown(m), cases[i].saving ? "pageable-async-copy 9" : "");
		assert_int_equal(mini_int(m,
					 "SELECT iif(saving_low IS NULL, -1, saving) FROM finding"),
			cases[i].saving);
	}
}

/* The kernel comes after the copy in any case, which would be as long from pinned memory. */
static void a_pageable_copy_that_the_next_work_needs_is_not(void **state)
{
	struct mini *m = *state;

	uploads(m, 1, 1, 290);
	assert_string_equal(mini_shown(m), "");
	assert_int_equal(mini_int(m, "SELECT count(*) FROM wait WHERE kind = 'staged'"), 9);
}

/* 6.1 ms, and with 50 bytes a nanosecond 1.3 ms; pinning 64 MiB takes 4 ms once. */
static void a_pageable_copy_that_could_be_shorter_is_found(void **state)
{
	struct mini *m = *state;

	uploads(m, 1, 1, 64);
	assert_string_equal(mini_shown(m), "pageable-async-copy 9");
	assert_in_range(mini_int(m, "SELECT saving FROM finding"), 10 * 4500000 - 4000000,
		10 * 5000000 - 4000000);
}

/* As fast as the run's own copies from pinned memory are: 20 bytes a nanosecond. */
static void it_could_be_as_short_as_others_of_the_run(void **state)
{
	struct mini *m = *state;

	MINI_CALL(m, .type = CALL_cuMemcpyHtoDAsync_v2, .at = 1, .stream = MINI_LEGACY,
		.bytes = 2 << 20, .direction = 1 + COPY_H2D, .dst = "device", .src = "pinned",
		.runs = { 2, 2 + 104.8 });
	uploads(m, 1, 1, 64);
	assert_string_equal(mini_shown(m), "pageable-async-copy 9");
	assert_in_range(mini_int(m, "SELECT saving FROM finding"), 10 * 2500000, 10 * 3000000);
}

/*
 * Rounds of a kernel on each of two streams and one on a third, each of them submitted far ahead;
 * the third is the legacy stream or one of its own.
 */
static void rounds(struct mini *m, const char *kind, uint64_t blocks, int third)
{
	int64_t a = mini_stream(m, kind), b = mini_stream(m, kind);
	int64_t site = mini_site(m, "advance", 37), other = mini_site(m, "move", 48);
	int64_t stencil = mini_kernel(m, "stencil"), touch = mini_kernel(m, "touch");
	int64_t own = mini_stream(m, "blocking");
	int serial = third == MINI_LEGACY && strcmp(kind, "non-blocking") != 0;
	double t = 10, at = 50;

	for (int i = 0; i < 10; i++, t += 15) {
		launch(m, t, a, site, stencil, at, at + 500);
		launch(m, t + 5, b, site, stencil, at + 1, at + 501);
		launch(m, t + 10, third == MINI_LEGACY ? MINI_LEGACY : own, other, touch,
			serial ? at + 503 : at + 2, serial ? at + 903 : at + 402);
		at += serial ? 905 : 503;
	}
	if (blocks)
		mini_exec(m,
			"UPDATE call SET grid = %llu, block = 1024 | (1 << 12) | (1 << 24) "
			"WHERE kernel = %lld",
			(unsigned long long)CALL_GRID(blocks, 1, 1), (long long)touch);
	MINI_CALL(m, .type = CALL_cuCtxSynchronize, .at = t, .until = at + 3);
}

static void a_legacy_kernel_between_blocking_streams_is_found(void **state)
{
	struct mini *m = *state;

	rounds(m, "blocking", 0, MINI_LEGACY);
	/* 10 legacy kernels held by one of the two, and 2 of each later round held by it. */
	assert_string_equal(mini_shown(m), "legacy-stream-serialization 28");
	assert_string_equal(mini_text(m, "SELECT substr(message, 1, 126) FROM finding"),
		"kernel "
		"'touch' on the legacy default stream and kernel 'stencil' on stream 9 did not "
		"overlap: the later one was delayed by 522");
	assert_string_equal(mini_text(m,
				    "SELECT a.function || ' ' || b.function FROM finding "
				    "JOIN site a ON a.id = site JOIN site b ON b.id = other_site"),
		"move advance");
	/* Ten rounds of 905 us; the two stencils of each would go on side by side, 500 us each. */
	assert_in_range(mini_int(m, "SELECT saving / 1000 FROM finding"), 3950, 4060);
	assert_int_equal(mini_int(m,
				 "SELECT saving BETWEEN saving_low AND saving_high "
				 "FROM finding"),
		1);
}

/*
 * As seen on an H200 with 64 MiB to the device: copies whose stream is all but idle say what the
 * transfer takes (2.6 ms, where waits.def has 6.3); the others wait for a kernel beyond it.
 */
static void what_a_copy_takes_alone_is_learned_from_the_run(void **state)
{
	struct mini *m = *state;
	int64_t s[] = { mini_stream(m, "blocking"), mini_stream(m, "blocking") };

	for (int i = 0; i < 8; i++) {
		double t = 20000 * i, behind = i % 2 ? 5400 : 100;

		MINI_CALL(m, .type = CALL_cuLaunchKernel, .at = t, .until = t + 5,
			.stream = s[i % 2], .runs = { t + 9, t + 10 + behind });
		MINI_CALL(m, .type = CALL_cuMemcpyHtoDAsync_v2, .at = t + 10,
			.until = t + 10 + behind + 2550, .stream = s[i % 2], .bytes = 64 << 20,
			.direction = 1 + COPY_H2D, .src = "pageable", .dst = "device",
			.runs = { t + 12 + behind, t + 10 + behind + 2575 });
	}
	assert_int_equal(analyze(&m->db), 0);
	assert_string_equal(mini_text(m, "SELECT group_concat(waited / 1000) FROM wait"),
		"5400,5400,5400,5400");
}

/* The order may be what their data needs. */
static void operations_that_share_an_allocation_are_not(void **state)
{
	struct mini *m = *state;

	rounds(m, "blocking", 0, MINI_LEGACY);
	mini_exec(m,
		"INSERT INTO allocation VALUES (900, 1, 4096, 4096, 'device', NULL, NULL);"
		"INSERT INTO operand SELECT call, 'word', 0, 4096, 900 FROM operation");
	assert_string_equal(mini_shown(m), "");
	assert_true(mini_int(m, "SELECT count(*) FROM hold") > 0);
	mini_exec(m, "UPDATE operand SET allocation = 900 + rowid");
	assert_string_equal(mini_shown(m), "legacy-stream-serialization 28");
}

/* Held by two legacy kernels in turn, of which it needs the first: the second is what it lost. */
static void only_what_lies_behind_the_shared_work_is_lost(void **state)
{
	struct mini *m = *state;
	int64_t own = mini_stream(m, "blocking"), first, last;

	first = MINI_CALL(m, .type = CALL_cuLaunchKernel, .at = 1, .until = 3,
		.stream = MINI_LEGACY, .runs = { 10, 3010 });
	MINI_CALL(m, .type = CALL_cuLaunchKernel, .at = 4, .until = 6, .stream = MINI_LEGACY,
		.runs = { 3011, 5011 });
	last = MINI_CALL(m, .type = CALL_cuLaunchKernel, .at = 7, .until = 9, .stream = own,
		.runs = { 5012, 8012 });
	MINI_CALL(m, .type = CALL_cuCtxSynchronize, .at = 10, .until = 8014);
	assert_string_equal(mini_shown(m), "legacy-stream-serialization 1");
	assert_int_equal(mini_int(m, "SELECT held / 1000000 FROM hold"), 4);
	mini_exec(m,
		"INSERT INTO allocation VALUES (900, 1, 4096, 4096, 'device', NULL, NULL);"
		"INSERT INTO operand VALUES (%lld, 'word', 0, 4096, 900), "
		"(%lld, 'word', 0, 4096, 900)",
		(long long)first, (long long)last);
	assert_string_equal(mini_shown(m), "legacy-stream-serialization 1");
	assert_int_equal(mini_int(m, "SELECT delayed / 1000 FROM finding"), 2002);
}

/* Two kernels with one buffer: what is not known may be a dependency, two readers have none. */
static void readers_of_one_buffer_may_overlap(void **state)
{
	struct mini *m = *state;
	int64_t own = mini_stream(m, "blocking"), kernel = mini_kernel(m, "look"), first, last;

	first = MINI_CALL(m, .type = CALL_cuLaunchKernel, .at = 1, .until = 3, .kernel = kernel,
		.stream = MINI_LEGACY, .runs = { 10, 3010 });
	last = MINI_CALL(m, .type = CALL_cuLaunchKernel, .at = 7, .until = 9, .kernel = kernel,
		.stream = own, .runs = { 3012, 8012 });
	MINI_CALL(m, .type = CALL_cuCtxSynchronize, .at = 10, .until = 8014);
	mini_exec(m,
		"INSERT INTO allocation VALUES (900, 1, 4096, 4096, 'device', NULL, NULL);"
		"INSERT INTO operand VALUES (%lld, 'word', 0, 4096, 900), "
		"(%lld, 'word', 0, 4096, 900)",
		(long long)first, (long long)last);
	assert_int_equal(analyze(&m->db), 0);
	assert_int_equal(mini_int(m, "SELECT count(*) FROM finding"), 0);
	mini_exec(m,
		"INSERT INTO kernel_code VALUES (%lld, 'ptx', 1, NULL, 0, NULL);"
		"INSERT INTO kernel_access VALUES (%lld, NULL, 0, 'load', 1, NULL, NULL, NULL, "
		"NULL, NULL, NULL, NULL, NULL, NULL, 0, 0, 0, 0, NULL)",
		(long long)kernel, (long long)kernel);
	assert_int_equal(analyze(&m->db), 0);
	assert_string_equal(mini_text(m, "SELECT rule FROM finding"),
		"legacy-stream-serialization");
	mini_exec(m, "UPDATE kernel_access SET direction = 'store'");
	assert_int_equal(analyze(&m->db), 0);
	assert_int_equal(mini_int(m, "SELECT count(*) FROM finding"), 0);
}

/* A graph needs what its nodes name; one of which that is not known may need anything. */
static void a_graph_shares_what_its_nodes_name(void **state)
{
	struct mini *m = *state;
	int64_t own = mini_stream(m, "blocking"), first, last;

	first = MINI_CALL(m, .type = CALL_cuLaunchKernel, .at = 1, .until = 3,
		.stream = MINI_LEGACY, .runs = { 10, 3010 });
	last = MINI_CALL(m, .type = CALL_cuGraphLaunch, .at = 7, .until = 9, .stream = own,
		.runs = { 3012, 8012 });
	MINI_CALL(m, .type = CALL_cuCtxSynchronize, .at = 10, .until = 8014);
	mini_exec(m,
		"INSERT INTO allocation VALUES (900, 1, 4096, 4096, 'device', NULL, NULL), "
		"(901, 1, 65536, 4096, 'device', NULL, NULL);"
		"INSERT INTO graph_exec (id, process, handle) VALUES (1, 1, 1);"
		"INSERT INTO call_object VALUES (%lld, 'exec', 1);"
		"INSERT INTO operand VALUES (%lld, 'word', 0, 4096, 900), "
		"(%lld, 'node', NULL, 4096, 900)",
		(long long)last, (long long)first, (long long)last);
	assert_string_equal(mini_shown(m), "");
	mini_exec(m, "UPDATE operand SET address = 65536, allocation = 901 WHERE role = 'node'");
	assert_string_equal(mini_shown(m), "legacy-stream-serialization 1");
	mini_exec(m, "INSERT INTO call_object VALUES (%lld, 'content', 1)", (long long)last);
	assert_string_equal(mini_shown(m), "");
}

static void reaching(struct mini *m, int reaches)
{
	mini_exec(m,
		"DELETE FROM kernel_code;"
		"INSERT INTO kernel_code VALUES (1, 'ptx', 0, NULL, %d, NULL)",
		reaches);
}

/* It may reach other memory than its parameters give by a pointer or a variable. */
static void kernels_that_reach_further_may_share_all_the_same(void **state)
{
	struct mini *m = *state;
	int64_t own = mini_stream(m, "blocking"), kernel = mini_kernel(m, "gather"), first, last;

	first = MINI_CALL(m, .type = CALL_cuLaunchKernel, .at = 1, .until = 3, .kernel = kernel,
		.stream = MINI_LEGACY, .runs = { 10, 3010 });
	last = MINI_CALL(m, .type = CALL_cuLaunchKernel, .at = 7, .until = 9, .kernel = kernel,
		.stream = own, .runs = { 3012, 8012 });
	MINI_CALL(m, .type = CALL_cuCtxSynchronize, .at = 10, .until = 8014);
	mini_exec(m,
		"INSERT INTO allocation VALUES (900, 1, 4096, 4096, 'device', NULL, NULL), "
		"(901, 1, 8192, 4096, 'device', NULL, NULL);"
		"INSERT INTO operand VALUES (%lld, 'word', 0, 4096, 900), "
		"(%lld, 'word', 0, 8192, 901)",
		(long long)first, (long long)last);
	reaching(m, 0);
	assert_string_equal(mini_shown(m), "legacy-stream-serialization 1");
	reaching(m, 1);
	assert_string_equal(mini_shown(m), "");
	reaching(m, 4);
	assert_string_equal(mini_shown(m), "legacy-stream-serialization 1");
	reaching(m, 4 + 8);
	assert_string_equal(mini_shown(m), "");
}

static void a_stream_of_its_own_is_not(void **state)
{
	struct mini *m = *state;

	rounds(m, "blocking", 0, 0);
	assert_string_equal(mini_shown(m), "");
	assert_int_equal(mini_int(m, "SELECT count(*) FROM hold WHERE reason = 'legacy'"), 0);
}

static void non_blocking_streams_are_not(void **state)
{
	struct mini *m = *state;

	rounds(m, "non-blocking", 0, MINI_LEGACY);
	assert_string_equal(mini_shown(m), "");
}

/* A kernel that fills 132 SMs of 2048 threads leaves no room to overlap with. */
static void a_legacy_kernel_that_fills_the_device_is_not(void **state)
{
	struct mini *m = *state;

	rounds(m, "blocking", 263, MINI_LEGACY);
	assert_string_equal(mini_shown(m), "legacy-stream-serialization 28");
	mini_exec(m, "UPDATE call SET grid = grid + 1 WHERE grid & 0xffff = 263");
	assert_string_equal(mini_shown(m), "");
}

/* An event record in the legacy stream has no operation, but the same effect. */
static void a_legacy_event_record_is_found(void **state)
{
	struct mini *m = *state;
	int64_t a = mini_stream(m, "blocking"), b = mini_stream(m, "blocking");
	int64_t site = mini_site(m, "advance", 37), other = mini_site(m, "mark", 50);
	int64_t kernel = mini_kernel(m, "stencil"), event = mini_event(m);

	for (int i = 0; i < 5; i++) {
		double t = 3000 * i;

		launch(m, t + 10, a, site, kernel, t + 20, t + 1000);
		MINI_CALL(m, .type = CALL_cuEventRecord, .at = t + 14, .stream = MINI_LEGACY,
			.event = event, .site = other);
		launch(m, t + 18, b, site, kernel, t + 1001, t + 2000);
		MINI_CALL(m, .type = CALL_cuCtxSynchronize, .at = t + 22, .until = t + 2003);
	}
	assert_string_equal(mini_shown(m), "legacy-stream-serialization 5");
	assert_string_equal(mini_text(m, "SELECT function FROM finding JOIN site s ON s.id = site"),
		"mark");
	assert_string_equal(mini_text(m, "SELECT message FROM finding"),
		"an event record on the legacy default stream delayed kernel 'stencil' on stream 9 "
		"by 972 us, until other work had ended: no shared memory detected");
}

/* A synchronous copy in the legacy stream waits for blocking streams by intent. */
static void a_synchronous_copy_is_not_a_serialization(void **state)
{
	struct mini *m = *state;
	int64_t b = mini_stream(m, "blocking"), site = mini_site(m, "step", 10);
	int64_t kernel = mini_kernel(m, "stencil");

	for (int i = 0; i < 5; i++) {
		double t = 2000 * i;

		launch(m, t + 10, b, site, kernel, t + 20, t + 1000);
		MINI_CALL(m, .type = CALL_cuMemcpyDtoH_v2, .at = t + 15, .until = t + 1010,
			.stream = MINI_LEGACY, .site = site, .bytes = 4096,
			.direction = 1 + COPY_D2H, .dst = "pinned", .runs = { t + 1001, t + 1005 });
	}
	assert_string_equal(mini_shown(m), "");
}

static void sites_of_one_line_are_one_place(void **state)
{
	struct mini *m = *state;
	int64_t second;

	tiles(m, 1);
	second = mini_site(m, "smooth", 44);
	mini_exec(m,
		"UPDATE call SET site = %lld WHERE type = %d AND id %% 3; INSERT INTO frame "
		"SELECT id, 0, 4096 + id, NULL, function, file, line, 1, NULL FROM site",
		(long long)second, CALL_cudaFree_11);
	mini_exec(m,
		"INSERT INTO frame SELECT site, 1, 0, NULL, site, file, 1, 1, NULL FROM frame");
	assert_string_equal(mini_shown(m), "blocking-free 9");
	mini_exec(m, "UPDATE frame SET line = 45 WHERE site = %lld", (long long)second);
	mini_exec(m, "UPDATE site SET line = 45 WHERE id = %lld", (long long)second);
	assert_string_equal(mini_shown(m), "blocking-free 9");
	assert_string_equal(mini_text(m,
				    "SELECT group_concat(count || ' at ' || line) "
				    "FROM finding_place p JOIN site s ON s.id = p.site"),
		"6 at 45,3 at 44");
}

/* Static cudart: no runtime call is seen, its name comes from the stack. */
static void a_static_runtime_is_named_by_its_stack(void **state)
{
	struct mini *m = *state;

	tiles(m, 1);
	mini_exec(m, "DELETE FROM call WHERE type = %d", CALL_cudaFree_11);
	mini_exec(m, "UPDATE call SET parent = NULL, site = 2 WHERE type = %d", CALL_cuMemFree_v2);
	mini_exec(m, "UPDATE site SET api = 'cudaFree' WHERE line = 44");
	assert_string_equal(mini_shown(m), "blocking-free 9");
	assert_string_equal(mini_text(m, "SELECT substr(message, 1, 15) FROM finding"),
		"cudaFree waited");
	mini_exec(m, "UPDATE site SET api = NULL");
	mini_shown(m);
	assert_string_equal(mini_text(m, "SELECT substr(message, 1, 16) FROM finding"),
		"cuMemFree waited");
}

/*
 * A finding below 1 % of the run is kept, but not shown. The time that the run takes to end does
 * not matter, nor does work outside of a loop: for a finding in a loop, one turn counts.
 */
static void little_in_a_long_run_is_not_shown(void **state)
{
	struct mini *m = *state;

	tiles(m, 1);
	MINI_CALL(m, .type = CALL_cudaDeviceReset_11, .at = 3e6, .until = 4e6);
	MINI_CALL(m, .type = CALL_cuDevicePrimaryCtxReset_v2, .at = 3e6 + 1, .until = 4e6 - 1);
	MINI_CALL(m, .type = CALL_cuLibraryUnload, .at = 4.5e6);
	assert_string_equal(mini_shown(m), "blocking-free 9");
	MINI_CALL(m, .type = CALL_cuStreamQuery, .at = 5e6);
	assert_string_equal(mini_shown(m), "blocking-free 9");
	assert_string_equal(mini_text(m, "SELECT severity FROM finding"), "high");
	mini_exec(m, "UPDATE call SET site = NULL WHERE site = 1");
	assert_string_equal(mini_shown(m), "");
	assert_string_equal(mini_text(m, "SELECT severity FROM finding"), "low");
}

static const char *all_rows(struct mini *m)
{
	return mini_text(m,
		"SELECT (SELECT count(*) || total(call * needs) FROM dependency) || "
		"(SELECT group_concat(w.id || call || kind || op || waited || "
		"avoidable) FROM wait w) "
		"|| (SELECT count(*) || total(held) FROM hold) || "
		"(SELECT group_concat(id || message || fingerprint || share) FROM "
		"finding_place) || (SELECT count(*) FROM finding_also)");
}

static void analyzing_twice_gives_the_same_rows(void **state)
{
	struct mini *m = *state;
	char first[1024];

	tiles(m, 1);
	rounds(m, "blocking", 0, MINI_LEGACY);
	analyze(&m->db);
	snprintf(first, sizeof(first), "%s", all_rows(m));
	assert_true(strlen(first) > 100);
	assert_int_equal(analyze(&m->db), 0);
	assert_string_equal(all_rows(m), first);
}

static void a_failed_analysis_leaves_the_old_rows(void **state)
{
	struct mini *m = *state;
	char first[1024];

	tiles(m, 1);
	analyze(&m->db);
	snprintf(first, sizeof(first), "%s", all_rows(m));
	mini_exec(m,
		"CREATE TRIGGER no_findings BEFORE INSERT ON finding "
		"BEGIN SELECT RAISE(ABORT, 'as the test wants it'); END");
	fprintf(stderr, "(the next message is expected) ");
	assert_int_equal(analyze(&m->db), -1);
	assert_string_equal(all_rows(m), first);
}

static void every_rule_is_complete(void **state)
{
	for (int i = 0; i < RULE_COUNT; i++) {
		assert_ptr_equal(rule_find(rules[i].id), &rules[i]);
		assert_non_null(rules[i].pass->run);
		assert_non_null(rules[i].pass->say);
		assert_non_null(strstr(rules[i].link, "https://docs.nvidia.com/"));
	}
	assert_null(rule_find("no-such-rule"));
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, mini_setup, mini_teardown)
	const struct CMUnitTest tests[] = {
		T(a_free_in_the_loop_is_found),
		T(a_saving_never_exceeds_what_the_streams_allow),
		T(frees_after_the_loop_are_not),
		T(pageable_copies_between_streams_are_found),
		T(pinned_copies_are_not),
		T(pageable_copies_waited_for_at_once_are_not),
		T(a_pageable_copy_that_keeps_a_kernel_waiting_is_found),
		T(memory_that_is_copied_once_is_not_for_pinning),
		T(memory_is_pinned_as_far_as_its_longest_copy),
		T(a_pageable_copy_that_the_next_work_needs_is_not),
		T(a_pageable_copy_that_could_be_shorter_is_found),
		T(it_could_be_as_short_as_others_of_the_run),
		T(readers_of_one_buffer_may_overlap),
		T(a_graph_shares_what_its_nodes_name),
		T(kernels_that_reach_further_may_share_all_the_same),
		T(a_legacy_kernel_between_blocking_streams_is_found),
		T(what_a_copy_takes_alone_is_learned_from_the_run),
		T(operations_that_share_an_allocation_are_not),
		T(only_what_lies_behind_the_shared_work_is_lost),
		T(a_stream_of_its_own_is_not),
		T(non_blocking_streams_are_not),
		T(a_legacy_kernel_that_fills_the_device_is_not),
		T(a_legacy_event_record_is_found),
		T(a_synchronous_copy_is_not_a_serialization),
		T(sites_of_one_line_are_one_place),
		T(a_static_runtime_is_named_by_its_stack),
		T(little_in_a_long_run_is_not_shown),
		T(analyzing_twice_gives_the_same_rows),
		T(a_failed_analysis_leaves_the_old_rows),
		T(every_rule_is_complete),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
