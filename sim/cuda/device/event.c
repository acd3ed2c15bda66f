/* SPDX-License-Identifier: Apache-2.0 */
/* Events: a record is a marker in the stream's queue; the event refers to the last one. */
#include "cuda_calls.h"
#include "cuda_graph.h"

struct event {
	unsigned int flags;
	struct op *record; /* NULL: never recorded */
	struct context *context;
	struct captured captured; /* if last recorded in a captured stream */
};

struct event *event_get(CUevent handle)
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
	if (flags & CU_EVENT_INTERPROCESS && !(flags & CU_EVENT_DISABLE_TIMING))
		return CUDA_ERROR_INVALID_VALUE;
	event = object_new(OBJECT_EVENT, sizeof(*event));
	if (!event)
		return CUDA_ERROR_OUT_OF_MEMORY;
	event->flags = flags;
	event->context = context_current();
	*handle = (CUevent)event;
	return CUDA_SUCCESS;
}

static void event_delete(struct event *event)
{
	op_put(event->record);
	captured_release(&event->captured);
	object_free(event);
}

CUresult do_cuEventDestroy_v2(CUevent handle)
{
	struct event *event = event_get(handle);

	if (!event)
		return CUDA_ERROR_INVALID_HANDLE;
	event_delete(event);
	return CUDA_SUCCESS;
}

static void end_event(void *event, void *context)
{
	if (((struct event *)event)->context == context)
		event_delete(event);
}

void events_end(struct context *context)
{
	object_each(OBJECT_EVENT, end_event, context);
}

void event_set(struct event *event, struct op *op)
{
	op->references++;
	op_put(event->record);
	event->record = op;
	captured_release(&event->captured);
}

static CUevent node_event(const struct work *work)
{
	return work->params.type == CU_GRAPH_NODE_TYPE_EVENT_RECORD ? work->params.eventRecord.event
								    : work->params.eventWait.event;
}

CUresult event_check(const struct work *work, struct context *context)
{
	return event_get(node_event(work)) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

/* Event nodes, and a stream's record and wait.  An event's time stamp is the start of its op. */
struct op *event_op(const struct work *work, struct stream *stream)
{
	struct op *op = op_new(OP_MARKER, stream, 0);
	struct event *event = event_get(node_event(work));

	if (!event)
		return op;
	if (work->params.type == CU_GRAPH_NODE_TYPE_EVENT_RECORD)
		event_set(event, op);
	else
		op_after(op, event->record);
	return op;
}

/* Record and wait, with the parameters of their nodes. */
#define EVENT_WORK(node, member) \
	{ \
		.params = {.type = CU_GRAPH_NODE_TYPE_##node, .member = { handle } } \
	}

CUresult do_cuEventRecordWithFlags(CUevent handle, CUstream stream_handle, unsigned int flags)
{
	struct work work = EVENT_WORK(EVENT_RECORD, eventRecord);
	struct event *event = event_get(handle);
	struct stream *stream;
	CUresult result;

	if (!event)
		return CUDA_ERROR_INVALID_HANDLE;
	if (flags & ~(unsigned int)CU_EVENT_RECORD_EXTERNAL)
		return CUDA_ERROR_INVALID_VALUE;
	result = stream_find(stream_handle, &stream);
	if (result)
		return result;
	if (stream->context != event->context)
		return CUDA_ERROR_INVALID_HANDLE;
	if (!stream->capture || flags & CU_EVENT_RECORD_EXTERNAL)
		return stream->capture || !flags ? work_submit(&work, stream_handle, NULL)
						 : CUDA_ERROR_ILLEGAL_STATE;
	if (stream->capture->invalid)
		return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
	captured_record(&event->captured, stream);
	return CUDA_SUCCESS;
}

CUresult do_cuEventRecord(CUevent handle, CUstream stream)
{
	return do_cuEventRecordWithFlags(handle, stream, 0);
}

CUresult do_cuStreamWaitEvent(CUstream stream_handle, CUevent handle, unsigned int flags)
{
	struct work work = EVENT_WORK(WAIT_EVENT, eventWait);
	struct event *event = event_get(handle);
	struct stream *stream;
	CUresult result;

	if (!event)
		return CUDA_ERROR_INVALID_HANDLE;
	if (flags & ~(unsigned int)CU_EVENT_WAIT_EXTERNAL)
		return CUDA_ERROR_INVALID_VALUE;
	result = stream_find(stream_handle, &stream);
	if (result)
		return result;
	if (flags & CU_EVENT_WAIT_EXTERNAL)
		return stream->capture ? work_submit(&work, stream_handle, NULL)
				       : CUDA_ERROR_ILLEGAL_STATE;
	if (!event->captured.capture && !event->record)
		return CUDA_SUCCESS; /* never recorded */
	if (stream->capture || event->captured.capture)
		return captured_wait(&event->captured, stream);
	return work_submit(&work, stream_handle, NULL);
}

CUresult do_cuEventSynchronize(CUevent handle)
{
	struct event *event = event_get(handle);
	struct op *record;

	if (!event)
		return CUDA_ERROR_INVALID_HANDLE;
	if (event->captured.capture)
		return CUDA_ERROR_CAPTURED_EVENT;
	record = event->record;
	if (!record)
		return CUDA_SUCCESS;
	record->references++; /* another thread may record or destroy the event meanwhile */
	op_wait(record);
	op_put(record);
	pools_trim(event->context->device);
	return event->context->broken;
}

CUresult do_cuEventQuery(CUevent handle)
{
	struct event *event = event_get(handle);

	if (!event)
		return CUDA_ERROR_INVALID_HANDLE;
	if (event->captured.capture)
		return CUDA_ERROR_CAPTURED_EVENT;
	return op_pending(event->record) ? CUDA_ERROR_NOT_READY : CUDA_SUCCESS;
}

CUresult do_cuEventElapsedTime(float *milliseconds, CUevent start_handle, CUevent end_handle)
{
	struct event *start = event_get(start_handle), *end = event_get(end_handle);

	if (start && end && (start->captured.capture || end->captured.capture))
		return CUDA_ERROR_CAPTURED_EVENT;
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
