/* SPDX-License-Identifier: Apache-2.0 */
#include "mangled.h"

#include <stdlib.h>
#include <string.h>

/* A name beyond these is no evidence: accesses of its kernel are counted as not known. */
#define SUBSTITUTIONS 128
#define TEMPLATE_ARGUMENTS 64
#define DEPTH_LIMIT 64
#define NUMBER_LIMIT 100000

struct parser {
	const char *at;
	struct mangled_type known[SUBSTITUTIONS];
	struct mangled_type argument[TEMPLATE_ARGUMENTS]; /* of the function itself */
	int known_count, argument_count;
	int failed, depth;
	unsigned last_number; /* the last number and type among template arguments */
	struct mangled_type last_type;
};

static struct mangled_type parse_type(struct parser *parser);

static struct mangled_type fail(struct parser *parser)
{
	parser->failed = 1;
	return (struct mangled_type){ MANGLED_OTHER, 0 };
}

static int accept(struct parser *parser, const char *text)
{
	size_t length = strlen(text);

	if (strncmp(parser->at, text, length))
		return 0;
	parser->at += length;
	return 1;
}

static void remember(struct parser *parser, struct mangled_type type)
{
	if (parser->known_count < SUBSTITUTIONS)
		parser->known[parser->known_count++] = type;
	else
		parser->failed = 1;
}

static int is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Length and name; 1 if it is "array" or "Array". */
static int parse_source_name(struct parser *parser)
{
	unsigned long length = strtoul(parser->at, (char **)(void *)&parser->at, 10);
	int is_array = length == 5 &&
		(!strncmp(parser->at, "array", 5) || !strncmp(parser->at, "Array", 5));

	if (!length || strnlen(parser->at, length) < length) {
		parser->failed = 1;
		return 0;
	}
	parser->at += length;
	return is_array;
}

/* "_" is 0, "0_" is 1, "A_" is 11; base 36 or 10. */
static long parse_sequence(struct parser *parser, int base)
{
	long number = 0;

	if (accept(parser, "_"))
		return 0;
	for (;; parser->at++) {
		char c = *parser->at;
		int digit = -1;

		if (is_digit(c))
			digit = c - '0';
		else if (base == 36 && c >= 'A' && c <= 'Z')
			digit = c - 'A' + 10;
		if (digit < 0 || number > NUMBER_LIMIT)
			break;
		number = number * base + digit;
	}
	if (accept(parser, "_"))
		return number + 1;
	parser->failed = 1;
	return 0;
}

/* After 'L': a number or an address. */
static void parse_literal(struct parser *parser)
{
	if (accept(parser, "_Z")) {
		parser->failed = 1;
		return;
	}
	parse_type(parser);
	accept(parser, "n");
	if (is_digit(*parser->at))
		parser->last_number =
			(unsigned)strtoul(parser->at, (char **)(void *)&parser->at, 10);
	if (!accept(parser, "E"))
		parser->failed = 1;
}

static void parse_argument(struct parser *parser, int is_own)
{
	struct mangled_type type = { MANGLED_OTHER, 0 };

	if (accept(parser, "L")) {
		parse_literal(parser);
	} else if (accept(parser, "J")) {
		while (!parser->failed && !accept(parser, "E"))
			parse_argument(parser, 0);
	} else if (*parser->at == 'X' || !*parser->at) {
		parser->failed = 1;
	} else {
		type = parse_type(parser);
		parser->last_type = type;
	}
	if (is_own && parser->argument_count < TEMPLATE_ARGUMENTS)
		parser->argument[parser->argument_count++] = type;
}

/* After 'I'. */
static void parse_arguments(struct parser *parser, int is_own)
{
	if (is_own)
		parser->argument_count = 0;
	while (!parser->failed && !accept(parser, "E"))
		parse_argument(parser, is_own);
}

static struct mangled_type array_type(const struct parser *parser, int is_array)
{
	struct mangled_type type = { MANGLED_OTHER, 0 };

	if (is_array && parser->last_type.kind == MANGLED_POINTER && parser->last_number) {
		type.kind = MANGLED_ARRAY;
		type.count = parser->last_number;
	}
	return type;
}

static struct mangled_type parse_substitution(struct parser *parser)
{
	long number;

	if (*parser->at && strchr("tabsiod", *parser->at)) {
		parser->at++;
		return (struct mangled_type){ MANGLED_OTHER, 0 };
	}
	number = parse_sequence(parser, 36);
	if (number >= parser->known_count)
		return fail(parser);
	return parser->known[number];
}

/* After 'N', up to 'E': names and template arguments.  has_arguments: arguments come last. */
static struct mangled_type parse_nested(struct parser *parser, int is_function, int *has_arguments)
{
	struct mangled_type other = { MANGLED_OTHER, 0 }, type = other;
	int is_array = 0;

	while (*parser->at && strchr("rVK", *parser->at))
		parser->at++;
	while (!parser->failed && !accept(parser, "E")) {
		*has_arguments = 0;
		if (accept(parser, "S")) {
			parse_substitution(parser);
			continue;
		}
		if (accept(parser, "I")) {
			parse_arguments(parser, is_function);
			type = array_type(parser, is_array);
			*has_arguments = 1;
		} else if (is_digit(*parser->at) || accept(parser, "L")) {
			is_array = parse_source_name(parser);
		} else {
			return fail(parser);
		}
		/* A function is not a type, so no substitution refers to it. */
		if (!is_function || *parser->at != 'E')
			remember(parser, type);
	}
	return type;
}

static struct mangled_type parse_class(struct parser *parser)
{
	struct mangled_type type = { MANGLED_OTHER, 0 };
	int is_array = parse_source_name(parser);

	remember(parser, type);
	if (accept(parser, "I")) {
		parse_arguments(parser, 0);
		type = array_type(parser, is_array);
		remember(parser, type);
	}
	return type;
}

static struct mangled_type parse_named_substitution(struct parser *parser)
{
	struct mangled_type type;
	int in_std = *parser->at == 't';

	type = parse_substitution(parser);
	if (in_std && is_digit(*parser->at))
		return parse_class(parser);
	if (accept(parser, "I")) {
		parse_arguments(parser, 0);
		type = (struct mangled_type){ MANGLED_OTHER, 0 };
		remember(parser, type);
	}
	return type;
}

static struct mangled_type parse_template_parameter(struct parser *parser)
{
	long number = parse_sequence(parser, 10);
	struct mangled_type type = { MANGLED_OTHER, 0 };

	if (number < parser->argument_count)
		type = parser->argument[number];
	remember(parser, type);
	return type;
}

/* The type of a pointer to that type, or of its const variant. */
static struct mangled_type parse_compound(struct parser *parser, char what)
{
	struct mangled_type type = parse_type(parser);

	if (what == 'P')
		type.kind = type.kind == MANGLED_CONST ? MANGLED_CONST_POINTER : MANGLED_POINTER;
	else if (what == 'K')
		type.kind = MANGLED_CONST;
	else if (what == 'R' || what == 'O')
		type.kind = MANGLED_OTHER;
	remember(parser, type);
	return type;
}

static struct mangled_type parse_simple(struct parser *parser)
{
	struct mangled_type other = { MANGLED_OTHER, 0 };
	char what = *parser->at;
	int ignored;

	if (what && strchr("PKRO", what)) {
		parser->at++;
		return parse_compound(parser, what);
	}
	if (what && strchr("vwbcahstijlmxynofdegz", what)) {
		parser->at++;
		return other;
	}
	if (is_digit(what))
		return parse_class(parser);
	if (accept(parser, "N"))
		return parse_nested(parser, 0, &ignored);
	if (accept(parser, "S"))
		return parse_named_substitution(parser);
	if (accept(parser, "T"))
		return parse_template_parameter(parser);
	if (accept(parser, "Dh") || accept(parser, "DF16b"))
		return other;
	if (accept(parser, "DF16_"))
		return other;
	return fail(parser);
}

static struct mangled_type parse_type(struct parser *parser)
{
	struct mangled_type type;

	if (parser->failed || parser->depth >= DEPTH_LIMIT)
		return fail(parser);
	parser->depth++;
	type = parse_simple(parser);
	parser->depth--;
	return type;
}

/* The function's name.  1 if template arguments end it: a return type follows then. */
static int parse_name(struct parser *parser)
{
	struct mangled_type other = { MANGLED_OTHER, 0 };
	int has_arguments = 0;

	if (accept(parser, "N")) {
		parse_nested(parser, 1, &has_arguments);
		return has_arguments;
	}
	accept(parser, "St");
	accept(parser, "L");
	parse_source_name(parser);
	if (!accept(parser, "I"))
		return 0;
	remember(parser, other);
	parse_arguments(parser, 1);
	return 1;
}

int mangled_parameters(const char *name, struct mangled_type *type, int room)
{
	struct parser parser = { .at = name };
	int count = 0;

	if (!accept(&parser, "_Z"))
		return -1;
	if (parse_name(&parser))
		parse_type(&parser);
	if (!strcmp(parser.at, "v") && !parser.failed)
		return 0;
	while (!parser.failed && *parser.at) {
		struct mangled_type next = parse_type(&parser);

		if (count < room)
			type[count] = next;
		count++;
	}
	return parser.failed ? -1 : count;
}
