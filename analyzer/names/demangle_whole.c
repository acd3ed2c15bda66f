/* SPDX-License-Identifier: Apache-2.0 */
#include "demangle_whole.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A name beyond these is printed in another form. */
#define PARTS_MAX 256 /* substitutions; template arguments */
#define DEPTH_MAX 64
#define ROOM (1u << 20) /* bytes for all texts of a name */

/* A type as text around its declarator: "void (*" and ")(int)". */
struct type {
	const char *left, *right;
	int wraps; /* a pointer to it needs parentheses: functions, arrays */
};

struct whole {
	const char *at;
	char *room; /* ROOM bytes that hold all texts */
	size_t used;
	struct type known[PARTS_MAX];
	const char *argument[PARTS_MAX]; /* template arguments of the function */
	int known_count, argument_count;
	const char *arguments; /* the last template argument list, without <> */
	int depth, failed, in_lambda;
};

static const struct type nothing = { "", "", 0 };

static const char *fail(struct whole *w)
{
	w->failed = 1;
	return "";
}

__attribute__((format(printf, 2, 3))) static const char *text(struct whole *w, const char *format,
	...)
{
	char *at = w->room + w->used;
	size_t room = ROOM - w->used;
	va_list arguments;
	int length;

	va_start(arguments, format);
	length = vsnprintf(at, room, format, arguments);
	va_end(arguments);
	if (w->failed || length < 0 || length >= DEMANGLE_WHOLE_MAX || (size_t)length >= room)
		return fail(w);
	w->used += (size_t)length + 1;
	return at;
}

static int accept(struct whole *w, const char *what)
{
	size_t length = strlen(what);

	if (strncmp(w->at, what, length))
		return 0;
	w->at += length;
	return 1;
}

static int is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static void remember(struct whole *w, struct type type)
{
	if (w->known_count < PARTS_MAX)
		w->known[w->known_count++] = type;
	else
		w->failed = 1;
}

static const char *written(struct whole *w, struct type type)
{
	return *type.right ? text(w, "%s%s", type.left, type.right) : type.left;
}

static struct type plain(const char *name)
{
	return (struct type){ name, "", 0 };
}

static struct type parse_type(struct whole *w);
static struct type parameter(struct whole *w);
static const char *parse_encoding(struct whole *w, int outermost);

static const char *source_name(struct whole *w)
{
	char *end;
	unsigned long length = strtoul(w->at, &end, 10);
	const char *name = end;

	if (!is_digit(*w->at) || !length || strnlen(end, length) < length)
		return fail(w);
	w->at = end + length;
	if (!strncmp(name, "_GLOBAL__N_", 11))
		return "(anonymous namespace)";
	return text(w, "%.*s", (int)length, name);
}

/* "_" is 0, "0_" is 1; base 36 or 10. */
static int sequence(struct whole *w, int base)
{
	int number = 0;

	if (accept(w, "_"))
		return 0;
	for (; number < 100000; w->at++) {
		char c = *w->at;

		if (is_digit(c))
			number = number * base + c - '0';
		else if (base == 36 && c >= 'A' && c <= 'Z')
			number = number * base + c - 'A' + 10;
		else
			break;
	}
	if (!accept(w, "_"))
		fail(w);
	return number + 1;
}

/* Reads a list up to 'E', written with commas. */
static const char *list(struct whole *w, const char *(*parse)(struct whole *))
{
	const char *all = "";

	while (!w->failed && !accept(w, "E")) {
		const char *next = parse(w);

		if (*next)
			all = *all ? text(w, "%s, %s", all, next) : next;
	}
	return all;
}

static const char *type_text(struct whole *w)
{
	return written(w, parse_type(w));
}

/* After 'L': a value written as (type)value, a bool, or an address. */
static const char *literal(struct whole *w)
{
	static const struct {
		const char *code, *suffix;
	} suffixes[] = {
		{ "j", "u" },
		{ "l", "l" },
		{ "m", "ul" },
		{ "x", "ll" },
		{ "y", "ull" },
		{ "i", "" },
	};
	const char *type, *value, *sign = "", *start = w->at;
	size_t length;

	if (accept(w, "_Z")) {
		value = parse_encoding(w, 0);
		return accept(w, "E") ? value : fail(w);
	}
	type = type_text(w);
	if (accept(w, "n"))
		sign = "-";
	length = strcspn(w->at, "E");
	value = text(w, "%.*s", (int)(length < 64 ? length : 64), w->at);
	w->at += length;
	if (!accept(w, "E"))
		return fail(w);
	if (*start == 'b')
		return *value == '0' ? "false" : "true";
	for (size_t i = 0; i < sizeof(suffixes) / sizeof(*suffixes); i++)
		if (*start == suffixes[i].code[0])
			return text(w, "%s%s%s", sign, value, suffixes[i].suffix);
	return text(w, "(%s)%s%s", type, sign, value);
}

/* After 'X': "nt T_", of enable_if and of sizes in parameters' types. */
static const char *expression(struct whole *w)
{
	const char *negations = "";
	int number;

	while (accept(w, "nt"))
		negations = text(w, "%s!", negations);
	number = accept(w, "T") ? sequence(w, 10) : -1;
	if (number < 0 || number >= w->argument_count || !accept(w, "E"))
		return fail(w);
	return text(w, *negations ? "%s(%s)" : "%s%s", negations, w->argument[number]);
}

static const char *argument(struct whole *w)
{
	if (accept(w, "L"))
		return literal(w);
	if (accept(w, "J"))
		return list(w, argument);
	if (accept(w, "X"))
		return expression(w);
	return type_text(w);
}

/* After 'I': "<a, b>".  own: the arguments belong to the function itself. */
static const char *arguments(struct whole *w, int own)
{
	const char *all = "", *each[PARTS_MAX];
	int count = 0;

	while (!w->failed && !accept(w, "E")) {
		const char *next = argument(w);

		if (count < PARTS_MAX)
			each[count++] = next;
		if (*next)
			all = *all ? text(w, "%s, %s", all, next) : next;
	}
	/* Set last: a function among the arguments has template arguments too. */
	if (own) {
		memcpy(w->argument, each, (size_t)count * sizeof(*each));
		w->argument_count = count;
		w->arguments = all;
	}
	return text(w, "<%s%s>", all, *all && all[strlen(all) - 1] == '>' ? " " : "");
}

static struct type substitution(struct whole *w)
{
	static const struct {
		char code;
		const char *name;
	} names[] = {
		{ 't', "std" },
		{ 'a', "std::allocator" },
		{ 'b', "std::basic_string" },
		{ 's', "std::string" },
		{ 'i', "std::istream" },
		{ 'o', "std::ostream" },
		{ 'd', "std::iostream" },
	};
	int number;

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (*w->at == names[i].code) {
			w->at++;
			return plain(names[i].name);
		}
	number = sequence(w, 36);
	return !w->failed && number < w->known_count ? w->known[number] : plain(fail(w));
}

/* Ul <types> E <number> _, Ut <number> _ */
static const char *unnamed(struct whole *w)
{
	const char *parameters;

	if (accept(w, "Ul")) {
		w->in_lambda++;
		parameters = list(w, type_text);
		w->in_lambda--;
		if (!strcmp(parameters, "void"))
			parameters = "";
		return text(w, "{lambda(%s)#%d}", parameters, sequence(w, 10) + 1);
	}
	if (accept(w, "Ut"))
		return text(w, "{unnamed type#%d}", sequence(w, 10) + 1);
	return fail(w);
}

static const char *unqualified(struct whole *w)
{
	const char *name;

	if (*w->at == 'U')
		name = unnamed(w);
	else if (accept(w, "cl"))
		name = "operator()";
	else {
		accept(w, "L");
		name = source_name(w);
	}
	while (accept(w, "B"))
		name = text(w, "%s[abi:%s]", name, source_name(w));
	return name;
}

/* After 'N', up to 'E'.  own: the function's name; templated: template arguments end it. */
static const char *nested(struct whole *w, int own, int *templated)
{
	const char *name = "", *last = "";

	w->at += strspn(w->at, "rVKRO");
	while (!w->failed && !accept(w, "E")) {
		const char *next;

		*templated = 0;
		if (*w->at == 'S') {
			w->at++;
			name = written(w, substitution(w));
			continue;
		}
		if (accept(w, "T")) {
			name = written(w, parameter(w));
			continue;
		}
		if (accept(w, "I")) {
			name = text(w, "%s%s", name, arguments(w, own));
			*templated = 1;
		} else {
			if ((*w->at == 'C' || *w->at == 'D') && is_digit(w->at[1])) {
				next = text(w, "%s%s", *w->at == 'D' ? "~" : "", last);
				w->at += 2;
			} else {
				next = last = unqualified(w);
			}
			name = *name ? text(w, "%s::%s", name, next) : next;
		}
		/* A function is not a type, so no substitution refers to it. */
		if (!own || *w->at != 'E')
			remember(w, plain(name));
	}
	return name;
}

/* After 'Z': an entity local to a function. */
static const char *local(struct whole *w, int own, int *templated)
{
	const char *outer = parse_encoding(w, 0), *name;

	if (!accept(w, "E"))
		return fail(w);
	if (accept(w, "s"))
		name = "string literal";
	else if (accept(w, "N"))
		name = nested(w, own, templated);
	else
		name = unqualified(w);
	return text(w, "%s::%s", outer, name);
}

static struct type class_type(struct whole *w)
{
	int ignored = 0;
	const char *name;

	if (accept(w, "N"))
		return plain(nested(w, 0, &ignored));
	if (accept(w, "Z"))
		name = local(w, 0, &ignored);
	else
		name = unqualified(w);
	remember(w, plain(name));
	if (accept(w, "I")) {
		name = text(w, "%s%s", name, arguments(w, 0));
		remember(w, plain(name));
	}
	return plain(name);
}

static struct type named_substitution(struct whole *w)
{
	int in_std = *w->at == 't';
	struct type type = substitution(w);

	if (in_std) {
		type = plain(text(w, "std::%s", unqualified(w)));
		remember(w, type);
	}
	if (accept(w, "I")) {
		type = plain(text(w, "%s%s", written(w, type), arguments(w, 0)));
		remember(w, type);
	}
	return type;
}

/* A pointer or reference to a type. */
static struct type pointer(struct whole *w, const char *mark)
{
	struct type to = parse_type(w);

	if (!to.wraps)
		to = (struct type){ text(w, "%s%s", to.left, mark), to.right, 0 };
	else
		to = (struct type){ text(w, "%s (%s", to.left, mark), text(w, ")%s", to.right), 0 };
	remember(w, to);
	return to;
}

static struct type qualified(struct whole *w, const char *mark)
{
	struct type of = parse_type(w);

	of.left = text(w, "%s%s", of.left, mark);
	remember(w, of);
	return of;
}

static struct type function(struct whole *w)
{
	struct type returned;
	const char *parameters;

	accept(w, "Y");
	returned = parse_type(w);
	parameters = list(w, type_text);
	returned = (struct type){ returned.left,
		text(w, "(%s)%s", strcmp(parameters, "void") ? parameters : "", returned.right),
		1 };
	remember(w, returned);
	return returned;
}

static struct type array(struct whole *w)
{
	unsigned long size = strtoul(w->at, (char **)(void *)&w->at, 10);
	struct type of;

	if (!accept(w, "_"))
		return plain(fail(w));
	of = parse_type(w);
	of = (struct type){ of.left, text(w, " [%lu]%s", size, of.right), 1 };
	remember(w, of);
	return of;
}

static struct type parameter(struct whole *w)
{
	int number = sequence(w, 10);
	struct type type;

	if (w->in_lambda)
		type = plain(text(w, "auto:%d", number + 1));
	else if (number < w->argument_count)
		type = plain(w->argument[number]);
	else
		return plain(fail(w));
	remember(w, type);
	if (accept(w, "I")) {
		type = plain(text(w, "%s%s", type.left, arguments(w, 0)));
		remember(w, type);
	}
	return type;
}

static const char *builtin(struct whole *w)
{
	static const struct {
		const char *code, *name;
	} names[] = {
		{ "v", "void" },
		{ "w", "wchar_t" },
		{ "b", "bool" },
		{ "c", "char" },
		{ "a", "signed char" },
		{ "h", "unsigned char" },
		{ "s", "short" },
		{ "t", "unsigned short" },
		{ "i", "int" },
		{ "j", "unsigned int" },
		{ "l", "long" },
		{ "m", "unsigned long" },
		{ "x", "long long" },
		{ "y", "unsigned long long" },
		{ "n", "__int128" },
		{ "o", "unsigned __int128" },
		{ "f", "float" },
		{ "d", "double" },
		{ "e", "long double" },
		{ "g", "__float128" },
		{ "z", "..." },
		{ "Dh", "half" },
		{ "DF16_", "_Float16" },
		{ "DF16b", "__bf16" },
		{ "Di", "char32_t" },
		{ "Ds", "char16_t" },
		{ "Du", "char8_t" },
		{ "Dn", "decltype(nullptr)" },
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (accept(w, names[i].code))
			return names[i].name;
	return NULL;
}

static struct type simple_type(struct whole *w)
{
	const char *name = builtin(w);

	if (name)
		return plain(name);
	if (accept(w, "P"))
		return pointer(w, "*");
	if (accept(w, "R"))
		return pointer(w, "&");
	if (accept(w, "O"))
		return pointer(w, "&&");
	if (accept(w, "K"))
		return qualified(w, " const");
	if (accept(w, "V"))
		return qualified(w, " volatile");
	/* Other patterns would need each member of the pack written separately. */
	if (accept(w, "Dp"))
		return *w->at == 'T' ? parse_type(w) : plain(fail(w));
	if (accept(w, "F"))
		return function(w);
	if (accept(w, "A"))
		return array(w);
	if (accept(w, "S"))
		return named_substitution(w);
	if (accept(w, "T"))
		return parameter(w);
	return class_type(w);
}

static struct type parse_type(struct whole *w)
{
	struct type type = nothing;

	if (w->failed || ++w->depth >= DEPTH_MAX)
		fail(w);
	else
		type = simple_type(w);
	w->depth--;
	return type;
}

static const char *function_name(struct whole *w, int *templated)
{
	const char *name;

	if (accept(w, "N"))
		return nested(w, 1, templated);
	if (accept(w, "Z"))
		return local(w, 1, templated);
	name = accept(w, "St") ? text(w, "std::%s", unqualified(w)) : unqualified(w);
	if (*w->at == 'I') {
		remember(w, plain(name));
		w->at++;
		name = text(w, "%s%s", name, arguments(w, 1));
		*templated = 1;
	}
	return name;
}

/* After _Z.  The return type of a nested function is not written. */
static const char *parse_encoding(struct whole *w, int outermost)
{
	struct type returned = nothing;
	int templated = 0;
	const char *name, *all = "";

	if (++w->depth >= DEPTH_MAX)
		return fail(w);
	name = function_name(w, &templated);
	w->depth--;
	if (!*w->at || *w->at == 'E' || *w->at == '.')
		return name;
	if (templated)
		returned = parse_type(w);
	while (!w->failed && *w->at && *w->at != 'E' && *w->at != '.') {
		const char *next = type_text(w);

		if (*next && strcmp(next, "void"))
			all = *all ? text(w, "%s, %s", all, next) : next;
	}
	if (!templated || !outermost)
		return text(w, "%s(%s)", name, all);
	return text(w, "%s%s%s(%s)%s", returned.left, strpbrk(returned.left, "*&") ? "" : " ", name,
		all, returned.right);
}

int demangle_whole(const char *mangled, struct whole_name *name)
{
	struct whole *w = strncmp(mangled, "_Z", 2) ? NULL : calloc(1, sizeof(*w));
	const char *whole, *found;
	int rc = -1;

	if (!w)
		return -1;
	w->at = mangled + 2;
	w->room = malloc(ROOM);
	whole = w->room ? parse_encoding(w, 1) : fail(w);
	if (!w->failed && (!*w->at || *w->at == '.')) {
		snprintf(name->text, sizeof(name->text), "%s", whole);
		found = w->arguments && *w->arguments ? strstr(name->text, w->arguments) : NULL;
		name->arguments = found ? (size_t)(found - name->text) : 0;
		name->arguments_length = found ? strlen(w->arguments) : 0;
		rc = 0;
	}
	free(w->room);
	free(w);
	return rc;
}
