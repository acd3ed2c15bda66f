/* SPDX-License-Identifier: Apache-2.0 */
/* The bytes that calls read and write, from the tables; whether two sets of bytes overlap. */
#include "miniature.h"

#include "conflict.h"

#define BASE 0x10000

static int setup(void **state)
{
	struct mini *m = malloc(sizeof(*m));

	mini_init(m);
	mini_exec(m,
		"INSERT INTO allocation VALUES (1, 1, %d, 4096, 'device', NULL, NULL), "
		"(2, 1, %d, 4096, 'device', NULL, NULL)",
		BASE, 2 * BASE);
	*state = m;
	return 0;
}

static int teardown(void **state)
{
	mini_release(*state);
	free(*state);
	return 0;
}

/* A launch whose words at offsets 0 and 8 point into the two allocations. */
static int64_t launch(struct mini *m, int64_t kernel, int first, int second)
{
	int64_t call = MINI_CALL(m, .type = CALL_cuLaunchKernel, .at = 10, .stream = MINI_LEGACY,
		.kernel = kernel);

	mini_exec(m,
		"INSERT INTO operand VALUES (%lld, 'word', 0, %d, 1), "
		"(%lld, 'word', 8, %d, 2)",
		(long long)call, BASE + first, (long long)call, 2 * BASE + second);
	return call;
}

static int64_t copy(struct mini *m, int to, int from, int bytes)
{
	int64_t call = MINI_CALL(m, .type = CALL_cuMemcpyDtoDAsync_v2, .at = 10,
		.stream = MINI_LEGACY, .bytes = bytes, .dst = "device", .src = "device");

	mini_exec(m,
		"INSERT INTO operand VALUES (%lld, 'dst', NULL, %d, 1), "
		"(%lld, 'src', NULL, %d, 2)",
		(long long)call, BASE + to, (long long)call, 2 * BASE + from);
	return call;
}

static int64_t kernel(struct mini *m, const char *evidence, int complete)
{
	int64_t row = mini_kernel(m, "k");

	mini_exec(m, "INSERT INTO kernel_code VALUES (%lld, '%s', %d, NULL, 0, NULL)",
		(long long)row, evidence, complete);
	return row;
}

static void claim(struct mini *m, int64_t row, int offset, const char *direction, const char *bytes)
{
	mini_exec(m,
		"INSERT INTO kernel_access VALUES (%lld, NULL, %d, '%s', 1, %s, NULL, NULL, "
		"NULL, NULL, NULL, NULL, NULL, 1, 0, 0, 0, NULL)",
		(long long)row, offset, direction, bytes);
}

/* "allocation direction low..high evidence", with '~' before what is not exact. */
static void check(struct mini *m, int64_t call, const char *expected)
{
	static const char directions[] = "rwa?";
	static const char *const evidences[] = {
		[EVIDENCE_NONE] = "none",
		[EVIDENCE_CONVENTION] = "convention",
		[EVIDENCE_CONST] = "const",
		[EVIDENCE_MACHINE] = "machine",
		[EVIDENCE_PTX] = "ptx",
		[EVIDENCE_EXACT] = "exact",
	};
	struct access_reader *reader = access_open(&m->db);
	const struct accesses *found = access_read(reader, call);
	char text[512] = "";
	size_t used = 0;

	assert_non_null(found);
	for (size_t i = 0; i < found->count; i++) {
		const struct memory_access *access = &found->access[i];

		used += (size_t)snprintf(text + used, sizeof(text) - used,
			"%s%lld%c %lld..%lld %s, ", access->exact ? "" : "~",
			(long long)access->allocation, directions[access->direction],
			(long long)(access->low % BASE), (long long)(access->high % BASE),
			evidences[access->evidence]);
	}
	snprintf(text + used, sizeof(text) - used, "%s", found->complete ? "complete" : "more");
	assert_string_equal(text, expected);
	access_close(reader);
}

static enum conflict conflict(struct mini *m, int64_t call, int64_t other)
{
	struct access_reader *reader = access_open(&m->db);
	const struct accesses *a = access_read(reader, call), *b = access_read(reader, other);
	enum conflict found;

	assert_true(a && b);
	found = accesses_conflict(a, b);
	assert_int_equal(accesses_conflict(b, a), found);
	/* Remembered, in either order. */
	for (int i = 0; i < 2; i++)
		for (enum conflict least = CONFLICT_UNKNOWN; least <= CONFLICT_SHOWN; least++) {
			assert_int_equal(access_may_conflict(reader, call, other, least),
				found >= least);
			assert_int_equal(access_may_conflict(reader, other, call, least),
				found >= least);
		}
	access_close(reader);
	return found;
}

static int meets(struct mini *m, int64_t call, int64_t other)
{
	return conflict(m, call, other) >= CONFLICT_MAYBE;
}

/* A call in a stream, without operands. */
static int64_t call_of(struct mini *m, int type)
{
	return MINI_CALL(m, .type = type, .at = 10, .stream = MINI_LEGACY);
}

static int64_t value(struct mini *m, int type, const char *role, int at, int bytes)
{
	int64_t call = call_of(m, type);

	mini_exec(m,
		"INSERT INTO operand VALUES (%lld, '%s', 0, %d, 1); INSERT INTO extent "
		"(call, role, item, address, allocation, bytes, pitch, rows, slice, slices) "
		"VALUES (%lld, '%s', 0, %d, 1, %d, 0, 1, 0, 1)",
		(long long)call, role, BASE + at, (long long)call, role, BASE + at, bytes);
	return call;
}

static void test_a_value_write_writes_its_value(void **state)
{
	check(*state, value(*state, CALL_cuStreamWriteValue32, "dst", 64, 4),
		"1w 64..68 exact, complete");
	check(*state, value(*state, CALL_cuStreamWriteValue64_v2, "dst", 64, 8),
		"1w 64..72 exact, complete");
}

static void test_a_value_wait_reads_its_value(void **state)
{
	check(*state, value(*state, CALL_cuStreamWaitValue32_v2, "src", 64, 4),
		"1r 64..68 exact, complete");
}

/* A write of one thread's flag and the wait for it matter to each other, of another flag not. */
static void test_values_conflict_by_their_bytes(void **state)
{
	int64_t write = value(*state, CALL_cuStreamWriteValue32, "dst", 64, 4);

	assert_int_equal(conflict(*state, write,
				 value(*state, CALL_cuStreamWaitValue32, "src", 64, 4)),
		CONFLICT_SHOWN);
	assert_int_equal(conflict(*state, write,
				 value(*state, CALL_cuStreamWaitValue32, "src", 68, 4)),
		CONFLICT_NONE);
}

/* A batch may have operations that are not known. */
static void test_a_batch_of_values_is_as_complete_as_its_list(void **state)
{
	int64_t call = value(*state, CALL_cuStreamBatchMemOp, "dst", 0, 8);

	check(*state, call, "1w 0..8 exact, complete");
	mini_exec(*state, "INSERT INTO call_object VALUES (%lld, 'content', 1)", (long long)call);
	check(*state, call, "1w 0..8 exact, more");
}

static void test_a_function_of_the_host_may_touch_more(void **state)
{
	check(*state, call_of(*state, CALL_cuStreamAddCallback), "more");
	check(*state, call_of(*state, CALL_cuLaunchHostFunc), "more");
}

static void test_what_moves_memory_or_orders_streams_touches_nothing(void **state)
{
	static const int types[] = { CALL_cuMemPrefetchAsync, CALL_cuMemAdvise,
		CALL_cuStreamAttachMemAsync, CALL_cuEventRecord, CALL_cuStreamWaitEvent,
		CALL_cuStreamSynchronize };

	for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++)
		check(*state, call_of(*state, types[i]), "complete");
	check(*state, call_of(*state, CALL_cuMemDiscardBatchAsync), "more");
}

static void test_a_copy_says_what_it_does(void **state)
{
	check(*state, copy(*state, 0, 256, 512), "1w 0..512 exact, 2r 256..768 exact, complete");
}

static void test_a_copy_ends_where_its_memory_does(void **state)
{
	check(*state, copy(*state, 4000, 0, 512), "1w 4000..4096 exact, 2r 0..512 exact, complete");
}

static void test_a_kernel_does_what_its_code_says(void **state)
{
	int64_t k = kernel(*state, "ptx", 1);

	claim(*state, k, 0, "load", "0, 1024");
	claim(*state, k, 8, "store", "-64, 64");
	check(*state, launch(*state, k, 128, 256), "1r 128..1152 ptx, 2w 192..320 ptx, complete");
}

static void test_a_word_without_claims_is_not_touched_by_a_complete_kernel(void **state)
{
	int64_t k = kernel(*state, "ptx", 1);

	claim(*state, k, 0, "atomic", "0, 4");
	check(*state, launch(*state, k, 0, 0), "1a 0..4 ptx, complete");
}

static void test_an_incomplete_kernel_may_do_more_with_all_it_is_given(void **state)
{
	int64_t k = kernel(*state, "ptx", 0);

	claim(*state, k, 0, "load", "0, 4");
	check(*state, launch(*state, k, 0, 0),
		"1r 0..4 ptx, ~1? 0..4096 none, ~2? 0..4096 none, more");
}

static void test_const_speaks_for_its_own_parameter(void **state)
{
	int64_t k = kernel(*state, "const", 0);

	claim(*state, k, 0, "load", "NULL, NULL");
	check(*state, launch(*state, k, 0, 0), "1r 0..4096 const, ~2? 0..4096 none, more");
}

static void test_a_kernel_of_which_nothing_is_known_names_its_memory(void **state)
{
	check(*state, launch(*state, kernel(*state, "none", 0), 0, 0),
		"~1? 0..4096 none, ~2? 0..4096 none, more");
}

static void test_a_shape_is_better_than_its_kernel(void **state)
{
	int64_t k = kernel(*state, "ptx", 1), call;

	claim(*state, k, 0, "load", "NULL, NULL");
	mini_exec(*state, "INSERT INTO shape VALUES (1, %lld, 1, 1, x'', x'')", (long long)k);
	mini_exec(*state, "INSERT INTO shape_code VALUES (1, 1, NULL, 0)");
	mini_exec(*state,
		"INSERT INTO kernel_access VALUES (%lld, 1, 0, 'load', 1, 0, 64, NULL, "
		"NULL, NULL, NULL, NULL, NULL, NULL, 1, 0, 0, 0, NULL)",
		(long long)k);
	call = launch(*state, k, 0, 0);
	mini_exec(*state, "INSERT INTO launch VALUES (%lld, 1)", (long long)call);
	check(*state, call, "1r 0..64 ptx, complete");
}

static void test_two_readers_are_independent(void **state)
{
	int64_t k = kernel(*state, "ptx", 1);

	claim(*state, k, 0, "load", "0, 1024");
	assert_int_equal(conflict(*state, launch(*state, k, 0, 0), launch(*state, k, 0, 0)),
		CONFLICT_NONE);
}

static void test_a_writer_and_a_reader_are_not(void **state)
{
	int64_t k = kernel(*state, "ptx", 1);

	claim(*state, k, 0, "load", "0, 1024");
	assert_int_equal(conflict(*state, launch(*state, k, 0, 0), copy(*state, 1000, 0, 100)),
		CONFLICT_SHOWN);
	assert_int_equal(conflict(*state, launch(*state, k, 0, 0), copy(*state, 1024, 0, 100)),
		CONFLICT_NONE);
}

static void test_atomics_need_no_order_among_themselves(void **state)
{
	int64_t k = kernel(*state, "ptx", 1), call;

	claim(*state, k, 0, "atomic", "0, 4");
	call = launch(*state, k, 0, 0);
	assert_int_equal(conflict(*state, call, launch(*state, k, 0, 0)), CONFLICT_NONE);
	assert_int_equal(conflict(*state, call, copy(*state, 0, 0, 4)), CONFLICT_SHOWN);
}

/* A copy to a symbol, which is no allocation's memory. */
static int64_t upload(struct mini *m)
{
	return MINI_CALL(m, .type = CALL_cuMemcpyDtoDAsync_v2, .at = 10, .stream = MINI_LEGACY,
		.bytes = 64, .dst = "device", .src = "pinned");
}

static void test_what_is_not_known_may_conflict(void **state)
{
	int64_t unknown = launch(*state, kernel(*state, "none", 0), 0, 0);

	assert_int_equal(conflict(*state, unknown, unknown), CONFLICT_MAYBE);
	assert_int_equal(conflict(*state, unknown, upload(*state)), CONFLICT_UNKNOWN);
	assert_int_equal(conflict(*state, unknown, copy(*state, 4, 0, 4)), CONFLICT_MAYBE);
	assert_int_equal(conflict(*state, unknown, copy(*state, 0, 0, 4)), CONFLICT_SHOWN);
}

static void test_constants_are_written_by_copies(void **state)
{
	struct mini *m = *state;
	int64_t call = launch(m, kernel(m, "ptx", 1), 0, 0);

	mini_exec(m, "UPDATE kernel_code SET reaches = %d", PTX_REACH_CONSTANT);
	assert_true(meets(m, call, upload(m)));
	assert_false(meets(m, call, call));
	mini_exec(m, "UPDATE kernel_code SET reaches = 0");
	assert_false(meets(m, call, upload(m)));
}

/* A launch of a graph of one kernel, which goes by pointers out of memory. */
static void test_a_graph_reaches_what_its_kernels_do(void **state)
{
	struct mini *m = *state;
	int64_t k = kernel(m, "ptx", 1), node = launch(m, k, 0, 0), call;

	mini_exec(m, "UPDATE kernel_code SET reaches = 3");
	call = MINI_CALL(m, .type = CALL_cuGraphLaunch, .at = 10, .stream = MINI_LEGACY);
	mini_exec(m,
		"INSERT INTO graph VALUES (1, 1, 64, NULL, NULL);"
		"INSERT INTO graph_node VALUES (1, 1, NULL, 'kernel', %lld, NULL, NULL, NULL, "
		"NULL);"
		"INSERT INTO graph_exec VALUES (1, 1, 65, 1, %lld, NULL, NULL);"
		"INSERT INTO call_object VALUES (%lld, 'exec', 1)",
		(long long)node, (long long)call, (long long)call);
	assert_true(meets(m, call, copy(m, 0, 0, 4)));
	mini_exec(m, "UPDATE kernel_code SET reaches = 0");
	assert_false(meets(m, call, copy(m, 0, 0, 4)));
}

static struct memory_access columns(int64_t first, int64_t width, int64_t pitch, int64_t rows)
{
	struct memory_access access = {
		.allocation = 1,
		.low = first,
		.high = first + (rows - 1) * pitch + width,
		.start = first,
		.run = width,
		.stride = { { pitch, rows } },
		.stride_count = 1,
		.direction = ACCESS_WRITE,
		.sure = 1,
		.exact = 1,
	};

	return access;
}

static void test_columns_side_by_side_do_not_meet(void **unused)
{
	struct memory_access left = columns(0, 64, 128, 100), right = columns(64, 64, 128, 100);
	struct memory_access wide = columns(60, 8, 128, 100), row = columns(128, 128, 128, 1);

	assert_int_equal(access_overlap(&left, &right), OVERLAP_NONE);
	assert_int_equal(access_overlap(&left, &wide), OVERLAP_SURE);
	assert_int_equal(access_overlap(&right, &wide), OVERLAP_SURE);
	assert_int_equal(access_overlap(&left, &row), OVERLAP_SURE);
	left.exact = 0;
	assert_int_equal(access_overlap(&left, &wide), OVERLAP_MAYBE);
	assert_int_equal(access_overlap(&left, &right), OVERLAP_NONE);
}

static void test_every_other_element_is_apart_from_the_others(void **unused)
{
	struct memory_access even = columns(0, 4, 8, 1000), odd = columns(4, 4, 8, 1000);
	struct memory_access third = columns(4, 4, 12, 600);

	assert_int_equal(access_overlap(&even, &odd), OVERLAP_NONE);
	assert_int_equal(access_overlap(&even, &third), OVERLAP_SURE);
}

static void test_too_many_pieces_may_meet(void **unused)
{
	struct memory_access even = columns(0, 4, 8, 1000000), odd = columns(4, 4, 8, 1000000);

	assert_int_equal(access_overlap(&even, &odd), OVERLAP_MAYBE);
}

static void test_a_set_covers_what_lies_in_its_pieces(void **unused)
{
	struct memory_access wide = columns(0, 64, 128, 100), part = columns(400, 8, 128, 97);
	struct memory_access piece = columns(128, 64, 0, 1), across = columns(60, 8, 128, 50);
	struct memory_access more = columns(128, 64, 128, 100);

	piece.stride_count = 0;
	assert_true(access_covers(&wide, &wide));
	assert_true(access_covers(&wide, &part));
	assert_true(access_covers(&wide, &piece));
	assert_false(access_covers(&wide, &across));
	assert_false(access_covers(&wide, &more));
	assert_false(access_covers(&part, &wide));
	wide.exact = 0;
	assert_false(access_covers(&wide, &part));
}

/* Against a map of bytes. */
static void test_strides_are_the_bytes_they_stand_for(void **unused)
{
	unsigned seed = 12345;

	for (int round = 0; round < 2000; round++) {
		struct memory_access set[2];
		uint8_t map[2][4096] = { { 0 } };
		int meet = 0;

		for (int s = 0; s < 2; s++) {
			int number[6];

			for (int i = 0; i < 6; i++) {
				seed = seed * 1103515245u + 12345u;
				number[i] = (int)(seed >> 16 & 0xff);
			}
			set[s] = columns(number[0], 1 + number[1] % 16, 0, 1);
			set[s].stride_count = 2;
			set[s].stride[0] =
				(struct access_stride){ 60 + number[2], 1 + number[3] % 6 };
			set[s].stride[1] =
				(struct access_stride){ 17 + number[4] % 8, 1 + number[5] % 3 };
			set[s].high = 4096;
			for (int i = 0; i < set[s].stride[0].count; i++)
				for (int j = 0; j < set[s].stride[1].count; j++)
					memset(&map[s][set[s].start + i * set[s].stride[0].bytes +
						       j * set[s].stride[1].bytes],
						1, (size_t)set[s].run);
		}
		for (int i = 0; i < 4096; i++)
			meet |= map[0][i] & map[1][i];
		assert_int_equal(access_overlap(&set[0], &set[1]),
			meet ? OVERLAP_SURE : OVERLAP_NONE);
	}
}

static struct memory_access piece(int64_t low, int64_t bytes, int exact, enum evidence evidence)
{
	return (struct memory_access){ .allocation = 1,
		.low = low,
		.high = low + bytes,
		.start = low,
		.run = bytes,
		.direction = ACCESS_WRITE,
		.evidence = (uint8_t)evidence,
		.sure = 1,
		.exact = (uint8_t)exact };
}

static int same_bytes(struct memory_access one, struct memory_access other)
{
	int same = access_conflict(&one, &other).same_bytes;

	assert_int_equal(same, access_conflict(&other, &one).same_bytes);
	return same;
}

/* A byte that both access, not one that they may access. */
static void test_the_bytes_that_both_access_are_known_or_not(void **state)
{
	struct memory_access copy = piece(0, 64, 1, EVIDENCE_EXACT), other = copy;

	(void)state;
	assert_int_equal(same_bytes(copy, piece(32, 64, 1, EVIDENCE_PTX)), 1);
	assert_int_equal(same_bytes(copy, piece(32, 64, 1, EVIDENCE_MACHINE)), 1);
	assert_int_equal(same_bytes(copy, piece(64, 64, 1, EVIDENCE_PTX)), 0);
	assert_int_equal(same_bytes(copy, piece(32, 64, 0, EVIDENCE_PTX)), 0);
	assert_int_equal(same_bytes(copy, piece(0, 128, 0, EVIDENCE_PTX)), 0);
	assert_int_equal(same_bytes(copy, piece(16, 32, 0, EVIDENCE_PTX)), 1);
	assert_int_equal(same_bytes(piece(0, 64, 0, EVIDENCE_PTX), piece(0, 64, 0, EVIDENCE_PTX)),
		0);
	assert_int_equal(same_bytes(copy, piece(0, 64, 1, EVIDENCE_CONVENTION)), 0);
	assert_int_equal(same_bytes(copy, piece(0, 64, 1, EVIDENCE_ANNOTATION)), 0);
	other.sure = 0;
	assert_int_equal(same_bytes(copy, other), 0);
	other = copy;
	other.maybe = 1;
	assert_int_equal(same_bytes(copy, other), 0);
	other = copy;
	other.direction = ACCESS_UNKNOWN;
	assert_int_equal(same_bytes(copy, other), 0);
	copy.direction = other.direction = ACCESS_READ;
	assert_int_equal(same_bytes(copy, other), 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_a_value_write_writes_its_value),
		TEST(test_a_value_wait_reads_its_value),
		TEST(test_values_conflict_by_their_bytes),
		TEST(test_a_batch_of_values_is_as_complete_as_its_list),
		TEST(test_a_function_of_the_host_may_touch_more),
		TEST(test_what_moves_memory_or_orders_streams_touches_nothing),
		TEST(test_a_copy_says_what_it_does),
		TEST(test_a_copy_ends_where_its_memory_does),
		TEST(test_a_kernel_does_what_its_code_says),
		TEST(test_a_word_without_claims_is_not_touched_by_a_complete_kernel),
		TEST(test_an_incomplete_kernel_may_do_more_with_all_it_is_given),
		TEST(test_const_speaks_for_its_own_parameter),
		TEST(test_a_kernel_of_which_nothing_is_known_names_its_memory),
		TEST(test_a_shape_is_better_than_its_kernel),
		TEST(test_two_readers_are_independent),
		TEST(test_a_writer_and_a_reader_are_not),
		TEST(test_atomics_need_no_order_among_themselves),
		TEST(test_what_is_not_known_may_conflict),
		TEST(test_constants_are_written_by_copies),
		TEST(test_a_graph_reaches_what_its_kernels_do),
		cmocka_unit_test(test_columns_side_by_side_do_not_meet),
		cmocka_unit_test(test_every_other_element_is_apart_from_the_others),
		cmocka_unit_test(test_too_many_pieces_may_meet),
		cmocka_unit_test(test_a_set_covers_what_lies_in_its_pieces),
		cmocka_unit_test(test_strides_are_the_bytes_they_stand_for),
		cmocka_unit_test(test_the_bytes_that_both_access_are_known_or_not),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
