/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A libcuda.so.1 that does nothing and uses no resources, so that resources missing under a limit
 * were used by the recorder.  Freeing memory that was not allocated fails, as it should.  Host
 * functions are called at once.
 */
#include <cuda.h>

#define EXPORT __attribute__((visibility("default")))
#define NULL_CALL(name, ...) \
	EXPORT CUresult name(__VA_ARGS__) \
	{ \
		return CUDA_SUCCESS; \
	}

static const CUdeviceptr memory = 0x7f0000000000;
static int context, stream;

NULL_CALL(cuInit, unsigned int flags)
NULL_CALL(cuCtxSetCurrent, CUcontext current)
NULL_CALL(cuMemsetD8Async, CUdeviceptr address, unsigned char value, size_t count, CUstream at)
NULL_CALL(cuStreamQuery, CUstream at)
NULL_CALL(cuStreamSynchronize, CUstream at)

EXPORT CUresult cuDevicePrimaryCtxRetain(CUcontext *made, CUdevice device)
{
	*made = (CUcontext)&context;
	return CUDA_SUCCESS;
}

EXPORT CUresult cuCtxGetCurrent(CUcontext *current)
{
	*current = (CUcontext)&context;
	return CUDA_SUCCESS;
}

EXPORT CUresult cuMemAlloc(CUdeviceptr *address, size_t bytes)
{
	*address = memory;
	return CUDA_SUCCESS;
}

EXPORT CUresult cuMemFree(CUdeviceptr address)
{
	return address == memory ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

EXPORT CUresult cuStreamCreate(CUstream *made, unsigned int flags)
{
	*made = (CUstream)&stream;
	return CUDA_SUCCESS;
}

EXPORT CUresult cuLaunchHostFunc(CUstream at, CUhostFn function, void *argument)
{
	function(argument);
	return CUDA_SUCCESS;
}
