/* SPDX-License-Identifier: Apache-2.0 */
/* Older entry points that are implemented by newer ones. */
#include "cuda_calls.h"
#include "cuda_state.h"

CUresult do_cuCtxCreate(CUcontext *context, unsigned int flags, CUdevice device)
{
	return do_cuCtxCreate_v2(context, flags, device);
}

CUresult do_cuCtxDestroy(CUcontext context)
{
	return do_cuCtxDestroy_v2(context);
}

/* Attachments were counted; a new context has one. */
CUresult do_cuCtxAttach(CUcontext *context, unsigned int flags)
{
	return flags ? CUDA_ERROR_INVALID_VALUE : do_cuCtxGetCurrent(context);
}

CUresult do_cuCtxDetach(CUcontext context)
{
	return context_check(context) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

CUresult do_cuCtxPushCurrent(CUcontext context)
{
	return do_cuCtxPushCurrent_v2(context);
}

CUresult do_cuCtxPopCurrent(CUcontext *context)
{
	return do_cuCtxPopCurrent_v2(context);
}

CUresult do_cuDevicePrimaryCtxSetFlags(CUdevice device, unsigned int flags)
{
	return do_cuDevicePrimaryCtxSetFlags_v2(device, flags);
}

CUresult do_cuMemHostRegister(void *ptr, size_t bytes, unsigned int flags)
{
	return do_cuMemHostRegister_v2(ptr, bytes, flags);
}

CUresult do_cuStreamDestroy(CUstream stream)
{
	return do_cuStreamDestroy_v2(stream);
}

CUresult do_cuEventDestroy(CUevent event)
{
	return do_cuEventDestroy_v2(event);
}

CUresult do_cuStreamWaitValue32(CUstream stream, CUdeviceptr address, cuuint32_t value,
	unsigned int flags)
{
	return do_cuStreamWaitValue32_v2(stream, address, value, flags);
}

CUresult do_cuStreamWaitValue64(CUstream stream, CUdeviceptr address, cuuint64_t value,
	unsigned int flags)
{
	return do_cuStreamWaitValue64_v2(stream, address, value, flags);
}

CUresult do_cuStreamWriteValue32(CUstream stream, CUdeviceptr address, cuuint32_t value,
	unsigned int flags)
{
	return do_cuStreamWriteValue32_v2(stream, address, value, flags);
}

CUresult do_cuStreamWriteValue64(CUstream stream, CUdeviceptr address, cuuint64_t value,
	unsigned int flags)
{
	return do_cuStreamWriteValue64_v2(stream, address, value, flags);
}

CUresult do_cuStreamBatchMemOp(CUstream stream, unsigned int count,
	CUstreamBatchMemOpParams *params, unsigned int flags)
{
	return do_cuStreamBatchMemOp_v2(stream, count, params, flags);
}
