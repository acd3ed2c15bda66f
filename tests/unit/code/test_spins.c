/* SPDX-License-Identifier: Apache-2.0 */
/* The loops of kernels that wait for others: by PTX, and by machine code if it was compiled. */
#include "ptx_text.h"
#include "file_built.h"

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

ANSWER(found)
{
	return ptx_claims(&(struct ptx_launch){ .grid = { 4, 1, 1 }, .block = { 256, 1, 1 } },
		PTX_STEPS);
}

/* The kernels of tests/data/spins.cu. */
static const struct {
	const char *name, *waits;
} kernels[] = { { "acquires", "0L " }, { "volatiles", "0L " }, { "sleeps", "0L " },
	{ "locks", "0A " }, { "counts", "0L " }, { "in_turn", "0L " }, { "maximum", "" },
	{ "searches", "" }, { "sums", "" }, { "queue", "" }, { "queue_of_warps", "" },
	{ "limited", "" }, { "tries", "0L " }, { "versions", "" } };

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
	void *data = read_built("spins.fatbin", &size);

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
