/* SPDX-License-Identifier: Apache-2.0 */
#include "order_agents.h"

#include <stdlib.h>

#include "array.h"

struct order_context *order_need_context(struct order *order, int64_t id)
{
	struct order_context *context = idmap_need(&order->contexts, id, sizeof(*context));

	if (context)
		context->id = id;
	return context;
}

static int enter_context(struct order_stream *stream, struct order_context *context)
{
	struct order_stream **more =
		array_room(context->stream, context->stream_count, sizeof(struct order_stream *));

	if (!more)
		return -1;
	context->stream = more;
	stream->context = context;
	stream->place = context->stream_count;
	context->stream[context->stream_count++] = stream;
	if (stream->kind == STREAM_KIND_LEGACY)
		context->legacy = stream;
	return 0;
}

struct order_stream *order_need_stream(struct order *order, const struct walk_call *call)
{
	struct order_stream *stream;
	struct order_context *context;

	if (!call->stream)
		return NULL;
	stream = idmap_get(&order->streams, call->stream);
	if (stream)
		return stream;
	context = order_need_context(order, call->stream_context);
	stream = context ? idmap_need(&order->streams, call->stream, sizeof(*stream)) : NULL;
	if (!stream)
		return NULL;
	stream->id = call->stream;
	stream->kind = call->stream_kind;
	stream->last = ORDER_NOTHING;
	return enter_context(stream, context) ? NULL : stream;
}

int order_note_change(struct order_stream *stream)
{
	struct order_context *context = stream->context;
	struct order_stream **more;

	if (!stream_is_blocking(stream->kind) || stream->changed)
		return 0;
	more = array_room(context->changed, context->changed_count, sizeof(struct order_stream *));
	if (!more)
		return -1;
	context->changed = more;
	context->changed[context->changed_count++] = stream;
	stream->changed = context->changed_count;
	return 0;
}

void order_forget_changes(struct order_context *context)
{
	for (size_t i = 0; i < context->changed_count; i++)
		context->changed[i]->changed = 0;
	context->changed_count = 0;
	for (size_t i = 0; i < context->orphan_count; i++)
		context->orphan[i].blocking = 0;
}

static int add_orphan(struct order_stream *stream, struct order_state state)
{
	struct order_context *context = stream->context;
	struct order_orphan *more =
		array_room(context->orphan, context->orphan_count, sizeof(*more));

	if (!more)
		return -1;
	context->orphan = more;
	context->orphan[context->orphan_count++] =
		(struct order_orphan){ .state = state, .blocking = stream->changed != 0 };
	return 0;
}

/* The last of a list takes the place of the one that leaves. */
static void leave_context(struct order_stream *stream)
{
	struct order_context *context = stream->context;
	struct order_stream *moved = context->stream[--context->stream_count];

	context->stream[stream->place] = moved;
	moved->place = stream->place;
	if (context->legacy == stream)
		context->legacy = NULL;
	if (stream->changed) {
		moved = context->changed[--context->changed_count];
		context->changed[stream->changed - 1] = moved;
		moved->changed = stream->changed;
	}
}

int order_drop_stream(struct order *order, int64_t id)
{
	struct order_stream *stream = idmap_take(&order->streams, id);
	int rc = 0;

	if (!stream)
		return 0;
	if (stream->last.call && (stream->changed || stream->joined != stream->last.call))
		rc = add_orphan(stream, stream->last);
	for (size_t i = 0; i < stream->wait_count && !rc; i++)
		rc = add_orphan(stream, stream->waits[i]);
	leave_context(stream);
	order_free_stream(stream);
	return rc;
}

void order_free_stream(void *object)
{
	struct order_stream *stream = object;

	free(stream->waits);
	free(stream);
}

void order_free_context(void *object)
{
	struct order_context *context = object;

	free(context->stream);
	free(context->changed);
	free(context->orphan);
	free(context);
}
