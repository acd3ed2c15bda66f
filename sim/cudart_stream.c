/* SPDX-License-Identifier: Apache-2.0 */
#include "cudart.h"

cudaError_t cudaStreamCreate(cudaStream_t *stream)
{
	CALL(simrt_driver.cuStreamCreate(stream, CU_STREAM_DEFAULT));
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned int flags)
{
	CALL(simrt_driver.cuStreamCreate(stream, flags));
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t *stream, unsigned int flags, int priority)
{
	CALL(simrt_driver.cuStreamCreateWithPriority(stream, flags, priority));
}

cudaError_t cudaStreamDestroy(cudaStream_t stream)
{
	CALL(simrt_driver.cuStreamDestroy_v2(stream));
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream)
{
	CALL(simrt_driver.cuStreamSynchronize(stream));
}

cudaError_t cudaStreamSynchronize_ptsz(cudaStream_t stream)
{
	CALL(simrt_driver.cuStreamSynchronize_ptsz(stream));
}

cudaError_t cudaStreamQuery(cudaStream_t stream)
{
	CALL(simrt_driver.cuStreamQuery(stream));
}

cudaError_t cudaStreamQuery_ptsz(cudaStream_t stream)
{
	CALL(simrt_driver.cuStreamQuery_ptsz(stream));
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned int flags)
{
	CALL(simrt_driver.cuStreamWaitEvent(stream, event, flags));
}

cudaError_t cudaStreamWaitEvent_ptsz(cudaStream_t stream, cudaEvent_t event, unsigned int flags)
{
	CALL(simrt_driver.cuStreamWaitEvent_ptsz(stream, event, flags));
}

cudaError_t cudaStreamGetFlags(cudaStream_t stream, unsigned int *flags)
{
	CALL(simrt_driver.cuStreamGetFlags(stream, flags));
}

cudaError_t cudaStreamGetPriority(cudaStream_t stream, int *priority)
{
	CALL(simrt_driver.cuStreamGetPriority(stream, priority));
}

cudaError_t cudaStreamGetId(cudaStream_t stream, unsigned long long *id)
{
	CALL(simrt_driver.cuStreamGetId(stream, id));
}

cudaError_t cudaStreamIsCapturing(cudaStream_t stream, enum cudaStreamCaptureStatus *status)
{
	CALL(simrt_driver.cuStreamIsCapturing(stream, (CUstreamCaptureStatus *)status));
}

cudaError_t cudaDeviceGetStreamPriorityRange(int *least, int *greatest)
{
	CALL(simrt_driver.cuCtxGetStreamPriorityRange(least, greatest));
}

cudaError_t cudaEventCreate(cudaEvent_t *event)
{
	CALL(simrt_driver.cuEventCreate(event, CU_EVENT_DEFAULT));
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned int flags)
{
	CALL(simrt_driver.cuEventCreate(event, flags));
}

cudaError_t cudaEventDestroy(cudaEvent_t event)
{
	CALL(simrt_driver.cuEventDestroy_v2(event));
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
	CALL(simrt_driver.cuEventRecord(event, stream));
}

cudaError_t cudaEventRecord_ptsz(cudaEvent_t event, cudaStream_t stream)
{
	CALL(simrt_driver.cuEventRecord_ptsz(event, stream));
}

cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned int flags)
{
	CALL(simrt_driver.cuEventRecordWithFlags(event, stream, flags));
}

cudaError_t cudaEventRecordWithFlags_ptsz(cudaEvent_t event, cudaStream_t stream,
	unsigned int flags)
{
	CALL(simrt_driver.cuEventRecordWithFlags_ptsz(event, stream, flags));
}

cudaError_t cudaEventSynchronize(cudaEvent_t event)
{
	CALL(simrt_driver.cuEventSynchronize(event));
}

cudaError_t cudaEventQuery(cudaEvent_t event)
{
	CALL(simrt_driver.cuEventQuery(event));
}

cudaError_t cudaEventElapsedTime(float *milliseconds, cudaEvent_t start, cudaEvent_t end)
{
	CALL(simrt_driver.cuEventElapsedTime_v2(milliseconds, start, end));
}
