/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The runtime wrappers.  A runtime call only records how the user wrote the call; its effect is
 * recorded by the driver calls that it makes.  There is one wrapper per row, variant and major of
 * libcudart, as a process may contain several, exported under the symbol versions that binaries
 * require.
 */
#include <cuda.h>
#include <cuda_profiler_api.h>
#include <cuda_runtime_api.h>
#include <stdint.h>

#include "gate.h"
#include "older_cuda.h"
#include "resolve.h"
#include "shim.h"

static void *runtime_reals[RUNTIME_COUNT][CALL_COUNT][VARIANT_COUNT];

static void resolve_others(int major);

static void note_real(int major, enum call_id id, int variant, void *real)
{
	__atomic_store_n(&runtime_reals[major][id][variant], real, __ATOMIC_RELAXED);
}

static COLD void *resolve(int major, enum call_id id, int variant, const char *name)
{
	void *real = runtime_resolve(major, name);

	note_real(major, id, variant, real);
	resolve_others(major);
	return real;
}

static ALWAYS_INLINE void *runtime_real(int major, enum call_id id, int variant, const char *name)
{
	void *real = __atomic_load_n(&runtime_reals[major][id][variant], __ATOMIC_RELAXED);

	return UNLIKELY(!real) ? resolve(major, id, variant, name) : real;
}

/* The driver call names the object; this flag skips work that is then unnecessary. */
static inline unsigned query_flag(enum call_id id)
{
	return id == CALL_cudaStreamQuery_11 || id == CALL_cudaEventQuery_11 ? FRAME_QUERY : 0;
}

#define WRAPPER(name, id, variant, major, version, params, args) \
	cudaError_t shim_##name##_##major params; \
	__asm__(".symver shim_" #name "_" #major ", " #name version); \
	__attribute__((visibility("default"))) cudaError_t shim_##name##_##major params \
	{ \
		cudaError_t(*call_real) params = \
			(cudaError_t(*) params)runtime_real(RUNTIME_##major, id, variant, #name); \
		const unsigned call_flags = (variant ? CALL_PER_THREAD : 0) | FRAME_RUNTIME | \
			FRAME_WINDOWED | query_flag(id); \
		struct call_frame call_frame; \
		cudaError_t call_result; \
\
		if (!call_real) \
			return cudaErrorSharedObjectInitFailed; \
		if (!call_begin(&call_frame, id, call_flags, __builtin_frame_address(0), 0)) { \
			call_result = call_real args; \
			gate_leave((uintptr_t)__builtin_frame_address(0)); \
			return call_result; \
		} \
		call_result = call_real args; \
		call_end(&call_frame, call_flags, (int)call_result, NULL, 0); \
		return call_result; \
	}

/* FIRST_LAST_MAJOR: does a row for majors FIRST to LAST have a wrapper for MAJOR? */
#define IN_11_11_11(...) __VA_ARGS__
#define IN_11_11_12(...)
#define IN_11_11_13(...)
#define IN_11_12_11(...) __VA_ARGS__
#define IN_11_12_12(...) __VA_ARGS__
#define IN_11_12_13(...)
#define IN_11_13_11(...) __VA_ARGS__
#define IN_11_13_12(...) __VA_ARGS__
#define IN_11_13_13(...) __VA_ARGS__
#define IN_12_12_11(...)
#define IN_12_12_12(...) __VA_ARGS__
#define IN_12_12_13(...)
#define IN_12_13_11(...)
#define IN_12_13_12(...) __VA_ARGS__
#define IN_12_13_13(...) __VA_ARGS__
#define IN_13_13_11(...)
#define IN_13_13_12(...)
#define IN_13_13_13(...) __VA_ARGS__

#define ALL_MAJORS(name, id, variant, first, last, params, args) \
	IN_##first##_##last##_11( \
		WRAPPER(name, id, variant, 11, "@libcudart.so.11.0", params, args)) \
		IN_##first##_##last##_12( \
			WRAPPER(name, id, variant, 12, "@libcudart.so.12", params, args)) \
			IN_##first##_##last##_13( \
				WRAPPER(name, id, variant, 13, "@@libcudart.so.13", params, args))

#define ROW(symbol, first, last, params, args) \
	ALL_MAJORS(symbol, CALL_##symbol##_##first, VARIANT_LEGACY, first, last, params, args)
#define ROW_PT(symbol, suffix, first, last, params, args) \
	ROW(symbol, first, last, params, args) \
	ALL_MAJORS(symbol##suffix, CALL_##symbol##_##first, VARIANT_PER_THREAD, first, last, \
		params, args)
#define RUNTIME ROW
#define RUNTIME_PT ROW_PT
#include "calls.def"

#undef WRAPPER
#define WRAPPER(name, id, variant, major, version, params, args) \
	{ #name, id, variant, RUNTIME_##major },
#define RUNTIME ROW
#define RUNTIME_PT ROW_PT
static const struct {
	const char *name;
	uint16_t id;
	uint8_t variant, major;
} entries[] = {
#include "calls.def"
};

/* Looks up all functions of a major with its first one, as for the driver (driver_look_up()). */
static void resolve_others(int major)
{
	static _Atomic int done[RUNTIME_COUNT];

	if (atomic_exchange(&done[major], 1))
		return;
	for (unsigned i = 0; i < sizeof(entries) / sizeof(entries[0]); i++)
		if (entries[i].major == major)
			note_real(major, (enum call_id)entries[i].id, entries[i].variant,
				runtime_resolve(major, entries[i].name));
}
