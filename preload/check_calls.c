/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compiles only if every driver row of calls.def has the prototype of NVIDIA's typedefs for that
 * name and version. (cuda.h and cuda_runtime_api.h check the exported names where the wrappers are
 * defined; runtime rows are checked here.)  Headers before 13.0 lack newer calls (older_cuda.h):
 * with those nothing is checked.
 */
#include <cuda.h>
#include <cudaProfilerTypedefs.h>
#include <cudaTypedefs.h>
#include <cuda_profiler_api.h>
#include <cuda_runtime_api.h>

#include "calls.h"

#if CUDA_VERSION >= 13000

#define SAME_TYPE(a, b) __builtin_types_compatible_p(a, b)

/* Declared only in cuda.h. */
typedef __typeof__(&cuCtxRecordEvent) PFN_cuCtxRecordEvent_v12050;
typedef __typeof__(&cuCtxWaitEvent) PFN_cuCtxWaitEvent_v12050;
typedef __typeof__(&cuGreenCtxCreate) PFN_cuGreenCtxCreate_v12040;
typedef __typeof__(&cuGreenCtxDestroy) PFN_cuGreenCtxDestroy_v12040;
typedef __typeof__(&cuCtxFromGreenCtx) PFN_cuCtxFromGreenCtx_v12040;
typedef __typeof__(&cuGreenCtxRecordEvent) PFN_cuGreenCtxRecordEvent_v12040;
typedef __typeof__(&cuGreenCtxWaitEvent) PFN_cuGreenCtxWaitEvent_v12040;
/* Not in older headers. */
#if CUDA_VERSION < 13020
typedef CUresult (*PFN_cuGraphNodeGetParams_v13020)(CUgraphNode, CUgraphNodeParams *);
#endif

#define DRIVER(symbol, base, since, params, args, fields, kind, traits) \
	_Static_assert(SAME_TYPE(PFN_##base##_v##since, CUresult(*) params), #symbol);
#define DRIVER_PT(symbol, base, since, suffix, pt_since, params, args, fields, kind, traits) \
	_Static_assert(SAME_TYPE(PFN_##base##_v##since, CUresult(*) params), #symbol); \
	_Static_assert(SAME_TYPE(PFN_##base##_v##pt_since##suffix, CUresult(*) params), \
		#symbol #suffix);
/* The installed headers are of one major version: only its rows are checked. */
#define CHECK_11_11(...)
#define CHECK_11_12(...)
#define CHECK_12_12(...)
#define CHECK_11_13(check) check
#define CHECK_12_13(check) check
#define CHECK_13_13(check) check
#define RUNTIME(symbol, first, last, params, args) \
	CHECK_##first##_##last( \
		_Static_assert(SAME_TYPE(__typeof__(&symbol), cudaError_t(*) params), #symbol);)
#define RUNTIME_PT(symbol, suffix, first, last, params, args) \
	RUNTIME(symbol, first, last, params, args)

/* crt/device_functions.h declares it for C++ only. */
cudaError_t __cudaLaunchKernel(cudaKernel_t f, dim3 grid, dim3 block, void **args, size_t shared,
	cudaStream_t stream);
#include "calls.def"
#endif
