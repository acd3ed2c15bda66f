/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compiles only if every driver row of calls.def has the prototype that NVIDIA's typedefs give
 * for that name and version.  (cuda.h and cuda_runtime_api.h check the exported names where the
 * wrappers are defined; runtime rows are checked here.)
 */
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <cudaTypedefs.h>

#include "calls.h"

#define SAME_TYPE(a, b) __builtin_types_compatible_p(a, b)

#define DRIVER(symbol, base, since, params, args, fields, kind, traits) \
	_Static_assert(SAME_TYPE(PFN_##base##_v##since, CUresult(*) params), #symbol);
#define DRIVER_PT(symbol, base, since, suffix, pt_since, params, args, fields, kind, traits) \
	_Static_assert(SAME_TYPE(PFN_##base##_v##since, CUresult(*) params), #symbol); \
	_Static_assert(SAME_TYPE(PFN_##base##_v##pt_since##suffix, CUresult(*) params), \
		#symbol #suffix);
/* The installed headers are one major's: rows of that major only. */
#define CHECK_11_11(...)
#define CHECK_11_12(...)
#define CHECK_12_12(...)
#define CHECK_11_13(check) check
#define CHECK_12_13(check) check
#define CHECK_13_13(check) check
#define RUNTIME(symbol, first, last, params, args) \
	CHECK_##first##_##last(_Static_assert(SAME_TYPE(__typeof__(&symbol), \
		cudaError_t(*) params), #symbol);)
#define RUNTIME_PT(symbol, suffix, first, last, params, args) \
	RUNTIME(symbol, first, last, params, args)

/* crt/device_functions.h declares it for C++ only. */
cudaError_t __cudaLaunchKernel(cudaKernel_t f, dim3 grid, dim3 block, void **args, size_t shared,
	cudaStream_t stream);
#include "calls.def"
