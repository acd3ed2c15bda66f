/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The order of streams and events.
 */
#include <stdlib.h>

#include "memory.h"
#include "unnamed_memory.h"
#include "order_steps.h"

/*
 * A stream that waits often without other work becomes a node after this many waits, so that its
 * list stays short.
 */
#define ORDER_MAX_PENDING 64

int order_is_contested(const struct order_stream *stream, const struct walk_call *call)
{
	return stream->last.call && stream->last_thread != call->thread &&
		stream->last_exit > call->enter;
}

int order_add_pending(struct order *order, struct order_stream *stream, struct order_state state,
	enum order_reason reason)
{
	struct order_pending *pending;
	uint32_t seq;

	for (size_t i = 0; state.call && i < stream->pending_count; i++)
		if (stream->pending[i].state.call == state.call &&
			stream->pending[i].reason == reason)
			return 0;
	seq = order_next(order);
	if (!seq)
		return -1;
	pending = array_push(stream->pending, stream->pending_count);
	*pending = (struct order_pending){ .state = ORDER_NOTHING, .reason = reason };
	order_keep(&pending->state, state);
	order_note_change(stream, seq);
	return 0;
}

int order_need_pending(struct order *order, const struct walk_call *call,
	const struct order_stream *stream, enum order_reason as)
{
	int rc = 0;

	for (size_t i = 0; i < stream->pending_count && !rc; i++)
		rc = order_need(order, call, &stream->pending[i].state,
			as == ORDER_REASONS ? stream->pending[i].reason : as);
	return rc;
}

/* Returns the context's barrier if the stream's last node is not ordered after it. */
static const struct order_state *pending_barrier(const struct order_state *barrier, int64_t seen)
{
	return barrier->call && barrier->call != seen ? barrier : NULL;
}

static int thread_observed_more(const struct order_stream *stream,
	const struct order_thread *thread)
{
	return thread->last.own.seq &&
		order_clock_strength(stream->last.clock, &stream->last.own, &thread->last.own) <
		ORDER_GUARANTEED;
}

static int has_host_dependency(const struct order *order, const struct order_stream *stream,
	const struct order_thread *thread)
{
	return thread &&
		(thread_observed_more(stream, thread) ||
			!order_knows_reports(order, stream->last.clock, thread));
}

static int need_host(struct order *order, const struct walk_call *call,
	const struct order_stream *stream)
{
	const struct order_thread *thread = id_map_get(&order->threads, call->thread);

	if (!thread)
		return 0;
	if (thread_observed_more(stream, thread) &&
		order_need(order, call, &thread->last, ORDER_HOST))
		return -1;
	order_need_reports(order, thread);
	return 0;
}

static int need_dependencies(struct order *order, struct order_stream *stream,
	const struct walk_call *call, int overlap)
{
	const struct order_state *barrier =
		pending_barrier(&stream->context->barrier, stream->barrier_seen);

	if (overlap)
		order_learn(order, &order->now, &order->now_own, &stream->last, ORDER_UNKNOWN);
	if (order_need_pending(order, call, stream, ORDER_REASONS) ||
		order_need_legacy(order, call, stream, overlap) ||
		(barrier && order_need(order, call, barrier, ORDER_EVENT)) ||
		need_host(order, call, stream))
		return -1;
	if (barrier)
		stream->barrier_seen = barrier->call;
	if (call->contested & CONTESTED_STREAM)
		order_doubt(order, &order->now);
	return 0;
}

/*
 * Later work is also ordered after the previous node, if the call overlaps that.  Adds a reference.
 */
static int add_overlapped(struct order *order, const struct walk_call *call,
	const struct order_stream *stream, int overlap, struct order_state *state)
{
	struct order_state later = order_later(*state, stream->last);

	order_clock_ref(state->clock);
	if (!overlap)
		return 0;
	state->op = later.op;
	state->end = later.end;
	if (order_edge(order, call, &stream->last, ORDER_AFTERWARDS))
		return -1;
	order_learn(order, &state->clock, NULL, &stream->last, ORDER_GUARANTEED);
	return 0;
}

int order_submit(struct order *order, struct order_stream *stream, const struct walk_call *call,
	int overlap)
{
	struct order_state from = overlap ? stream->before : stream->last, before, state;
	int rc;

	order_begin(order, &from);
	if (order_need(order, call, &from, ORDER_STREAM) ||
		need_dependencies(order, stream, call, overlap))
		return -1;
	for (size_t i = 0; i < stream->pending_count; i++)
		order_drop(&stream->pending[i].state);
	stream->pending_count = 0;
	state = before = order_node(order, call);
	before.own = order->now_own;
	before.start = 1;
	state.own = stream->last.own;
	state.own.seq = order_next(order);
	rc = add_overlapped(order, call, stream, overlap, &state);
	order_keep(&stream->before, before);
	order_keep(&stream->last, state);
	order_keep_legacy(order, call, stream);
	order_clock_unref(state.clock);
	if (rc || !state.own.seq)
		return -1;
	order->epoch = state.own;
	order->overlaps = overlap;
	stream->last_exit = call->exit;
	stream->last_thread = call->thread;
	stream->last_is_kernel = kind_family(call->kind) == FAMILY_launch;
	order_note_change(stream, state.own.seq);
	return 0;
}

/*
 * Adds what a thread observes by a synchronous copy or memset (CUDA runtime API, "API
 * synchronization behavior").  To the host: "returns only once the copy has completed".  Pinned to
 * device: "synchronous with respect to the host"; between host memory: "fully synchronous".
 * Pageable to device: "a stream sync is performed before the copy is initiated ... but the DMA to
 * final destination may not have completed".  Device to device: "no host-side synchronization".
 * Memsets: "asynchronous with respect to the host, except when the target is pinned host memory or
 * a Unified Memory region".
 */
static int observe_copy(struct order *order, const struct walk_call *call,
	const struct order_stream *stream)
{
	struct order_state start = stream->before;

	switch (call->direction) {
	case COPY_D2H:
	case COPY_H2H:
		return order_let_know(order, call, &stream->last, ORDER_GUARANTEED);
	case COPY_H2D:
		if (call->src == MEMORY_PINNED)
			return order_let_know(order, call, &stream->last, ORDER_GUARANTEED);
		return call->src == MEMORY_PAGEABLE
			? order_let_know(order, call, &start, ORDER_GUARANTEED)
			: order_let_know(order, call, &stream->last, ORDER_UNKNOWN);
	case COPY_D2D:
		return 0;
	default:
		return order_let_know(order, call, &stream->last, ORDER_UNKNOWN);
	}
}

/*
 * "For transfers between device memory and pageable host memory, the function might be synchronous
 * with respect to host": it was, if the operation ended before the call returned.  If that is
 * unknown, it may have been.
 */
static int observe_async_copy(struct order *order, const struct walk_call *call,
	const struct order_stream *stream)
{
	if (call->src != MEMORY_PAGEABLE && call->dst != MEMORY_PAGEABLE)
		return 0;
	if (call->unknown)
		return order_let_know(order, call, &stream->last, ORDER_UNKNOWN);
	if (!call->op || call->op_end == WALK_NEVER || call->exit == WALK_NEVER ||
		call->op_end > call->exit)
		return 0;
	return order_let_know(order, call, &stream->last, ORDER_INCIDENTAL);
}

/*
 * Host threads may act on what the device reports without a call: by a host function, a written
 * value, or memory that host and device share.
 */
static int is_visible_to_host(const struct walk_call *call)
{
	return kind_has(call->kind, K_TELLS_HOST) || call->host_visible ||
		call->content & CONTENT_HOST;
}

int order_tell_host(struct order *order, const struct walk_call *call,
	const struct order_stream *stream)
{
	int64_t at = call->op_end;

	if (!is_visible_to_host(call))
		return 0;
	if (call->ran != WALK_NEVER && kind_family(call->kind) == FAMILY_callback)
		return order_report_run(order, call, call->ran, &stream->last);
	/* A node runs before the graph has ended, after all earlier work of the stream. */
	if (call->ran != WALK_NEVER && order_report_run(order, call, call->ran, &stream->before))
		return -1;
	/* Without a record it began when the work that it comes after had ended. */
	if (at == WALK_NEVER)
		at = stream->last.end;
	/* Unknown work may have ended at once. */
	if (at == WALK_NEVER || at < call->enter)
		at = call->enter;
	return order_report_wait(order, call, at, &stream->last);
}

/*
 * The stream, or a kernel, waits for a value in memory (cuStreamWaitValue32), which is outside
 * CUDA's own order: it may be ordered after anything.
 */
static int waits_for_others(const struct walk_call *call)
{
	return kind_has(call->kind, K_OUTSIDE) || call->outside;
}

/*
 * A kernel launched with programmatic stream serialization may begin before the previous kernel of
 * its stream has ended (cuda.h, CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION: the launch
 * "opportunistically" overlaps).  Other operations complete first.
 */
static int overlaps_last(const struct order_stream *stream, const struct walk_call *call)
{
	return (call->attributes & LAUNCH_PROGRAMMATIC && stream->last_is_kernel) ||
		order_is_contested(stream, call);
}

/* Events of launch attributes are recorded when blocks begin or trigger them, not at completion. */
static int record_early(struct order *order, const struct walk_call *call, int64_t id,
	const struct order_stream *stream)
{
	struct order_event *event = id ? order_need_event(order, id) : NULL;

	if (!id)
		return 0;
	if (!event)
		return -1;
	event->recorded = 1;
	event->record = call->id;
	event->stream = 0;
	order_keep(&event->state, stream->before);
	order_learn(order, &event->state.clock, &event->state.own, &stream->last, ORDER_UNKNOWN);
	return 0;
}

int order_step_submit(struct order *order, const struct walk_call *call)
{
	struct order_stream *stream = order_need_stream(order, call);

	if (!stream)
		return call->stream ? -1 : 0;
	if (waits_for_others(call)) {
		struct order_state others = ORDER_NOTHING;
		int rc;

		order_doubt(order, &others.clock);
		rc = order_add_pending(order, stream, others, ORDER_EVENT);
		order_clock_unref(others.clock);
		if (rc)
			return -1;
	}
	if (order_submit(order, stream, call, overlaps_last(stream, call)))
		return -1;
	if (call->attributes &&
		(record_early(order, call, call->launch_event, stream) ||
			record_early(order, call, call->completion_event, stream)))
		return -1;
	if (order_tell_host(order, call, stream))
		return -1;
	if (call_is_async_copy(call->kind))
		return observe_async_copy(order, call, stream);
	if (call_is_sync_copy(call->kind))
		return observe_copy(order, call, stream);
	if (call_is_sync_set(call->kind) &&
		(call->dst == MEMORY_PINNED || call->dst == MEMORY_MANAGED))
		return order_let_know(order, call, &stream->last, ORDER_GUARANTEED);
	return 0;
}

/* Addresses have at most 48 bits on all supported hosts. */
static int64_t freed_id(const struct walk_call *call)
{
	return (int64_t)((uint64_t)call->process << 48 ^ (uint64_t)call->ptr);
}

/*
 * "Inserts an allocation operation into hStream"; "the allocator may refer to internal stream
 * ordering as well as inter-stream dependencies ... may also insert inter-stream dependencies": an
 * allocation that reuses memory comes after its free, but might have got other memory.
 */
int order_step_alloc(struct order *order, const struct walk_call *call)
{
	struct order_stream *stream = order_need_stream(order, call);
	struct order_event *freed = id_map_take(&order->freed, freed_id(call));
	int rc = 0;

	if (stream && freed && freed->stream != stream->id)
		rc = order_add_pending(order, stream, freed->state, ORDER_REUSE);
	if (freed)
		order_free_event(freed);
	if (!stream)
		return call->stream ? -1 : 0;
	return rc ? rc : order_submit(order, stream, call, order_is_contested(stream, call));
}

int order_step_free(struct order *order, const struct walk_call *call)
{
	struct order_stream *stream = order_need_stream(order, call);
	struct order_event *freed;

	if (!stream)
		return call->stream ? -1 : 0;
	if (order_submit(order, stream, call, order_is_contested(stream, call)))
		return -1;
	if (!call->ptr)
		return 0;
	freed = id_map_need(&order->freed, freed_id(call), sizeof(*freed));
	freed->stream = stream->id;
	order_keep(&freed->state, stream->last);
	return 0;
}

/*
 * "Captures in hEvent the contents of hStream at the time of this call" (cuEventRecord).  If the
 * contents are one node, the event refers to that node.
 */
int order_step_record(struct order *order, const struct walk_call *call)
{
	struct order_stream *stream = order_need_stream(order, call);
	struct order_event *event;
	int contested;

	if (!call->event || !call->stream)
		return 0;
	event = order_need_event(order, call->event);
	if (!stream || !event)
		return -1;
	contested = order_is_contested(stream, call);
	if (stream->kind == STREAM_KIND_LEGACY || stream->pending_count || contested ||
		call->contested & CONTESTED_STREAM || order_has_legacy_news(stream) ||
		pending_barrier(&stream->context->barrier, stream->barrier_seen) ||
		has_host_dependency(order, stream, id_map_get(&order->threads, call->thread))) {
		if (order_submit(order, stream, call, contested))
			return -1;
	}
	stream->last_is_kernel = 0;
	event->recorded = 1;
	event->record = call->id;
	event->stream = stream->id;
	order_keep(&event->state, contested ? stream->before : stream->last);
	return 0;
}

/* An event that others may record may be ordered after anything. */
static int add_foreign(struct order *order, struct order_stream *stream)
{
	struct order_state others = ORDER_NOTHING;
	int rc;

	order_doubt(order, &others.clock);
	rc = order_add_pending(order, stream, others, ORDER_EVENT);
	order_clock_unref(others.clock);
	return rc;
}

/*
 * Another thread or process may have recorded the event at the same time: the wait is for one
 * record or the other.
 */
static int add_uncertain(struct order *order, struct order_stream *stream,
	const struct order_event *event)
{
	struct order_state state = ORDER_NOTHING;
	int rc;

	order_learn(order, &state.clock, NULL, &event->state, ORDER_UNKNOWN);
	order_doubt(order, &state.clock);
	rc = order_add_pending(order, stream, state, ORDER_EVENT);
	order_clock_unref(state.clock);
	return rc;
}

/* "Before the first call to cuEventRecord(), an event represents an empty set of work"
 * (cuda.h, cuEventRecord). */
int order_step_wait(struct order *order, const struct walk_call *call)
{
	const struct order_event *event = id_map_get(&order->events, call->event);
	struct order_stream *stream = order_need_stream(order, call);
	int rc = 0;

	if (!stream)
		return call->stream ? -1 : 0;
	stream->last_is_kernel = 0;
	if (event && event->recorded && (event->foreign || call->contested & CONTESTED_EVENT))
		rc = add_uncertain(order, stream, event);
	else if (event && event->state.call && event->stream != stream->id)
		rc = order_add_pending(order, stream, event->state, ORDER_EVENT);
	if (!rc && call->event && (!event || (event->foreign && !event->recorded)))
		rc = add_foreign(order, stream);
	if (rc || !event || !event->recorded)
		return rc;
	if (stream->kind == STREAM_KIND_LEGACY || stream->pending_count > ORDER_MAX_PENDING)
		return order_submit(order, stream, call, order_is_contested(stream, call));
	return 0;
}

/* "Captures in hEvent all the activities of the context hCtx at the time of this call"
 * (cuCtxRecordEvent). */
static int need_context(struct order *order, const struct walk_call *call,
	struct order_context *context, enum order_reason reason)
{
	struct order_epoch all = { context->key, context->key, order->last_seq };
	uint32_t seen;
	int rc = 0;

	if (order_need(order, call, &context->barrier, reason) ||
		order_need(order, call, &context->peer, reason))
		return -1;
	seen = order_clock_reach(order->now, context->key, ORDER_GUARANTEED);
	order->joiner.implied = context->key;
	for (const struct order_stream *s = context->newest; s && s->changed > seen && !rc;
		s = s->older)
		rc = order_need(order, call, &s->last, reason) ||
			order_need_pending(order, call, s, reason);
	for (size_t i = 0; i < context->orphan_count && !rc; i++)
		if (context->orphan[i].changed > seen)
			rc = order_need(order, call, &context->orphan[i].state, reason);
	if (!rc)
		order_clock_join(&order->joiner, &order->now, &order->now_own, context->gone,
			ORDER_GUARANTEED);
	order->joiner.implied = 0;
	if (rc)
		return -1;
	order_clock_add(&order->joiner, &order->now, &order->now_own, &all, ORDER_GUARANTEED);
	return 0;
}

/*
 * The streams of a green context are unknown, and so is the context of a call that was made without
 * a current one.
 */
static int has_unknown_streams(const struct walk_call *call)
{
	return !call->context || call->green;
}

int order_step_context_record(struct order *order, const struct walk_call *call)
{
	struct order_context *context = id_map_get(&order->contexts, call->context);
	struct order_event *event = call->event ? order_need_event(order, call->event) : NULL;

	if (!event)
		return call->event ? -1 : 0;
	order_begin(order, &ORDER_NOTHING);
	if (context && need_context(order, call, context, ORDER_STREAM))
		return -1;
	if (has_unknown_streams(call))
		order_doubt(order, &order->now);
	event->recorded = 1;
	event->record = call->id;
	event->stream = 0;
	order_keep(&event->state, order_node(order, call));
	return 0;
}

/* Orders work submitted to the context from now on after the event, as far as is known. */
static int block_context(struct order *order, const struct walk_call *call,
	struct order_context *context, const struct order_event *event)
{
	order_begin(order, &ORDER_NOTHING);
	if (order_need(order, call, &context->barrier, ORDER_STREAM))
		return -1;
	if (has_unknown_streams(call))
		order_doubt(order, &order->now);
	else if (order_need(order, call, &event->state, ORDER_EVENT))
		return -1;
	order_keep(&context->barrier, order_node(order, call));
	return 0;
}

/* "Makes all future work submitted to context hCtx wait for all work captured in hEvent." */
int order_step_context_wait(struct order *order, const struct walk_call *call)
{
	struct order_context *context =
		call->context ? order_need_context(order, call->context, call) : NULL;
	const struct order_event *event = id_map_get(&order->events, call->event);
	int rc = 0;

	if (call->context && !context)
		return -1;
	if (!event || !event->state.call)
		return 0;
	if (!has_unknown_streams(call))
		return block_context(order, call, context, event);
	for (size_t i = 0; i < order->contexts.size && !rc; i++) {
		struct order_context *other = order->contexts.slot[i].object;

		if (other && other->process == call->process)
			rc = block_context(order, call, other, event);
	}
	return rc;
}
