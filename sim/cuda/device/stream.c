/* SPDX-License-Identifier: Apache-2.0 */
/* Streams, the rules of the legacy default stream, and waiting for streams and devices. */
#include "cuda_calls.h"
#include "cuda_graph.h"

/*
 * Entries of a stream's launch queue, as measured: the 1023rd launch waits; the running one counts.
 */
#define QUEUE_ENTRIES 1022

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
	stream->seen[BARRIER_KERNELS] = context->barrier[BARRIER_KERNELS].number;
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
	op_put(stream->last);
	attributes_free(&stream->attributes);
	object_free(stream);
}

void streams_end(struct context *context)
{
	struct stream *next;

	for (struct stream *stream = context->streams; stream; stream = next) {
		next = stream->next;
		if (stream->legacy || stream->owner)
			continue;
		if (stream->capture)
			capture_invalidate(stream->capture);
		capture_leave(stream);
		stream->destroyed = true;
		if (!stream->pending)
			stream_delete(stream);
	}
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

/*
 * Use of the legacy stream invalidates captures of blocking streams that it would be ordered with.
 */
CUresult stream_find(CUstream handle, struct stream **found)
{
	struct stream *stream = stream_get(handle);
	struct capture *capture;

	*found = stream;
	if (!stream)
		return context_current() ? CUDA_ERROR_INVALID_HANDLE : CUDA_ERROR_INVALID_CONTEXT;
	capture = stream->legacy ? capture_of_context(stream->context) : NULL;
	if (!capture)
		return CUDA_SUCCESS;
	capture_invalidate(capture);
	return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
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

/* Does this op occupy an entry of the launch queue? A graph launch does, its nodes do not. */
static bool takes_entry(const struct op *op)
{
	return !op->loose && (op->kind == OP_KERNEL || op->kind == OP_COPY || op->kind == OP_SET);
}

static bool holds(enum barrier_kind kind, const struct stream *stream, const struct op *op)
{
	if (kind == BARRIER_LEGACY)
		return stream->legacy || stream->blocking;
	return op->kind == OP_KERNEL || op->graph;
}

/* Lazy loading serializes the device: the next kernel of each stream comes after all work. */
static void after_barriers(struct stream *stream, struct op *op)
{
	const struct barrier *barriers = stream->context->barrier;

	for (int i = 0; i < BARRIERS; i++) {
		if (stream->seen[i] == barriers[i].number)
			continue;
		if (!holds((enum barrier_kind)i, stream, op))
			continue;
		stream->seen[i] = barriers[i].number;
		op_after(op, barriers[i].op);
	}
}

static void after_blocking(struct op *op, const struct context *context)
{
	for (struct stream *s = context->streams; s; s = s->next) {
		if (s->blocking && !s->legacy)
			op_after(op, s->tail);
	}
}

/*
 * A copy between devices is work of the legacy streams of both (measured on two H200s), for any
 * API, size and peer access.
 */
static void cross(const struct stream *stream, struct op *op, const struct device *device)
{
	for (struct context *c = device ? device->contexts : NULL; c; c = c->next) {
		if (c == stream->context)
			continue;
		op_after(op, c->legacy->tail);
		op_after(op, c->barrier[BARRIER_LEGACY].op);
		after_blocking(op, c);
		context_barrier(c, BARRIER_LEGACY, op);
	}
}

/*
 * The legacy stream: its ops come after all earlier ops of every blocking stream of the context,
 * and later ops of these streams come after it.
 */
static void after_others(struct stream *stream, struct op *op)
{
	struct context *context = stream->context;

	if (stream->legacy) {
		after_blocking(op, context);
		cross(stream, op, op->from);
		cross(stream, op, op->to);
	} else if (stream->blocking) {
		op_after(op, context->legacy->tail);
	}
}

static void replace_op(struct op **place, struct op *op)
{
	op->references++;
	op_put(*place);
	*place = op;
}

/* A kernel that may start once the preceding one has: later work comes after both. */
static void enqueue_programmatic(struct stream *stream, struct op *op)
{
	struct op *both = join_new();

	op_after(op, op_started(stream->last));
	op_after(both, stream->tail);
	op_after(both, op);
	op_submit(both);
	replace_op(&stream->tail, both);
	op_put(both);
}

void stream_enqueue(struct stream *stream, struct op *op)
{
	stream->pending++;
	if (op->loose)
		return;
	stream->entries += takes_entry(op);
	after_barriers(stream, op);
	after_others(stream, op);
	if (op->programmatic && op_pending(stream->last) && stream->last->kind == OP_KERNEL) {
		enqueue_programmatic(stream, op);
	} else {
		op_after(op, stream->tail);
		replace_op(&stream->tail, op);
	}
	replace_op(&stream->last, op);
}

void stream_op_done(struct stream *stream, struct op *op)
{
	stream->pending--;
	stream->entries -= takes_entry(op);
	if (stream->destroyed && !stream->pending)
		stream_delete(stream);
}

static bool is_full(void *stream)
{
	return ((struct stream *)stream)->entries >= QUEUE_ENTRIES;
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
	thread_hold(is_full, stream);
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

void join_context(struct op *join, struct context *context)
{
	for (const struct stream *s = context->streams; s; s = s->next)
		op_after(join, s->tail);
	for (int i = 0; i < BARRIERS; i++)
		op_after(join, context->barrier[i].op);
}

void join_device(struct op *join, struct device *device)
{
	for (struct context *c = device->contexts; c; c = c->next)
		join_context(join, c);
}

struct op *context_join(struct context *context)
{
	struct op *join = join_new();

	join_context(join, context);
	op_submit(join);
	return join;
}

void context_barrier(struct context *context, enum barrier_kind kind, struct op *op)
{
	struct barrier *barrier = &context->barrier[kind];

	replace_op(&barrier->op, op);
	barrier->number++;
}

static void wait_held(struct op *join, struct device *device, bool hold)
{
	int first = device ? device->ordinal : 0;
	int last = device ? device->ordinal : device_count() - 1;

	op_submit(join);
	for (int i = first; i <= last; i++)
		device_get(i)->exclusive += hold;
	op_wait(join);
	for (int i = first; i <= last; i++) {
		device_get(i)->exclusive -= hold;
		pools_trim(device_get(i));
	}
	op_put(join);
	if (hold)
		thread_changed();
}

void device_wait(struct device *device, struct op *op, bool (*wait)(struct op *))
{
	device->exclusive++;
	wait(op);
	device->exclusive--;
	thread_changed();
}

void device_drain(struct device *device, bool hold)
{
	struct op *join = join_new();

	join_device(join, device);
	wait_held(join, device, hold);
}

void context_drain(struct context *context)
{
	struct op *join = join_new();

	join_context(join, context);
	wait_held(join, context->device, false);
}

void device_drain_all(bool hold)
{
	struct op *join = join_new();

	for (int i = 0; i < device_count(); i++)
		join_device(join, device_get(i));
	wait_held(join, NULL, hold);
}

/* The op that a stream synchronization waits for: the legacy stream includes all blocking ones. */
static struct op *stream_join(struct stream *stream)
{
	struct op *join = join_new();

	op_after(join, stream->tail);
	if (stream->legacy) {
		op_after(join, stream->context->barrier[BARRIER_LEGACY].op);
		after_blocking(join, stream->context);
	}
	op_submit(join);
	return join;
}

struct op *stream_end(struct stream *stream)
{
	if (stream->legacy)
		return stream_join(stream);
	if (stream->tail)
		stream->tail->references++;
	return stream->tail;
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

/* Returns at once: pending work of the stream still completes. */
CUresult do_cuStreamDestroy_v2(CUstream handle)
{
	struct stream *stream = stream_get(handle);

	if (!stream || stream->legacy || stream->owner)
		return CUDA_ERROR_INVALID_HANDLE;
	capture_destroy(stream);
	stream->destroyed = true;
	if (!stream->pending)
		stream_delete(stream);
	return CUDA_SUCCESS;
}

/* A captured stream cannot be synchronized or queried: that is an error and ends the capture. */
static CUresult find_idle(CUstream handle, struct stream **stream)
{
	CUresult result = stream_find(handle, stream);

	if (result || !(*stream)->capture)
		return result;
	capture_invalidate((*stream)->capture);
	return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
}

CUresult do_cuStreamSynchronize(CUstream handle)
{
	struct stream *stream;
	CUresult result = find_idle(handle, &stream);
	struct op *join;

	if (result)
		return result;
	join = stream_join(stream);
	op_wait(join);
	op_put(join);
	pools_trim(stream->context->device);
	return stream->context->broken;
}

CUresult do_cuStreamQuery(CUstream handle)
{
	struct stream *stream;
	CUresult result = find_idle(handle, &stream);

	if (result)
		return result;
	if (op_pending(stream->tail) ||
		(stream->legacy && op_pending(stream->context->barrier[BARRIER_LEGACY].op)))
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

CUresult do_cuStreamGetDevice(CUstream handle, CUdevice *device)
{
	struct stream *stream = stream_get(handle);

	if (!stream)
		return CUDA_ERROR_INVALID_HANDLE;
	*device = stream->context->device->ordinal;
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
