/* SPDX-License-Identifier: Apache-2.0 */
#include "order_cover.h"

#include "order_steps.h"
#include "scope.h"

static void keep(struct order_cover *cover, const struct order_state *state)
{
	cover->clock = order_clock_ref(state->clock);
	cover->own = state->own;
}

/* Covers the events that the stream waits for too, although no operation followed them yet. */
static void cover_stream(struct order *order, const struct order_stream *stream,
	struct order_cover *cover)
{
	keep(cover, &stream->last);
	for (size_t i = 0; i < stream->pending_count; i++)
		order_learn(order, &cover->clock, NULL, &stream->pending[i].state,
			ORDER_GUARANTEED);
}

int order_cover_of(struct order *order, const struct walk_call *call, struct order_cover *cover)
{
	enum scope scope = call->kind == KIND_STREAM_WAIT ? SCOPE_EVENT : scope_requested(call);
	const struct order_context *context = id_map_get(&order->contexts, call->context);
	const struct order_stream *stream = id_map_get(&order->streams, call->stream);
	const struct order_event *event = id_map_get(&order->events, call->event);

	*cover = (struct order_cover){ .seq = order->last_seq };
	switch (scope) {
	case SCOPE_CONTEXT:
		cover->set = context && !call->green ? context->key : 0;
		return 0;
	case SCOPE_LEGACY:
		cover->set = stream ? stream->context->key | ORDER_BLOCKING : 0;
		return 0;
	case SCOPE_EVENT:
		if (event && !event->foreign)
			keep(cover, &event->state);
		return 0;
	default:
		if (stream)
			cover_stream(order, stream, cover);
		return 0;
	}
}

void order_cover_release(struct order_cover *cover)
{
	order_clock_unref(cover->clock);
	*cover = (struct order_cover){ 0 };
}

uint32_t order_cover_reach(const struct order_cover *cover, const struct order_epoch *agent)
{
	uint32_t context = cover->set & ~ORDER_BLOCKING;

	if (!context)
		return order_clock_covers(cover->clock, &cover->own, agent);
	if ((agent->set & ~ORDER_BLOCKING) != context)
		return 0;
	return cover->set == context || agent->set & ORDER_BLOCKING || agent->key == context + 1
		? cover->seq
		: 0;
}

int order_cover_has(const struct order_cover *cover, const struct order_epoch *operation)
{
	return operation->seq && operation->seq <= order_cover_reach(cover, operation);
}

static int state_has(const struct order_state *state, const struct order_epoch *operation)
{
	return order_clock_strength(state->clock, &state->own, operation) == ORDER_GUARANTEED;
}

static int stream_has(const struct order_stream *stream, const struct order_epoch *operation)
{
	int has = stream && state_has(&stream->last, operation);

	for (size_t i = 0; stream && i < stream->pending_count && !has; i++)
		has = state_has(&stream->pending[i].state, operation);
	return has;
}

int order_cover_of_stream_has(const struct order *order, const struct walk_call *call,
	const struct order_epoch *operation)
{
	return stream_has(id_map_get(&order->streams, call->stream), operation);
}

/* The legacy stream and the blocking streams of its context come after each other's work. */
static int is_legacy_pair(const struct order_stream *stream, const struct order_epoch *operation)
{
	uint32_t context = stream->context->key;

	if (stream->kind == STREAM_KIND_LEGACY)
		return operation->set == (context | ORDER_BLOCKING);
	return stream_is_blocking(stream->kind) && operation->key == context + 1;
}

int order_stream_follows(const struct order *order, int64_t id, int64_t process,
	const struct order_epoch *operation)
{
	const struct order_stream *stream = id_map_get(&order->streams, id);

	if (order->given_up || !operation->seq)
		return 0;
	if (stream &&
		(stream->last.own.key == operation->key || stream_has(stream, operation) ||
			is_legacy_pair(stream, operation)))
		return 1;
	return order_is_known_to_all(order, process, operation);
}

int order_is_complete(const struct order *order, int64_t process,
	const struct order_epoch *operation)
{
	return order_is_known_to_all(order, process, operation);
}

struct order_clock *order_clock_of_thread(const struct order *order, int64_t id)
{
	const struct order_thread *thread = id_map_get(&order->threads, id);

	return thread ? thread->last.clock : NULL;
}

struct order_epoch order_point_of_thread(const struct order *order, int64_t id)
{
	const struct order_thread *thread = id_map_get(&order->threads, id);

	return thread ? thread->last.own : (struct order_epoch){ 0 };
}

int order_thread_knows(struct order *order, const struct walk_call *call,
	const struct order_cover *cover)
{
	struct order_state state = ORDER_NOTHING;

	state.clock = cover->clock;
	state.own = cover->own;
	return order->given_up ? 0 : order_note_known(order, call, &state);
}

int order_thread_waits(struct order *order, const struct walk_call *call, int64_t stream)
{
	const struct order_stream *other = id_map_get(&order->streams, stream);
	struct order_cover cover = { 0 };
	int rc;

	if (!other || order->given_up)
		return 0;
	cover_stream(order, other, &cover);
	rc = order_thread_knows(order, call, &cover);
	order_cover_release(&cover);
	return rc ? -1 : 0;
}

int order_mark(struct order *order, const struct walk_call *call)
{
	struct order_stream *stream = order_need_stream(order, call);

	order_begin_step(order);
	if (!stream || order->given_up)
		return stream || !call->stream ? 0 : -1;
	return order_submit(order, stream, call, 0);
}
