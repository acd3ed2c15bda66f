/* SPDX-License-Identifier: Apache-2.0 */
#include "demangle.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A name within the mangled text.  Positions are NULL after something not understood. */
struct component {
	const char *name;
	size_t length;
	int destructor;       /* of the class that name is */
	int closure;          /* a lambda, which name is a member of */
	const char *function; /* that a lambda was written in, NULL: in none */
	size_t function_length;
};

#define MAX_DEPTH 64 /* nesting beyond this is no real name: it is printed mangled */

static const char *skip_until_e(const char *at, int depth, struct component *last);

static const char *source_name(const char *at, struct component *found)
{
	char *end;
	unsigned long length = strtoul(at, &end, 10);

	if (!length || strnlen(end, length) < length)
		return NULL;
	found->name = end;
	found->length = length;
	found->destructor = 0;
	return end + length;
}

static const char *skip_substitution(const char *at)
{
	at++;
	if (*at && strchr("tabsiod", *at))
		return at + 1;
	while (isdigit((unsigned char)*at) || isupper((unsigned char)*at))
		at++;
	return *at == '_' ? at + 1 : NULL;
}

static const char *skip_to(const char *at, char stop)
{
	at = strchr(at, stop);
	return at ? at + 1 : NULL;
}

/* L <type> <value> E as a template argument: digits of the value are no length of a name. */
static const char *skip_literal(const char *at, int depth)
{
	struct component ignored;

	at++;
	if (at[0] == '_' && at[1] == 'Z')
		return skip_until_e(at + 2, depth, &ignored);
	if (*at == 'N')
		at = skip_until_e(at + 1, depth, &ignored);
	else if (*at == 'S')
		at = skip_substitution(at);
	else if (isdigit((unsigned char)*at))
		at = source_name(at, &ignored);
	return at ? skip_to(at, 'E') : NULL;
}

/* Unnamed types and closures: Ut_, Ut0_, UlvE_, UlvE0_. */
static const char *skip_unnamed(const char *at, int depth)
{
	struct component ignored;

	if (at[1] == 'l')
		at = skip_until_e(at + 2, depth, &ignored);
	else if (at[1] == 't')
		at += 2;
	else
		return at + 1; /* a vendor qualifier: its name follows */
	return at ? skip_to(at, '_') : NULL;
}

/* One type, template argument list or other piece inside template arguments. */
static const char *skip_piece(const char *at, int depth)
{
	struct component ignored;

	if (depth > MAX_DEPTH || !*at)
		return NULL;
	if (isdigit((unsigned char)*at))
		return source_name(at, &ignored);
	switch (*at) {
	case 'I':
	case 'J':
	case 'N':
	case 'X':
	case 'F':
		return skip_until_e(at + 1, depth + 1, &ignored);
	case 'Z':
		return skip_until_e(at + 1, depth + 1, &ignored);
	case 'L':
		return skip_literal(at, depth + 1);
	case 'S':
		return skip_substitution(at);
	case 'T':
		return skip_to(at, '_');
	case 'A':
		return skip_to(at, '_');
	case 'U':
		return skip_unnamed(at, depth + 1);
	case 'D':
		if (at[1] == 't' || at[1] == 'T')
			return skip_until_e(at + 2, depth + 1, &ignored);
		return at[1] ? at + 2 : NULL;
	default:
		return at + 1;
	}
}

/* Pieces up to the E that closes them; last is the last name among them at this level. */
static const char *skip_until_e(const char *at, int depth, struct component *last)
{
	while (at && *at != 'E') {
		if (isdigit((unsigned char)*at))
			at = source_name(at, last);
		else
			at = skip_piece(at, depth + 1);
	}
	return at ? at + 1 : NULL;
}

/* Inside N...E the letters mean other things: L is linkage, C and D with a digit are members. */
static const char *nested_name(const char *at, struct component *last)
{
	while (at && *at != 'E') {
		if (isdigit((unsigned char)*at))
			at = source_name(at, last);
		else if (*at == 'L' || *at == 'B')
			at++;
		else if ((*at == 'C' || *at == 'D') && isdigit((unsigned char)at[1])) {
			last->destructor = *at == 'D';
			at += 2;
		} else if (at[0] == 'c' && at[1] == 'l') {
			last->name = "operator()";
			last->length = strlen(last->name);
			at += 2;
		} else if (at[0] == 'U' && at[1] == 'l') {
			last->closure = 1;
			at = skip_piece(at, 0);
		} else
			at = skip_piece(at, 0);
	}
	return at;
}

/* An encoding, after _Z. */
static const char *encoding(const char *at, struct component *last)
{
	const char *inner;

	if (*at == 'Z') { /* a name local to a function */
		struct component outer = { 0 };
		inner = encoding(at + 1, &outer);
		while (inner && *inner && *inner != 'E')
			inner = skip_piece(inner, 0);
		if (!inner || !*inner)
			return NULL;
		inner = encoding(inner + 1, last);
		/* Lambdas in a lambda are the function's, too. */
		if (last->closure && !last->function) {
			last->function = outer.name;
			last->function_length = outer.length;
			if (outer.closure) {
				last->function = outer.function;
				last->function_length = outer.function_length;
			}
		}
		return inner;
	}
	if (*at == 'N') {
		at = nested_name(at + 1, last);
		return at ? at + 1 : NULL;
	}
	if (at[0] == 'S' && at[1] == 't')
		at += 2;
	if (*at == 'L')
		at++;
	return source_name(at, last);
}

/* For "foo<int>" and "foo(int)", as debug information has them: 3. */
static size_t plain_length(const char *name)
{
	size_t length = strncmp(name, "operator", 8) ? 0 : 8;

	if (length && !strncmp(name + length, "()", 2))
		length += 2;
	else if (length)
		length += strspn(name + length, "<=>-");
	return length + strcspn(name + length, "<(");
}

void demangle_base(const char *mangled, char *name, size_t size)
{
	struct component last = { 0 };
	size_t plain;

	if (!strncmp(mangled, "_Z", 2) && encoding(mangled + 2, &last) && last.length) {
		/* Its call operator, and the function that a pointer to it leads to. */
		if (last.closure && last.function &&
			(!strncmp(last.name, "operator()", last.length) ||
				!strncmp(last.name, "_FUN", last.length))) {
			snprintf(name, size, "%.*s::{lambda}", (int)last.function_length,
				last.function);
			return;
		}
		snprintf(name, size, "%s%.*s", last.destructor ? "~" : "", (int)last.length,
			last.name);
		return;
	}
	plain = mangled[0] == '_' && mangled[1] == 'Z' ? strlen(mangled) : plain_length(mangled);
	snprintf(name, size, "%.*s", (int)(plain ? plain : strlen(mangled)), mangled);
}

int demangle_operator(const char *mangled, char *name, size_t size)
{
	static const char scope[] = "_ZN2at4_ops";
	const char *own = mangled + strlen(scope);
	char *at;
	unsigned long length;

	if (strncmp(mangled, scope, strlen(scope)) || !isdigit((unsigned char)*own))
		return 0;
	length = strtoul(own, &at, 10);
	if (length >= strlen(at) ||
		(strncmp(at + length, "4call", 5) && strncmp(at + length, "10redispatch", 12)))
		return 0;
	snprintf(name, size, "aten::%.*s", (int)length, at);
	return 1;
}

void demangle_linkage(const char *mangled, char *plain, size_t size)
{
	static const char anonymous[] = "_GLOBAL__N_";
	size_t n = 0;

	for (const char *at = mangled; *at && n + 1 < size; at++) {
		char *name = NULL;
		unsigned long length = isdigit((unsigned char)*at) ? strtoul(at, &name, 10) : 0;

		if (*at == 'L' && isdigit((unsigned char)at[1]))
			continue;
		if (name && length <= strlen(name) &&
			!strncmp(name, anonymous, sizeof(anonymous) - 1)) {
			plain[n++] = '_';
			at = name + length - 1;
			continue;
		}
		plain[n++] = *at;
	}
	plain[n] = 0;
}
