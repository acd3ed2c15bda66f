/* SPDX-License-Identifier: Apache-2.0 */
/* Events: a record is a marker in the stream's queue, of which the event keeps the last one. */
#include "cuda_calls.h"
#include "cuda_state.h"

struct event {
	unsigned int flags;
	struct op *record; /* NULL: never recorded */
	struct device *device; /* the one it was last recorded on */
};

static struct event *event_get(CUevent handle)
{
	return object_check(handle, OBJECT_EVENT) ? (struct event *)handle : NULL;
}

CUresult do_cuEventCreate(CUevent *handle, unsigned int flags)
{
	struct event *event;

	if (!context_current())
		return CUDA_ERROR_INVALID_CONTEXT;
	if (!handle || flags & ~7u)
		return CUDA_ERROR_INVALID_VALUE;
	event = object_new(OBJECT_EVENT, sizeof(*event));
	if (!event)
		return CUDA_ERROR_OUT_OF_MEMORY;
	event->flags = flags;
	event->device = context_current()->device;
	*handle = (CUevent)event;
	return CUDA_SUCCESS;
}

CUresult do_cuEventDestroy_v2(CUevent handle)
{
	struct event *event = event_get(handle);

	if (!event)
		return CUDA_ERROR_INVALID_HANDLE;
	op_put(event->record);
	object_free(event);
	return CUDA_SUCCESS;
}

/* The time stamp of an event is its marker's start. */
CUresult do_cuEventRecordWithFlags(CUevent handle, CUstream stream_handle, unsigned int flags)
{
	struct event *event = event_get(handle);
	struct stream *stream = stream_get(stream_handle);
	struct op *op;

	if (!event || !stream || stream->context->device != event->device)
		return CUDA_ERROR_INVALID_HANDLE;
	device_gate(event->device);
	op = op_new(OP_MARKER, stream, 0);
	op_submit(op);
	op_put(event->record);
	event->record = op;
	return CUDA_SUCCESS;
}

CUresult do_cuEventRecord(CUevent handle, CUstream stream)
{
	return do_cuEventRecordWithFlags(handle, stream, 0);
}

CUresult do_cuStreamWaitEvent(CUstream stream_handle, CUevent handle, unsigned int flags)
{
	struct event *event = event_get(handle);
	struct stream *stream = stream_get(stream_handle);
	struct op *op;

	if (!event || !stream)
		return CUDA_ERROR_INVALID_HANDLE;
	op = op_new(OP_MARKER, stream, 0);
	op_after(op, event->record);
	op_submit(op);
	op_put(op);
	return CUDA_SUCCESS;
}

CUresult do_cuEventSynchronize(CUevent handle)
{
	struct event *event = event_get(handle);
	struct op *record;

	if (!event)
		return CUDA_ERROR_INVALID_HANDLE;
	record = event->record;
	if (!record)
		return CUDA_SUCCESS;
	record->references++; /* another thread may record or destroy the event meanwhile */
	op_wait(record);
	op_put(record);
	return CUDA_SUCCESS;
}

CUresult do_cuEventQuery(CUevent handle)
{
	struct event *event = event_get(handle);

	if (!event)
		return CUDA_ERROR_INVALID_HANDLE;
	return op_pending(event->record) ? CUDA_ERROR_NOT_READY : CUDA_SUCCESS;
}

CUresult do_cuEventElapsedTime(float *milliseconds, CUevent start_handle, CUevent end_handle)
{
	struct event *start = event_get(start_handle), *end = event_get(end_handle);

	if (!start || !end || !start->record || !end->record)
		return CUDA_ERROR_INVALID_HANDLE;
	if ((start->flags | end->flags) & CU_EVENT_DISABLE_TIMING)
		return CUDA_ERROR_INVALID_HANDLE;
	if (!milliseconds)
		return CUDA_ERROR_INVALID_VALUE;
	if (op_pending(start->record) || op_pending(end->record))
		return CUDA_ERROR_NOT_READY;
	*milliseconds = (float)((double)(int64_t)(end->record->start - start->record->start) / 1e6);
	return CUDA_SUCCESS;
}

CUresult do_cuEventElapsedTime_v2(float *milliseconds, CUevent start, CUevent end)
{
	return do_cuEventElapsedTime(milliseconds, start, end);
}
