/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the program calls in place of the driver: for each row of calls.def an exported function,
 * which resolve.c gives to those who look it up.  Calls of no concern cost a jump more.
 */
#include <cuda.h>

#include "alone.h"
#include "calls.h"
#include "nccl.h"
#include "resolve.h"
#include "shim.h"

#define EXPORT __attribute__((visibility("default")))

#define ENTRY(name, id, variant, params, args, which) \
	CUresult name params; \
	EXPORT CUresult name params \
	{ \
		int call_on = alone_is_on(); \
		CUresult(*call_real) params = (CUresult(*) params)driver_real(id, variant); \
		uintptr_t call_outer; \
		CUresult call_result; \
\
		if (!call_real) \
			return CUDA_ERROR_SHARED_OBJECT_INIT_FAILED; \
		if (!call_on) \
			return call_real args; \
		if ((which) == KIND_CAPTURE_END) \
			alone_capture(-1); \
		call_outer = alone_frame; \
		if (fix_concerns(which)) \
			alone_frame = (uintptr_t)__builtin_frame_address(0); \
		call_result = call_real args; \
		if (fix_concerns(which)) \
			alone_frame = call_outer; \
		if (UNLIKELY(call_result)) \
			alone_failed(id, (int)call_result); \
		else if ((which) == KIND_CAPTURE_BEGIN) \
			alone_capture(1); \
		return call_result; \
	}
#define DRIVER(symbol, base, since, params, args, fields, kind, traits) \
	ENTRY(symbol, CALL_##symbol, VARIANT_LEGACY, params, args, kind)
#define DRIVER_PT(symbol, base, since, suffix, pt_since, params, args, fields, kind, traits) \
	ENTRY(symbol, CALL_##symbol, VARIANT_LEGACY, params, args, kind) \
	ENTRY(symbol##suffix, CALL_##symbol, VARIANT_PER_THREAD, params, args, kind)
#include "calls.def"

#include "driver_entries.h"

/* --- what resolve.c and module.c want of the recorder, of which there is none here --- */

void *nccl_answer(void *handle, const char *name)
{
	return NULL;
}

int shim_count(enum trace_counter counter)
{
	return 0;
}

void *thread_reserve(struct thread_state *thread, size_t bytes, enum record_type type)
{
	return NULL;
}
