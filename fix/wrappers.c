/* SPDX-License-Identifier: Apache-2.0 */
/* Functions called in place of the driver's: one template, for every row of calls.def. */
#include <cuda.h>

#include "fields.h"
#include "fix_internal.h"

enum { VARIANTS = 2 };

/* clang-format off */
/*
 * Graph nodes, images, textures and copies of several dimensions are not treated, and the
 * recorder's functions that read their parameters are not in this library.
 */
#define copy_2d(...) 0
#define copy_3d(...) 0
#define set_node(...) 0
#define resource_array(resource) 0
#define resource_bytes(resource) 0
#define resource_ptr(resource) 0
#define node_field(node, field) 0
#define image_note(image) 0
#define image_note_file(name) 0

/* Computes only the fields of a call that are used. */
#define TAKE(name, field, expression) \
	if (FIELD_##field == FIELD_##name) \
		call.name = \
			(uint64_t)(uintptr_t) __builtin_choose_expr(FIELD_##field == FIELD_##name, \
				expression, 0);
#define IN(field, expression) \
	TAKE(ptr, field, expression) TAKE(bytes, field, expression) \
	TAKE(flags, field, expression) TAKE(array, field, expression) \
	TAKE(pool, field, expression) TAKE(event, field, expression) \
	TAKE(type, field, expression) TAKE(value, field, expression)
#define OUT(field, pointer) \
	if (FIELD_##field == FIELD_ptr && MAKES_HOST) \
		call.made = (uint64_t *)(uintptr_t) __builtin_choose_expr(FIELD_##field == \
					FIELD_ptr && \
				MAKES_HOST, \
			pointer, 0);
/* clang-format on */
#define LIST(array, words)
#define ARGS(function, values, extra)
#define ATTRIBUTES(config)
#define RUNS(pass)
#define ANSWERS(translate)

#define WRAPPER(name, row, variant, params, args, fields, which) \
	static CUresult(*real_##name) params; \
	static CUresult fix_##name params \
	{ \
		enum { MAKES_HOST = (which) == KIND_ALLOC_HOST }; \
		struct fixed_call call = { .id = row, \
			.kind = which, \
			.real = (void *)real_##name }; \
		CUresult result; \
\
		if (fix_concerns(which)) { \
			fields if (fix_before(&call)) return CUDA_SUCCESS; \
		} \
		result = real_##name args; \
		if (fix_after(&call, (int)result)) \
			result = real_##name args; \
		return result; \
	}
#define DRIVER(symbol, base, since, params, args, fields, kind, traits) \
	WRAPPER(symbol, CALL_##symbol, 0, params, args, fields, kind)
#define DRIVER_PT(symbol, base, since, suffix, pt_since, params, args, fields, kind, traits) \
	WRAPPER(symbol, CALL_##symbol, 0, params, args, fields, kind) \
	WRAPPER(symbol##suffix, CALL_##symbol, 1, params, args, fields, kind)
#include "calls.def"

static const struct {
	enum call_kind kind;
	struct {
		void *wrapper, *real; /* real: address of the pointer to it */
	} variant[VARIANTS];
} wrappers[CALL_COUNT] = {
#define DRIVER(symbol, base, since, params, args, fields, kind, traits) \
	[CALL_##symbol] = { kind, { { (void *)fix_##symbol, &real_##symbol } } },
#define DRIVER_PT(symbol, base, since, suffix, pt_since, params, args, fields, kind, traits) \
	[CALL_##symbol] = { kind, \
		{ { (void *)fix_##symbol, &real_##symbol }, \
			{ (void *)fix_##symbol##suffix, &real_##symbol##suffix } } },
#include "calls.def"
};

void *fix_wrapper(enum call_id call, int variant, void *real)
{
	if (!fix_concerns(wrappers[call].kind))
		return real;
	__atomic_store_n((void **)wrappers[call].variant[variant].real, real, __ATOMIC_RELAXED);
	return wrappers[call].variant[variant].wrapper;
}
