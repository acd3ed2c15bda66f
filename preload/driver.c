/* SPDX-License-Identifier: Apache-2.0 */
/* The driver wrappers: one template, instantiated for every row of calls.def. */
#include <cuda.h>
#include <stdint.h>

#include "allocation.h"
#include "collector.h"
#include "fields.h"
#include "gate.h"
#include "guarded.h"
#include "host_functions.h"
#include "resolve.h"
#include "shim.h"
#include "window.h"

#define EXPORT __attribute__((visibility("default")))

/* FIELDS_symbol: number of fields of a row. */
#define IN(field, expression) 0,
#define OUT(field, pointer) 0,
#define LIST(array, words)
#define ARGS(function, values, extra)
#define ATTRIBUTES(config)
#define RUNS(pass)
#define ANSWERS(translate)
#define COUNT(...) (sizeof((char[]){ __VA_ARGS__ 0 }) - 1)
enum {
#define DRIVER(symbol, base, since, params, args, fields, kind, traits) \
	FIELDS_##symbol = COUNT(fields),
#define DRIVER_PT(symbol, base, since, suffix, pt_since, params, args, fields, kind, traits) \
	FIELDS_##symbol = COUNT(fields),
#include "calls.def"
};
#undef IN
#undef OUT
#undef LIST
#undef ARGS
#undef ATTRIBUTES
#undef RUNS
#undef ANSWERS

/*
 * Expanded in the wrapper for the operand of the enter record (stage 3), before the call (stage 0)
 * and after success: of a recorded call (stage 1), and of one that is not recorded (stage 2).
 */
#define IN(field, expression) \
	if (call_stage == 0) \
		*call_at = (uint64_t)(uintptr_t)(expression); \
	if (call_stage == 3 && field_is_operand(FIELD_##field)) \
		*call_at = (uint64_t)(uintptr_t)(expression); \
	if (call_stage != 3) \
		call_at++;
#define OUT(field, pointer) \
	if (call_stage == 1 || (call_stage == 2 && call_flags & FRAME_CONSTANT)) { \
		const __typeof__(*(pointer)) *call_from = (pointer); \
		if (call_from) \
			*call_at = (uint64_t)(uintptr_t)*call_from; \
	} \
	if (call_stage != 3) \
		call_at++;
#define LIST(array, words) \
	if (call_stage == 1) \
		frame_list(&call_frame, array, words);
#define ARGS(function, values, extra) \
	if (call_stage == 1) \
		frame_launch(&call_frame, (uint64_t)(uintptr_t)(function), values, extra);
#define ATTRIBUTES(config) \
	if (call_stage == 1) \
		read_attributes(&call_frame, config);
#define RUNS(pass) \
	if (call_stage == 0) \
		pass;
#define ANSWERS(translate) \
	if (call_stage == 1 || call_stage == 2) \
		translate;

/* Launch attributes that affect ordering (CUlaunchAttributeID). */
static void read_attributes(struct call_frame *frame, const CUlaunchConfig *config)
{
	struct call_attributes *out = &frame->attributes;

	frame_rest(frame);
	out->event = out->completion_event = 0;
	for (unsigned i = 0; config && i < config->numAttrs; i++) {
		const CUlaunchAttributeValue *value = &config->attrs[i].value;
		switch ((int)config->attrs[i].id) {
		case CU_LAUNCH_ATTRIBUTE_COOPERATIVE:
			if (value->cooperative)
				out->flags |= LAUNCH_COOPERATIVE;
			break;
		case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION:
			if (value->programmaticStreamSerializationAllowed)
				out->flags |= LAUNCH_PROGRAMMATIC;
			break;
		case CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE:
			if (value->deviceUpdatableKernelNode.deviceUpdatable)
				out->flags |= LAUNCH_UPDATABLE;
			break;
		case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT:
			out->flags |= LAUNCH_EVENT;
			out->event = (uint64_t)(uintptr_t)value->programmaticEvent.event;
			break;
		case CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT:
			out->flags |= LAUNCH_COMPLETION_EVENT;
			out->completion_event =
				(uint64_t)(uintptr_t)value->launchCompletionEvent.event;
			break;
		}
	}
}

/*
 * Both are empty for most kinds, after constant folding; as real functions they cost each call 15
 * to 30 ns.
 */
static ALWAYS_INLINE void before(enum call_kind kind, unsigned traits)
{
	if (guarded_ends(kind) && shim.guard)
		shim.guard->open_all();
	if (kind == KIND_INIT)
		collector_start();
	/* CUPTI's records of a destroyed context are lost. */
	if (kind == KIND_CONTEXT_DESTROY)
		collector_flush(0);
	if (kind_family(kind) == FAMILY_profiler)
		window_profiler(kind == KIND_PROFILER_START);
	if (kind == KIND_CAPTURE_END)
		window_capture(0);
}

/*
 * Called with the fields known, before the real call: handles and addresses may be reused after it.
 */
static void ready(enum call_kind kind, unsigned traits, const uint64_t *field)
{
	if (traits & TRAIT_FREES)
		allocation_remove(field[0]);
	if (kind == KIND_MODULE_UNLOAD)
		function_doubt();
	if (kind_family(kind) == FAMILY_context_end)
		context_ending(field[0], kind == KIND_CONTEXT_RELEASE);
}

/* Opening or importing memory of another process does not return its size. */
static uint64_t bytes_at(uint64_t address)
{
	static _Atomic(void *) found;
	CUresult (*range)(CUdeviceptr *, size_t *, CUdeviceptr);
	CUdeviceptr base;
	size_t bytes;

	if (!found)
		found = driver_symbol("cuMemGetAddressRange_v2");
	*(void **)&range = found;
	if (!range || range(&base, &bytes, address) != CUDA_SUCCESS)
		return 0;
	return bytes - (address - base);
}

/* Called after success. */
static ALWAYS_INLINE void after(enum call_kind kind, unsigned traits, uint64_t *field,
	const struct call_frame *frame)
{
	if (traits & TRAIT_ALLOCATES && !field[1])
		field[1] = bytes_at(field[0]);
	if (traits & TRAIT_ALLOCATES)
		allocation_add(field[0], field[1], call_memory_ends(kind) ? frame->context : 0);
	if (kind == KIND_CONTEXT_RETAIN)
		context_retained(field[0], field[1]);
	if (kind == KIND_CAPTURE_BEGIN)
		window_capture(1);
	if (kind == KIND_GRAPH_INSTANTIATE)
		window_graph();
	if (guarded_wants(kind) && UNLIKELY(shim.guard != NULL))
		guarded_called(frame, kind, traits, field);
}

/*
 * Local names start with call_, as parameters use plain names. call_field has one element if the
 * row has no fields.
 */
#define WRAPPER(name, id, variant, count, params, args, fields, kind, traits) \
	CUresult name params; \
	EXPORT CUresult name params \
	{ \
		CUresult(*call_real) params = (CUresult(*) params)driver_real(id, variant); \
		const unsigned call_flags = \
			(variant ? CALL_PER_THREAD : 0) | FRAME_FLAGS(kind, traits); \
		struct passed_function call_passed; \
		struct call_frame call_frame; \
		uint64_t call_operand = 0; \
		CUresult call_result; \
		int call_is_over = 0; /* it is recorded after it returned */ \
\
		if (!call_real) \
			return CUDA_ERROR_SHARED_OBJECT_INIT_FAILED; \
		before(kind, traits); \
		call_passed.slot = NULL; \
		{ \
			const int call_stage = 3; \
			uint64_t *call_at = &call_operand; \
			fields(void) call_stage; \
			(void)call_at; \
		} \
		if (!call_begin(&call_frame, id, call_flags, __builtin_frame_address(0), \
			    call_operand)) { \
			const int call_stage = 2; \
			uint64_t call_answer[count ? count : 1] = { 0 }, *call_at = call_answer; \
			call_result = call_real args; \
			if (call_result == CUDA_SUCCESS) { \
				fields(void) call_stage; \
			} \
			(void)call_at; \
			gate_leave((uintptr_t)__builtin_frame_address(0)); \
			call_is_over = call_flags & FRAME_CONSTANT && \
				call_result == CUDA_SUCCESS && \
				!function_is_answered(id, *call_answer) && \
				frame_begin(&call_frame, id, call_flags, \
					__builtin_frame_address(0), call_operand); \
			if (!call_is_over) \
				return call_result; \
		} \
		uint64_t call_field[count ? count : 1] = { 0 }; /* each set once, here */ \
		{ \
			const int call_stage = 0; \
			uint64_t *call_at = call_field; \
			fields(void) call_stage; \
			(void)call_at; \
		} \
		ready(kind, traits, call_field); \
		if (!call_is_over) \
			call_result = call_real args; \
		if (call_result == CUDA_SUCCESS) { \
			const int call_stage = 1; \
			uint64_t *call_at = call_field; \
			fields(void) call_stage; \
			(void)call_at; \
			after(kind, traits, call_field, &call_frame); \
			if (call_flags & FRAME_CONSTANT) \
				function_note_answer(id, *call_field); \
		} else if (call_passed.slot) { \
			host_function_refused(call_passed.slot, call_result); \
		} \
		call_end(&call_frame, call_flags, (int)call_result, call_field, count); \
		return call_result; \
	}

#define DRIVER(symbol, base, since, params, args, fields, kind, traits) \
	WRAPPER(symbol, CALL_##symbol, VARIANT_LEGACY, FIELDS_##symbol, params, args, fields, \
		kind, traits)
#define DRIVER_PT(symbol, base, since, suffix, pt_since, params, args, fields, kind, traits) \
	WRAPPER(symbol, CALL_##symbol, VARIANT_LEGACY, FIELDS_##symbol, params, args, fields, \
		kind, traits) \
	WRAPPER(symbol##suffix, CALL_##symbol, VARIANT_PER_THREAD, FIELDS_##symbol, params, args, \
		fields, kind, traits)
#include "calls.def"

#include "driver_entries.h"
