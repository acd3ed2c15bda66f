/* SPDX-License-Identifier: Apache-2.0 */
#include "ptx_text.h"

#include "ptx_value.h"

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
ANSWER(found)
{
	uint8_t value[24] = { 0 }, state[24];
	struct ptx_launch launch;
	int is_flat = !strstr(cases_read.text, " rows");
	char error[IMAGE_ERROR_SIZE], *found, name[64];
	int32_t number[2] = { 0, 0 };
	uint32_t grid, block;
	size_t text_size, size;
	char *text = read_text(&text_size);
	struct ptx_module *module = ptx_open(text, text_size, error);
	FILE *out = open_memstream(&found, &size);
	struct ptx_access access;
	long kernel;

	assert_non_null(module);
	assert_true(sscanf(cases_read.text, "%63s %ux%u %d %d", name, &grid, &block, &number[0],
			    &number[1]) >= 4);
	launch = (struct ptx_launch){ { grid, is_flat ? 1 : grid, 1 },
		{ block, is_flat ? 1 : block, 1 }, sizeof(value), value, state };
	kernel = ptx_find(module, name, strcspn(name, ";"));
	assert_true(kernel >= 0);
	memcpy(value + 16, number, sizeof(number));
	memset(state, PTX_POINTER, 16);
	memset(state + 16, PTX_KNOWN, 8);
	assert_int_equal(ptx_interpret(module, (size_t)kernel, &launch, PTX_STEPS, &access), 0);
	print_stores(out, &access);
	fclose(out);
	ptx_access_release(&access);
	ptx_close(module);
	free(text);
	return ptx_said(found);
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
