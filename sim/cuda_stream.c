/* SPDX-License-Identifier: Apache-2.0 */
/* Streams, the rules of the legacy default stream, and waiting for streams and devices. */
#include "cuda_calls.h"
#include "cuda_state.h"

/* Places in a stream's launch queue, as measured: the 1021st launch waits. */
#define QUEUE_ENTRIES 1020

struct stream *stream_new(struct context *context, unsigned int flags, int priority)
{
	struct stream *stream = object_new(OBJECT_STREAM, sizeof(*stream));

	if (!stream)
		return NULL;
	stream->context = context;
	stream->id = context->next_stream_id++;
	stream->flags = flags;
	stream->priority = priority;
	stream->blocking = !(flags & CU_STREAM_NON_BLOCKING);
	stream->loads = context->loads;
	stream->next = context->streams;
	stream->link = &context->streams;
	if (stream->next)
		stream->next->link = &stream->next;
	context->streams = stream;
	return stream;
}

static void stream_delete(struct stream *stream)
{
	*stream->link = stream->next;
	if (stream->next)
		stream->next->link = stream->link;
	op_put(stream->tail);
	object_free(stream);
}

struct stream *stream_per_thread(struct context *context)
{
	int tid = thread_self()->tid;
	struct stream *stream = context->streams;

	while (stream && stream->owner != tid)
		stream = stream->next;
	if (!stream) {
		stream = stream_new(context, CU_STREAM_DEFAULT, 0);
		if (stream)
			stream->owner = tid;
	}
	return stream;
}

static struct stream *resolve(struct context *context, CUstream handle, bool per_thread)
{
	if (!handle)
		handle = per_thread ? CU_STREAM_PER_THREAD : CU_STREAM_LEGACY;
	if (handle == CU_STREAM_LEGACY)
		return context ? context->legacy : NULL;
	if (handle == CU_STREAM_PER_THREAD)
		return context ? stream_per_thread(context) : NULL;
	if (!object_check(handle, OBJECT_STREAM) || ((struct stream *)handle)->destroyed)
		return NULL;
	return (struct stream *)handle;
}

struct stream *stream_get(CUstream handle)
{
	return resolve(context_current(), handle, thread_self()->per_thread);
}

uint32_t sim_stream_id(CUcontext handle, CUstream stream_handle, bool per_thread)
{
	struct context *context;
	struct stream *stream;
	uint32_t id;

	sim_lock();
	context = handle ? context_check(handle) : context_current();
	stream = resolve(context, stream_handle, per_thread);
	id = stream ? stream->id : 0;
	sim_unlock();
	return id;
}

/* Does this op take a place in the launch queue? */
static bool takes_entry(const struct op *op)
{
	return op->kind == OP_KERNEL || op->kind == OP_COPY || op->kind == OP_SET;
}

/*
 * Stream order, and the legacy stream: its ops come after all earlier ops of every blocking
 * stream of the context, and their later ops after it.
 */
void stream_enqueue(struct stream *stream, struct op *op)
{
	struct context *context = stream->context;

	op_after(op, stream->tail);
	if (stream->legacy) {
		for (struct stream *s = context->streams; s; s = s->next) {
			if (s->blocking && s != stream)
				op_after(op, s->tail);
		}
	} else if (stream->blocking) {
		op_after(op, context->legacy->tail);
	}
	op_put(stream->tail);
	stream->tail = op;
	op->references++;
	stream->pending++;
	stream->entries += takes_entry(op);
}

void stream_op_done(struct stream *stream, struct op *op)
{
	stream->pending--;
	stream->entries -= takes_entry(op);
	if (stream->destroyed && !stream->pending)
		stream_delete(stream);
}

static bool has_entries(void *stream)
{
	return ((struct stream *)stream)->entries;
}

void stream_reserve(struct stream *stream)
{
	struct thread *thread = thread_self();
	struct sim_record record = {
		.kind = SIM_QUEUE_FULL,
		.correlation = thread->correlation,
		.start = time_now(),
		.thread = (uint32_t)thread->tid,
		.device = (uint32_t)stream->context->device->ordinal,
		.context = stream->context->id,
		.stream = stream->id,
	};

	device_gate(stream->context->device);
	if (stream->entries < QUEUE_ENTRIES)
		return;
	thread_hold(has_entries, stream);
	record.end = time_now();
	tool_record(&record);
}

static bool gate_closed(void *device)
{
	return ((struct device *)device)->exclusive;
}

void device_gate(struct device *device)
{
	thread_hold(gate_closed, device);
}

static void join_context(struct op *join, const struct context *context)
{
	for (const struct stream *s = context ? context->streams : NULL; s; s = s->next)
		op_after(join, s->tail);
}

struct op *context_join(struct context *context)
{
	struct op *join = op_new(OP_MARKER, NULL, 0);

	join_context(join, context);
	op_submit(join);
	return join;
}

static void wait_held(struct op *join, struct device *device, bool hold)
{
	int first = device ? device->ordinal : 0;
	int last = device ? device->ordinal : device_count() - 1;

	for (int i = first; i <= last; i++)
		device_get(i)->exclusive += hold;
	op_wait(join);
	for (int i = first; i <= last; i++)
		device_get(i)->exclusive -= hold;
	op_put(join);
	if (hold)
		thread_changed();
}

void device_drain(struct device *device, bool hold)
{
	wait_held(context_join(device->primary), device, hold);
}

void device_drain_all(bool hold)
{
	struct op *join = op_new(OP_MARKER, NULL, 0);

	for (int i = 0; i < device_count(); i++)
		join_context(join, device_get(i)->primary);
	op_submit(join);
	wait_held(join, NULL, hold);
}

/* What waiting for a stream covers: the legacy stream stands for all blocking ones too. */
static struct op *stream_join(struct stream *stream)
{
	struct op *join = op_new(OP_MARKER, NULL, 0);

	op_after(join, stream->tail);
	for (struct stream *s = stream->context->streams; stream->legacy && s; s = s->next) {
		if (s->blocking && s != stream)
			op_after(join, s->tail);
	}
	op_submit(join);
	return join;
}

CUresult do_cuStreamCreateWithPriority(CUstream *handle, unsigned int flags, int priority)
{
	struct context *context = context_current();

	if (!context)
		return CUDA_ERROR_INVALID_CONTEXT;
	if (!handle || flags & ~(unsigned int)CU_STREAM_NON_BLOCKING)
		return CUDA_ERROR_INVALID_VALUE;
	priority = priority > 0 ? 0 : priority < -5 ? -5 : priority;
	*handle = (CUstream)stream_new(context, flags, priority);
	return *handle ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult do_cuStreamCreate(CUstream *handle, unsigned int flags)
{
	return do_cuStreamCreateWithPriority(handle, flags, 0);
}

/* Returns at once: pending work of the stream still runs. */
CUresult do_cuStreamDestroy_v2(CUstream handle)
{
	struct stream *stream = stream_get(handle);

	if (!stream || stream->legacy || stream->owner)
		return CUDA_ERROR_INVALID_HANDLE;
	stream->destroyed = true;
	if (!stream->pending)
		stream_delete(stream);
	return CUDA_SUCCESS;
}

CUresult do_cuStreamSynchronize(CUstream handle)
{
	struct stream *stream = stream_get(handle);
	struct op *join;

	if (!stream)
		return CUDA_ERROR_INVALID_HANDLE;
	join = stream_join(stream);
	op_wait(join);
	op_put(join);
	return CUDA_SUCCESS;
}

CUresult do_cuStreamQuery(CUstream handle)
{
	struct stream *stream = stream_get(handle);

	if (!stream)
		return CUDA_ERROR_INVALID_HANDLE;
	if (op_pending(stream->tail))
		return CUDA_ERROR_NOT_READY;
	for (struct stream *s = stream->context->streams; stream->legacy && s; s = s->next) {
		if (s->blocking && op_pending(s->tail))
			return CUDA_ERROR_NOT_READY;
	}
	return CUDA_SUCCESS;
}

CUresult do_cuStreamGetFlags(CUstream handle, unsigned int *flags)
{
	struct stream *stream = stream_get(handle);

	if (!stream)
		return CUDA_ERROR_INVALID_HANDLE;
	*flags = stream->flags;
	return CUDA_SUCCESS;
}

CUresult do_cuStreamGetPriority(CUstream handle, int *priority)
{
	struct stream *stream = stream_get(handle);

	if (!stream)
		return CUDA_ERROR_INVALID_HANDLE;
	*priority = stream->priority;
	return CUDA_SUCCESS;
}

CUresult do_cuStreamGetId(CUstream handle, unsigned long long *id)
{
	struct stream *stream = stream_get(handle);

	if (!stream)
		return CUDA_ERROR_INVALID_HANDLE;
	*id = stream->id;
	return CUDA_SUCCESS;
}

CUresult do_cuStreamGetCtx(CUstream handle, CUcontext *context)
{
	struct stream *stream = stream_get(handle);

	if (!stream)
		return CUDA_ERROR_INVALID_HANDLE;
	*context = (CUcontext)stream->context;
	return CUDA_SUCCESS;
}

CUresult do_cuStreamIsCapturing(CUstream handle, CUstreamCaptureStatus *status)
{
	if (!stream_get(handle))
		return CUDA_ERROR_INVALID_HANDLE;
	*status = CU_STREAM_CAPTURE_STATUS_NONE;
	return CUDA_SUCCESS;
}
