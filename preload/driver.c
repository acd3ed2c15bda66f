/* SPDX-License-Identifier: Apache-2.0 */
/* The driver wrappers: one template, instantiated for every row of calls.def. */
#include <cuda.h>
#include <stdint.h>

#include "allocation.h"
#include "collector.h"
#include "resolve.h"
#include "shim.h"

#define EXPORT __attribute__((visibility("default")))

/* Used twice in the template: before the call (stage 0) and after it (stage 1). */
#define IN(field, expression) \
	if (call_stage == 0) \
		*call_at = (uint64_t)(uintptr_t)(expression); \
	call_at++;
#define OUT(field, pointer) \
	if (call_stage == 1 && (pointer)) \
		*call_at = (uint64_t)(uintptr_t)*(pointer); \
	call_at++;
#define ARGS(values, extra) \
	if (call_stage == 1) \
		frame_launch(&call_frame, call_field[0], values, extra);

static void before(enum call_kind kind, unsigned traits)
{
	if (kind == KIND_INIT)
		collector_start();
	/* A context that goes takes CUPTI's records with it. */
	if (kind == KIND_CONTEXT && (traits & TRAIT_BLOCKS))
		collector_flush();
}

/* With the fields known and the real call still to come. */
static void ready(enum call_kind kind, const uint64_t *field)
{
	if (kind == KIND_FREE_DEVICE || kind == KIND_FREE_HOST || kind == KIND_FREE_ASYNC ||
		kind == KIND_UNREGISTER_HOST)
		allocation_remove(field[0]);
}

/* After success. */
static void after(enum call_kind kind, const uint64_t *field)
{
	if (kind == KIND_ALLOC_DEVICE || kind == KIND_ALLOC_HOST || kind == KIND_ALLOC_MANAGED ||
		kind == KIND_ALLOC_ASYNC || kind == KIND_REGISTER_HOST)
		allocation_add(field[0], field[1]);
	if (kind == KIND_MODULE_UNLOAD)
		function_reset();
}

/* Its own names start with call_: parameters have the plain ones. */
#define WRAPPER(name, id, variant, params, args, fields, kind, traits) \
	CUresult name params; \
	EXPORT CUresult name params \
	{ \
		CUresult(*call_real) params = (CUresult(*) params)driver_real(id, variant); \
		uint64_t call_field[CALL_MAX_FIELDS] = { 0 }; \
		struct call_frame call_frame; \
		unsigned call_count; \
		CUresult call_result; \
\
		if (!call_real) \
			return CUDA_ERROR_SHARED_OBJECT_INIT_FAILED; \
		before(kind, traits); \
		if (!frame_begin(&call_frame, id, variant ? CALL_PER_THREAD : 0, \
			__builtin_frame_address(0))) \
			return call_real args; \
		{ \
			const int call_stage = 0; \
			uint64_t *call_at = call_field; \
			fields \
			(void)call_stage; \
			call_count = (unsigned)(call_at - call_field); \
		} \
		ready(kind, call_field); \
		call_result = call_real args; \
		if (call_result == CUDA_SUCCESS) { \
			const int call_stage = 1; \
			uint64_t *call_at = call_field; \
			fields \
			(void)call_stage; \
			(void)call_at; \
			after(kind, call_field); \
		} \
		frame_end(&call_frame, (int)call_result, call_field, call_count); \
		return call_result; \
	}

#define DRIVER(symbol, base, since, params, args, fields, kind, traits) \
	WRAPPER(symbol, CALL_##symbol, VARIANT_LEGACY, params, args, fields, kind, traits)
#define DRIVER_PT(symbol, base, since, suffix, pt_since, params, args, fields, kind, traits) \
	WRAPPER(symbol, CALL_##symbol, VARIANT_LEGACY, params, args, fields, kind, traits) \
	WRAPPER(symbol##suffix, CALL_##symbol, VARIANT_PER_THREAD, params, args, fields, kind, \
		traits)
#include "calls.def"

const struct driver_entry driver_entries[CALL_COUNT][VARIANT_COUNT] = {
#define DRIVER(symbol, base, since, params, args, fields, kind, traits) \
	[CALL_##symbol] = { { #symbol, (void *)symbol } },
#define DRIVER_PT(symbol, base, since, suffix, pt_since, params, args, fields, kind, traits) \
	[CALL_##symbol] = { { #symbol, (void *)symbol }, \
		{ #symbol #suffix, (void *)symbol##suffix } },
#include "calls.def"
};
