/* SPDX-License-Identifier: Apache-2.0 */
#include "functor.h"

#include <ctype.h>
#include <string.h>

#define COUNT(table) (sizeof(table) / sizeof(*(table)))

/* The functor is what remains of the name of a class, or of the function of a lambda. */
struct affix {
	const char *prefix, *suffix;
};
static const struct affix of_class[] = {
	{ "CUDAFunctorOnSelf_", "" },
	{ "CUDAFunctor_", "" },
	{ "", "_functor" },
	{ "", "Functor" },
	{ "", "Ops" },
	{ "", "Op" },
};
static const struct affix of_function[] = {
	{ "launch_", "" },
	{ "direct_", "_kernel_cuda" },
	{ "", "CUDAKernelImpl" },
	{ "", "_cuda_kernel" },
	{ "", "_kernel_cuda" },
	{ "", "_kernel_impl" },
	{ "", "_cuda_out" },
	{ "", "_kernel" },
	{ "", "" },
};

/* Functions whose lambda only passes a functor on. */
static const char *const carriers[] = { "gpu_kernel_impl", "gpu_kernel_impl_nocast",
	"distribution_nullary_kernel" };

/* A class with one argument, a type of numbers or void, is a functor in these namespaces. */
static const char *const functor_scopes[] = { "std::", "cuda::std::", "at::native::" };

/* Types of numbers, without namespaces. */
static const char *const numbers[] = { "float", "double", "int", "long", "short", "char", "bool",
	"unsigned", "signed", "half", "Half", "__half", "half_t", "bfloat16_t", "BFloat16",
	"__nv_bfloat16", "complex", "Float8_e4m3fn", "Float8_e5m2" };

static int is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

/* The bracket that closes the one at text, or the end. */
static const char *closing(const char *text)
{
	int depth = 0;

	for (; *text; text++) {
		if (strchr("<({[", *text))
			depth++;
		else if (strchr(">)}]", *text) && --depth == 0)
			break;
	}
	return text;
}

static const char *after(const char *bracket)
{
	const char *end = closing(bracket);

	return *end ? end + 1 : end;
}

const char *functor_argument_end(const char *arguments)
{
	while (*arguments && !strchr(",>)", *arguments))
		arguments = strchr("<({[", *arguments) ? after(arguments) : arguments + 1;
	return arguments;
}

void functor_write_words(const char *camel, size_t length, char separator, char *words, size_t size)
{
	size_t at = 0;

	for (size_t i = 0; i < length && at + 2 < size; i++) {
		if (i && isupper((unsigned char)camel[i]) && islower((unsigned char)camel[i - 1]))
			words[at++] = separator;
		words[at++] = (char)tolower((unsigned char)camel[i]);
	}
	words[at] = '\0';
}

/* Returns whether the argument at text is a type of numbers. */
static int read_number(const char *text, char *type)
{
	const char *end = functor_argument_end(text), *name = text;
	size_t length = 0, i;

	for (const char *at = text; at < end && *at != '<'; at++)
		if (*at == ':')
			name = at + 1;
	while (is_word(name[length]))
		length++;
	for (i = 0; i < COUNT(numbers); i++)
		if (strlen(numbers[i]) == length && !memcmp(numbers[i], name, length))
			break;
	if (i == COUNT(numbers) || end[-1] == '*' || end[-1] == '&' ||
		end - name >= FUNCTOR_WORD_MAX)
		return 0;
	functor_write_words(name, (size_t)(end - name), '_', type, FUNCTOR_WORD_MAX);
	return 1;
}

static const char *find_affix(const struct affix *affix, size_t count, const char *word,
	size_t *length)
{
	for (; count; count--, affix++) {
		size_t before = strlen(affix->prefix), behind = strlen(affix->suffix);

		if (*length > before + behind && !memcmp(word, affix->prefix, before) &&
			!memcmp(word + *length - behind, affix->suffix, behind)) {
			*length -= before + behind;
			return word + before;
		}
	}
	return NULL;
}

static void set(struct functor *functor, const char *name, size_t length)
{
	functor_write_words(name, length, '_', functor->name, sizeof(functor->name));
	*functor->type = '\0';
}

/* "Mul<float>", with its scope at qualified. */
static void read_class(struct functor *functor, const char *qualified, const char *word,
	size_t length, const char *arguments)
{
	size_t rest = length;
	const char *name = find_affix(of_class, COUNT(of_class), word, &rest);
	char type[FUNCTOR_WORD_MAX] = "";
	int is_number = read_number(arguments, type) || !strncmp(arguments, "void>", 5);

	for (size_t i = 0; !name && is_number && i < COUNT(functor_scopes); i++)
		if (!strncmp(qualified, functor_scopes[i], strlen(functor_scopes[i])) &&
			*functor_argument_end(arguments) == '>')
			name = word;
	if (!name)
		return;
	set(functor, name, rest);
	memcpy(functor->type, type, sizeof(type));
}

/*
 * "mse_kernel_cuda(Iterator&)::{lambda()#1}::operator()()::{lambda(float)#1}"; chain: after the
 * parameters.  The last lambda has the numbers.
 */
static void read_function(struct functor *functor, const char *word, size_t length,
	const char *chain)
{
	const char *name;

	if (strncmp(chain, "::{lambda(", 10))
		return;
	for (size_t i = 0; i < COUNT(carriers); i++)
		if (strlen(carriers[i]) == length && !memcmp(carriers[i], word, length))
			return;
	name = find_affix(of_function, COUNT(of_function), word, &length);
	if (!name)
		return;
	set(functor, name, length);
	for (; !strncmp(chain, "::", 2); chain = *chain == '(' ? after(chain) : chain) {
		chain += 2;
		if (!strncmp(chain, "{lambda(", 8)) {
			read_number(chain + 8, functor->type);
			chain = after(chain);
		} else if (!strncmp(chain, "operator()", 10)) {
			chain += 10;
		}
	}
}

/* The first type of numbers among arguments, however deep. */
static void find_number(const char *arguments, char *type)
{
	const char *at = arguments;

	while (!read_number(at, type) && (at = strpbrk(at, "<,"))) {
		at++;
		at += *at == ' ';
	}
}

/* Of several that are nested the innermost one is the functor, which comes last. */
void functor_find(const char *arguments, struct functor *functor)
{
	const char *at = arguments, *qualified = arguments;

	memset(functor, 0, sizeof(*functor));
	while (*at) {
		size_t length = 0;

		while (is_word(at[length]))
			length++;
		if (!length) {
			/* Parameters name the same types once more. */
			if (*at == '{' || *at == '(')
				at = after(at);
			else if (*at++ != ':')
				qualified = at;
			continue;
		}
		if (at[length] == '<') {
			const char *end = after(at + length);

			if (*end == '(')
				read_function(functor, at, length, after(end));
			else
				read_class(functor, qualified, at, length, at + length + 1);
		} else if (at[length] == '(') {
			read_function(functor, at, length, after(at + length));
		}
		at += length;
	}
	if (!*functor->type)
		find_number(arguments, functor->type);
}
