/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Conditions of machine code: kept as bits, compared again, by the memory that an address is of;
 * calls that are jumps.
 */
#include "unit.h"
#include "file_built.h"

#include "image.h"
#include "lower.h"

#define PARAMETERS 64

/* Parameter words, direction and what is not sure; pointers: of which bytes an address is known. */
static char *claims_of(struct ptx_module *module, const char *name, const int *pointers)
{
	uint8_t value[PARAMETERS] = { 0 }, state[PARAMETERS] = { 0 };
	struct ptx_launch launch = { .grid = { 4, 1, 1 },
		.block = { 64, 1, 1 },
		.size = PARAMETERS,
		.value = value,
		.state = state };
	long number = ptx_find(module, name, strlen(name));
	struct ptx_access access;
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_true(number >= 0);
	for (; *pointers >= 0; pointers++)
		memset(state + *pointers, PTX_POINTER, 8);
	assert_int_equal(ptx_interpret(module, (size_t)number, &launch, PTX_STEPS, &access), 0);
	for (size_t i = 0; i < access.count; i++) {
		const struct ptx_claim *claim = &access.claim[i], *last = claim - (i > 0);

		if (!i || last->offset != claim->offset || last->direction != claim->direction)
			fprintf(out, "%u%c%s ", claim->offset, "LSA"[claim->direction],
				claim -> sure ? "" : " perhaps");
	}
	fprintf(out, "%s", access.complete ? "all" : access.why);
	fclose(out);
	ptx_access_release(&access);
	return text;
}

static void check(struct ptx_module *module, const char *name, const int *pointers,
	const char *wanted)
{
	char *found = claims_of(module, name, pointers);

	assert_string_equal(found, wanted);
	free(found);
}

/* Calls test with each module of the file; the number of its cubins. */
static unsigned for_each(void (*test)(const struct image_code *code))
{
	char error[IMAGE_ERROR_SIZE];
	unsigned cubins = 0;
	struct image image;
	size_t size;
	void *data = read_built("predicates.fatbin", &size);

	if (!data)
		skip();
	assert_int_equal(image_read(data, size, &image, error), 0);
	for (size_t i = 0; i < image.count; i++) {
		test(&image.code[i]);
		cubins += (unsigned)(image.code[i].kind == IMAGE_CUBIN);
	}
	image_release(&image);
	free(data);
	return cubins;
}

static struct ptx_module *open_code(const struct image_code *code)
{
	char error[IMAGE_ERROR_SIZE];
	struct ptx_module *module = code->kind == IMAGE_PTX
		? ptx_open(code->data, code->size, error)
		: machine_open(code->data, code->size, code->arch, error);

	assert_non_null(module);
	return module;
}

static void check_sorts(const struct image_code *code)
{
	static const int words[] = { 0, 8, 16, 24, -1 };
	struct ptx_module *module = open_code(code);

	check(module, "sort_24", words, "0L 8S 16L 24S all");
	check(module, "sort_48", words, "0L 8S 16L 24S all");
	ptx_close(module);
}

TEST(more_conditions_than_predicates)
{
	assert_int_equal(for_each(check_sorts), 3);
}

static void check_pairs(const struct image_code *code)
{
	static const int words[] = { 0, -1 };
	struct ptx_module *module = open_code(code);

	check(module, "add_pairs", words, "0A all");
	ptx_close(module);
}

TEST(a_parameter_points_to_global_memory)
{
	for_each(check_pairs);
}

/* The accessed bytes of a kernel begin at its pointer and end between the two limits. */
static void check_bytes(struct ptx_module *module, const char *name, const uint64_t *scalars,
	unsigned bytes, int64_t least_end, int64_t most_end)
{
	uint8_t value[PARAMETERS] = { 0 }, state[PARAMETERS] = { 0 };
	struct ptx_launch launch = { .grid = { 2, 1, 1 },
		.block = { 64, 1, 1 },
		.size = PARAMETERS,
		.value = value,
		.state = state };
	int64_t first = INT64_MAX, end = INT64_MIN;
	struct ptx_access access;

	memset(state, PTX_POINTER, 8);
	memset(state + 8, PTX_KNOWN, 2 * bytes);
	memcpy(value + 8, &scalars[0], bytes);
	memcpy(value + 8 + bytes, &scalars[1], bytes);
	assert_int_equal(ptx_interpret(module, (size_t)ptx_find(module, name, strlen(name)),
				 &launch, PTX_STEPS, &access),
		0);
	for (size_t i = 0; i < access.count; i++) {
		first = access.claim[i].low < first ? access.claim[i].low : first;
		end = access.claim[i].high > end ? access.claim[i].high : end;
	}
	assert_true(first == 0 && end >= least_end && end <= most_end);
	ptx_access_release(&access);
}

static void check_quotients(const struct image_code *code)
{
	struct ptx_module *module = open_code(code);

	check_bytes(module, "rows", (uint64_t[]){ 10, 100 }, 4, 40, 512);
	ptx_close(module);
}

TEST(what_a_guard_leaves_is_read_under_the_next_one)
{
	for_each(check_quotients);
}

static void check_tiles(const struct image_code *code)
{
	struct ptx_module *module = open_code(code);

	check_bytes(module, "tiles", (uint64_t[]){ 40, 40 }, 8, 160, 160);
	ptx_close(module);
}

TEST(lower_halves_are_compared_either_way_round)
{
	for_each(check_tiles);
}

static void check_stage(const struct image_code *code)
{
	struct ptx_module *module;

	if (code->kind == IMAGE_PTX || code->arch < 80)
		return;
	module = open_code(code);
	check_bytes(module, "stage", (uint64_t[]){ 100, 0 }, 4, 400, 400);
	ptx_close(module);
}

TEST(a_copy_has_a_condition_of_its_own)
{
	for_each(check_stage);
}

struct tensors {
	uint64_t data[4];
	int64_t count[4];
	uint8_t tensor[16];
	int32_t chunk[16];
};

/*
 * Blocks 0 to 2 have the chunks of the first tensor, the last block the only one of the second.
 * zeros: of their addresses' lowest bits.
 */
static void check_each(const struct image_code *code, uint8_t zeros, int64_t wanted)
{
	struct tensors all = { .count = { 10000, 5 },
		.tensor = { 0, 0, 0, 1 },
		.chunk = { 0, 1, 2, 0 } };
	uint8_t state[sizeof(all)];
	struct ptx_launch launch = { .grid = { 4, 1, 1 },
		.block = { 64, 1, 1 },
		.size = sizeof(all),
		.value = (const uint8_t *)&all,
		.state = state };
	struct ptx_module *module = open_code(code);
	struct ptx_access access;
	int64_t end[2] = { 0, 0 };

	memset(state, PTX_KNOWN, sizeof(state));
	memset(state, PTX_POINTER, sizeof(all.data));
	for (int i = 0; i < 4; i++)
		all.data[i] = zeros;
	assert_int_equal(ptx_interpret(module, (size_t)ptx_find(module, "each", 4), &launch,
				 PTX_STEPS, &access),
		0);
	assert_true(access.complete);
	for (size_t i = 0; i < access.count; i++) {
		const struct ptx_claim *claim = &access.claim[i];

		assert_true(claim->offset <= 8 && claim->sure && claim->low >= 0);
		if (claim->high > end[claim->offset / 8])
			end[claim->offset / 8] = claim->high;
	}
	assert_true(code->arch < 100 || !wanted ? end[0] == wanted : end[0] >= wanted);
	assert_int_equal(end[1], 20);
	ptx_access_release(&access);
	ptx_close(module);
}

static void check_any(const struct image_code *code)
{
	check_each(code, 2, 40000);
}

TEST(blocks_look_up_what_they_take)
{
	for_each(check_any);
}

static void check_aligned(const struct image_code *code)
{
	check_each(code, 4, 0);
}

TEST(alignment_decides)
{
	for_each(check_aligned);
}

static void check_by_four(const struct image_code *code)
{
	struct ptx_module *module;

	if (code->kind == IMAGE_PTX)
		return;
	module = open_code(code);
	check_bytes(module, "by_four", (uint64_t[]){ 1000, 0 }, 4, 4000, 4000);
	ptx_close(module);
}

TEST(a_loop_may_count_in_parts)
{
	for_each(check_by_four);
}

/* One thread is launched: of six elements it stores to the first three. */
static void check_first(struct ptx_module *module, const char *name)
{
	static const int32_t scalars[2] = { 129, 64 };
	uint8_t value[16] = { 0 }, state[16];
	struct ptx_launch launch = { .grid = { 1, 1, 1 },
		.block = { 1, 1, 1 },
		.size = sizeof(value),
		.value = value,
		.state = state };
	struct ptx_access access;
	int64_t end = 0;

	memset(state, PTX_POINTER, 8);
	memset(state + 8, PTX_KNOWN, 8);
	memcpy(value + 8, scalars, sizeof(scalars));
	assert_int_equal(ptx_interpret(module, (size_t)ptx_find(module, name, strlen(name)),
				 &launch, PTX_STEPS, &access),
		0);
	for (size_t i = 0; i < access.count; i++) {
		assert_true(access.claim[i].exact && access.claim[i].low >= 0);
		end = access.claim[i].high > end ? access.claim[i].high : end;
	}
	assert_int_equal(end, 516);
	ptx_access_release(&access);
}

static void check_masked(const struct image_code *code)
{
	struct ptx_module *module;

	if (code->kind == IMAGE_PTX)
		return;
	module = open_code(code);
	check_first(module, "masked");
	ptx_close(module);
}

TEST(bits_are_the_conditions_that_they_were_made_of)
{
	for_each(check_masked);
}

enum { OPCODE_BITS = 0xfff, BRANCH = 0x947, CALL_RELATIVE = 0x944 };

/* Branches under a predicate become calls. */
static unsigned call_instead(char *data, size_t size)
{
	unsigned count = 0;

	for (size_t at = 0; at + 16 <= size; at += 16) {
		uint64_t word;

		memcpy(&word, data + at, sizeof(word));
		if ((word & OPCODE_BITS) != BRANCH || (word >> 12 & 7) == 7)
			continue;
		word = (word & ~(uint64_t)OPCODE_BITS) | CALL_RELATIVE;
		memcpy(data + at, &word, sizeof(word));
		count++;
	}
	return count;
}

static void check_calls(const struct image_code *code)
{
	static const int words[] = { 0, 8, -1 };
	struct image_code changed = *code;
	struct ptx_module *module;
	char *copy;

	if (code->kind == IMAGE_PTX)
		return;
	copy = malloc(code->size);
	assert_non_null(copy);
	memcpy(copy, code->data, code->size);
	assert_true(call_instead(copy, code->size) > 1);
	changed.data = copy;
	module = open_code(&changed);
	check(module, "loops", words, "0L 8S all");
	ptx_close(module);
	free(copy);
}

TEST(a_call_into_the_function_is_a_jump)
{
	for_each(check_calls);
}
