/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions that a library below the recorder (hold.h) calls in place of the driver's: one template
 * for every row of calls.def.  Included once by such a library, which defines before it
 *
 *	BETWEEN_CALL        its struct of a call, with the members id and kind
 *	BETWEEN_TAKES(TAKE, field, expression)  TAKE(name, field, expression) for each field that it
 *	                    reads: a member of the struct
 *	BETWEEN_MADE(field, pointer, kind)      the same for what a call returns; may be empty
 *	BETWEEN_MAKES(call, variant, kind, fields, result, make)  the body: statements that compute
 *	                    the fields, call the driver by make (an expression) and set result; real
 *	                    is the driver's function
 *	BETWEEN_CONCERNS(kind)                  0: the library has nothing to do there
 *
 * and defines between() for hold.wrap.
 */
#ifndef CUFENCE_BETWEEN_H
#define CUFENCE_BETWEEN_H

#include <cuda.h>

#include "fields.h"

enum { BETWEEN_VARIANTS = 2 };

/* clang-format off */
/*
 * Fields that take more than an expression are not computed, as the recorder's functions for them
 * are not in these libraries: no such field is among those that they read.
 */
#define copy_2d(...) 0
#define copy_3d(...) 0
#define set_node(...) 0
#define resource_array(resource) 0
#define resource_bytes(resource) 0
#define resource_ptr(resource) 0
#define node_field(node, field) 0
#define variable_bytes(...) (const size_t *)0
/* An image is its address there. */
#define image_note(image) (uint64_t)(uintptr_t)(image)
#define image_note_file(name) 0

/* Computes only the fields of a call that are used. */
#define BETWEEN_TAKE(name, field, expression) \
	if (FIELD_##field == FIELD_##name) \
		call.name = \
			(uint64_t)(uintptr_t) __builtin_choose_expr(FIELD_##field == FIELD_##name, \
				expression, 0);
#define IN(field, expression) BETWEEN_TAKES(BETWEEN_TAKE, field, expression)
#define OUT(field, pointer) BETWEEN_MADE(field, pointer, BETWEEN_KIND)
/* clang-format on */
#define LIST(array, words)
#define ARGS(function, values, extra)
#define ATTRIBUTES(config)
#define RUNS(pass)
#define ANSWERS(translate)

#define BETWEEN(name, row, variant, params, args, fields, which) \
	static CUresult(*real_##name) params; \
	static CUresult between_##name params \
	{ \
		enum { BETWEEN_KIND = (which) }; \
		BETWEEN_CALL call = { .id = row, .kind = which }; \
		void *const real = (void *)real_##name; \
		CUresult result; \
\
		(void)real; \
		BETWEEN_MAKES(call, variant, which, fields, result, real_##name args) \
		return result; \
	}
#define DRIVER(symbol, base, since, params, args, fields, kind, traits) \
	BETWEEN(symbol, CALL_##symbol, 0, params, args, fields, kind)
#define DRIVER_PT(symbol, base, since, suffix, pt_since, params, args, fields, kind, traits) \
	BETWEEN(symbol, CALL_##symbol, 0, params, args, fields, kind) \
	BETWEEN(symbol##suffix, CALL_##symbol, 1, params, args, fields, kind)
#include "calls.def"

static const struct {
	enum call_kind kind;
	struct {
		void *wrapper, *real; /* real: address of the pointer to it */
	} variant[BETWEEN_VARIANTS];
} between_calls[CALL_COUNT] = {
#define DRIVER(symbol, base, since, params, args, fields, kind, traits) \
	[CALL_##symbol] = { kind, { { (void *)between_##symbol, &real_##symbol } } },
#define DRIVER_PT(symbol, base, since, suffix, pt_since, params, args, fields, kind, traits) \
	[CALL_##symbol] = { kind, \
		{ { (void *)between_##symbol, &real_##symbol }, \
			{ (void *)between_##symbol##suffix, &real_##symbol##suffix } } },
#include "calls.def"
};

/* Returns the function to call in place of a driver's, which is stored. */
static void *between(enum call_id call, int variant, void *real)
{
	if (!BETWEEN_CONCERNS(between_calls[call].kind))
		return real;
	__atomic_store_n((void **)between_calls[call].variant[variant].real, real,
		__ATOMIC_RELAXED);
	return between_calls[call].variant[variant].wrapper;
}

#endif
