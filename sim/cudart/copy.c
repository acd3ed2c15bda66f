/* SPDX-License-Identifier: Apache-2.0 */
#include "cudart.h"

cudaError_t cudaMemcpyToSymbol_ptds(const void *symbol, const void *src, size_t bytes,
	size_t offset, enum cudaMemcpyKind kind);
cudaError_t cudaMemcpyFromSymbol_ptds(void *dst, const void *symbol, size_t bytes, size_t offset,
	enum cudaMemcpyKind kind);
cudaError_t cudaMemcpyToSymbolAsync_ptsz(const void *symbol, const void *src, size_t bytes,
	size_t offset, enum cudaMemcpyKind kind, cudaStream_t stream);
cudaError_t cudaMemcpyFromSymbolAsync_ptsz(void *dst, const void *symbol, size_t bytes,
	size_t offset, enum cudaMemcpyKind kind, cudaStream_t stream);

static cudaError_t copy(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind,
	bool per_thread)
{
	CUdeviceptr dst = (CUdeviceptr)to, src = (CUdeviceptr)from;

	switch (kind) {
	case cudaMemcpyHostToDevice:
		CALL(PICK(per_thread, cuMemcpyHtoD_v2, _ptds)(dst, from, bytes));
	case cudaMemcpyDeviceToHost:
		CALL(PICK(per_thread, cuMemcpyDtoH_v2, _ptds)(to, src, bytes));
	case cudaMemcpyDeviceToDevice:
		CALL(PICK(per_thread, cuMemcpyDtoD_v2, _ptds)(dst, src, bytes));
	case cudaMemcpyHostToHost:
	case cudaMemcpyDefault:
		CALL(PICK(per_thread, cuMemcpy, _ptds)(dst, src, bytes));
	}
	return simrt_error(cudaErrorInvalidMemcpyDirection);
}

static cudaError_t copy_async(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind,
	cudaStream_t stream, bool per_thread)
{
	CUdeviceptr dst = (CUdeviceptr)to, src = (CUdeviceptr)from;

	switch (kind) {
	case cudaMemcpyHostToDevice:
		CALL(PICK(per_thread, cuMemcpyHtoDAsync_v2, _ptsz)(dst, from, bytes, stream));
	case cudaMemcpyDeviceToHost:
		CALL(PICK(per_thread, cuMemcpyDtoHAsync_v2, _ptsz)(to, src, bytes, stream));
	case cudaMemcpyDeviceToDevice:
		CALL(PICK(per_thread, cuMemcpyDtoDAsync_v2, _ptsz)(dst, src, bytes, stream));
	case cudaMemcpyHostToHost:
	case cudaMemcpyDefault:
		CALL(PICK(per_thread, cuMemcpyAsync, _ptsz)(dst, src, bytes, stream));
	}
	return simrt_error(cudaErrorInvalidMemcpyDirection);
}

cudaError_t cudaMemcpy(void *dst, const void *src, size_t bytes, enum cudaMemcpyKind kind)
{
	return copy(dst, src, bytes, kind, false);
}

cudaError_t cudaMemcpy_ptds(void *dst, const void *src, size_t bytes, enum cudaMemcpyKind kind)
{
	return copy(dst, src, bytes, kind, true);
}

cudaError_t cudaMemcpyAsync(void *dst, const void *src, size_t bytes, enum cudaMemcpyKind kind,
	cudaStream_t stream)
{
	return copy_async(dst, src, bytes, kind, stream, false);
}

cudaError_t cudaMemcpyAsync_ptsz(void *dst, const void *src, size_t bytes, enum cudaMemcpyKind kind,
	cudaStream_t stream)
{
	return copy_async(dst, src, bytes, kind, stream, true);
}

cudaError_t cudaMemset(void *dst, int value, size_t bytes)
{
	CALL(simrt_driver.cuMemsetD8_v2((CUdeviceptr)dst, (unsigned char)value, bytes));
}

cudaError_t cudaMemset_ptds(void *dst, int value, size_t bytes)
{
	CALL(simrt_driver.cuMemsetD8_v2_ptds((CUdeviceptr)dst, (unsigned char)value, bytes));
}

cudaError_t cudaMemsetAsync(void *dst, int value, size_t bytes, cudaStream_t stream)
{
	CALL(simrt_driver.cuMemsetD8Async((CUdeviceptr)dst, (unsigned char)value, bytes, stream));
}

cudaError_t cudaMemsetAsync_ptsz(void *dst, int value, size_t bytes, cudaStream_t stream)
{
	CALL(simrt_driver.cuMemsetD8Async_ptsz((CUdeviceptr)dst, (unsigned char)value, bytes,
		stream));
}

/* Address of bytes at an offset in a device variable. */
static cudaError_t locate(const void *symbol, size_t bytes, size_t offset, void **ptr)
{
	CUdeviceptr start;
	size_t size;
	cudaError_t error = simrt_variable(symbol, &start, &size);

	*ptr = NULL;
	if (error)
		return error;
	if (offset > size || bytes > size - offset)
		return simrt_error(cudaErrorInvalidValue);
	*ptr = (void *)(start + offset);
	return cudaSuccess;
}

cudaError_t cudaGetSymbolAddress(void **ptr, const void *symbol)
{
	return locate(symbol, 0, 0, ptr);
}

cudaError_t cudaGetSymbolSize(size_t *bytes, const void *symbol)
{
	CUdeviceptr start;

	return simrt_variable(symbol, &start, bytes);
}

cudaError_t cudaMemcpyToSymbol(const void *symbol, const void *src, size_t bytes, size_t offset,
	enum cudaMemcpyKind kind)
{
	void *dst;
	cudaError_t error = locate(symbol, bytes, offset, &dst);

	return error ? error : copy(dst, src, bytes, kind, false);
}

cudaError_t cudaMemcpyToSymbol_ptds(const void *symbol, const void *src, size_t bytes,
	size_t offset, enum cudaMemcpyKind kind)
{
	void *dst;
	cudaError_t error = locate(symbol, bytes, offset, &dst);

	return error ? error : copy(dst, src, bytes, kind, true);
}

cudaError_t cudaMemcpyFromSymbol(void *dst, const void *symbol, size_t bytes, size_t offset,
	enum cudaMemcpyKind kind)
{
	void *src;
	cudaError_t error = locate(symbol, bytes, offset, &src);

	return error ? error : copy(dst, src, bytes, kind, false);
}

cudaError_t cudaMemcpyFromSymbol_ptds(void *dst, const void *symbol, size_t bytes, size_t offset,
	enum cudaMemcpyKind kind)
{
	void *src;
	cudaError_t error = locate(symbol, bytes, offset, &src);

	return error ? error : copy(dst, src, bytes, kind, true);
}

cudaError_t cudaMemcpyToSymbolAsync(const void *symbol, const void *src, size_t bytes,
	size_t offset, enum cudaMemcpyKind kind, cudaStream_t stream)
{
	void *dst;
	cudaError_t error = locate(symbol, bytes, offset, &dst);

	return error ? error : copy_async(dst, src, bytes, kind, stream, false);
}

cudaError_t cudaMemcpyToSymbolAsync_ptsz(const void *symbol, const void *src, size_t bytes,
	size_t offset, enum cudaMemcpyKind kind, cudaStream_t stream)
{
	void *dst;
	cudaError_t error = locate(symbol, bytes, offset, &dst);

	return error ? error : copy_async(dst, src, bytes, kind, stream, true);
}

cudaError_t cudaMemcpyFromSymbolAsync(void *dst, const void *symbol, size_t bytes, size_t offset,
	enum cudaMemcpyKind kind, cudaStream_t stream)
{
	void *src;
	cudaError_t error = locate(symbol, bytes, offset, &src);

	return error ? error : copy_async(dst, src, bytes, kind, stream, false);
}

cudaError_t cudaMemcpyFromSymbolAsync_ptsz(void *dst, const void *symbol, size_t bytes,
	size_t offset, enum cudaMemcpyKind kind, cudaStream_t stream)
{
	void *src;
	cudaError_t error = locate(symbol, bytes, offset, &src);

	return error ? error : copy_async(dst, src, bytes, kind, stream, true);
}
