/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs of a few operations that use one allocation of BYTES at ADDRESS, in two non-blocking
 * streams; calls are 10 us apart, and what is launched runs for 100.
 */
#ifndef CUFENCE_TESTS_HAZARD_RUNS_H
#define CUFENCE_TESTS_HAZARD_RUNS_H

#include "miniature.h"

enum { MEMORY = 900, ADDRESS = 0x10000, BYTES = 65536 };

struct test {
	struct mini m;
	int64_t one, two; /* non-blocking streams */
	int64_t reader, writer, counter, pointer;
	double t; /* us */
};

/* A kernel that does that to so many bytes from its first word on. */
static inline int64_t kernel(struct mini *m, const char *direction, int bytes, int exact)
{
	int64_t id = mini_kernel(m, direction);

	mini_exec(m, "INSERT INTO kernel_code VALUES (%lld, 'ptx', 1, NULL, 0, NULL)",
		(long long)id);
	mini_exec(m,
		"INSERT INTO kernel_access VALUES (%lld, NULL, 0, '%s', 1, 0, %d, "
		"NULL, NULL, NULL, "
		"NULL, NULL, NULL, NULL, %d, 0, 0, 0, NULL)",
		(long long)id, direction, bytes, exact);
	return id;
}

static inline void begin(struct test *test)
{
	struct mini *m = &test->m;

	mini_init(m);
	test->t = 10;
	test->one = mini_stream(m, "non-blocking");
	test->two = mini_stream(m, "non-blocking");
	test->reader = kernel(m, "load", BYTES / 2, 1);
	test->writer = kernel(m, "store", BYTES / 2, 1);
	test->counter = kernel(m, "atomic", BYTES / 2, 1);
	test->pointer = mini_kernel(m, "pointer");
	mini_exec(m, "INSERT INTO allocation VALUES (%d, 1, %d, %d, 'device', NULL, NULL)", MEMORY,
		ADDRESS, BYTES);
}

static inline int64_t launch_by(struct test *test, int64_t thread, int64_t kernel, int64_t stream,
	int64_t offset)
{
	int64_t call =
		MINI_CALL(&test->m, .type = CALL_cuLaunchKernel, .at = test->t, .thread = thread,
			.kernel = kernel, .stream = stream, .runs = { test->t + 5, test->t + 105 });

	mini_exec(&test->m, "INSERT INTO operand VALUES (%lld, 'word', 0, %lld, %d)",
		(long long)call, (long long)(ADDRESS + offset), MEMORY);
	test->t += 10;
	return call;
}

static inline int64_t launch(struct test *test, int64_t kernel, int64_t stream, int64_t offset)
{
	return launch_by(test, 0, kernel, stream, offset);
}

static inline void record(struct test *test, int64_t event, int64_t stream)
{
	MINI_CALL(&test->m, .type = CALL_cuEventRecord, .at = test->t, .event = event,
		.stream = stream);
	test->t += 10;
}

static inline void wait_for(struct test *test, int64_t event, int64_t stream)
{
	MINI_CALL(&test->m, .type = CALL_cuStreamWaitEvent, .at = test->t, .event = event,
		.stream = stream);
	test->t += 10;
}

/* The hazards, in order. */
static inline void finish(struct test *test, const char *wanted)
{
	assert_int_equal(analyze(&test->m.db), 0);
	assert_string_equal(mini_text(&test->m,
				    "SELECT ifnull(group_concat(rule || ' ' || kind || ' ' || "
				    "confidence || ' ' || other_call || '-' || call || "
				    "ifnull(' ' || why, ''), ', '), '') FROM hazard"),
		wanted);
	mini_release(&test->m);
}

#endif
