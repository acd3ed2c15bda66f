/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernels' accesses under a condition, in the code that nvcc makes of tests/data/conditions.cu. It
 * checks which claims cover all bytes, and which cover some of them at most.
 */
#include "unit.h"

#include "ptx.h"
#include "ptx_value.h"

/* A grid and block of one or two dimensions; the scalars after the two pointers. */
struct shape {
	uint32_t grid, block;
	int two_dimensions;
	int32_t first, second;
};

static const struct shape line = { 4, 256, 0, 1000, 0 };
static const struct shape line_odd = { 4, 256, 0, 1000, 1 };
static const struct shape square = { 2, 16, 1, 30, 1 };

static char *read_text(size_t *size)
{
	char path[4096], *text = malloc(1 << 20);
	FILE *in;

	snprintf(path, sizeof(path), "%s/conditions.ptx", getenv("TEST_DATA"));
	in = fopen(path, "r");
	assert_non_null(text);
	assert_non_null(in);
	*size = fread(text, 1, 1 << 20, in);
	fclose(in);
	return text;
}

static void print_stores(FILE *out, const struct ptx_access *access)
{
	for (size_t i = 0; i < access->count; i++) {
		const struct ptx_claim *claim = &access->claim[i];

		if (claim->direction != PTX_STORE)
			continue;
		fprintf(out, "%s%lld..%lld", ftell(out) ? ", " : "", (long long)claim->low,
			(long long)claim->high);
		if (claim->stride_count)
			fprintf(out, " of %lld", (long long)claim->run);
		for (unsigned s = 0; s < claim->stride_count; s++)
			fprintf(out, " %lldx%lld", (long long)claim->stride[s].count,
				(long long)claim->stride[s].bytes);
		fputs(claim->exact ? "" : " at most", out);
	}
}

/* The stores of the kernel. */
static void check(const char *kernel, struct shape shape, const char *expected)
{
	uint8_t value[24] = { 0 }, state[24];
	uint32_t rows = shape.two_dimensions ? shape.grid : 1;
	uint32_t height = shape.two_dimensions ? shape.block : 1;
	struct ptx_launch launch = { .grid = { shape.grid, rows, 1 },
		.block = { shape.block, height, 1 },
		.size = sizeof(value),
		.value = value,
		.state = state };
	char error[IMAGE_ERROR_SIZE], *found;
	size_t text_size, size;
	char *text = read_text(&text_size);
	struct ptx_module *module = ptx_open(text, text_size, error);
	FILE *out = open_memstream(&found, &size);
	struct ptx_access access;
	long number;

	assert_non_null(module);
	number = ptx_find(module, kernel, strlen(kernel));
	assert_true(number >= 0);
	memcpy(value + 16, &shape.first, 4);
	memcpy(value + 20, &shape.second, 4);
	memset(state, PTX_POINTER, 16);
	memset(state + 16, PTX_KNOWN, 8);
	assert_int_equal(ptx_interpret(module, (size_t)number, &launch, PTX_STEPS, &access), 0);
	print_stores(out, &access);
	fclose(out);
	assert_string_equal(found, expected);
	ptx_access_release(&access);
	ptx_close(module);
	free(text);
	free(found);
}

TEST(comparisons_with_a_bound_are_exact)
{
	check("grid_stride", (struct shape){ 2, 256, 0, 1000, 0 }, "0..4000");
	check("first_warp", line, "0..512");
	check("first_thread", line, "0..16");
	check("every_second", line_odd, "4..4000 of 4 500x8");
	check("nested", (struct shape){ 2, 256, 0, 5, 1000 }, "0..20000");
	check("calls", line, "0..4000");
}

TEST(rows_end_where_their_condition_says)
{
	check("inside", square, "124..3476 of 112 28x120");
	check("left_columns", (struct shape){ 2, 16, 1, 20, 40 }, "0..3120 of 80 20x160");
}

/* It is known which elements have a given remainder. */
TEST(every_second_element_is_a_stride)
{
	check("colour", line, "0..3996 of 4 500x8");
	check("colour", line_odd, "4..4000 of 4 500x8");
	check("colour_remainder", line_odd, "4..4000 of 4 500x8");
	check("even_blocks", line, "0..3072 of 1024 2x2048");
	check("even_blocks", line_odd, "1024..4096 of 1024 2x2048");
	check("rows", square, "120..3600 of 120 15x240");
	check("first_lane", line, "0..128");
	check("pairs", (struct shape){ 4, 256, 0, 999, 0 }, "0..2000");
}

TEST(rows_of_one_index_are_rows)
{
	check("flattened", (struct shape){ 4, 256, 0, 30, 30 }, "124..3476 of 112 28x120");
	check("flattened_constant", (struct shape){ 4, 256, 0, 29, 0 }, "124..3476 of 112 28x120");
}

/* x even or odd, and y what that leaves. */
TEST(a_sum_of_two_indices_has_a_claim_for_each_class)
{
	check("checkerboard", square, "4..3480 of 4 15x240 15x8, 120..3596 of 4 15x240 15x8");
}

TEST(what_is_no_interval_is_not_all)
{
	check("both_remainders", line_odd, "0..4000 at most");
	check("padded", line, "0..4, 0..4124 at most");
	check("bucket", line_odd, "0..4000 at most");
	check("ends", line, "0..4, 0..4096 at most");
	check("lower", square, "0..4, 0..3600 at most");
}

/* Each condition may leave less to what others are about. */
TEST(ranges_follow_from_all_conditions)
{
	check("corner", (struct shape){ 3, 64, 0, 100, 0 }, "5120..5284 of 4 5x40");
	check("never", line, "");
}

TEST(data_decides)
{
	check("positive", line, "0..4000 at most");
	check("early_return", line, "0..4000 at most");
	check("grid_stride_positive", line, "0..4000 at most");
	check("until_found", (struct shape){ 1, 256, 0, 10, 0 }, "0..10240 at most");
	check("nested_until_found", (struct shape){ 2, 256, 0, 5, 1000 }, "0..20000 at most");
}

TEST(ways_that_have_met_are_all_again)
{
	check("joined", line, "0..4000");
	check("until_done", line, "0..4000");
	check("waits", line, "0..4000");
}

/* However long the threads of a loop stay there, all come out of it. */
TEST(a_loop_that_has_ended_decides_nothing)
{
	const struct shape two_rounds = { 2, 256, 0, 1000, 1000 };

	check("spins_first", two_rounds, "0..4000");
	check("locks_first", two_rounds, "0..4000");
	check("stands_in_line", two_rounds, "0..4000");
	check("returns_while_it_spins", two_rounds, "0..4000 at most");
}

/* Data decide how often a loop runs, and what comes after it uses the number. */
TEST(what_a_loop_has_found_is_not_all)
{
	check("searches_first", (struct shape){ 1, 256, 0, 10, 5 }, "0..220 at most");
	check("halves_what_it_found", (struct shape){ 1, 256, 0, 10, 5 }, "0..120 at most");
	check("up_to_what_it_found", (struct shape){ 1, 256, 0, 10, 0 }, "0..40 at most");
	check("below_what_it_found", (struct shape){ 1, 256, 0, 10, 0 }, "0..40 at most");
	check("below_what_it_finds", (struct shape){ 1, 256, 0, 10, 0 }, "0..4, 0..40 at most");
	check("calls_until_found", (struct shape){ 1, 256, 0, 10, 0 }, "0..10240 at most");
	check("found_by_call", (struct shape){ 1, 256, 0, 10, 0 }, "0..11264 at most");
}

TEST(what_the_launch_decides_is_exact)
{
	check("by_block", line, "0..1024, 4000..5024, 12000..13024, 20000..21024");
	check("by_mode", line_odd, "0..4000");
	check("by_mode", line, "4000..8000");
}

TEST(conditions_reach_into_calls)
{
	check("calls_positive", line, "0..4000 at most");
	check("positive_calls", line, "0..4000 at most");
	check("exits", line, "0..4000 at most");
}

/* Terms have padding, which belongs to no value. */
TEST(a_sum_is_found_whatever_its_padding)
{
	struct ptx_state *known = calloc(1, sizeof(*known));
	struct ptx_value sum;

	assert_non_null(known);
	known->split[0] = (struct ptx_split){ { { 3, 5 } }, .count = 1, .modulus = 4 };
	known->split_count = 1;
	memset(&sum, 0xff, sizeof(sum));
	sum.low = 0;
	sum.count = 1;
	sum.term[0].symbol = 3;
	sum.term[0].factor = 5;
	assert_ptr_equal(ptx_find_split(known, &sum, 4), known->split);
	sum.term[0].factor = 6;
	assert_null(ptx_find_split(known, &sum, 4));
	free(known);
}
