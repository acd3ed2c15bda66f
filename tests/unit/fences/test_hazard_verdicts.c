/* SPDX-License-Identifier: Apache-2.0 */
/* Missing fences: what features of CUDA make of two accesses to the same bytes. */
#include "hazard_runs.h"

#include "unnamed_memory.h"

/* A memset or a copy of so many bytes from offset on; role: dst or src. */
static int64_t transfer(struct test *test, int type, int64_t stream, const char *role,
	int64_t offset, int64_t bytes)
{
	int is_source = !strcmp(role, "src");
	int64_t call = MINI_CALL(&test->m, .type = type, .at = test->t, .stream = stream,
		.bytes = bytes, .dst = is_source ? "pinned" : "device",
		.src = is_source                       ? "device"
			: type == CALL_cuMemsetD8Async ? NULL
						       : "pinned",
		.direction = type == CALL_cuMemsetD8Async ? 0
			: is_source                       ? 1 + COPY_D2H
							  : 1 + COPY_H2D,
		.runs = { test->t + 5, test->t + 105 });

	mini_exec(&test->m, "INSERT INTO operand VALUES (%lld, '%s', NULL, %lld, %d)",
		(long long)call, role, (long long)(ADDRESS + offset), MEMORY);
	test->t += 10;
	return call;
}

static void fill(struct test *test, int64_t stream, int64_t bytes, int64_t value)
{
	int64_t call = transfer(test, CALL_cuMemsetD8Async, stream, "dst", 0, bytes);

	if (value >= 0)
		mini_exec(&test->m, "INSERT INTO call_object VALUES (%lld, 'fill', %lld)",
			(long long)call, (long long)value);
}

static void download(struct test *test, int64_t stream, int64_t offset, int64_t bytes)
{
	transfer(test, CALL_cuMemcpyDtoHAsync_v2, stream, "src", offset, bytes);
}

static void counts_are_ordered_against_all_but_counts(void **unused)
{
	struct test test;

	(void)unused;
	begin(&test); /* any order of two is the same sum */
	launch(&test, test.counter, test.one, 0);
	launch(&test, test.counter, test.two, BYTES / 4);
	finish(&test, "");
	begin(&test);
	launch(&test, test.counter, test.one, 0);
	download(&test, test.two, 0, BYTES);
	finish(&test, "missing-fence raw certain 1-2");
	begin(&test);
	fill(&test, test.one, BYTES, 0);
	launch(&test, test.counter, test.two, 0);
	finish(&test, "missing-fence waw certain 1-2");
	begin(&test); /* where not all are counted: the copy takes those that are */
	launch(&test, kernel(&test.m, "atomic", BYTES / 2, 0), test.one, 0);
	download(&test, test.two, 0, BYTES);
	finish(&test, "missing-fence raw likely 1-2");
}

/* Kernels that write some of the bytes, such as one of two colours each. */
static void parts_need_not_meet(void **unused)
{
	struct test test;
	int64_t red, black;

	(void)unused;
	begin(&test);
	red = kernel(&test.m, "store", BYTES, 0);
	black = kernel(&test.m, "store", BYTES, 0);
	launch(&test, red, test.one, 0);
	launch(&test, black, test.two, 0);
	finish(&test, "missing-fence waw possible 1-2");
	begin(&test);
	red = kernel(&test.m, "store", BYTES, 0);
	launch(&test, red, test.one, 0);
	download(&test, test.two, 0, BYTES);
	finish(&test, "missing-fence raw likely 1-2");
}

static void the_same_value_twice_is_none(void **unused)
{
	struct test test;

	(void)unused;
	begin(&test);
	fill(&test, test.one, BYTES, 0);
	fill(&test, test.two, BYTES, 0);
	finish(&test, "");
	begin(&test);
	fill(&test, test.one, BYTES, 0);
	fill(&test, test.two, BYTES, 0x01010101);
	finish(&test, "missing-fence waw certain 1-2");
	begin(&test); /* of a trace that does not say */
	fill(&test, test.one, BYTES, -1);
	fill(&test, test.two, BYTES, 0);
	finish(&test, "missing-fence waw possible 1-2");
	begin(&test); /* a copy's four bytes are no flag that both raise */
	transfer(&test, CALL_cuMemcpyHtoDAsync_v2, test.one, "dst", 0, 4);
	launch(&test, kernel(&test.m, "store", 4, 1), test.two, 0);
	finish(&test, "missing-fence waw certain 1-2");
}

/* An allocator of its own hands out pieces of one allocation. */
static void pieces_of_one_allocation_conflict_by_bytes(void **unused)
{
	struct test test;

	(void)unused;
	begin(&test);
	launch(&test, test.writer, test.one, 0);
	launch(&test, test.writer, test.two, BYTES / 2);
	finish(&test, "");
	begin(&test); /* handed out again, across streams */
	launch(&test, test.reader, test.one, 0);
	launch(&test, test.writer, test.two, BYTES / 4);
	finish(&test, "missing-fence war certain 1-2");
}

/*
 * Memory in two pieces, one mapped directly after the other. A kernel writes both, and then the
 * second one is read. is_again: that piece was unmapped and mapped anew in between.
 */
static void pieces(int is_again, const char *wanted)
{
	struct test test;
	int64_t unmapped, call;

	begin(&test);
	mini_exec(&test.m,
		"INSERT INTO allocation VALUES (%d, 1, %d, %d, 'mapped', NULL, NULL); "
		"INSERT INTO alias VALUES (%d, %d, %d)",
		MEMORY + 1, ADDRESS + BYTES, BYTES, MEMORY + 1, MEMORY, BYTES);
	launch(&test, kernel(&test.m, "store", 2 * BYTES, 1), test.one, 0);
	unmapped = MINI_CALL(&test.m, .type = CALL_cuMemUnmap, .at = test.t);
	if (is_again)
		mini_exec(&test.m,
			"UPDATE allocation SET freed = %lld WHERE id = %d; "
			"INSERT INTO allocation VALUES (%d, 1, %d, %d, 'mapped', NULL, NULL); "
			"INSERT INTO alias VALUES (%d, %d, %d)",
			(long long)unmapped, MEMORY + 1, MEMORY + 2, ADDRESS + BYTES, BYTES,
			MEMORY + 2, MEMORY, BYTES);
	test.t += 10;
	call = launch(&test, test.reader, test.two, BYTES);
	mini_exec(&test.m, "UPDATE operand SET allocation = %d WHERE call = %lld",
		MEMORY + 1 + is_again, (long long)call);
	finish(&test, wanted);
}

static void memory_that_was_mapped_piece_by_piece_is_one(void **unused)
{
	(void)unused;
	pieces(0, "missing-fence raw certain 1-3");
	pieces(1, "");
}

/*
 * A kernel stores by one address, and another one loads by another, so many bytes further on; both
 * are the same memory, or (shift NULL) may be.
 */
static void twins(const char *shift, int further, const char *wanted)
{
	struct test test;
	int64_t call;

	begin(&test);
	mini_exec(&test.m,
		"INSERT INTO allocation VALUES (%d, 1, %d, %d, 'mapped', NULL, NULL); "
		"INSERT INTO twin VALUES (%d, %d, %s)",
		MEMORY + 1, ADDRESS + 4 * BYTES, BYTES, MEMORY + 1, MEMORY, shift);
	call = launch(&test, test.writer, test.one, 4 * BYTES);
	mini_exec(&test.m, "UPDATE operand SET allocation = %d WHERE call = %lld", MEMORY + 1,
		(long long)call);
	launch(&test, test.reader, test.two, further);
	finish(&test, wanted);
}

static void memory_at_other_addresses_is_known_or_possible(void **unused)
{
	(void)unused;
	twins("0", 0, "missing-fence raw certain 1-2");
	twins("0", BYTES / 2, "");
	twins("32768", BYTES / 2, "missing-fence raw certain 1-2");
	twins("-32768", 0, "");
	twins("NULL", 0, "missing-fence raw possible 1-2");
	twins("NULL", BYTES / 2, "missing-fence raw possible 1-2");
}

/* The driver orders a pool's memory after its free: each life has a history of its own. */
static void memory_of_a_pool_is_handed_out_in_order(void **unused)
{
	struct test test;
	int64_t call, freed, made;

	(void)unused;
	begin(&test);
	mini_exec(&test.m, "UPDATE allocation SET memory = 'async'");
	launch(&test, test.writer, test.one, 0);
	freed = MINI_CALL(&test.m, .type = CALL_cuMemFreeAsync, .at = test.t, .stream = test.one);
	made = MINI_CALL(&test.m, .type = CALL_cuMemAllocAsync, .at = test.t + 10,
		.stream = test.two);
	mini_exec(&test.m, "UPDATE allocation SET freed = %lld WHERE id = %d", (long long)freed,
		MEMORY);
	mini_exec(&test.m, "INSERT INTO allocation VALUES (%d, 1, %d, %d, 'async', %lld, NULL)",
		MEMORY + 1, ADDRESS, BYTES, (long long)made);
	call = MINI_CALL(&test.m, .type = CALL_cuLaunchKernel, .at = test.t + 20,
		.kernel = test.writer, .stream = test.two, .runs = { test.t + 25, test.t + 90 });
	mini_exec(&test.m, "INSERT INTO operand VALUES (%lld, 'word', 0, %d, %d)", (long long)call,
		ADDRESS, MEMORY + 1);
	finish(&test, "");
}

/* That happens to order what was before the free, too: nobody can take it away by a change. */
static void the_order_of_a_pool_is_no_accident(void **unused)
{
	struct test test;
	int64_t freed, made;

	(void)unused;
	begin(&test);
	launch(&test, test.writer, test.one, 0);
	freed = MINI_CALL(&test.m, .type = CALL_cuMemFreeAsync, .at = test.t, .stream = test.one,
		.ptr = 4 * ADDRESS);
	made = MINI_CALL(&test.m, .type = CALL_cuMemAllocAsync, .at = test.t + 110,
		.stream = test.two, .ptr = 4 * ADDRESS);
	mini_exec(&test.m,
		"INSERT INTO allocation VALUES (%d, 1, %d, %d, 'async', NULL, %lld), "
		"(%d, 1, %d, %d, 'async', %lld, NULL)",
		MEMORY + 1, 4 * ADDRESS, BYTES, (long long)freed, MEMORY + 2, 4 * ADDRESS, BYTES,
		(long long)made);
	test.t += 120;
	launch(&test, test.reader, test.two, 0);
	finish(&test, "");
}

static void a_pair_launched_programmatically_has_its_own_order(void **unused)
{
	struct test test;
	int64_t call;

	(void)unused;
	begin(&test);
	launch(&test, test.writer, test.one, 0);
	call = launch(&test, test.reader, test.one, 0);
	mini_exec(&test.m, "INSERT INTO call_object VALUES (%lld, 'attributes', 2)",
		(long long)call);
	launch(&test, test.pointer, test.two, 0);
	finish(&test, "");
}

static void depends(struct test *test, int64_t kernel, int waits, int triggers)
{
	mini_exec(&test->m, "INSERT INTO kernel_dependence VALUES (%lld, %d, %d)",
		(long long)kernel, waits, triggers);
	mini_exec(&test->m, "UPDATE kernel_access SET early = %d WHERE kernel = %lld", !waits,
		(long long)kernel);
}

static void launch_early(struct test *test, int64_t kernel)
{
	mini_exec(&test->m, "INSERT INTO call_object VALUES (%lld, 'attributes', 2)",
		(long long)launch(test, kernel, test->one, 0));
}

static void a_kernel_that_begins_early_waits_on_the_device(void **unused)
{
	static const struct {
		int triggers, waits;
		const char *found;
	} cases[] = {
		{ 1, 0, "missing-fence raw certain 1-2 early-launch" }, { 1, 1, "" },
		{ 0, 0, "" }, /* it begins when all blocks of the first have ended */
	};
	struct test test;

	(void)unused;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		begin(&test);
		depends(&test, test.writer, 0, cases[i].triggers);
		depends(&test, test.reader, cases[i].waits, 0);
		launch(&test, test.writer, test.one, 0);
		launch_early(&test, test.reader);
		finish(&test, cases[i].found);
	}
}

/* The third waits for the second, and with it for the first only if that does. */
static void a_kernel_that_does_not_wait_hands_on_no_order(void **unused)
{
	struct test test;

	(void)unused;
	for (int waits = 0; waits < 2; waits++) {
		begin(&test);
		depends(&test, test.writer, 0, 1);
		depends(&test, test.pointer, waits, 1);
		depends(&test, test.reader, 1, 0);
		launch(&test, test.writer, test.one, 0);
		launch_early(&test, test.pointer);
		launch_early(&test, test.reader);
		finish(&test, waits ? "" : "missing-fence raw certain 1-3 early-launch");
	}
	begin(&test);
	depends(&test, test.writer, 0, 1);
	depends(&test, test.pointer, 0, 1);
	launch(&test, test.writer, test.one, 0);
	launch_early(&test, test.pointer);
	launch(&test, test.reader, test.one, 0);
	finish(&test, "");
}

static void upload_until(struct test *test, int64_t bytes, double us)
{
	int64_t call = MINI_CALL(&test->m, .type = CALL_cuMemcpyHtoD_v2, .at = test->t,
		.stream = MINI_LEGACY, .bytes = bytes, .dst = "device", .src = "pageable",
		.direction = 1 + COPY_H2D, .runs = { test->t, test->t + us });

	mini_exec(&test->m, "INSERT INTO operand VALUES (%lld, 'dst', NULL, %d, %d)",
		(long long)call, ADDRESS, MEMORY);
	test->t += 10;
	launch(test, test->reader, test->one, 0);
}

static void upload(struct test *test, int64_t bytes)
{
	upload_until(test, bytes, 3);
}

/* Bytes not yet written when the call returns are in a staging buffer of 64 KiB or less. */
static void small_uploads_are_there_when_their_call_returns(void **unused)
{
	struct test test;

	(void)unused;
	begin(&test);
	upload(&test, BYTES);
	finish(&test, "missing-fence raw possible 1-2 legacy-stream");
	begin(&test);
	mini_exec(&test.m, "UPDATE allocation SET bytes = 4 * %d", BYTES);
	upload_until(&test, 4 * BYTES, 12);
	finish(&test, "missing-fence raw likely 1-2 early-return");
	begin(&test); /* It was seen in transfer. */
	upload_until(&test, BYTES, 50);
	finish(&test, "missing-fence raw certain 1-2 legacy-stream");
}

/* The last piece of a larger upload is in transfer then, and no other work delays it. */
static void uploads_that_ended_before_the_kernel_was_launched_are_there(void **unused)
{
	struct test test;

	(void)unused;
	begin(&test);
	mini_exec(&test.m, "UPDATE allocation SET bytes = 4 * %d", BYTES);
	upload(&test, 4 * BYTES);
	finish(&test, "missing-fence raw possible 1-2 early-return");
}

/* A batch of one copy in the writer's stream; source: its role in table operand. */
static void batch(const char *source, int waits, int later, const char *wanted)
{
	struct test test;
	int64_t call;

	begin(&test);
	launch(&test, test.writer, test.one, 0);
	if (waits)
		MINI_CALL(&test.m, .type = CALL_cuCtxSynchronize, .at = test.t,
			.until = test.t + 100);
	test.t += 110;
	call = MINI_CALL(&test.m, .type = CALL_cuMemcpyBatchAsync_v2, .at = test.t,
		.stream = test.one, .runs = { test.t + 5, test.t + 15 });
	mini_exec(&test.m,
		"INSERT INTO operand VALUES (%lld, '%s', 0, %d, %d); "
		"INSERT INTO extent VALUES (%lld, '%s', 0, %d, %d, %d, 0, 1, 0, 1)",
		(long long)call, source, ADDRESS, MEMORY, (long long)call, source, ADDRESS, MEMORY,
		BYTES / 2);
	test.t += 30;
	if (later)
		launch(&test, test.writer, test.one, 0);
	finish(&test, wanted);
}

static void a_batch_may_read_its_sources_before_its_turn(void **unused)
{
	(void)unused;
	batch("src_any", 0, 0, "missing-fence raw certain 1-2 source-order");
	batch("src", 0, 0, "");
	batch("src_any", 1, 0, "");
	/* It has read them when its turn is over. */
	batch("src_any", 1, 1, "");
}

/* A stream that waits for a value is ordered by whoever writes it. */
static void streams_that_wait_for_values_are_ordered_outside(void **unused)
{
	struct test test;

	(void)unused;
	begin(&test);
	launch(&test, test.writer, test.one, 0);
	MINI_CALL(&test.m, .type = CALL_cuStreamWaitValue32_v2, .at = test.t, .stream = test.two);
	test.t += 10;
	launch(&test, test.reader, test.two, 0);
	finish(&test, "");
	begin(&test); /* who writes one waits for nothing */
	launch(&test, test.writer, test.one, 0);
	MINI_CALL(&test.m, .type = CALL_cuStreamWriteValue32_v2, .at = test.t, .stream = test.two);
	test.t += 10;
	launch(&test, test.reader, test.two, 0);
	finish(&test, "missing-fence raw certain 1-3");
}

static void cooperation_orders_nothing(void **unused)
{
	struct test test;
	int64_t call;

	(void)unused;
	begin(&test);
	launch(&test, test.writer, test.one, 0);
	call = MINI_CALL(&test.m, .type = CALL_cuLaunchCooperativeKernel, .at = test.t,
		.kernel = test.reader, .stream = test.two, .runs = { test.t + 5, test.t + 105 });
	mini_exec(&test.m, "INSERT INTO operand VALUES (%lld, 'word', 0, %d, %d)", (long long)call,
		ADDRESS, MEMORY);
	finish(&test, "missing-fence raw certain 1-2");
}

/* Any of the bytes, in a place that is not known, such as an index out of memory. */
static void without_a_range_who_covers_all_conflicts(void **unused)
{
	struct test test;
	int64_t anywhere;

	(void)unused;
	begin(&test);
	anywhere = kernel(&test.m, "store", BYTES, 0);
	mini_exec(&test.m, "UPDATE kernel_access SET low = NULL, high = NULL WHERE kernel = %lld",
		(long long)anywhere);
	launch(&test, anywhere, test.one, 0);
	launch(&test, anywhere, test.two, 0);
	finish(&test, "missing-fence waw possible 1-2");
	begin(&test);
	anywhere = kernel(&test.m, "store", BYTES, 0);
	mini_exec(&test.m, "UPDATE kernel_access SET low = NULL, high = NULL WHERE kernel = %lld",
		(long long)anywhere);
	launch(&test, anywhere, test.one, 0);
	download(&test, test.two, 0, BYTES);
	finish(&test, "missing-fence raw likely 1-2");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(counts_are_ordered_against_all_but_counts),
		cmocka_unit_test(parts_need_not_meet),
		cmocka_unit_test(the_same_value_twice_is_none),
		cmocka_unit_test(pieces_of_one_allocation_conflict_by_bytes),
		cmocka_unit_test(memory_that_was_mapped_piece_by_piece_is_one),
		cmocka_unit_test(memory_at_other_addresses_is_known_or_possible),
		cmocka_unit_test(memory_of_a_pool_is_handed_out_in_order),
		cmocka_unit_test(the_order_of_a_pool_is_no_accident),
		cmocka_unit_test(a_pair_launched_programmatically_has_its_own_order),
		cmocka_unit_test(a_kernel_that_begins_early_waits_on_the_device),
		cmocka_unit_test(a_kernel_that_does_not_wait_hands_on_no_order),
		cmocka_unit_test(small_uploads_are_there_when_their_call_returns),
		cmocka_unit_test(uploads_that_ended_before_the_kernel_was_launched_are_there),
		cmocka_unit_test(a_batch_may_read_its_sources_before_its_turn),
		cmocka_unit_test(streams_that_wait_for_values_are_ordered_outside),
		cmocka_unit_test(cooperation_orders_nothing),
		cmocka_unit_test(without_a_range_who_covers_all_conflicts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
