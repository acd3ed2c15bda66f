/* SPDX-License-Identifier: Apache-2.0 */
/* Converts copies of the runtime API to the driver API. */
#ifndef CUFENCE_SIM_CUDART_BOX_H
#define CUFENCE_SIM_CUDART_BOX_H

#include "cudart.h"

CUmemorytype simrt_source(enum cudaMemcpyKind kind);
CUmemorytype simrt_target(enum cudaMemcpyKind kind);
CUDA_MEMCPY3D simrt_shape_1d(void *dst, const void *src, size_t bytes, enum cudaMemcpyKind kind);
CUDA_MEMCPY3D simrt_shape_3d(const struct cudaMemcpy3DParms *p);

/* Defines both entry points of a call by a function whose last parameter selects the variant. */
#define RUNTIME_TWINS(symbol, suffix, params, function, args) \
	cudaError_t symbol params; \
	cudaError_t symbol params \
	{ \
		return function(SIMRT_UNWRAP args, false); \
	} \
	cudaError_t symbol##suffix params; \
	cudaError_t symbol##suffix params \
	{ \
		return function(SIMRT_UNWRAP args, true); \
	}
#define SIMRT_UNWRAP(...) __VA_ARGS__
#define RUNTIME_ENTRIES(symbol, params, function, args) \
	RUNTIME_TWINS(symbol, _ptds, params, function, args)
#define RUNTIME_ENTRIES_ASYNC(symbol, params, function, args) \
	RUNTIME_TWINS(symbol, _ptsz, params, function, args)

#endif
