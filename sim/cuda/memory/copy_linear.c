/* SPDX-License-Identifier: Apache-2.0 */
/* Linear copies. */
#include "cuda_calls.h"
#include "cuda_copy.h"

#define HOST CU_MEMORYTYPE_HOST
#define DEVICE CU_MEMORYTYPE_DEVICE
#define ANY CU_MEMORYTYPE_UNIFIED

static CUresult copy(uintptr_t dst, CUmemorytype to, uintptr_t src, CUmemorytype from, size_t bytes,
	CUstream stream, bool async)
{
	CUDA_MEMCPY3D shape = copy_linear(dst, to, src, from, bytes);

	return copy_call(&shape, stream, async);
}

CUresult do_cuMemcpy(CUdeviceptr dst, CUdeviceptr src, size_t bytes)
{
	return copy(dst, ANY, src, ANY, bytes, NULL, false);
}

CUresult do_cuMemcpyHtoD_v2(CUdeviceptr dst, const void *src, size_t bytes)
{
	return copy(dst, DEVICE, (uintptr_t)src, HOST, bytes, NULL, false);
}

CUresult do_cuMemcpyDtoH_v2(void *dst, CUdeviceptr src, size_t bytes)
{
	return copy((uintptr_t)dst, HOST, src, DEVICE, bytes, NULL, false);
}

CUresult do_cuMemcpyDtoD_v2(CUdeviceptr dst, CUdeviceptr src, size_t bytes)
{
	return copy(dst, DEVICE, src, DEVICE, bytes, NULL, false);
}

CUresult do_cuMemcpyAsync(CUdeviceptr dst, CUdeviceptr src, size_t bytes, CUstream stream)
{
	return copy(dst, ANY, src, ANY, bytes, stream, true);
}

CUresult do_cuMemcpyHtoDAsync_v2(CUdeviceptr dst, const void *src, size_t bytes, CUstream stream)
{
	return copy(dst, DEVICE, (uintptr_t)src, HOST, bytes, stream, true);
}

CUresult do_cuMemcpyDtoHAsync_v2(void *dst, CUdeviceptr src, size_t bytes, CUstream stream)
{
	return copy((uintptr_t)dst, HOST, src, DEVICE, bytes, stream, true);
}

CUresult do_cuMemcpyDtoDAsync_v2(CUdeviceptr dst, CUdeviceptr src, size_t bytes, CUstream stream)
{
	return copy(dst, DEVICE, src, DEVICE, bytes, stream, true);
}

static bool contexts_valid(CUcontext dst, CUcontext src)
{
	return context_check(dst) && context_check(src);
}

CUresult do_cuMemcpyPeer(CUdeviceptr dst, CUcontext dst_context, CUdeviceptr src,
	CUcontext src_context, size_t bytes)
{
	if (!contexts_valid(dst_context, src_context))
		return CUDA_ERROR_INVALID_CONTEXT;
	return copy(dst, DEVICE, src, DEVICE, bytes, NULL, false);
}

CUresult do_cuMemcpyPeerAsync(CUdeviceptr dst, CUcontext dst_context, CUdeviceptr src,
	CUcontext src_context, size_t bytes, CUstream stream)
{
	if (!contexts_valid(dst_context, src_context))
		return CUDA_ERROR_INVALID_CONTEXT;
	return copy(dst, DEVICE, src, DEVICE, bytes, stream, true);
}

/* To and from an array of one row, at an offset in bytes. */
static CUresult array_copy(CUDA_MEMCPY3D *shape, CUarray dst, size_t dst_offset, CUarray src,
	size_t src_offset, CUstream stream, bool async)
{
	if (dst) {
		shape->dstMemoryType = CU_MEMORYTYPE_ARRAY;
		shape->dstArray = dst;
		shape->dstXInBytes = dst_offset;
	}
	if (src) {
		shape->srcMemoryType = CU_MEMORYTYPE_ARRAY;
		shape->srcArray = src;
		shape->srcXInBytes = src_offset;
	}
	return copy_call(shape, stream, async);
}

CUresult do_cuMemcpyDtoA_v2(CUarray dst, size_t offset, CUdeviceptr src, size_t bytes)
{
	CUDA_MEMCPY3D shape = copy_linear(0, HOST, src, DEVICE, bytes);

	return array_copy(&shape, dst, offset, NULL, 0, NULL, false);
}

CUresult do_cuMemcpyAtoD_v2(CUdeviceptr dst, CUarray src, size_t offset, size_t bytes)
{
	CUDA_MEMCPY3D shape = copy_linear(dst, DEVICE, 0, HOST, bytes);

	return array_copy(&shape, NULL, 0, src, offset, NULL, false);
}

CUresult do_cuMemcpyHtoA_v2(CUarray dst, size_t offset, const void *src, size_t bytes)
{
	CUDA_MEMCPY3D shape = copy_linear(0, HOST, (uintptr_t)src, HOST, bytes);

	return array_copy(&shape, dst, offset, NULL, 0, NULL, false);
}

CUresult do_cuMemcpyAtoH_v2(void *dst, CUarray src, size_t offset, size_t bytes)
{
	CUDA_MEMCPY3D shape = copy_linear((uintptr_t)dst, HOST, 0, HOST, bytes);

	return array_copy(&shape, NULL, 0, src, offset, NULL, false);
}

CUresult do_cuMemcpyAtoA_v2(CUarray dst, size_t dst_offset, CUarray src, size_t src_offset,
	size_t bytes)
{
	CUDA_MEMCPY3D shape = copy_linear(0, HOST, 0, HOST, bytes);

	return array_copy(&shape, dst, dst_offset, src, src_offset, NULL, false);
}

CUresult do_cuMemcpyHtoAAsync_v2(CUarray dst, size_t offset, const void *src, size_t bytes,
	CUstream stream)
{
	CUDA_MEMCPY3D shape = copy_linear(0, HOST, (uintptr_t)src, HOST, bytes);

	return array_copy(&shape, dst, offset, NULL, 0, stream, true);
}

CUresult do_cuMemcpyAtoHAsync_v2(void *dst, CUarray src, size_t offset, size_t bytes,
	CUstream stream)
{
	CUDA_MEMCPY3D shape = copy_linear((uintptr_t)dst, HOST, 0, HOST, bytes);

	return array_copy(&shape, NULL, 0, src, offset, stream, true);
}
