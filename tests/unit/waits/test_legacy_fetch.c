/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Asynchronous copies to pageable memory in the legacy default stream: two mistakes, each of which
 * would do what the other one does.
 */
#include "blocking.h"

struct job {
	struct mini *m;
	int64_t a, b;                 /* blocking streams */
	int64_t compute, fetch, draw; /* places */
	int64_t state, picture;       /* memory */
};

static struct job job_of(struct mini *m)
{
	struct job job = { m, mini_stream(m, "blocking"), mini_stream(m, "blocking"),
		mini_site(m, "compute", 10), mini_site(m, "fetch", 20), mini_site(m, "draw", 30),
		mini_allocation(m, "device"), mini_allocation(m, "device") };

	return job;
}

static void kernel(struct job *job, double at, int64_t stream, int64_t site, int64_t memory,
	double start, double end)
{
	mini_names(job->m, launch(job->m, at, stream, site, start, end), "word", memory);
}

/*
 * Round by round a kernel (1000 us), a copy to the host in the legacy stream, which the thread
 * waits for, and a kernel in stream b (2000 us).
 */
static void rounds(struct job *job, int64_t stream, int64_t copied, int64_t drawn)
{
	for (int i = 0; i < ROUNDS; i++) {
		double t = 3100 * i;

		kernel(job, t, stream, job->compute, job->state, t + 20, t + 1020);
		mini_names(job->m,
			MINI_CALL(job->m, .type = CALL_cuMemcpyDtoHAsync_v2, .at = t + 3,
				.until = t + 1030, .stream = MINI_LEGACY, .site = job->fetch,
				.bytes = 4096, .direction = 1 + COPY_D2H, .src = "device",
				.dst = "pageable", .runs = { t + 1022, t + 1025 }),
			"src", copied);
		kernel(job, t + 1033, job->b, job->draw, drawn, t + 1040, t + 3040);
		MINI_CALL(job->m, .type = CALL_cuCtxSynchronize, .at = t + 1036, .until = t + 3043);
	}
	finish(job->m, 3100 * ROUNDS, 3100 * ROUNDS + 3);
}

/* The saving of the finding shown, in tenths of a millisecond. */
static int64_t saving(struct mini *m)
{
	return mini_int(m, "SELECT saving / 100000 FROM finding WHERE shown");
}

static const char *tail(struct mini *m)
{
	return mini_text(m, "SELECT substr(message, instr(message, ';')) FROM finding WHERE shown");
}

/* In pinned memory it would keep the picture waiting, in stream a the thread. */
static void a_fetch_in_the_legacy_stream_is_found(void **state)
{
	struct job job = job_of(*state);

	rounds(&job, job.a, job.state, job.picture);
	assert_string_equal(shown(*state), "pageable-async-copy 6 fetch compute");
	assert_string_equal(tail(*state),
		"; from the legacy default stream, where it keeps other "
		"streams' work waiting, it has to be moved as well");
	assert_in_range(saving(*state), 58, 63);
}

/* Then the kernel has to leave it as well. */
static void so_is_one_behind_a_kernel_of_the_legacy_stream(void **state)
{
	struct job job = job_of(*state);

	rounds(&job, MINI_LEGACY, job.state, job.picture);
	assert_string_equal(shown(*state), "pageable-async-copy 6 fetch compute");
	assert_in_range(saving(*state), 58, 63);
}

/* The copy alone is in the wrong stream: there the thread would have nothing to wait for. */
static void of_a_fetch_of_something_else_the_stream_is_told(void **state)
{
	struct job job = job_of(*state);

	rounds(&job, job.a, mini_allocation(*state, "device"), job.picture);
	assert_string_equal(shown(*state), "legacy-stream-serialization 6 fetch compute");
	assert_in_range(saving(*state), 58, 63);
}

/*
 * A kernel before it in that stream is held by one of stream a (2000 us). Moving that kernel saves
 * most of it. Only then the copy keeps the thread from drawing at the same time (1000 us).
 */
static void behind_a_held_kernel_that_is_told(void **state)
{
	struct job job = job_of(*state);
	int64_t prepare = mini_site(job.m, "prepare", 5), data = mini_allocation(job.m, "device");

	for (int i = 0; i < ROUNDS; i++) {
		double t = 5100 * i;

		kernel(&job, t, job.a, prepare, data, t + 20, t + 2020);
		kernel(&job, t + 3, MINI_LEGACY, job.compute, job.state, t + 2021, t + 3021);
		mini_names(job.m,
			MINI_CALL(job.m, .type = CALL_cuMemcpyDtoHAsync_v2, .at = t + 6,
				.until = t + 3030, .stream = MINI_LEGACY, .site = job.fetch,
				.bytes = 4096, .direction = 1 + COPY_D2H, .src = "device",
				.dst = "pageable", .runs = { t + 3023, t + 3026 }),
			"src", job.state);
		kernel(&job, t + 3033, job.b, job.draw, job.picture, t + 3040, t + 5040);
		MINI_CALL(job.m, .type = CALL_cuCtxSynchronize, .at = t + 3036, .until = t + 5043);
	}
	finish(job.m, 5100 * ROUNDS, 5100 * ROUNDS + 3);
	assert_string_equal(shown(*state),
		"legacy-stream-serialization 6 compute prepare, "
		"pageable-async-copy 6 fetch compute");
	assert_in_range(saving(*state), 115, 125);
}

static void what_needs_the_result_comes_after_it(void **state)
{
	struct job job = job_of(*state);

	rounds(&job, job.a, job.state, job.state);
	assert_string_equal(shown(*state), "");
}

static void what_comes_in_the_same_stream_does_so_too(void **state)
{
	struct job job = job_of(*state);

	rounds(&job, job.b, job.state, job.picture);
	assert_string_equal(shown(*state), "");
}

static void non_blocking_streams_are_not_kept_waiting(void **state)
{
	struct job job = job_of(*state);

	mini_exec(*state, "UPDATE stream SET kind = 'non-blocking' WHERE id = %lld",
		(long long)job.b);
	rounds(&job, MINI_LEGACY, job.state, job.picture);
	assert_string_equal(shown(*state), "pageable-async-copy 6 fetch compute");
	assert_int_equal(mini_int(*state,
				 "SELECT count(*) FROM finding "
				 "WHERE message LIKE '%moved%'"),
		0);
}

#define T(name) cmocka_unit_test_setup_teardown(name, mini_setup, mini_teardown)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		T(a_fetch_in_the_legacy_stream_is_found),
		T(so_is_one_behind_a_kernel_of_the_legacy_stream),
		T(of_a_fetch_of_something_else_the_stream_is_told),
		T(behind_a_held_kernel_that_is_told),
		T(what_needs_the_result_comes_after_it),
		T(what_comes_in_the_same_stream_does_so_too),
		T(non_blocking_streams_are_not_kept_waiting),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
