/* SPDX-License-Identifier: Apache-2.0 */
#include "short_name.h"

#include <stdio.h>
#include <string.h>

#include "functor.h"
#include "product.h"

#define COUNT(table) (sizeof(table) / sizeof(*(table)))

/* Kernels that apply a functor, by a part of their name; the more special one first. */
static const struct {
	const char *part, *category;
} executors[] = {
	{ "distribution_elementwise", "random" },
	{ "elementwise_kernel", "elementwise" },
	{ "multi_tensor_apply_kernel", "foreach" },
	{ "reduce_kernel", "reduce" },
};

/* Names that say nothing without their namespace, and namespaces that say nothing. */
static const char *const vague[] = { "kernel", "Kernel", "globalKernel", "static_kernel" };
static const char *const vague_scopes[] = { "impl", "detail", "internal" };

static int is_one_of(const char *const *words, size_t count, const char *word, size_t length)
{
	for (size_t i = 0; i < count; i++)
		if (strlen(words[i]) == length && !memcmp(words[i], word, length))
			return 1;
	return 0;
}

/* "plus (reduce, float)". */
static int write_executor(const struct long_name *kernel, char *text)
{
	struct functor functor;
	size_t i = 0;

	while (i < COUNT(executors) && !strstr(kernel->name, executors[i].part))
		i++;
	if (i == COUNT(executors))
		return 0;
	functor_find(kernel->arguments, &functor);
	if (!*functor.name)
		return 0;
	snprintf(text, SHORT_NAME_MAX, "%s (%s%s%s)", functor.name, executors[i].category,
		*functor.type ? ", " : "", functor.type);
	return 1;
}

/* DeviceRadixSortHistogramKernel of CUB is "cub radix sort histogram (long)". */
static int write_cub(const struct long_name *kernel, char *text)
{
	size_t length = strlen(kernel->name);
	struct functor functor;
	int is_typed;
	char words[FUNCTOR_WORD_MAX];

	if (!strstr(kernel->scope, "cub::") || strncmp(kernel->name, "Device", 6) || length < 13 ||
		strcmp(kernel->name + length - 6, "Kernel"))
		return 0;
	functor_write_words(kernel->name + 6, length - 12, ' ', words, sizeof(words));
	functor_find(kernel->arguments, &functor);
	is_typed = *functor.name || *functor.type;
	snprintf(text, SHORT_NAME_MAX, "cub %s%s%.32s%s%.32s%s", words, is_typed ? " (" : "",
		functor.name, *functor.name && *functor.type ? ", " : "", functor.type,
		is_typed ? ")" : "");
	return 1;
}

/* The innermost algorithm of Thrust among the arguments: "cuda_cub::__fill::functor<float>". */
static int write_thrust(const struct long_name *kernel, char *text)
{
	static const char mark[] = "cuda_cub::__";
	const char *name = NULL;
	struct functor functor;

	for (const char *at = kernel->arguments; (at = strstr(at, mark)); name = at)
		at += strlen(mark);
	if (!name)
		return 0;
	functor_find(name, &functor);
	snprintf(text, SHORT_NAME_MAX, "thrust %.*s%s%s%s",
		(int)(strcspn(name, ":") < 40 ? strcspn(name, ":") : 40), name,
		*functor.type ? " (" : "", functor.type, *functor.type ? ")" : "");
	return 1;
}

/* "gemvx::kernel", by the innermost namespace with a meaning. */
static int write_scope(const struct long_name *kernel, char *text)
{
	const char *end = kernel->scope + strlen(kernel->scope), *from;
	size_t length;

	if (!is_one_of(vague, COUNT(vague), kernel->name, strlen(kernel->name)))
		return 0;
	for (; end > kernel->scope + 2 && end[-1] == ':'; end = from) {
		for (from = end - 2; from > kernel->scope && !strchr(":> ", from[-1]);)
			from--;
		length = (size_t)(end - 2 - from);
		if (is_one_of(vague_scopes, COUNT(vague_scopes), from, length))
			continue;
		snprintf(text, SHORT_NAME_MAX, "%.*s%s", length < 64 ? (int)(end - from) : 0, from,
			kernel->name);
		return length && from[length - 1] != ')';
	}
	return 0;
}

int short_name(const struct long_name *kernel, char *text)
{
	return product_write(kernel->name, text, SHORT_NAME_MAX) ||
		(strstr(kernel->scope, "cutlass") &&
			product_write(kernel->arguments, text, SHORT_NAME_MAX)) ||
		write_executor(kernel, text) || write_cub(kernel, text) ||
		write_thrust(kernel, text) || write_scope(kernel, text);
}
