/* SPDX-License-Identifier: Apache-2.0 */
/* Accesses of the host's to pinned memory of copies, as the guard saw them. */
#include "hazard_runs.h"

enum { PINNED = 901, STAGING = 0x40000 };

static void start(struct test *test)
{
	begin(test);
	mini_exec(&test->m, "INSERT INTO allocation VALUES (%d, 1, %d, %d, 'pinned', NULL, NULL)",
		PINNED, STAGING, BYTES);
}

static int64_t fetch(struct test *test, int64_t offset, int64_t bytes)
{
	int64_t call = MINI_CALL(&test->m, .type = CALL_cuMemcpyDtoHAsync_v2, .at = test->t,
		.stream = test->one, .bytes = bytes, .dst = "pinned", .src = "device",
		.direction = 1 + COPY_D2H, .runs = { test->t + 5, test->t + 105 });

	mini_exec(&test->m,
		"INSERT INTO operand VALUES (%lld, 'dst', NULL, %lld, %d), "
		"(%lld, 'src', NULL, %d, %d)",
		(long long)call, (long long)(STAGING + offset), PINNED, (long long)call, ADDRESS,
		MEMORY);
	test->t += 10;
	return call;
}

static int64_t send(struct test *test, int64_t offset, int64_t bytes)
{
	int64_t call = MINI_CALL(&test->m, .type = CALL_cuMemcpyHtoDAsync_v2, .at = test->t,
		.stream = test->one, .bytes = bytes, .dst = "device", .src = "pinned",
		.direction = 1 + COPY_H2D, .runs = { test->t + 5, test->t + 105 });

	mini_exec(&test->m,
		"INSERT INTO operand VALUES (%lld, 'dst', NULL, %d, %d), "
		"(%lld, 'src', NULL, %lld, %d)",
		(long long)call, ADDRESS, MEMORY, (long long)call, (long long)(STAGING + offset),
		PINNED);
	test->t += 10;
	return call;
}

static void touch(struct test *test, int64_t thread, int writes, int64_t offset)
{
	MINI_CALL(&test->m, .type = writes ? CALL_host_write : CALL_host_read, .at = test->t,
		.thread = thread, .ptr = STAGING + offset, .site = mini_site(&test->m, "look", 30));
	test->t += 10;
}

static void wait_by(struct test *test, int64_t thread)
{
	MINI_CALL(&test->m, .type = CALL_cuStreamSynchronize, .at = test->t, .thread = thread,
		.stream = test->one, .until = test->t + 120);
	test->t += 130;
}

static void what_is_fetched_is_read_after_a_wait(void **unused)
{
	struct test test;

	(void)unused;
	start(&test);
	fetch(&test, 0, BYTES);
	touch(&test, 0, 0, 64);
	finish(&test, "early-host-read raw certain 1-2");
	start(&test);
	fetch(&test, 0, BYTES);
	wait_by(&test, 0);
	touch(&test, 0, 0, 64);
	finish(&test, "");
	start(&test); /* the copy ended long before, which nobody knows */
	fetch(&test, 0, BYTES);
	test.t += 1000;
	touch(&test, 0, 0, 64);
	finish(&test, "early-host-read raw certain 1-2");
	start(&test); /* beside the copy's bytes */
	fetch(&test, 0, BYTES / 2);
	touch(&test, 0, 0, BYTES / 2);
	finish(&test, "");
}

static void what_is_sent_is_changed_after_a_wait(void **unused)
{
	struct test test;

	(void)unused;
	start(&test);
	send(&test, 0, BYTES);
	touch(&test, 0, 1, 64);
	finish(&test, "early-host-write war certain 1-2");
	start(&test); /* both may look at it */
	send(&test, 0, BYTES);
	touch(&test, 0, 0, 64);
	finish(&test, "");
	start(&test);
	send(&test, 0, BYTES);
	wait_by(&test, 0);
	touch(&test, 0, 1, 64);
	finish(&test, "");
	start(&test); /* the device's bytes land on the host's, or under them */
	fetch(&test, 0, BYTES);
	touch(&test, 0, 1, 64);
	finish(&test, "early-host-write waw certain 1-2");
}

/* The thread that waited may have told the one that looks. */
static void another_threads_wait_is_a_doubt(void **unused)
{
	struct test test;

	(void)unused;
	start(&test);
	mini_exec(&test.m, "INSERT INTO thread(id, process, tid) VALUES (2, 1, 2)");
	fetch(&test, 0, BYTES);
	wait_by(&test, 2);
	touch(&test, 0, 0, 64);
	finish(&test, "early-host-read raw possible 1-3");
}

static const char *findings(struct test *test)
{
	static char text[256];

	assert_int_equal(analyze(&test->m.db), 0);
	snprintf(text, sizeof(text), "%s",
		mini_text(&test->m,
			"SELECT ifnull(group_concat(rule || ' ' || confidence || ' ' || shown "
			"|| ' ' || count || ': ' || message, '; '), '') FROM finding"));
	mini_release(&test->m);
	return text;
}

static void touches_of_one_copy_are_one_finding(void **unused)
{
	struct test test;

	(void)unused;
	start(&test);
	fetch(&test, 0, BYTES);
	touch(&test, 0, 0, 0);
	touch(&test, 0, 0, 8192);
	assert_string_equal(findings(&test),
		"early-host-read certain 1 1: the host reads what a copy of 64 KiB to the host on "
		"stream 8 writes, without having waited for it");
	start(&test);
	send(&test, 0, BYTES);
	touch(&test, 0, 1, 0);
	assert_string_equal(findings(&test),
		"early-host-write certain 1 1: the host overwrites what a copy of 64 KiB to the "
		"device on stream 8 reads, without having waited for it");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_fetched_is_read_after_a_wait),
		cmocka_unit_test(what_is_sent_is_changed_after_a_wait),
		cmocka_unit_test(another_threads_wait_is_a_doubt),
		cmocka_unit_test(touches_of_one_copy_are_one_finding),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
