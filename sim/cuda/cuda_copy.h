/* SPDX-License-Identifier: Apache-2.0 */
/* Copies of all shapes are one: a box of bytes from one place to another. */
#ifndef CUFENCE_SIM_COPY_H
#define CUFENCE_SIM_COPY_H

#include "cuda_work.h"

/* A copy of plain bytes; sides are CU_MEMORYTYPE_HOST, _DEVICE or, for either, _UNIFIED. */
CUDA_MEMCPY3D copy_linear(uintptr_t dst, CUmemorytype to, uintptr_t src, CUmemorytype from,
	size_t bytes);

/*
 * Make the copy in a stream and wait as that kind of copy does.  Synchronous ones (async false)
 * wait by direction and kind of memory; asynchronous ones only for pageable memory.
 */
CUresult copy_call(const CUDA_MEMCPY3D *shape, CUstream stream, bool async);

#endif
