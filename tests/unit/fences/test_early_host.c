/* SPDX-License-Identifier: Apache-2.0 */
/*
 * early-host-read and early-host-write: what is made of accesses of the program's own code to the
 * pinned memory of copies, as the guard of host memory records them.
 */
#include "miniature.h"

#include "analyze.h"

enum { MEMORY = 900, ADDRESS = 0x10000, BYTES = 65536 };

struct test {
	struct mini m;
	int64_t one, two;                        /* non-blocking streams */
	int64_t copied, again, reads, elsewhere; /* sites */
	double t;                                /* us */
};

static void begin(struct test *test)
{
	struct mini *m = &test->m;

	mini_init(m);
	test->t = 10;
	test->one = mini_stream(m, "non-blocking");
	test->two = mini_stream(m, "non-blocking");
	test->copied = mini_site(m, "download", 15);
	test->again = mini_site(m, "download", 25);
	test->reads = mini_site(m, "read_result", 20);
	test->elsewhere = mini_site(m, "print_result", 30);
	mini_exec(m, "INSERT INTO allocation VALUES (%d, 1, %d, %d, 'pinned', NULL, NULL)", MEMORY,
		ADDRESS, BYTES);
}

/* A copy of so many bytes to or from the memory, pending for 500 us. */
static int64_t copy_part(struct test *test, enum copy_direction direction, int64_t stream,
	int64_t offset, int64_t bytes)
{
	int down = direction == COPY_D2H;
	int64_t call = MINI_CALL(&test->m,
		.type = down ? CALL_cuMemcpyDtoHAsync_v2 : CALL_cuMemcpyHtoDAsync_v2, .at = test->t,
		.stream = stream, .site = test->copied, .bytes = bytes, .direction = 1 + direction,
		.dst = down ? "pinned" : "device", .src = down ? "device" : "pinned",
		.runs = { test->t + 5, test->t + 505 });

	mini_exec(&test->m, "INSERT INTO operand VALUES (%lld, '%s', NULL, %lld, %d)",
		(long long)call, down ? "dst" : "src", (long long)(ADDRESS + offset), MEMORY);
	test->t += 10;
	return call;
}

static int64_t copy(struct test *test, enum copy_direction direction, int64_t stream)
{
	return copy_part(test, direction, stream, 0, BYTES);
}

static void touch_by(struct test *test, int64_t thread, int type, int64_t site, int64_t offset)
{
	MINI_CALL(&test->m, .type = type, .at = test->t, .thread = thread, .site = site,
		.ptr = ADDRESS + offset);
	test->t += 10;
}

static void touch(struct test *test, int type, int64_t offset)
{
	touch_by(test, 0, type, test->reads, offset);
}

static void synchronize_by(struct test *test, int64_t thread, int64_t stream)
{
	MINI_CALL(&test->m, .type = CALL_cuStreamSynchronize, .at = test->t, .until = test->t + 600,
		.thread = thread, .stream = stream);
	test->t += 610;
}

/* Expects, for each place of the findings: rule, confidence, times, the two lines. */
static void finish(struct test *test, const char *wanted)
{
	assert_int_equal(analyze(&test->m.db), 0);
	assert_string_equal(
		mini_text(&test->m,
			"SELECT ifnull(group_concat(t, ', '), '') FROM (SELECT "
			"f.rule || ' ' || f.confidence || ' ' || p.count || ' ' || "
			"s.text || ' -> ' || o.text AS t FROM finding f JOIN "
			"finding_place p ON p.finding = f.id LEFT JOIN site s ON s.id = "
			"p.site LEFT JOIN site o ON o.id = p.other_site ORDER BY p.id)"),
		wanted);
	mini_release(&test->m);
}

/* More pending copies than are kept, of which the first one is read. */
static void copies_that_were_dropped_are_said(void **unused)
{
	struct test test;

	(void)unused;
	begin(&test);
	for (int i = 0; i < 16385; i++)
		copy_part(&test, COPY_D2H, test.one, 2 * i, 2);
	touch(&test, CALL_host_read, 0);
	assert_int_equal(analyze(&test.m.db), 0);
	assert_string_equal(mini_text(&test.m, "SELECT reason || ' ' || count FROM loss"),
		"accesses_forgotten 1");
	finish(&test, "");
}

static void a_read_of_a_pending_copy_is_found(void **unused)
{
	struct test test;

	(void)unused;
	begin(&test);
	copy(&test, COPY_D2H, test.one);
	touch(&test, CALL_host_read, 100);
	assert_int_equal(analyze(&test.m.db), 0);
	assert_string_equal(mini_text(&test.m, "SELECT message FROM finding"),
		"the host reads what a copy of 64 KiB to the host on stream 8 writes, without "
		"having waited for it");
	assert_string_equal(mini_text(&test.m, "SELECT fix FROM finding_place"),
		"wait for stream 8 after `cuMemcpyDtoHAsync` (mini.cu:15), before the host goes on "
		"(mini.cu:20)");
	assert_string_equal(mini_text(&test.m,
				    "SELECT evidence || ' ' || other_evidence FROM hazard"),
		"guard exact");
	finish(&test, "early-host-read certain 1 mini.cu:20 -> mini.cu:15");
}

static void a_write_of_memory_that_a_copy_uses_is_found(void **unused)
{
	struct test test;

	(void)unused;
	begin(&test); /* it reads it still */
	copy(&test, COPY_H2D, test.one);
	touch(&test, CALL_host_write, 0);
	assert_int_equal(analyze(&test.m.db), 0);
	assert_string_equal(mini_text(&test.m, "SELECT message FROM finding"),
		"the host overwrites what a copy of 64 KiB to the device on stream 8 reads, "
		"without having waited for it");
	finish(&test, "early-host-write certain 1 mini.cu:20 -> mini.cu:15");
	begin(&test); /* it writes it still */
	copy(&test, COPY_D2H, test.one);
	touch(&test, CALL_host_write, BYTES - 1);
	finish(&test, "early-host-write certain 1 mini.cu:20 -> mini.cu:15");
	begin(&test); /* both read */
	copy(&test, COPY_H2D, test.one);
	touch(&test, CALL_host_read, 0);
	finish(&test, "");
}

static void after_a_wait_there_is_none(void **unused)
{
	struct test test;
	int64_t event;

	(void)unused;
	begin(&test);
	copy(&test, COPY_D2H, test.one);
	synchronize_by(&test, 0, test.one);
	touch(&test, CALL_host_read, 0);
	finish(&test, "");
	begin(&test); /* through another stream, which the guard does not follow */
	copy(&test, COPY_D2H, test.one);
	event = mini_event(&test.m);
	MINI_CALL(&test.m, .type = CALL_cuEventRecord, .at = test.t, .event = event,
		.stream = test.one);
	MINI_CALL(&test.m, .type = CALL_cuStreamWaitEvent, .at = test.t + 10, .event = event,
		.stream = test.two);
	test.t += 20;
	synchronize_by(&test, 0, test.two);
	touch(&test, CALL_host_read, 0);
	finish(&test, "");
	begin(&test); /* of another stream */
	copy(&test, COPY_D2H, test.one);
	synchronize_by(&test, 0, test.two);
	touch(&test, CALL_host_read, 0);
	finish(&test, "early-host-read certain 1 mini.cu:20 -> mini.cu:15");
	begin(&test); /* too late */
	copy(&test, COPY_D2H, test.one);
	touch(&test, CALL_host_read, 0);
	synchronize_by(&test, 0, test.one);
	finish(&test, "early-host-read certain 1 mini.cu:20 -> mini.cu:15");
}

/* That thread may have signalled this one by means that are not recorded, such as a lock. */
static void where_another_thread_has_waited_it_is_possible(void **unused)
{
	struct test test;
	int64_t other;

	(void)unused;
	begin(&test);
	other = mini_thread(&test.m);
	copy(&test, COPY_D2H, test.one);
	synchronize_by(&test, other, test.one);
	touch(&test, CALL_host_read, 0);
	assert_int_equal(analyze(&test.m.db), 0);
	assert_int_equal(mini_int(&test.m, "SELECT count(*) FROM finding WHERE shown"), 0);
	finish(&test, "early-host-read possible 1 mini.cu:20 -> mini.cu:15");
	begin(&test); /* for another stream */
	other = mini_thread(&test.m);
	copy(&test, COPY_D2H, test.one);
	synchronize_by(&test, other, test.two);
	touch(&test, CALL_host_read, 0);
	finish(&test, "early-host-read certain 1 mini.cu:20 -> mini.cu:15");
	begin(&test); /* the thread that touches it is another one than that which copies */
	other = mini_thread(&test.m);
	copy(&test, COPY_D2H, test.one);
	touch_by(&test, other, CALL_host_read, test.reads, 0);
	finish(&test, "early-host-read certain 1 mini.cu:20 -> mini.cu:15");
}

/* A function of the program that the stream calls may have signalled the thread that reads. */
static void after_a_host_function_it_is_possible(void **unused)
{
	struct test test;

	(void)unused;
	for (int has_run = 0; has_run < 2; has_run++) {
		begin(&test);
		copy(&test, COPY_D2H, test.one);
		MINI_CALL(&test.m, .type = CALL_cuLaunchHostFunc, .at = test.t, .stream = test.one);
		test.t += has_run ? 600 : 10;
		touch(&test, CALL_host_read, 0);
		finish(&test,
			has_run ? "early-host-read possible 1 mini.cu:20 -> mini.cu:15"
				: "early-host-read certain 1 mini.cu:20 -> mini.cu:15");
	}
}

/* The guard opens a copy at its first access: what it records later is of others. */
/* PyTorch's allocator of pinned memory asks for a block that was given back, and hands it out. */
static void an_allocator_that_was_told_so_hands_memory_out(void **unused)
{
	struct test test;
	int64_t event;

	(void)unused;
	for (int read = 0; read < 2; read++) {
		begin(&test);
		mini_exec(&test.m,
			"INSERT INTO module VALUES (1, 1, 0, 10, 0, '/lib/libtorch_cuda.so', "
			"NULL)");
		mini_exec(&test.m,
			"INSERT INTO frame (site, depth, address, module, function, user) VALUES "
			"(%lld, 0, 1, 1, 'process_events', 0), (%lld, 1, 2, 1, 'allocate', 0)",
			(long long)test.again, (long long)test.again);
		mini_exec(&test.m, "UPDATE allocation SET created = %lld",
			(long long)MINI_CALL(&test.m, .type = CALL_cuMemHostAlloc, .at = 1,
				.site = test.again));
		event = mini_event(&test.m);
		MINI_CALL(&test.m, .type = CALL_cuEventCreate, .at = 4, .event = event);
		copy(&test, read ? COPY_D2H : COPY_H2D, test.one);
		MINI_CALL(&test.m, .type = CALL_cuEventRecord, .at = test.t, .event = event,
			.stream = test.one);
		MINI_CALL(&test.m, .type = CALL_cuEventQuery, .at = test.t + 500, .event = event,
			.site = test.again);
		test.t += 510;
		touch(&test, read ? CALL_host_read : CALL_host_write, 0);
		finish(&test, read ? "early-host-read certain 1 mini.cu:20 -> mini.cu:15" : "");
	}
}

static void several_accesses_to_one_copy_are_one(void **unused)
{
	struct test test;

	(void)unused;
	begin(&test);
	copy(&test, COPY_D2H, test.one);
	touch(&test, CALL_host_read, 0);
	touch(&test, CALL_host_read, 8192);
	touch_by(&test, 0, CALL_host_read, test.elsewhere, 100);
	touch(&test, CALL_host_write, 0);
	finish(&test, "early-host-read certain 1 mini.cu:20 -> mini.cu:15");
	begin(&test); /* each turn of a loop has a copy of its own */
	for (int i = 0; i < 3; i++) {
		copy(&test, COPY_D2H, test.one);
		touch(&test, CALL_host_read, 0);
	}
	assert_int_equal(analyze(&test.m.db), 0);
	assert_int_equal(mini_int(&test.m, "SELECT count(*) FROM hazard"), 3);
	finish(&test, "early-host-read certain 3 mini.cu:20 -> mini.cu:15");
	begin(&test); /* two copies are two places of a finding */
	copy(&test, COPY_D2H, test.one);
	touch(&test, CALL_host_read, 0);
	test.copied = test.again;
	copy(&test, COPY_D2H, test.one);
	touch_by(&test, 0, CALL_host_read, test.elsewhere, 0);
	assert_int_equal(analyze(&test.m.db), 0);
	assert_int_equal(mini_int(&test.m, "SELECT count(*) FROM finding"), 1);
	finish(&test,
		"early-host-read certain 1 mini.cu:20 -> mini.cu:15, "
		"early-host-read certain 1 mini.cu:30 -> mini.cu:25");
}

static void memory_beside_the_copy_is_not_its(void **unused)
{
	struct test test;

	(void)unused;
	begin(&test);
	copy_part(&test, COPY_D2H, test.one, 4096, 4096);
	touch(&test, CALL_host_read, 4095);
	touch(&test, CALL_host_read, 8192);
	finish(&test, "");
	begin(&test);
	copy_part(&test, COPY_D2H, test.one, 4096, 4096);
	touch(&test, CALL_host_read, 8191);
	finish(&test, "early-host-read certain 1 mini.cu:20 -> mini.cu:15");
}

/* Rows of 64 bytes at a pitch of 128, with as many of another copy between them. */
static int64_t copy_rows(struct test *test, int64_t stream, int64_t offset)
{
	int64_t call = copy_part(test, COPY_D2H, stream, offset, 64 * 16);

	mini_exec(&test->m,
		"INSERT INTO extent VALUES (%lld, 'dst', 0, %lld, %d, 64, 128, 16, 0, 1)",
		(long long)call, (long long)(ADDRESS + offset), MEMORY);
	return call;
}

static void what_lies_between_rows_is_another_copys(void **unused)
{
	struct test test;
	int64_t event;

	(void)unused;
	begin(&test);
	copy_rows(&test, test.one, 0);
	touch(&test, CALL_host_read, 3 * 128 + 63);
	finish(&test, "early-host-read certain 1 mini.cu:20 -> mini.cu:15");
	/* The guard saw it, since it did not see that the wait is one for the second copy. */
	begin(&test);
	copy_rows(&test, test.one, 0);
	copy_rows(&test, test.two, 64);
	event = mini_event(&test.m);
	MINI_CALL(&test.m, .type = CALL_cuEventRecord, .at = test.t, .event = event,
		.stream = test.two);
	MINI_CALL(&test.m, .type = CALL_cuStreamWaitEvent, .at = test.t + 10, .event = event,
		.stream = MINI_LEGACY);
	test.t += 20;
	synchronize_by(&test, 0, MINI_LEGACY);
	touch(&test, CALL_host_read, 3 * 128 + 64);
	finish(&test, "");
}

/* The call returns when its memory is written. */
static void a_blocking_copy_is_not_pending(void **unused)
{
	struct test test;
	int64_t call;

	(void)unused;
	begin(&test);
	call = MINI_CALL(&test.m, .type = CALL_cuMemcpyDtoH_v2, .at = test.t, .until = test.t + 600,
		.stream = MINI_LEGACY, .site = test.copied, .bytes = BYTES,
		.direction = 1 + COPY_D2H, .dst = "pinned", .src = "device",
		.runs = { test.t + 5, test.t + 505 });
	mini_exec(&test.m, "INSERT INTO operand VALUES (%lld, 'dst', NULL, %d, %d)",
		(long long)call, ADDRESS, MEMORY);
	test.t += 610;
	touch(&test, CALL_host_read, 0);
	finish(&test, "");
}

/* --- kernels and managed memory --- */

/* A launch that is pending for 500 us; its kernel accesses the first so many bytes. */
static int64_t launch(struct test *test, const char *direction, int bytes)
{
	struct mini *m = &test->m;
	int64_t id = mini_kernel(m, "work"), call;

	mini_exec(m, "UPDATE allocation SET memory = 'managed'");
	mini_exec(m, "INSERT INTO kernel_code VALUES (%lld, 'ptx', 1, NULL, 0, NULL)",
		(long long)id);
	mini_exec(m,
		"INSERT INTO kernel_access VALUES (%lld, NULL, 0, '%s', 1, 0, %d, NULL, NULL, "
		"NULL, NULL, NULL, NULL, NULL, 1, 0, 0, 0, NULL)",
		(long long)id, direction, bytes);
	call = MINI_CALL(m, .type = CALL_cuLaunchKernel, .at = test->t, .stream = test->one,
		.site = test->copied, .kernel = id, .runs = { test->t + 5, test->t + 505 });
	mini_exec(m, "INSERT INTO operand VALUES (%lld, 'word', 0, %d, %d)", (long long)call,
		ADDRESS, MEMORY);
	test->t += 10;
	return call;
}

static void what_a_kernel_writes_is_not_to_be_read(void **unused)
{
	struct test test;

	(void)unused;
	begin(&test);
	launch(&test, "store", 4096);
	touch(&test, CALL_host_read, 100);
	finish(&test, "early-host-read certain 1 mini.cu:20 -> mini.cu:15");
	begin(&test); /* a part of it that the kernel does not use */
	launch(&test, "store", 4096);
	touch(&test, CALL_host_read, 4096);
	finish(&test, "");
	begin(&test); /* after a wait */
	launch(&test, "store", 4096);
	synchronize_by(&test, 0, test.one);
	touch(&test, CALL_host_read, 100);
	finish(&test, "");
	begin(&test); /* page by page, and each line is a place */
	launch(&test, "store", 8192);
	touch(&test, CALL_host_read, 100);
	touch(&test, CALL_host_read, 5000);
	touch_by(&test, 0, CALL_host_read, test.elsewhere, 100);
	finish(&test,
		"early-host-read certain 1 mini.cu:20 -> mini.cu:15, "
		"early-host-read certain 1 mini.cu:30 -> mini.cu:15");
}

static void what_a_kernel_reads_may_be_read(void **unused)
{
	struct test test;

	(void)unused;
	begin(&test);
	launch(&test, "load", 4096);
	touch(&test, CALL_host_read, 100);
	touch(&test, CALL_host_write, 100);
	finish(&test, "early-host-write certain 1 mini.cu:20 -> mini.cu:15");
}

/* The host may poll it while the kernel runs. */
static void a_word_may_be_a_flag(void **unused)
{
	struct test test;

	(void)unused;
	begin(&test);
	launch(&test, "store", 4);
	touch(&test, CALL_host_read, 0);
	finish(&test, "early-host-read likely 1 mini.cu:20 -> mini.cu:15");
	begin(&test);
	launch(&test, "atomic", 4);
	touch(&test, CALL_host_read, 0);
	finish(&test, "early-host-read possible 1 mini.cu:20 -> mini.cu:15");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(copies_that_were_dropped_are_said),
		cmocka_unit_test(a_read_of_a_pending_copy_is_found),
		cmocka_unit_test(a_write_of_memory_that_a_copy_uses_is_found),
		cmocka_unit_test(after_a_wait_there_is_none),
		cmocka_unit_test(where_another_thread_has_waited_it_is_possible),
		cmocka_unit_test(after_a_host_function_it_is_possible),
		cmocka_unit_test(an_allocator_that_was_told_so_hands_memory_out),
		cmocka_unit_test(several_accesses_to_one_copy_are_one),
		cmocka_unit_test(memory_beside_the_copy_is_not_its),
		cmocka_unit_test(what_lies_between_rows_is_another_copys),
		cmocka_unit_test(what_a_kernel_writes_is_not_to_be_read),
		cmocka_unit_test(what_a_kernel_reads_may_be_read),
		cmocka_unit_test(a_word_may_be_a_flag),
		cmocka_unit_test(a_blocking_copy_is_not_pending),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
