/* SPDX-License-Identifier: Apache-2.0 */
#include "ptx_text.h"

/* n: p2, which is not known if 0. */
static const char *claims_of(uint32_t grid, uint32_t block, uint32_t n)
{
	uint8_t value[64] = { 0 }, state[64] = { 0 };
	struct ptx_launch launch = { .grid = { grid, 1, 1 },
		.block = { block, 1, 1 },
		.size = sizeof(value),
		.value = value,
		.state = state };

	memcpy(value + 16, &n, sizeof(n));
	memset(state + 16, n ? PTX_KNOWN : 0, sizeof(n));
	return ptx_claims(&launch, PTX_STEPS);
}

ANSWER(found)
{
	return claims_of(4, 256, 1000);
}

ANSWER(four)
{
	return claims_of(4, 4, 0);
}

ANSWER(anywhere)
{
	return claims_of(0, 0, 0);
}

ANSWER(in_five_steps)
{
	return ptx_claims(&(struct ptx_launch){ .size = 0 }, 5);
}

/* Which claims are early, in order; waits and triggers. */
ANSWER(early)
{
	char *text, *found;
	struct ptx_module *module = ptx_of_text(cases_read.text, strlen(cases_read.text), &text);
	struct ptx_launch nothing = { 0 };
	struct ptx_dependence dependence = ptx_dependence(module, 0);
	struct ptx_access access;
	size_t size;
	FILE *out = open_memstream(&found, &size);

	assert_int_equal(ptx_interpret(module, 0, &nothing, PTX_STEPS, &access), 0);
	for (size_t i = 0; i < access.count; i++)
		fputc(access.claim[i].early ? '1' : '0', out);
	fprintf(out, " %d %d", dependence.waits, dependence.triggers);
	fclose(out);
	ptx_access_release(&access);
	ptx_close(module);
	free(text);
	return ptx_said(found);
}

ANSWER(prints)
{
	char *text, *found;
	struct ptx_module *module = ptx_of_text(cases_read.text, strlen(cases_read.text), &text);

	assert_true(
		asprintf(&found, "%d", ptx_prints(module, (size_t)ptx_find(module, "k", 1))) > 0);
	ptx_close(module);
	free(text);
	return ptx_said(found);
}

/* OFFSET+BYTES of each. */
ANSWER(parameters)
{
	char *text, *found;
	struct ptx_module *module = ptx_of_text(cases_read.text, strlen(cases_read.text), &text);
	struct image_parameter parameter[8];
	size_t size, count = ptx_parameters(module, 0, parameter, 8);
	FILE *out = open_memstream(&found, &size);

	for (size_t i = 0; i < count; i++)
		fprintf(out, "%s%u+%u", i ? ", " : "", parameter[i].offset, parameter[i].size);
	fclose(out);
	ptx_close(module);
	free(text);
	return ptx_said(found);
}

/* How many kernels are understood of so many bytes of the text. */
static int understood(size_t bytes)
{
	struct ptx_launch launch = { .size = 0 };
	struct ptx_access access;
	char *text;
	struct ptx_module *module = ptx_of_text(cases_read.text, bytes, &text);
	int count = 0;

	for (size_t k = 0; k < ptx_kernel_count(module); k++) {
		int rc = ptx_interpret(module, k, &launch, PTX_STEPS, &access);

		assert_true(rc == 0 || access.why);
		count += !rc;
		ptx_access_release(&access);
	}
	ptx_close(module);
	free(text);
	return count;
}

ANSWER(survived)
{
	return understood(strlen(cases_read.text)) >= 0 ? "1" : "0";
}

ANSWER(beginnings)
{
	int count = 0;
	char *found;

	for (size_t size = 0; size <= strlen(cases_read.text); size++)
		count += understood(size);
	assert_true(asprintf(&found, "%d", count) > 0);
	return ptx_said(found);
}

/* A few bytes of text must not take hundreds of memory, without end. */
TEST(test_too_many_functions_are_refused)
{
	static const char one[] = ".entry k%06x(){}\n";
	char error[IMAGE_ERROR_SIZE], *text = NULL;
	size_t size, counts[] = { 1u << 17, (1u << 18) + 1 };
	struct ptx_module *module;

	for (int i = 0; i < 2; i++) {
		FILE *out = open_memstream(&text, &size);

		for (size_t n = 0; n < counts[i]; n++)
			fprintf(out, one, (unsigned)n);
		fclose(out);
		module = ptx_open(text, size, error);
		assert_int_equal(module != NULL, i == 0);
		ptx_close(module);
		free(text);
	}
}
