/* SPDX-License-Identifier: Apache-2.0 */
/*
 * needless-wait: waits that nobody needed before the next one, and the many that somebody did.
 */
#include "needless.h"

static void waits_between_streams_are_found(void **state)
{
	struct shop *s = *state;

	for (int i = 0; i < 8; i++)
		turn(s, i, i % 2 ? s->yours : s->mine);
	assert_string_equal(found(s, 2640), "likely 8 20 1");
	assert_string_equal(mini_text(&s->mini, "SELECT message FROM finding"),
		"cuStreamSynchronize waited for kernel 'touch' on stream 8: no use of its results "
		"detected before the next wait");
	assert_int_equal(mini_int(&s->mini, "SELECT saving > 1000000 FROM finding"), 1);
}

/* One stream is in order by itself.  How surely is a matter of what is known of the kernels. */
static void a_wait_for_one_stream_is_found(void **state)
{
	struct shop *s = *state;

	for (int i = 0; i < 8; i++)
		turn(s, 2 * i, s->mine);
	assert_string_equal(found(s, 5280), "likely 8 20 1");
	mini_exec(&s->mini, "INSERT INTO kernel_code VALUES (%lld, 'machine', 1, NULL, 0, 0)",
		(long long)s->kernel);
	assert_string_equal(found(s, 5620), "likely 8 20 1");
	mini_exec(&s->mini, "UPDATE kernel_code SET evidence = 'ptx'");
	assert_string_equal(found(s, 5960), "certain 8 20 1");
}

/* It is what they are for, and events do that without a wait. */
static void waits_for_a_clock_are_likely(void **state)
{
	struct shop *s = *state;
	int64_t reader = mini_site(&s->mini, "now", 50);

	mini_exec(&s->mini, "INSERT INTO kernel_code VALUES (%lld, 'ptx', 1, NULL, 0, 0)",
		(long long)s->kernel);
	for (int i = 0; i < 8; i++) {
		turn(s, 2 * i, s->mine);
		mini_exec(&s->mini, "INSERT INTO clock_read VALUES (1, %lld, %lld)",
			(long long)mini_ns(660 * i + 314), (long long)reader);
	}
	assert_string_equal(found(s, 5280), "likely 8 20 1");
	assert_string_equal(mini_text(&s->mini, "SELECT substr(fix, 1, 29) FROM finding_place"),
		"record events around the work");
	mini_exec(&s->mini, "DELETE FROM clock_read WHERE time < %lld", (long long)mini_ns(3000));
	assert_string_equal(found(s, 5620), "certain 8 20 1");
}

/* Two turns are in progress at a time: that is what the waits are for. */
static void a_bound_that_keeps_work_in_progress_is_possible(void **state)
{
	struct shop *s = *state;
	struct mini *m = &s->mini;
	int64_t slots[2] = { mini_event(m), mini_event(m) };

	for (int i = 0; i < 12; i++) {
		double t = 300 * i;
		int64_t call;

		if (i > 1)
			MINI_CALL(m, .type = CALL_cuEventSynchronize, .at = t, .until = t + 20,
				.event = slots[i % 2], .site = s->at_wait);
		call = MINI_CALL(m, .type = CALL_cuLaunchKernel, .at = t + 21, .stream = s->a,
			.site = s->at_launch, .kernel = s->kernel, .runs = { t + 315, t + 614 });
		mini_names(m, call, "word", s->mine);
		MINI_CALL(m, .type = CALL_cuEventRecord, .at = t + 25, .event = slots[i % 2],
			.stream = s->a);
	}
	assert_string_equal(found(s, 4300), "possible 10 20 0");
}

/* The host may free what it has copied from, after the wait. */
static void a_wait_for_a_copy_from_pageable_memory_is_possible(void **state)
{
	struct shop *s = *state;

	for (int i = 0; i < 8; i++) {
		MINI_CALL(&s->mini, .type = CALL_cuMemcpyHtoDAsync_v2, .at = 400 * i,
			.stream = s->a, .site = s->at_copy, .bytes = 4096,
			.direction = 1 + COPY_H2D, .dst = "device", .src = "pageable",
			.runs = { 400 * i + 5, 400 * i + 6 });
		launch(s, 400 * i + 10, s->a, s->mine);
		wait_stream(s, 400 * i + 15, 400 * i + 323, s->a);
	}
	assert_string_equal(found(s, 3200), "possible 8 20 0");
}

/* Both streams work at a time; the host waits for the one, and for the other. */
static void waits_at_the_end_of_a_step_are_found(void **state)
{
	struct shop *s = *state;

	for (int i = 0; i < 8; i++) {
		double t = 330 * i;

		launch(s, t, s->a, s->mine);
		launch(s, t + 3, s->b, s->yours);
		wait_stream(s, t + 6, t + 313, s->a);
		wait_stream(s, t + 314, t + 316, s->b);
	}
	assert_string_equal(found(s, 2640), "likely 16 20 1");
}

/* The oldest of several slots: the work after the wait goes to its stream. */
static void a_wait_for_the_oldest_slot_is_possible(void **state)
{
	struct shop *s = *state;
	int64_t slots[2] = { mini_event(&s->mini), mini_event(&s->mini) };

	for (int i = 0; i < 8; i++) {
		double t = 160 * i;

		if (i > 1)
			MINI_CALL(&s->mini, .type = CALL_cuEventSynchronize, .at = t,
				.until = t + 62, .event = slots[i % 2], .site = s->at_wait);
		launch(s, t + 65, i % 2 ? s->b : s->a, i % 2 ? s->yours : s->mine);
		MINI_CALL(&s->mini, .type = CALL_cuEventRecord, .at = t + 8, .event = slots[i % 2],
			.stream = i % 2 ? s->b : s->a);
	}
	assert_string_equal(found(s, 1600), "possible 6 20 0");
}

static void who_shares_memory_needs_the_wait(void **state)
{
	struct shop *s = *state;

	for (int i = 0; i < 8; i++)
		turn(s, i, s->mine);
	assert_string_equal(found(s, 2640), "");
}

/* One wait of the place may be for something, as the first of a loop. */
static void one_that_is_needed_is_none_of_them(void **state)
{
	struct shop *s = *state;

	launch(s, 0, s->b, s->mine);
	wait_stream(s, 5, 313, s->b);
	for (int i = 2; i < 10; i++)
		turn(s, i, i % 2 ? s->yours : s->mine);
	assert_string_equal(found(s, 3300), "likely 8 20 1");
}

/* Every fourth is, and the line is one. */
static void waits_that_are_needed_now_and_then_stay(void **state)
{
	struct shop *s = *state;

	for (int i = 0; i < 16; i++)
		turn(s, i, i % 4 == 3 ? s->mine : i % 2 ? s->yours : s->mine);
	assert_string_equal(found(s, 5280), "");
}

static void download(struct shop *s, double at, int64_t stream)
{
	int64_t call = MINI_CALL(&s->mini, .type = CALL_cuMemcpyDtoHAsync_v2, .at = at,
		.stream = stream, .site = s->at_copy, .bytes = 4096, .direction = 1 + COPY_D2H,
		.dst = "pinned", .src = "device", .runs = { at + 301, at + 302 });

	mini_names(&s->mini, call, "src", s->mine);
	mini_names(&s->mini, call, "dst", s->pinned);
}

static void results_are_looked_at(void **state)
{
	struct shop *s = *state;

	s->pinned = mini_allocation(&s->mini, "pinned");
	for (int i = 0; i < 8; i++) {
		double t = 330 * i;

		launch(s, t, s->a, s->mine);
		download(s, t + 3, s->a);
		wait_stream(s, t + 5, t + 313, s->a);
		turn(s, 2 * i + 1, s->yours);
	}
	assert_string_equal(found(s, 5280), "");
}

/* The host knows its result without the waits, of streams that it does not come after. */
static void a_synchronous_copy_needs_no_other_wait(void **state)
{
	struct shop *s = *state;
	int64_t result = mini_allocation(&s->mini, "device");

	for (int i = 0; i < 8; i++) {
		turn(s, i, i % 2 ? s->yours : s->mine);
		mini_names(&s->mini,
			MINI_CALL(&s->mini, .type = CALL_cuMemcpyDtoH_v2, .at = 330 * i + 314,
				.until = 330 * i + 325, .bytes = 4096, .stream = MINI_LEGACY,
				.site = s->at_copy, .direction = 1 + COPY_D2H, .dst = "pageable",
				.src = "device", .runs = { 330 * i + 319, 330 * i + 320 }),
			"src", result);
	}
	assert_string_equal(found(s, 2640), "likely 8 20 1");
}

static void upload(struct shop *s, double at, int64_t stream, int64_t from, int64_t to)
{
	int64_t call = MINI_CALL(&s->mini, .type = CALL_cuMemcpyHtoDAsync_v2, .at = at,
		.stream = stream, .site = s->at_copy, .bytes = 4096, .direction = 1 + COPY_H2D,
		.dst = "device", .src = "pinned", .runs = { at + 5, at + 9 });

	mini_names(&s->mini, call, "src", from);
	mini_names(&s->mini, call, "dst", to);
}

/* The host may fill the source of a copy again after the wait: if it is copied from again. */
static void sources_are_filled_again(void **state)
{
	struct shop *s = *state;

	s->pinned = mini_allocation(&s->mini, "pinned");
	mini_exec(&s->mini, "INSERT INTO kernel_code VALUES (%lld, 'ptx', 1, NULL, 0, 0)",
		(long long)s->kernel);
	for (int i = 0; i < 8; i++) {
		upload(s, 330 * i - 20, i % 2 ? s->b : s->a, s->pinned, i % 2 ? s->yours : s->mine);
		turn(s, i, i % 2 ? s->yours : s->mine);
	}
	assert_string_equal(found(s, 2640), "");
}

static void sources_of_their_own_are_not(void **state)
{
	struct shop *s = *state;

	mini_exec(&s->mini, "INSERT INTO kernel_code VALUES (%lld, 'ptx', 1, NULL, 0, 0)",
		(long long)s->kernel);
	for (int i = 0; i < 8; i++) {
		upload(s, 330 * i - 20, i % 2 ? s->b : s->a, mini_allocation(&s->mini, "pinned"),
			i % 2 ? s->yours : s->mine);
		turn(s, i, i % 2 ? s->yours : s->mine);
	}
	assert_string_equal(found(s, 2640), "certain 8 20 1");
}

/*
 * Kernels of which not all is known, where there is memory that the host can look at; that reach
 * variables, which may be managed; that print.
 */
static void kernels_may_write_where_the_host_looks(void **state)
{
	static const struct {
		const char *memory;
		int complete, reaches, prints;
		const char *found;
	} cases[] = {
		{ "device", 0, 0, 0, "likely 8 20 1" },
		{ "pinned", 0, 0, 0, "possible 8 20 0" },
		{ "managed", 0, 0, 0, "possible 8 20 0" },
		{ "managed", 1, 0, 0, "certain 8 20 1" },
		{ "device", 1, 4, 0, "possible 8 20 0" },
		{ "device", 1, 0, 1, "" },
	};
	struct shop *s = *state;
	const char *what;

	for (int i = 0; i < 8; i++)
		turn(s, i, i % 2 ? s->yours : s->mine);
	mini_allocation(&s->mini, "device");
	launch(s, 2640, s->a, s->mine);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		mini_exec(&s->mini,
			"DELETE FROM kernel_code;"
			"INSERT INTO kernel_code VALUES (%lld, 'ptx', %d, NULL, %d, %d);"
			"UPDATE allocation SET memory = '%s' WHERE id = 3",
			(long long)s->kernel, cases[i].complete, cases[i].reaches, cases[i].prints,
			cases[i].memory);
		what = found(s, 2980 + 340 * (double)i);
		assert_string_equal(what, cases[i].found);
	}
}

/* cudaEventElapsedTime of events around the work: the wait is what it is timed by. */
static void what_is_timed_is_possible(void **state)
{
	struct shop *s = *state;
	int64_t begun = mini_event(&s->mini), ended = mini_event(&s->mini), call;

	for (int i = 0; i < 8; i++) {
		int64_t stream = i % 2 ? s->b : s->a;

		MINI_CALL(&s->mini, .type = CALL_cuEventRecord, .at = 330 * i - 3, .event = begun,
			.stream = stream);
		turn(s, i, i % 2 ? s->yours : s->mine);
	}
	MINI_CALL(&s->mini, .type = CALL_cuEventRecord, .at = 2638, .event = ended, .stream = s->b);
	call = MINI_CALL(&s->mini, .type = CALL_cuEventElapsedTime_v2, .at = 2640, .event = ended);
	mini_exec(&s->mini, "INSERT INTO call_object VALUES (%lld, 'event', %lld)", (long long)call,
		(long long)begun);
	assert_string_equal(found(s, 2645), "possible 8 20 0");
}

/* Another thread may submit work that depends on what the first one has observed complete. */
static void among_threads_it_is_possible(void **state)
{
	struct shop *s = *state;
	int64_t thread = mini_thread(&s->mini);

	for (int i = 0; i < 8; i++)
		turn(s, i, i % 2 ? s->yours : s->mine);
	MINI_CALL(&s->mini, .type = CALL_cuLaunchKernel, .at = 2645, .stream = s->b,
		.thread = thread, .site = s->at_other, .kernel = s->kernel, .runs = { 2650, 2660 });
	assert_string_equal(found(s, 2670), "possible 8 20 0");
}

/*
 * It is not seen what a network card reads.  A framework brings NVSHMEM and cuFile with it: they
 * are in use once they have called CUDA.
 */
static void where_others_may_look_it_is_possible(void **state)
{
	static const struct {
		const char *path;
		int calls;
		const char *found;
	} cases[] = {
		{ "/usr/lib/libm.so.6", 1, "certain 8 20 1" },
		{ "/opt/notlibmpi.so", 0, "certain 8 20 1" },
		{ "/usr/lib/libmpi.so.40", 0, "possible 8 20 0" },
		{ "/opt/cray/libmpi_cray.so.12", 0, "possible 8 20 0" },
		{ "/usr/lib/libmpich.so.12", 0, "possible 8 20 0" },
		{ "/usr/lib/libucp.so.0", 0, "possible 8 20 0" },
		{ "/usr/lib/libfabric.so.1", 0, "possible 8 20 0" },
		{ "/usr/lib/libibverbs.so.1", 0, "possible 8 20 0" },
		{ "/usr/lib/libnvidia-encode.so.1", 0, "possible 8 20 0" },
		{ "/usr/lib/libgdrapi.so.2", 0, "possible 8 20 0" },
		{ "/torch/libnvshmem_host.so.3", 0, "likely 8 20 1" },
		{ "/torch/libnvshmem_host.so.3", 1, "possible 8 20 0" },
		{ "/torch/libcufile.so.0", 0, "likely 8 20 1" },
		{ "/torch/libcufile.so.0", 1, "possible 8 20 0" },
	};
	struct shop *s = *state;
	struct mini *m = &s->mini;

	mini_exec(m, "INSERT INTO kernel_code VALUES (%lld, 'ptx', 1, NULL, 0, 0)",
		(long long)s->kernel);
	for (int i = 0; i < 8; i++)
		turn(s, i, i % 2 ? s->yours : s->mine);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		mini_exec(m,
			"DELETE FROM frame; DELETE FROM module;"
			"INSERT INTO module (id, process, start, end, file_offset, path) "
			"VALUES (7, 1, 0, 1, 0, '%s')",
			cases[i].path);
		if (cases[i].calls)
			mini_exec(m,
				"INSERT INTO frame (site, depth, address, module, user) "
				"VALUES (%lld, 0, 1, 7, 0)",
				(long long)s->at_other);
		assert_string_equal(found(s, 2640 + 340 * (double)i), cases[i].found);
	}
}

static void what_nccl_brings_with_it_is_likely(void **state)
{
	struct shop *s = *state;

	mini_exec(&s->mini, "INSERT INTO kernel_code VALUES (%lld, 'ptx', 1, NULL, 0, 0)",
		(long long)s->kernel);
	for (int i = 0; i < 8; i++)
		turn(s, i, i % 2 ? s->yours : s->mine);
	mini_exec(&s->mini,
		"INSERT INTO module (process, start, end, file_offset, path) VALUES "
		"(1, 0, 1, 0, '/usr/lib/libibverbs.so.1'), (1, 2, 3, 0, '/torch/libnccl.so.2')");
	assert_string_equal(found(s, 2640), "likely 8 20 1");
}

/* Another process may use the memory once it is told that work is complete. */
static void for_memory_that_is_exported_it_is_possible(void **state)
{
	struct shop *s = *state;

	MINI_CALL(&s->mini, .type = CALL_cuIpcGetMemHandle, .at = -20, .site = s->at_other);
	for (int i = 0; i < 8; i++)
		turn(s, i, i % 2 ? s->yours : s->mine);
	assert_string_equal(found(s, 2640), "possible 8 20 0");
}

/* A thread that only waits may tell another one, without a call. */
static void a_wait_for_work_of_another_thread_is_possible(void **state)
{
	struct shop *s = *state;
	int64_t thread = mini_thread(&s->mini);

	for (int i = 0; i < 8; i++)
		turn(s, 2 * i, s->mine);
	mini_exec(&s->mini, "UPDATE call SET thread = %lld WHERE site = %lld", (long long)thread,
		(long long)s->at_wait);
	assert_string_equal(found(s, 5280), "possible 8 20 0");
}

/*
 * The device may still use the memory. A call that makes something, or gives back what is mapped,
 * takes nothing from the device.
 */
static void memory_that_goes_needs_the_wait(void **state)
{
	static const struct {
		int type;
		const char *found;
	} cases[] = {
		{ CALL_cuMemUnmap, "" },
		{ CALL_cuTexObjectDestroy, "" },
		{ CALL_cuIpcCloseMemHandle, "" },
		{ CALL_cuTexObjectCreate, "likely 8 20 1" },
		{ CALL_cuMipmappedArrayGetLevel, "likely 8 20 1" },
		{ CALL_cuMemCreate, "likely 8 20 1" },
		{ CALL_cuMemAddressReserve, "likely 8 20 1" },
		{ CALL_cuMemRelease, "likely 8 20 1" },
		{ CALL_cuMemMap, "likely 8 20 1" },
		{ CALL_cuMemSetAccess, "likely 8 20 1" },
	};
	struct shop *s = *state;

	for (int i = 0; i < 8; i++) {
		turn(s, i, i % 2 ? s->yours : s->mine);
		MINI_CALL(&s->mini, .type = CALL_cuMemUnmap, .at = 330 * i + 315, .ptr = 64,
			.bytes = 64, .site = s->at_other);
	}
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		mini_exec(&s->mini, "UPDATE call SET type = %d WHERE site = %lld", cases[i].type,
			(long long)s->at_other);
		assert_string_equal(found(s, 2640 + 340 * (double)i), cases[i].found);
	}
}

/* A backward pass is another thread's; the waiting thread begins the next step itself. */
static void a_thread_that_submits_goes_on_itself(void **state)
{
	struct shop *s = *state;
	int64_t thread = mini_thread(&s->mini);

	mini_exec(&s->mini, "INSERT INTO kernel_code VALUES (%lld, 'ptx', 1, NULL, 0, 0)",
		(long long)s->kernel);
	for (int i = 0; i < 8; i++) {
		double t = 700 * i;

		launch(s, t, s->a, s->mine);
		launch(s, t + 3, s->a, s->mine);
		mini_exec(&s->mini,
			"UPDATE call SET thread = %lld WHERE id = %lld;"
			"UPDATE operation SET start = %lld, end = %lld WHERE call = %lld",
			(long long)thread, (long long)s->mini.calls, (long long)mini_ns(t + 311),
			(long long)mini_ns(t + 620), (long long)s->mini.calls);
		wait_stream(s, t + 6, t + 623, s->a);
	}
	assert_string_equal(found(s, 5600), "likely 8 20 1");
}

/* The thread asks in a loop, which is one record, and then the answer comes. */
static void a_loop_of_queries_is_a_wait(void **state)
{
	struct shop *s = *state;

	for (int i = 0; i < 8; i++) {
		int64_t stream = i % 2 ? s->b : s->a, call;
		double t = 330 * i;

		launch(s, t, stream, i % 2 ? s->yours : s->mine);
		call = MINI_CALL(&s->mini, .type = CALL_cuStreamQuery, .at = t + 5,
			.until = t + 5.3, .stream = stream, .site = s->at_wait, .result = 600);
		mini_exec(&s->mini, "INSERT INTO polling VALUES (%lld, %d, %lld)", (long long)call,
			1000, (long long)mini_ns(t + 310));
		MINI_CALL(&s->mini, .type = CALL_cuStreamQuery, .at = t + 312, .until = t + 312.3,
			.stream = stream, .site = s->at_wait);
	}
	assert_string_equal(found(s, 2640), "likely 8 20 1");
	assert_int_equal(mini_int(&s->mini, "SELECT saving_low > 1000000 FROM finding"), 1);
}

/* A thread that asks once and goes on does not wait. */
static void a_query_now_and_then_is_not(void **state)
{
	struct shop *s = *state;

	for (int i = 0; i < 8; i++) {
		int64_t stream = i % 2 ? s->b : s->a;
		double t = 330 * i;

		launch(s, t, stream, i % 2 ? s->yours : s->mine);
		MINI_CALL(&s->mini, .type = CALL_cuStreamQuery, .at = t + 5, .until = t + 5.3,
			.stream = stream, .site = s->at_wait, .result = 600);
		MINI_CALL(&s->mini, .type = CALL_cuStreamQuery, .at = t + 312, .until = t + 312.3,
			.stream = stream, .site = s->at_wait);
	}
	assert_string_equal(found(s, 2640), "");
}

/*
 * x.to("cuda"): below one line of a script the library waits for its copy, and so for the kernel
 * before it.
 */
static void to_device(struct shop *s, int64_t at_wait)
{
	for (int i = 0; i < 8; i++) {
		double t = 400 * i;

		launch(s, t, s->a, s->mine);
		MINI_CALL(&s->mini, .type = CALL_cuMemcpyHtoDAsync_v2, .at = t + 3, .stream = s->a,
			.site = s->at_copy, .bytes = 4096, .direction = 1 + COPY_H2D,
			.dst = "device", .src = "pageable", .runs = { t + 312, t + 313 });
		MINI_CALL(&s->mini, .type = CALL_cuStreamSynchronize, .at = t + 6, .until = t + 315,
			.stream = s->a, .site = at_wait);
	}
	mini_exec(&s->mini,
		"INSERT INTO frame (site, depth, address, function, file, line, user) "
		"SELECT id, 0, (1 << 63) | (7 << 32) | line, function, 'train.py', line, 1 "
		"FROM site");
	mini_exec(&s->mini, "INSERT INTO code VALUES (1, 7, 0, 1, 'f', 'train.py', x'')");
}

static void a_wait_below_the_line_of_a_copy_is_likely(void **state)
{
	struct shop *s = *state;

	to_device(s, s->at_copy);
	assert_string_equal(found(s, 3200), "likely 8 30 1");
	assert_string_equal(mini_text(&s->mini, "SELECT substr(fix, 1, 27) FROM finding_place"),
		"copy with non_blocking=True");
}

static void a_wait_in_a_line_of_its_own_is_not(void **state)
{
	struct shop *s = *state;

	to_device(s, s->at_wait);
	assert_string_equal(found(s, 3200), "possible 8 20 0");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(waits_between_streams_are_found),
		T(a_wait_for_one_stream_is_found),
		T(waits_for_a_clock_are_likely),
		T(a_bound_that_keeps_work_in_progress_is_possible),
		T(a_wait_for_a_copy_from_pageable_memory_is_possible),
		T(waits_at_the_end_of_a_step_are_found),
		T(a_wait_for_the_oldest_slot_is_possible),
		T(who_shares_memory_needs_the_wait),
		T(one_that_is_needed_is_none_of_them),
		T(waits_that_are_needed_now_and_then_stay),
		T(results_are_looked_at),
		T(a_synchronous_copy_needs_no_other_wait),
		T(sources_are_filled_again),
		T(sources_of_their_own_are_not),
		T(kernels_may_write_where_the_host_looks),
		T(what_is_timed_is_possible),
		T(among_threads_it_is_possible),
		T(where_others_may_look_it_is_possible),
		T(what_nccl_brings_with_it_is_likely),
		T(for_memory_that_is_exported_it_is_possible),
		T(a_wait_for_work_of_another_thread_is_possible),
		T(a_thread_that_submits_goes_on_itself),
		T(memory_that_goes_needs_the_wait),
		T(a_loop_of_queries_is_a_wait),
		T(a_query_now_and_then_is_not),
		T(a_wait_below_the_line_of_a_copy_is_likely),
		T(a_wait_in_a_line_of_its_own_is_not),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
