/* SPDX-License-Identifier: Apache-2.0 */
/* Functions called in place of the driver's: one template, for every row of calls.def. */
#include <cuda.h>

#include "fields.h"
#include "hold_internal.h"

enum { VARIANTS = 2 };

/* Graph nodes have no stream and are ignored. */
#define node_field(node, field) 0

/* Computes only the fields of a call that are used. */
#define TAKE(name, field, expression) \
	if (FIELD_##field == FIELD_##name) \
		call.name = \
			(uint64_t)(uintptr_t) __builtin_choose_expr(FIELD_##field == FIELD_##name, \
				expression, 0);
#define IN(field, expression) TAKE(stream, field, expression) TAKE(event, field, expression)
#define OUT(field, pointer)
#define LIST(array, words)
#define ARGS(function, values, extra)
#define ATTRIBUTES(config)
#define RUNS(pass)
#define ANSWERS(translate)

#define WRAPPER(name, row, variant, params, args, fields, which) \
	static CUresult(*real_##name) params; \
	static CUresult hold_##name params \
	{ \
		struct held_call call = { .id = row, .kind = which, .per_thread = variant }; \
		CUresult result; \
\
		fields hold_before(&call); \
		result = real_##name args; \
		hold_after(&call, result == CUDA_SUCCESS); \
		return kind_has(which, K_POLLS) || kind_waits(which) != WAITS_NOTHING \
			? (CUresult)hold_answer(&call, (int)result) \
			: result; \
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
	[CALL_##symbol] = { kind, { { (void *)hold_##symbol, &real_##symbol } } },
#define DRIVER_PT(symbol, base, since, suffix, pt_since, params, args, fields, kind, traits) \
	[CALL_##symbol] = { kind, \
		{ { (void *)hold_##symbol, &real_##symbol }, \
			{ (void *)hold_##symbol##suffix, &real_##symbol##suffix } } },
#include "calls.def"
};

void *hold_wrapper(enum call_id call, int variant, void *real)
{
	if (!hold_concerns(wrappers[call].kind))
		return real;
	__atomic_store_n((void **)wrappers[call].variant[variant].real, real, __ATOMIC_RELAXED);
	return wrappers[call].variant[variant].wrapper;
}
