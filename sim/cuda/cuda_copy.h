/* SPDX-License-Identifier: Apache-2.0 */
/* All copies are boxes of bytes. */
#ifndef CUFENCE_SIM_COPY_H
#define CUFENCE_SIM_COPY_H

#include "cuda_work.h"

/* A linear copy; sides are CU_MEMORYTYPE_HOST, _DEVICE or, for either, _UNIFIED. */
CUDA_MEMCPY3D copy_linear(uintptr_t dst, CUmemorytype to, uintptr_t src, CUmemorytype from,
	size_t bytes);

/*
 * Submits the copy to a stream and waits as that kind of copy does.  Synchronous copies (async
 * false) wait depending on direction and kind of memory; asynchronous ones only for pageable
 * memory.
 */
CUresult copy_call(const CUDA_MEMCPY3D *shape, CUstream stream, bool async);

/* Moves bytes like a device, ignoring page protection of host memory. */
void copy_move(char *dst, const char *src, size_t bytes);

#endif
