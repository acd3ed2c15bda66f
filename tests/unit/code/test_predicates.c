/* SPDX-License-Identifier: Apache-2.0 */
#include "cases.h"
#include "file_built.h"

#include "image.h"
#include "lower.h"

enum { PARAMETERS = 64, CUBINS = 3 };

/* Calls test with each module of the file. */
static void for_each(void (*test)(const struct image_code *code))
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
	assert_int_equal(cubins, CUBINS);
	image_release(&image);
	free(data);
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

/* --- the cases --- */

static struct {
	char name[32], found[256];
	unsigned arch; /* at least, 0: PTX, too */
	int called;
	uint8_t value[PARAMETERS], state[PARAMETERS];
	struct ptx_launch launch;
	void (*say)(const struct ptx_access *access);
} asked;

/* Words of a parameter, direction and what is not sure. */
static void say_claims(const struct ptx_access *access)
{
	FILE *out = fmemopen(asked.found, sizeof(asked.found), "w");

	for (size_t i = 0; i < access->count; i++) {
		const struct ptx_claim *claim = &access->claim[i], *last = claim - (i > 0);

		if (!i || last->offset != claim->offset || last->direction != claim->direction)
			fprintf(out, "%u%c%s ", claim->offset, "LSA"[claim->direction],
				claim -> sure ? "" : " perhaps");
	}
	fprintf(out, "%s", access->complete ? "all" : access->why);
	fclose(out);
}

/* What is wanted if the bytes begin at the pointer and end within it. */
static void say_end(const struct ptx_access *access)
{
	int64_t first = INT64_MAX, end = INT64_MIN;
	long long least, most;

	for (size_t i = 0; i < access->count; i++) {
		first = access->claim[i].low < first ? access->claim[i].low : first;
		end = access->claim[i].high > end ? access->claim[i].high : end;
	}
	assert_int_equal(sscanf(cases_read.wanted, "%lld..%lld", &least, &most), 2);
	if (first == 0 && end >= least && end <= most)
		strcpy(asked.found, cases_read.wanted);
	else
		snprintf(asked.found, sizeof(asked.found), "%lld to %lld", (long long)first,
			(long long)end);
}

static void say_exact_end(const struct ptx_access *access)
{
	for (size_t i = 0; i < access->count; i++)
		assert_true(access->claim[i].exact);
	say_end(access);
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

static void ask_module(const struct image_code *code)
{
	struct image_code changed = *code;
	struct ptx_module *module;
	struct ptx_access access;
	char *copy = malloc(code->size), before[sizeof(asked.found)];
	long kernel;

	if (asked.arch && (code->kind == IMAGE_PTX || code->arch < asked.arch)) {
		free(copy);
		return;
	}
	memcpy(copy, code->data, code->size);
	assert_true(!asked.called || call_instead(copy, code->size) > 1);
	changed.data = copy;
	module = open_code(&changed);
	kernel = ptx_find(module, asked.name, strlen(asked.name));
	assert_true(kernel >= 0);
	assert_int_equal(ptx_interpret(module, (size_t)kernel, &asked.launch, PTX_STEPS, &access),
		0);
	strcpy(before, asked.found);
	asked.say(&access);
	if (*before)
		assert_string_equal(asked.found, before);
	ptx_access_release(&access);
	ptx_close(module);
	free(copy);
}

static const char *ask(void (*say)(const struct ptx_access *access))
{
	char *text = strdup(cases_read.text), *save = NULL, *word = strtok_r(text, " ;\n", &save);
	size_t at = 0;

	memset(&asked, 0, sizeof(asked));
	asked.say = say;
	asked.called = !strcmp(word, "called");
	asked.arch = !strcmp(word, "sm_80") ? 80 : !strcmp(word, "machine") || asked.called;
	snprintf(asked.name, sizeof(asked.name), "%s",
		asked.arch ? strtok_r(NULL, " ;\n", &save) : word);
	asked.launch = (struct ptx_launch){ { 1, 1, 1 }, { 1, 1, 1 }, PARAMETERS, asked.value,
		asked.state };
	assert_int_equal(sscanf(strtok_r(NULL, " ;\n", &save), "%ux%u", &asked.launch.grid[0],
				 &asked.launch.block[0]),
		2);
	for (; (word = strtok_r(NULL, " ;\n", &save)); at += strpbrk(word, "pl") ? 8 : 4) {
		int64_t number = atoll(word);

		memset(asked.state + at, *word == 'p' ? PTX_POINTER : PTX_KNOWN,
			strpbrk(word, "pl") ? 8 : 4);
		memcpy(asked.value + at, &number, strpbrk(word, "pl") ? 8 : 4);
	}
	free(text);
	for_each(ask_module);
	return asked.found;
}

ANSWER(found)
{
	return ask(say_claims);
}

ANSWER(end)
{
	return ask(say_end);
}

ANSWER(exact_end)
{
	return ask(say_exact_end);
}

/* --- what blocks look up --- */

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
