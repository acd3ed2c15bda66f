/* SPDX-License-Identifier: Apache-2.0 */
#include "order.h"

#include <stdlib.h>

#include "array.h"
#include "order_agents.h"

const char *const order_reason_names[ORDER_REASONS] = {
	[ORDER_STREAM] = "stream",
	[ORDER_EVENT] = "event",
	[ORDER_LEGACY] = "legacy",
	[ORDER_WAIT] = "wait",
	[ORDER_HOST] = "host",
};

/* A stream that only ever waits becomes a node now and then, so that its list stays short. */
#define ORDER_MAX_WAITS 64

struct order_state order_later(struct order_state a, struct order_state b)
{
	return b.op && (!a.op || b.end > a.end) ? b : a;
}

static int need(struct order *order, const struct walk_call *call, struct order_state state,
	enum order_reason reason)
{
	if (!state.call || state.call == call->id)
		return 0;
	order->needs[reason] = order_later(order->needs[reason], state);
	return order->edge(order->arg, call->id, state.call, reason);
}

/* The stepped call as a node: after all it needs, and its own operation with it. */
static struct order_state node_of(struct order *order, const struct walk_call *call)
{
	struct order_state state = ORDER_NOTHING;

	if (call->op && call->op_end != WALK_NEVER)
		state = (struct order_state){ .op = call->op, .end = call->op_end };
	for (int i = 0; i < ORDER_REASONS; i++)
		state = order_later(state, order->needs[i]);
	state.call = call->id;
	order->node = 1;
	return state;
}

/* The legacy stream first waits for all blocking streams of its context. */
static int need_blocking_streams(struct order *order, const struct walk_call *call,
	struct order_context *context)
{
	int rc = 0;

	for (size_t i = 0; i < context->changed_count && !rc; i++) {
		const struct order_stream *stream = context->changed[i];

		rc = need(order, call, stream->last, ORDER_LEGACY);
		for (size_t k = 0; k < stream->wait_count && !rc; k++)
			rc = need(order, call, stream->waits[k], ORDER_LEGACY);
	}
	for (size_t i = 0; i < context->orphan_count && !rc; i++) {
		if (context->orphan[i].blocking)
			rc = need(order, call, context->orphan[i].state, ORDER_LEGACY);
	}
	order_forget_changes(context);
	return rc;
}

/* The legacy work a blocking stream's next operation is after and its last is not. */
static struct order_state legacy_news(const struct order_stream *stream)
{
	const struct order_stream *legacy = stream->context->legacy;

	if (!stream_is_blocking(stream->kind) || !legacy ||
		legacy->last.call == stream->legacy_seen)
		return ORDER_NOTHING;
	return legacy->last;
}

static struct order_state host_news(struct order *order, const struct order_stream *stream,
	int64_t thread)
{
	const struct order_thread *t = idmap_get(&order->threads, thread);

	return t && t->last.call != stream->host_seen ? t->last : ORDER_NOTHING;
}

/* Makes the call the stream's next node. */
static int submit(struct order *order, struct order_stream *stream, const struct walk_call *call)
{
	struct order_state legacy = legacy_news(stream);
	struct order_state host = host_news(order, stream, call->thread);
	int rc = need(order, call, stream->last, ORDER_STREAM);

	for (size_t i = 0; i < stream->wait_count && !rc; i++)
		rc = need(order, call, stream->waits[i], ORDER_EVENT);
	if (!rc && stream->kind == STREAM_KIND_LEGACY)
		rc = need_blocking_streams(order, call, stream->context);
	if (rc || need(order, call, legacy, ORDER_LEGACY) ||
		need(order, call, host, ORDER_HOST))
		return -1;
	if (legacy.call)
		stream->legacy_seen = legacy.call;
	if (host.call)
		stream->host_seen = host.call;
	stream->wait_count = 0;
	stream->last = node_of(order, call);
	return order_note_change(stream);
}

static struct order_thread *need_thread(struct order *order, const struct walk_call *call)
{
	return idmap_need(&order->threads, call->thread, sizeof(struct order_thread));
}

/*
 * A synchronous copy after which the thread knows it complete: "For transfers from device memory
 * to either pageable or pinned host memory, the function returns only once the copy has
 * completed", and the like for pinned to device and host to host (CUDA runtime API, "API
 * synchronization behavior").  A pageable source may still be on its way when the call returns.
 */
static int copy_is_complete(const struct walk_call *call)
{
	if (call->kind != KIND_COPY)
		return 0;
	return call->direction == COPY_D2H || call->direction == COPY_H2H ||
	       (call->direction == COPY_H2D && call->src == MEMORY_PINNED);
}

static int step_submit(struct order *order, const struct walk_call *call)
{
	struct order_stream *stream = order_need_stream(order, call);
	struct order_thread *thread;

	if (!stream)
		return call->stream ? -1 : 0;
	if (submit(order, stream, call))
		return -1;
	if (!copy_is_complete(call))
		return 0;
	thread = need_thread(order, call);
	if (!thread)
		return -1;
	thread->last = stream->last;
	return 0;
}

/* The event takes the state of the stream; where that is one node, the event is that node. */
static int step_record(struct order *order, const struct walk_call *call)
{
	struct order_stream *stream = order_need_stream(order, call);
	struct order_event *event;

	if (!call->event || !call->stream)
		return 0;
	event = idmap_need(&order->events, call->event, sizeof(*event));
	if (!stream || !event)
		return -1;
	if (stream->kind == STREAM_KIND_LEGACY || stream->wait_count ||
		legacy_news(stream).call || host_news(order, stream, call->thread).call) {
		if (submit(order, stream, call))
			return -1;
	}
	event->state = stream->last;
	event->stream = stream->id;
	return 0;
}

static int add_wait(struct order_stream *stream, struct order_state state)
{
	struct order_state *more;

	for (size_t i = 0; i < stream->wait_count; i++) {
		if (stream->waits[i].call == state.call)
			return 0;
	}
	more = array_room(stream->waits, stream->wait_count, sizeof(*more));
	if (!more)
		return -1;
	stream->waits = more;
	stream->waits[stream->wait_count++] = state;
	return order_note_change(stream);
}

/* "If cudaEventRecord() has not been called on event, this call acts as if all work captured by
 * event has already completed" (CUDA driver API, cuStreamWaitEvent). */
static int step_wait(struct order *order, const struct walk_call *call)
{
	const struct order_event *event = idmap_get(&order->events, call->event);
	struct order_stream *stream = order_need_stream(order, call);

	if (!stream)
		return call->stream ? -1 : 0;
	if (!event)
		return 0;
	if (event->state.call && event->stream != stream->id && add_wait(stream, event->state))
		return -1;
	if (stream->kind == STREAM_KIND_LEGACY || stream->wait_count > ORDER_MAX_WAITS)
		return submit(order, stream, call);
	return 0;
}

/* A host wait becomes a node once it waits for something the thread did not know complete. */
static int join(struct order *order, const struct walk_call *call, struct order_state state)
{
	struct order_thread *thread = need_thread(order, call);

	if (!thread)
		return -1;
	if (!state.call)
		return 0;
	if (!order->node) {
		order->node = 1;
		if (need(order, call, thread->last, ORDER_HOST))
			return -1;
	}
	if (need(order, call, state, ORDER_WAIT))
		return -1;
	return 0;
}

static int join_stream(struct order *order, const struct walk_call *call,
	struct order_stream *stream)
{
	if (!stream->wait_count && stream->joined == stream->last.call &&
		stream->joined_by == call->thread)
		return 0;
	if (join(order, call, stream->last))
		return -1;
	for (size_t i = 0; i < stream->wait_count; i++) {
		if (join(order, call, stream->waits[i]))
			return -1;
	}
	stream->joined = stream->last.call;
	stream->joined_by = call->thread;
	return 0;
}

static int join_context(struct order *order, const struct walk_call *call,
	struct order_context *context, int blocking_only)
{
	for (size_t i = 0; i < context->stream_count; i++) {
		struct order_stream *stream = context->stream[i];

		if (blocking_only && stream->kind != STREAM_KIND_LEGACY &&
			!stream_is_blocking(stream->kind))
			continue;
		if (join_stream(order, call, stream))
			return -1;
	}
	for (size_t i = 0; i < context->orphan_count; i++) {
		if ((!blocking_only || context->orphan[i].blocking) &&
			join(order, call, context->orphan[i].state))
			return -1;
	}
	if (!blocking_only)
		context->orphan_count = 0;
	return 0;
}

static int join_event(struct order *order, const struct walk_call *call)
{
	struct order_event *event = idmap_get(&order->events, call->event);

	if (!event || (event->joined == event->state.call && event->joined_by == call->thread))
		return 0;
	event->joined = event->state.call;
	event->joined_by = call->thread;
	return join(order, call, event->state);
}

static int join_what_it_names(struct order *order, const struct walk_call *call)
{
	struct order_stream *stream;
	struct order_context *context;

	switch (call->kind) {
	case KIND_STREAM_SYNC:
	case KIND_STREAM_QUERY:
		stream = order_need_stream(order, call);
		if (!stream)
			return call->stream ? -1 : 0;
		if (stream->kind == STREAM_KIND_LEGACY)
			return join_context(order, call, stream->context, 1);
		return join_stream(order, call, stream);
	case KIND_CONTEXT_SYNC:
		context = idmap_get(&order->contexts, call->context);
		return context ? join_context(order, call, context, 0) : 0;
	default:
		return join_event(order, call);
	}
}

static int step_join(struct order *order, const struct walk_call *call)
{
	struct order_thread *thread;

	if (join_what_it_names(order, call))
		return -1;
	if (!order->node)
		return 0;
	thread = need_thread(order, call);
	if (!thread)
		return -1;
	thread->last = node_of(order, call);
	return 0;
}

static int step_kind(struct order *order, const struct walk_call *call)
{
	if (walk_submits(call))
		return step_submit(order, call);
	switch (call->kind) {
	case KIND_EVENT_RECORD:
		return step_record(order, call);
	case KIND_STREAM_WAIT:
		return step_wait(order, call);
	case KIND_STREAM_SYNC:
	case KIND_STREAM_QUERY:
	case KIND_EVENT_SYNC:
	case KIND_EVENT_QUERY:
	case KIND_EVENT_ELAPSED:
	case KIND_CONTEXT_SYNC:
		return step_join(order, call);
	case KIND_STREAM_DESTROY:
		return order_drop_stream(order, call->stream);
	case KIND_EVENT_DESTROY:
		free(idmap_take(&order->events, call->event));
		return 0;
	default:
		return 0;
	}
}

int order_step(struct order *order, const struct walk_call *call)
{
	for (int i = 0; i < ORDER_REASONS; i++)
		order->needs[i] = ORDER_NOTHING;
	order->node = 0;
	return call->result ? 0 : step_kind(order, call);
}

struct order_state order_of_stream(const struct order *order, const struct walk_call *call,
	int legacy)
{
	const struct order_stream *stream = idmap_get(&order->streams, call->stream);
	const struct order_context *context = idmap_get(&order->contexts, call->stream_context);
	struct order_state state = stream ? stream->last : ORDER_NOTHING;

	for (size_t i = 0; stream && i < stream->wait_count; i++)
		state = order_later(state, stream->waits[i]);
	if (!context || !legacy)
		return state;
	if (stream_is_blocking(call->stream_kind) && context->legacy)
		state = order_later(state, context->legacy->last);
	for (size_t i = 0; call->stream_kind == STREAM_KIND_LEGACY && i < context->changed_count;
		i++)
		state = order_later(state, context->changed[i]->last);
	return state;
}

struct order_state order_of_event(const struct order *order, const struct walk_call *call)
{
	const struct order_event *event = idmap_get(&order->events, call->event);

	return event ? event->state : ORDER_NOTHING;
}

void order_release(struct order *order)
{
	idmap_release(&order->streams, order_free_stream);
	idmap_release(&order->events, free);
	idmap_release(&order->contexts, order_free_context);
	idmap_release(&order->threads, free);
}
