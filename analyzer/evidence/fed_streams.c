/* SPDX-License-Identifier: Apache-2.0 */
#include "fed_streams.h"

#include <stdlib.h>

#include "run_columns.h"

/* --- what is timed --- */

static int note_timed(struct feeds *feeds, const struct run *run, uint32_t id)
{
	const struct run_call *call = run_call(run, id);
	uint64_t event = call ? run_payload(run, call)->event : 0;
	uint64_t other = (uint64_t)run_object(run, id, OBJECT_EVENT);

	return map_set(&feeds->timed, event, 1) || map_set(&feeds->timed, other, 1) ? -1 : 0;
}

int feeds_open(struct feeds *feeds, const struct run *run)
{
	for (uint32_t id = 1; id < run_call_end(run); id++) {
		const struct run_call *call = run_call(run, id);

		if (call && call->kind == KIND_EVENT_ELAPSED && note_timed(feeds, run, id))
			return -1;
	}
	return 0;
}

int feeds_is_timed(const struct feeds *feeds, int64_t event)
{
	return event && map_get(&feeds->timed, (uint64_t)event, 0);
}

void feeds_close(struct feeds *feeds)
{
	idmap_release(&feeds->streams, free);
	idmap_release(&feeds->events, free);
	map_release(&feeds->timed);
}

/* --- work --- */

static int record(struct feeds *feeds, const struct walk_call *call,
	const struct fed_stream *stream)
{
	struct fed_event *event = idmap_need(&feeds->events, call->event, sizeof(*event));

	if (!event)
		return -1;
	*event = (struct fed_event){ call->stream, stream->last };
	return 0;
}

int feeds_note(struct feeds *feeds, const struct relax *relax, const struct walk_call *call)
{
	struct fed_stream *stream;

	if (!call->stream || kind_has(call->kind, K_IDLE))
		return 0;
	stream = idmap_need(&feeds->streams, call->stream, sizeof(*stream));
	if (!stream)
		return -1;
	stream->context = call->stream_context;
	stream->kind = call->stream_kind;
	stream->joins |= call->kind == KIND_STREAM_WAIT;
	if (walk_submits(call))
		stream->last = (struct fed){ call->id, call->op_end, relax->loose.epoch };
	return call->kind == KIND_EVENT_RECORD && call->event ? record(feeds, call, stream) : 0;
}

int feeds_idled(const struct feeds *feeds, int64_t id, int64_t row)
{
	const struct fed_stream *stream = idmap_get(&feeds->streams, id);

	return !stream || (stream->last.call <= stream->waited && stream->row != row);
}

/* --- waits --- */

static void wait_for(struct fed_stream *stream, const struct fed *until, int64_t row,
	struct cover *cover)
{
	if (until->call > stream->waited) {
		if (!cover->last.call || until->end > cover->last.end)
			cover->last = *until;
		stream->waited = until->call;
	}
	if (until->call == stream->last.call)
		stream->row = row;
}

static int is_in_scope(const struct cover *cover, int64_t id, int64_t context,
	enum stream_kind kind)
{
	switch (cover->scope) {
	case SCOPE_NONE:
	case SCOPE_EVENT:
		return 0;
	case SCOPE_OWN:
	case SCOPE_STREAM:
		return id == cover->stream;
	case SCOPE_LEGACY:
		return context == cover->context &&
			(kind == STREAM_KIND_LEGACY || stream_is_blocking(kind));
	case SCOPE_CONTEXT:
		return context == cover->context;
	case SCOPE_DEVICE:
	case SCOPE_PROCESS:
		break;
	}
	return 1;
}

static void wait_for_streams(struct feeds *feeds, int64_t row, struct cover *cover)
{
	for (size_t i = 0; i < feeds->streams.size; i++) {
		struct fed_stream *stream = feeds->streams.slot[i].object;

		if (stream &&
			is_in_scope(cover, feeds->streams.slot[i].id, stream->context,
				stream->kind))
			wait_for(stream, &stream->last, row, cover);
	}
}

void feeds_wait(struct feeds *feeds, const struct walk_call *call, int64_t row, struct cover *cover)
{
	const struct fed_event *event = idmap_get(&feeds->events, call->event);
	struct fed_stream *stream;

	*cover = (struct cover){ .scope = scope_asked(call),
		.stream = call->stream,
		.context = call->stream_context ? call->stream_context : call->context };
	if (cover->scope == SCOPE_EVENT) {
		cover->stream = event ? event->stream : 0;
		stream = idmap_get(&feeds->streams, cover->stream);
		if (stream)
			wait_for(stream, &event->last, row, cover);
	} else if (cover->scope == SCOPE_OWN || cover->scope == SCOPE_STREAM) {
		stream = idmap_get(&feeds->streams, cover->stream);
		if (stream)
			wait_for(stream, &stream->last, row, cover);
	} else {
		wait_for_streams(feeds, row, cover);
	}
}

enum covers feeds_covers(const struct feeds *feeds, const struct cover *cover,
	const struct touch *touch)
{
	const struct fed_stream *of = idmap_get(&feeds->streams, touch->stream);
	const struct fed_stream *waited = idmap_get(&feeds->streams, cover->stream);

	if (!of)
		return COVERS_PERHAPS;
	if (cover->scope == SCOPE_EVENT && touch->stream == cover->stream)
		return cover->last.call >= touch->call ? COVERS_SURELY : COVERS_PERHAPS;
	if (is_in_scope(cover, touch->stream, of->context, of->kind))
		return COVERS_SURELY;
	/* By an event that the stream has waited for, or by the legacy stream. */
	return waited && (waited->joins || waited->kind != STREAM_KIND_NON_BLOCKING)
		? COVERS_PERHAPS
		: COVERS_NOT;
}

void feeds_keep(struct feeds *feeds, const struct touch *touch, const struct cover *cover,
	int64_t wait)
{
	struct fed_stream *stream = idmap_get(&feeds->streams, touch->stream);
	int64_t until = cover->scope == SCOPE_EVENT ? cover->last.call : wait;

	if (stream && until > stream->kept)
		stream->kept = until;
}

int feeds_is_kept(const struct feeds *feeds, const struct touch *touch)
{
	const struct fed_stream *stream = idmap_get(&feeds->streams, touch->stream);

	return stream && touch->call <= stream->kept;
}
