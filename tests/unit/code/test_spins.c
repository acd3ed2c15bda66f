/* SPDX-License-Identifier: Apache-2.0 */
/* The loops of kernels that wait for others: by PTX, and by machine code if it was compiled. */
#include "unit.h"

#include "image.h"
#include "lower.h"

/* Offsets of the words that the kernel waits on. */
static char *waits_on(struct ptx_module *module, const char *name)
{
	struct ptx_launch launch = { .grid = { 4, 1, 1 }, .block = { 256, 1, 1 } };
	long number = ptx_find(module, name, strlen(name));
	struct ptx_access access;
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_true(number >= 0);
	assert_int_equal(ptx_interpret(module, (size_t)number, &launch, PTX_STEPS, &access), 0);
	assert_true(access.complete);
	for (size_t i = 0; i < access.count; i++)
		if (access.claim[i].spins)
			fprintf(out, "%u%c ", access.claim[i].offset,
				"LSA"[access.claim[i].direction]);
	fclose(out);
	ptx_access_release(&access);
	return text;
}

/* A kernel of a flag, a number and an output. */
static void check(const char *body, const char *expected)
{
	char error[IMAGE_ERROR_SIZE], text[4096], *found;
	struct ptx_module *module;

	snprintf(text, sizeof(text),
		".version 8.0\n.target sm_90\n.address_size 64\n"
		".visible .entry k(.param .u64 flag, .param .u64 n, .param .u64 out)\n{\n"
		".reg .b32 %%r<20>; .reg .b64 %%rd<20>; .reg .pred %%p<9>;\n"
		"ld.param.u64 %%rd1, [flag]; ld.param.u32 %%r9, [n]; ld.param.u64 %%rd2, [out];\n"
		"mov.u32 %%r1, 0;\n%s\nst.global.u32 [%%rd2], %%r1;\nret;\n}\n",
		body);
	module = ptx_open(text, strlen(text), error);
	assert_non_null(module);
	found = waits_on(module, "k");
	assert_string_equal(found, expected);
	free(found);
	ptx_close(module);
}

TEST(a_loop_that_ends_by_a_strong_load_waits)
{
	check("L: ld.global.acquire.gpu.u32 %r2, [%rd1]; setp.eq.u32 %p1, %r2, 0; @%p1 bra L;",
		"0L ");
	check("L: ld.volatile.global.u32 %r2, [%rd1+8]; setp.ne.u32 %p1, %r2, %r9;\n"
	      "@!%p1 bra D; nanosleep.u32 100; bra L; D:",
		"0L ");
	/* One condition made of two. */
	check("L: add.u32 %r1, %r1, 1; setp.lt.u32 %p2, %r1, 1000;\n"
	      "ld.relaxed.gpu.global.u32 %r2, [%rd1]; setp.eq.and.u32 %p1, %r2, 0, %p2;\n"
	      "@%p1 bra L;",
		"0L ");
	/* The loop has an end of its own, too. */
	check("L: add.u32 %r1, %r1, 1; setp.gt.u32 %p2, %r1, 1000; @%p2 bra D;\n"
	      "ld.global.relaxed.sys.u32 %r2, [%rd1]; setp.eq.u32 %p1, %r2, 0; @%p1 bra L; D:",
		"0L ");
}

TEST(a_loop_that_takes_a_lock_waits)
{
	check("L: atom.global.cas.b32 %r2, [%rd1], 0, 1; setp.ne.u32 %p1, %r2, 0; @%p1 bra L;",
		"0A ");
	check("L: atom.global.add.u32 %r2, [%rd1], 0; setp.eq.u32 %p1, %r2, 0; @%p1 bra L;", "0A ");
}

TEST(other_loops_do_not_wait)
{
	/* The compiler may keep the loaded value: such a loop waits for nobody, or for ever. */
	check("L: ld.global.u32 %r2, [%rd1]; setp.eq.u32 %p1, %r2, 0; @%p1 bra L;", "");
	/* From another address each time. */
	check("L: ld.volatile.global.u32 %r2, [%rd1]; add.u64 %rd1, %rd1, 4;\n"
	      "setp.ne.u32 %p1, %r2, 5; @%p1 bra L;",
		"");
	/* An atomic maximum. */
	check("ld.global.u32 %r2, [%rd1]; L: mov.u32 %r3, %r2; max.u32 %r4, %r3, %r9;\n"
	      "atom.global.cas.b32 %r2, [%rd1], %r3, %r4; setp.ne.u32 %p1, %r2, %r3; @%p1 bra L;",
		"");
	/* A loop that ends by its count. */
	check("L: ld.volatile.global.u32 %r2, [%rd1]; add.u32 %r1, %r1, 1;\n"
	      "setp.lt.u32 %p1, %r1, %r9; @%p1 bra L;",
		"");
	/* The next piece of work. */
	check("L: atom.global.add.u32 %r2, [%rd1], 1; setp.lt.u32 %p1, %r2, %r9; @%p1 bra L;", "");
	/* A limit that is loaded each time. */
	check("L: add.u32 %r1, %r1, 1; ld.volatile.global.u32 %r2, [%rd1];\n"
	      "setp.lt.u32 %p1, %r1, %r2; @%p1 bra L;",
		"");
	/* No loop. */
	check("ld.volatile.global.u32 %r2, [%rd1]; setp.eq.u32 %p1, %r2, 0; @%p1 bra D;\n"
	      "mov.u32 %r1, 1; D:",
		"");
}

/* The kernels of tests/data/spins.cu. */
static const struct {
	const char *name, *waits;
} kernels[] = { { "acquires", "0L " }, { "volatiles", "0L " }, { "sleeps", "0L " },
	{ "locks", "0A " }, { "counts", "0L " }, { "in_turn", "0L " }, { "maximum", "" },
	{ "searches", "" }, { "sums", "" }, { "queue", "" }, { "queue_of_warps", "" },
	{ "limited", "" }, { "tries", "0L " }, { "versions", "" } };

static void *read_file(size_t *size)
{
	char path[4096], *data;
	FILE *file;

	snprintf(path, sizeof(path), "%s/tests/spins.fatbin", getenv("TEST_BUILD"));
	file = fopen(path, "rb");
	if (!file)
		return NULL;
	data = malloc(1 << 20);
	assert_non_null(data);
	*size = fread(data, 1, 1 << 20, file);
	fclose(file);
	return data;
}

static void check_module(struct ptx_module *module)
{
	assert_non_null(module);
	for (size_t i = 0; i < sizeof(kernels) / sizeof(*kernels); i++) {
		char *found = waits_on(module, kernels[i].name);

		if (strcmp(found, kernels[i].waits) != 0)
			print_message("%s\n", kernels[i].name);
		assert_string_equal(found, kernels[i].waits);
		free(found);
	}
	ptx_close(module);
}

TEST(machine_code_shows_the_same)
{
	char error[IMAGE_ERROR_SIZE];
	unsigned cubins = 0;
	struct image image;
	size_t size;
	void *data = read_file(&size);

	if (!data)
		skip();
	assert_int_equal(image_read(data, size, &image, error), 0);
	for (size_t i = 0; i < image.count; i++) {
		const struct image_code *code = &image.code[i];
		int is_text = code->kind == IMAGE_PTX;

		check_module(is_text ? ptx_open(code->data, code->size, error)
				     : machine_open(code->data, code->size, code->arch, error));
		cubins += (unsigned)!is_text;
	}
	assert_int_equal(cubins, 4);
	image_release(&image);
	free(data);
}
