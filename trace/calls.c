/* SPDX-License-Identifier: Apache-2.0 */
#include "calls.h"

#include <stddef.h>
#include <string.h>

/* Converts a row's fields to a list of enum field_kind; the expressions are dropped unexpanded. */
#define IN(field, expression) FIELD_##field,
#define OUT(field, pointer) FIELD_##field,
#define LIST(array, words)
#define ARGS(function, values, extra)
#define ATTRIBUTES(config)
#define RUNS(pass)
#define ANSWERS(translate)
#define COUNT(...) (sizeof((uint8_t[]){ 0, __VA_ARGS__ }) - 1)

const struct call_type call_types[CALL_COUNT] = {
#define DRIVER(symbol, base, since, params, args, fields, call_kind, call_traits) \
	[CALL_##symbol] = { .name = #symbol, \
		.kind = call_kind, \
		.traits = call_traits, \
		.field_count = COUNT(fields), \
		.field = { fields } },
#define DRIVER_PT(symbol, base, since, pt, pt_since, params, args, fields, call_kind, call_traits) \
	[CALL_##symbol] = { .name = #symbol, \
		.suffix = #pt, \
		.kind = call_kind, \
		.traits = call_traits, \
		.field_count = COUNT(fields), \
		.field = { fields } },
#define RUNTIME(symbol, first, last, params, args) \
	[CALL_##symbol##_##first] = { .name = #symbol, .kind = KIND_RUNTIME, .runtime = 1 },
#define RUNTIME_PT(symbol, pt, first, last, params, args) \
	[CALL_##symbol##_## \
		first] = { .name = #symbol, .suffix = #pt, .kind = KIND_RUNTIME, .runtime = 1 },
#define RUNTIME_WORK(symbol, pt, first, last, params, args) \
	[CALL_##symbol##_##first] = { .name = #symbol, \
		.suffix = #pt, \
		.kind = KIND_RUNTIME, \
		.traits = TRAIT_SUBMITS, \
		.runtime = 1 },
#define HOST(symbol, fields, call_kind) \
	[CALL_##symbol] = { .name = #symbol, \
		.kind = call_kind, \
		.field_count = COUNT(fields), \
		.field = { fields } },
#define NCCL(symbol, params, args, fields, call_kind) \
	[CALL_##symbol] = { .name = #symbol, \
		.kind = call_kind, \
		.field_count = COUNT(fields), \
		.field = { fields } },
#include "calls.def"
};

const char *const field_names[FIELD_KIND_COUNT] = {
#define X(field) #field,
	FIELD_KINDS(X)
#undef X
};

const char *const call_kind_names[KIND_COUNT] = {
#define KIND(symbol, name, family, waits, traits) #name,
#include "kinds.def"
};

const char *const kind_family_names[FAMILY_COUNT] = {
#define X(family) #family,
	KIND_FAMILIES(X)
#undef X
};

const char *const kind_waits_names[] = {
#define X(symbol, name) #name,
	KIND_WAITS(X)
#undef X
};

enum call_kind call_kind_named(const char *name)
{
	for (int kind = 0; kind < KIND_COUNT; kind++)
		if (!strcmp(call_kind_names[kind], name))
			return kind;
	return KIND_OTHER;
}

enum call_id call_named(const char *name)
{
	for (int i = 0; i < CALL_COUNT; i++)
		if (!call_types[i].runtime && !strcmp(call_types[i].name, name))
			return (enum call_id)i;
	return CALL_COUNT;
}
