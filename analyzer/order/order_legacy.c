/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The legacy default stream.
 *
 * "When an action is taken in the legacy stream such as a kernel launch or cudaStreamWaitEvent(),
 * the legacy stream first waits on all blocking streams, the action is queued in the legacy stream,
 * and then all blocking streams wait on the legacy stream" (CUDA runtime API, "Stream
 * synchronization behavior").
 *
 * "A copy (in the implicit NULL stream) between the memories of two different devices does not
 * start until all commands previously issued to either device have completed and runs to completion
 * before any commands issued after the copy to either device can start" (CUDA C++ Programming
 * Guide, "Peer-to-Peer Memory Copy").  On two H200s (driver 580.159) that holds for the legacy and
 * the blocking streams of both devices, for cudaMemcpyPeer, cudaMemcpy and their Async forms, from
 * 4 KiB to 16 MiB, with and without peer access.  It does not hold for non-blocking streams,
 * although cuda_runtime_api.h says of cudaMemcpyPeer "serialized with respect to all pending and
 * future asynchronous work".  Therefore such a copy counts as work of the legacy streams of both
 * devices.
 */
#include "order_steps.h"

/* Orders the call after a context's blocking streams that changed after that number. */
static int need_blocking_streams(struct order *order, const struct walk_call *call,
	const struct order_context *context, uint32_t after)
{
	int rc = 0;

	for (const struct order_stream *s = context->newest_blocking;
		s && s->changed > after && !rc; s = s->older_blocking)
		rc = order_need(order, call, &s->last, ORDER_LEGACY) ||
			order_need_pending(order, call, s, ORDER_LEGACY);
	for (size_t i = 0; i < context->orphan_count && !rc; i++)
		if (context->orphan[i].blocking && context->orphan[i].changed > after)
			rc = order_need(order, call, &context->orphan[i].state, ORDER_LEGACY);
	if (rc)
		return -1;
	order_clock_join(&order->joiner, &order->now, &order->now_own, context->gone_blocking,
		ORDER_GUARANTEED);
	return 0;
}

/* Streams unchanged since the legacy stream's last operation are already ordered before it. */
static int join_blocking_streams(struct order *order, const struct walk_call *call,
	const struct order_stream *legacy, int overlap)
{
	struct order_context *context = legacy->context;
	int rc;

	/* The legacy stream's own key covers them. */
	if (!overlap)
		order->joiner.implied = context->key | ORDER_BLOCKING;
	rc = need_blocking_streams(order, call, context, legacy->last.own.seq);
	order->joiner.implied = 0;
	for (size_t i = 0; i < context->orphan_count; i++)
		context->orphan[i].blocking = 0;
	if (!overlap)
		order->now_own.seq = order->last_seq;
	return rc;
}

/*
 * Returns the legacy work that a blocking stream's next operation, but not its last, is ordered
 * after.
 */
static const struct order_state *unseen_legacy(const struct order_stream *stream)
{
	const struct order_stream *legacy = stream->context->legacy;

	if (!stream_is_blocking(stream->kind) || !legacy || !legacy->last.call ||
		legacy->last.call == stream->legacy_seen)
		return NULL;
	return &legacy->last;
}

/* Likewise for work of other contexts, which the legacy stream is ordered after too. */
static const struct order_state *unseen_peer(const struct order_stream *stream)
{
	const struct order_state *peer = &stream->context->peer;

	if ((stream->kind != STREAM_KIND_LEGACY && !stream_is_blocking(stream->kind)) ||
		!peer->call || peer->call == stream->peer_seen)
		return NULL;
	return peer;
}

int order_has_legacy_news(const struct order_stream *stream)
{
	return unseen_legacy(stream) || unseen_peer(stream);
}

/*
 * Returns the other context that a copy in the legacy stream reads or writes, given its id; NULL if
 * none.
 */
static struct order_context *other_context(struct order *order, const struct walk_call *call,
	const struct order_stream *stream, int64_t id)
{
	if (!id || stream->kind != STREAM_KIND_LEGACY || id == stream->context->id)
		return NULL;
	return order_need_context(order, id, call);
}

static int need_other_context(struct order *order, const struct walk_call *call,
	const struct order_context *context, int overlap)
{
	struct order_epoch all = { context->key + 1, context->key, order->last_seq };
	uint32_t seen = order_clock_reach(order->now, context->key, ORDER_GUARANTEED);
	uint32_t legacy = order_clock_reach(order->now, context->key + 1, ORDER_GUARANTEED);
	int rc;

	if (legacy > seen)
		seen = legacy;
	order->joiner.implied = overlap ? 0 : context->key | ORDER_BLOCKING;
	rc = order_need(order, call, &context->peer, ORDER_LEGACY);
	if (!rc && context->legacy && context->legacy->changed > seen)
		rc = order_need(order, call, &context->legacy->last, ORDER_LEGACY) ||
			order_need_pending(order, call, context->legacy, ORDER_LEGACY);
	if (!rc)
		rc = need_blocking_streams(order, call, context, seen);
	order->joiner.implied = 0;
	if (rc || overlap)
		return rc ? -1 : 0;
	order_clock_add(&order->joiner, &order->now, &order->now_own, &all, ORDER_GUARANTEED);
	return 0;
}

static int need_legacy_before_moved(struct order *order, const struct walk_call *call,
	const struct order_stream *legacy)
{
	return legacy &&
			(order_need(order, call, &legacy->last, ORDER_LEGACY) ||
				order_need_pending(order, call, legacy, ORDER_LEGACY))
		? -1
		: 0;
}

int order_see_moved(struct order *order, const struct walk_call *call)
{
	struct order_stream *legacy =
		call->stream_kind == STREAM_KIND_LEGACY ? order_need_stream(order, call) : NULL;
	const struct order_stream *moved = legacy ? legacy->context->moved : NULL;

	if (!moved || moved->last.call == legacy->moved_seen)
		return 0;
	legacy->moved_seen = moved->last.call;
	return order_add_pending(order, legacy, moved->last, ORDER_LEGACY);
}

int order_need_legacy(struct order *order, const struct walk_call *call,
	struct order_stream *stream, int overlap)
{
	const struct order_state *legacy = unseen_legacy(stream), *peer = unseen_peer(stream);
	const struct order_context *to = other_context(order, call, stream, call->dst_context);
	const struct order_context *from = other_context(order, call, stream, call->src_context);

	if (stream->kind == STREAM_KIND_MOVED)
		return need_legacy_before_moved(order, call, stream->context->legacy);
	if ((legacy && order_need(order, call, legacy, ORDER_LEGACY)) ||
		(peer && order_need(order, call, peer, ORDER_LEGACY)) ||
		(stream->kind == STREAM_KIND_LEGACY &&
			join_blocking_streams(order, call, stream, overlap)) ||
		(to && need_other_context(order, call, to, overlap)) ||
		(from && from != to && need_other_context(order, call, from, overlap)))
		return -1;
	if (legacy)
		stream->legacy_seen = legacy->call;
	if (peer)
		stream->peer_seen = peer->call;
	return 0;
}

void order_keep_legacy(struct order *order, const struct walk_call *call,
	const struct order_stream *stream)
{
	struct order_context *to = other_context(order, call, stream, call->dst_context);
	struct order_context *from = other_context(order, call, stream, call->src_context);

	if (to)
		order_keep(&to->peer, stream->last);
	if (from)
		order_keep(&from->peer, stream->last);
}
