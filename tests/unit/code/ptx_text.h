/* SPDX-License-Identifier: Apache-2.0 */
/* What is found of the parameters of kernel k of a case's text, to which a header is added. */
#ifndef CUFENCE_TESTS_PTX_TEXT_H
#define CUFENCE_TESTS_PTX_TEXT_H

#include "cases.h"

#include "ptx.h"

/* Of so many bytes of the text. */
static inline struct ptx_module *ptx_of_text(const char *code, size_t bytes, char **text)
{
	char error[IMAGE_ERROR_SIZE];
	struct ptx_module *module;

	assert_true(asprintf(text, ".version 8.0\n.target sm_90\n.address_size 64\n%.*s",
			    (int)bytes, code) > 0);
	module = ptx_open(*text, strlen(*text), error);
	assert_non_null(module);
	return module;
}

/* Valid until the next one. */
static inline const char *ptx_said(char *text)
{
	static char *said;

	free(said);
	said = text;
	return said;
}

static inline void ptx_print_claim(FILE *out, const struct ptx_claim *claim)
{
	static const char *const directions[] = { "load", "store", "atomic" };
	int has_low = claim->low != PTX_NO_LOW, has_high = claim->high != PTX_NO_HIGH;

	fprintf(out, "%s%u%s %s", ftell(out) ? ", " : "", claim->offset, claim->sure ? "" : "?",
		directions[claim->direction]);
	fputs(has_low || has_high ? " " : " any", out);
	if (has_low)
		fprintf(out, "%lld", (long long)claim->low);
	if (has_low || has_high)
		fputs("..", out);
	if (has_high)
		fprintf(out, "%lld", (long long)claim->high);
	for (unsigned s = 0; s < claim->stride_count; s++)
		fprintf(out, " %lldx%lld", (long long)claim->stride[s].count,
			(long long)claim->stride[s].bytes);
	fprintf(out, "%s%s%s", claim->loaded ? " loaded" : "",
		claim->exact || !has_low || !has_high ? "" : " at most",
		claim->spins ? " awaited" : "");
}

/* DIRECTION LOW..HIGH of each word; in so many steps at most. */
static inline const char *ptx_claims(const struct ptx_launch *launch, unsigned long steps)
{
	char *text, *found;
	struct ptx_module *module = ptx_of_text(cases_read.text, strlen(cases_read.text), &text);
	long kernel = ptx_find(module, "k", 1);
	struct ptx_access access;
	size_t size;
	FILE *out = open_memstream(&found, &size);

	assert_true(kernel >= 0);
	if (ptx_interpret(module, (size_t)kernel, launch, steps, &access)) {
		fprintf(out, "refused: %s", access.why);
	} else {
		for (size_t i = 0; i < access.count; i++)
			ptx_print_claim(out, &access.claim[i]);
		if (!access.complete)
			fprintf(out, "%sincomplete: %s", ftell(out) ? ", " : "", access.why);
		if (access.reaches)
			fprintf(out, ", reaches %u", access.reaches);
	}
	fclose(out);
	ptx_access_release(&access);
	ptx_close(module);
	free(text);
	return ptx_said(found);
}

#endif
