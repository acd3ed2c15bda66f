/* SPDX-License-Identifier: Apache-2.0 */
#include "evidence_tables.h"

#include <stdlib.h>

#include "bounds.h"
#include "id_map.h"
#include "map.h"
#include "memory.h"
#include "order_cover.h"
#include "run_columns.h"
#include "stretches.h"

/* Number of waits of a stream for events, without work in between, that are compared. */
#define EVENT_WAITS 16

/* The last call whose work in a stream, or a context's streams, a thread has observed complete. */
struct observation {
	int64_t point;
	int64_t by; /* the call that observed it */
};

struct known_stream {
	int64_t id;
	enum stream_kind kind;
	struct known_context *context;
	int64_t point;           /* its last work */
	int64_t contested;       /* its last record while another thread submitted to it */
	int64_t last_exit;       /* last return of a call that submitted work to it, ns */
	struct id_map observers; /* struct observation, by thread, as all observers */
	struct known_stream *newer, *older; /* in the context's list, sorted by point */
	struct {
		int64_t call;
		struct order_epoch event;
	} wait[EVENT_WAITS]; /* for events, since its last work, and what they cover */
	size_t wait_count;
};

struct known_context {
	int64_t process;
	struct known_stream *newest;
	int64_t unknown; /* the last work not in an existing stream */
	int64_t last_exit;
	struct id_map observers; /* for all its streams */
	struct id_map blocking;  /* for its legacy and blocking streams */
};

struct redundant_waits {
	struct id_map streams, contexts;
	struct map stretches; /* process -> recording window of its last call */
	struct map joining; /* process -> its last call that comes after waits of several streams */
	const struct run *run;
	struct run_evidence *evidence;
};

struct redundant_waits *redundant_waits_new(const struct run *run, struct run_evidence *evidence)
{
	struct redundant_waits *redundant = xcalloc(1, sizeof(*redundant));

	redundant->run = run;
	redundant->evidence = evidence;
	return redundant;
}

static void free_stream(void *object)
{
	struct known_stream *stream = object;

	id_map_release(&stream->observers, free);
	free(stream);
}

static void free_context(void *object)
{
	struct known_context *context = object;

	id_map_release(&context->observers, free);
	id_map_release(&context->blocking, free);
	free(context);
}

void redundant_waits_free(struct redundant_waits *redundant)
{
	id_map_release(&redundant->streams, free_stream);
	id_map_release(&redundant->contexts, free_context);
	map_release(&redundant->stretches);
	map_release(&redundant->joining);
	free(redundant);
}

static void add_row(struct redundant_waits *redundant, int64_t call, int64_t since)
{
	run_add_known(redundant->evidence, &(struct run_known){ (uint32_t)call, (uint32_t)since });
}

/* --- what threads have observed --- */

/* If the thread had already observed it, the earlier call stays. */
static void observe(struct id_map *observers, int64_t thread, int64_t point, int64_t by)
{
	struct observation *known = id_map_need(observers, thread, sizeof(*known));

	if (point > known->point)
		*known = (struct observation){ point, by };
}

static int takes_part(const struct known_stream *stream, int blocking_only)
{
	return !blocking_only || stream->kind == STREAM_KIND_LEGACY ||
		stream_is_blocking(stream->kind);
}

/* Returns the call by which a thread observed a stream complete up to a point, 0 if none. */
static int64_t observed_by(const struct known_stream *stream, int64_t thread, int64_t point)
{
	const struct id_map *const observers[] = { &stream->observers, &stream->context->observers,
		&stream->context->blocking };
	int64_t by = 0;

	for (int i = 0; i < 2 + takes_part(stream, 1); i++) {
		const struct observation *known = id_map_get(observers[i], thread);

		if (known && known->point >= point && (!by || known->by < by))
			by = known->by;
	}
	return by;
}

/* --- work --- */

static struct known_context *context_of(struct redundant_waits *redundant,
	const struct walk_call *call, int64_t id)
{
	struct known_context *context = id_map_need(&redundant->contexts, id, sizeof(*context));

	context->process = call->process;
	return context;
}

static struct known_stream *stream_of(struct redundant_waits *redundant,
	const struct walk_call *call)
{
	struct known_stream *stream =
		id_map_need(&redundant->streams, call->stream, sizeof(*stream));

	if (!stream->id) {
		stream->context = context_of(redundant, call, call->stream_context);
		stream->id = call->stream;
		stream->kind = call->stream_kind;
	}
	return stream;
}

static void unlink_stream(struct known_stream *stream)
{
	if (stream->newer)
		stream->newer->older = stream->older;
	else if (stream->context->newest == stream)
		stream->context->newest = stream->older;
	if (stream->older)
		stream->older->newer = stream->newer;
	stream->newer = stream->older = NULL;
}

/*
 * A wait for either device also waits for a copy between them: measured on two H200s for copies in
 * the legacy stream, assumed for others.
 */
static void add_work(struct redundant_waits *redundant, const struct walk_call *call)
{
	const int64_t copied[] = { call->dst_context, call->src_context };
	struct known_stream *stream = stream_of(redundant, call);
	struct known_context *context = stream->context;

	stream->point = call->id;
	stream->last_exit = at_least(stream->last_exit, call->exit);
	context->last_exit = at_least(context->last_exit, call->exit);
	unlink_stream(stream);
	stream->older = context->newest;
	if (stream->older)
		stream->older->newer = stream;
	context->newest = stream;
	for (int i = 0; i < 2; i++) {
		if (!copied[i] || copied[i] == call->stream_context)
			continue;
		context = context_of(redundant, call, copied[i]);
		context->unknown = call->id;
		context->last_exit = at_least(context->last_exit, call->exit);
	}
}

/* Adds work that may be in any stream of the process. */
static void add_unknown(struct redundant_waits *redundant, const struct walk_call *call)
{
	for (struct id_map_slot *at = NULL; (at = id_map_next(&redundant->contexts, at));) {
		struct known_context *context = at->object;

		if (context->process == call->process)
			context->unknown = call->id;
	}
	for (struct id_map_slot *at = NULL; (at = id_map_next(&redundant->streams, at));) {
		struct known_stream *stream = at->object;

		if (stream->context->process == call->process)
			stream->point = call->id;
	}
}

/* --- waits of the host --- */

static void wait_stream(struct redundant_waits *redundant, const struct walk_call *call,
	struct known_stream *stream, int64_t point)
{
	int64_t since = observed_by(stream, call->thread, point);

	if (since)
		add_row(redundant, call->id, since);
	else
		observe(&stream->observers, call->thread, point, call->id);
}

/*
 * A synchronous copy waits for its own operation in the stream, so it has observed that complete
 * when it returns.  In the legacy stream the operation comes after all previous work of blocking
 * streams.
 */
static void observe_copy(struct redundant_waits *redundant, const struct walk_call *call)
{
	struct known_stream *stream = id_map_get(&redundant->streams, call->stream);

	if (!stream || call->contested || stream->last_exit > call->exit)
		return;
	observe(&stream->observers, call->thread, stream->point, call->id);
	if (stream->kind != STREAM_KIND_LEGACY)
		return;
	for (struct known_stream *s = stream->older; s; s = s->older) {
		if (!stream_is_blocking(s->kind) || s->last_exit > call->enter)
			continue;
		if (observed_by(s, call->thread, s->point))
			break; /* older ones were observed, too */
		observe(&s->observers, call->thread, s->point, call->id);
	}
}

/*
 * A context wait: all of its streams, or the legacy and blocking ones.  Only streams with new work
 * since the thread observed all of them are visited.
 */
static void wait_context(struct redundant_waits *redundant, const struct walk_call *call,
	struct known_context *context, int blocking_only)
{
	const struct observation *all =
		context ? id_map_get(&context->observers, call->thread) : NULL;
	int64_t seen = all ? all->point : 0, since = all ? all->by : 0;
	const struct observation *blocking = NULL;
	struct id_map *observers;
	int known_all;

	if (!context || context->last_exit > call->enter)
		return;
	known_all = context->unknown <= seen;
	observers = blocking_only ? &context->blocking : &context->observers;
	if (blocking_only)
		blocking = id_map_get(observers, call->thread);
	if (blocking && blocking->point > seen) {
		seen = blocking->point;
		since = at_least(since, blocking->by);
	}
	for (struct known_stream *s = context->newest; s && s->point > seen; s = s->older) {
		int64_t by = observed_by(s, call->thread, s->point);

		if (!takes_part(s, blocking_only))
			continue;
		known_all = known_all && by;
		since = at_least(since, by);
	}
	if (known_all && since)
		add_row(redundant, call->id, since);
	if (!known_all || since)
		observe(observers, call->thread, call->id, known_all ? since : call->id);
}

static void add_wait(struct redundant_waits *redundant, const struct order *order,
	const struct walk_call *call)
{
	enum kind_waits waits = kind_waits(call->kind);
	const struct run_call *record;
	struct known_stream *stream;
	int64_t point;
	int sure;

	if (waits == WAITS_CONTEXT ||
		(waits != WAITS_EVENT && call->stream_kind == STREAM_KIND_LEGACY)) {
		int64_t id = waits == WAITS_CONTEXT ? call->context : call->stream_context;

		wait_context(redundant, call, id_map_get(&redundant->contexts, id),
			waits != WAITS_CONTEXT);
		return;
	}
	if (waits != WAITS_EVENT) {
		stream = id_map_get(&redundant->streams, call->stream);
		if (stream && stream->last_exit <= call->enter)
			wait_stream(redundant, call, stream, stream->point);
		return;
	}
	point = order_record_of(order, call->event, &sure);
	record = run_call(redundant->run, point);
	stream = record && sure ? id_map_get(&redundant->streams, record->stream) : NULL;
	if (stream && !call->contested && point > stream->contested &&
		run_exit(redundant->run, record, point) <= call->enter)
		wait_stream(redundant, call, stream, point);
}

/* --- waits of streams --- */

static void add_event_wait(struct redundant_waits *redundant, struct order *order,
	const struct walk_call *call)
{
	int64_t joined = (int64_t)map_get(&redundant->joining, (uint64_t)call->process, 0);
	struct known_stream *stream = stream_of(redundant, call);
	struct order_state event = order_of_event(order, call);
	struct order_cover cover;
	size_t kept = 0;
	int sure;

	order_record_of(order, call->event, &sure);
	if (!sure || !event.call || !event.own.seq)
		return;
	if (order_cover_of_stream_has(order, call, &event.own)) {
		add_row(redundant, call->id, event.call);
		return;
	}
	/* Waits covered by the new one were unnecessary, unless something came after them. */
	order_cover_of(order, call, &cover);
	for (size_t i = 0; i < stream->wait_count; i++)
		if (stream->wait[i].call < joined)
			continue;
		else if (order_cover_has(&cover, &stream->wait[i].event))
			add_row(redundant, stream->wait[i].call, call->id);
		else
			stream->wait[kept++] = stream->wait[i];
	order_cover_release(&cover);
	if (kept < EVENT_WAITS) {
		stream->wait[kept].call = call->id;
		stream->wait[kept++].event = event.own;
	}
	stream->wait_count = kept;
}

void redundant_waits_process_call(struct redundant_waits *redundant, struct order *order,
	const struct walk_call *call)
{
	uint64_t process = (uint64_t)call->process;
	enum call_kind kind = call->kind;
	int is_plain = !call->result && !call->captured;
	int is_legacy = call->stream_kind == STREAM_KIND_LEGACY;
	struct known_stream *stream = id_map_get(&redundant->streams, call->stream);

	/*
	 * Legacy work comes after the waits of all blocking streams, and an event of a context or a
	 * device synchronization after all: they join waits of streams that they do not name.
	 */
	if (is_plain && (is_legacy || kind_has(kind, K_RESOURCE | K_NAMES_CONTEXT)))
		map_set(&redundant->joining, process, (uint64_t)call->id);
	if (call->stream && kind == KIND_STREAM_WAIT && is_plain && !is_legacy &&
		!call->contested && !call->stretch && !order->given_up)
		add_event_wait(redundant, order, call);
	else if (stream)
		stream->wait_count = 0;
	/* Between recording windows, work was not recorded. */
	if (map_get(&redundant->stretches, process, 0) != (uint64_t)call->stretch) {
		add_unknown(redundant, call);
		map_set(&redundant->stretches, process, (uint64_t)call->stretch);
	}
	if (call->captured)
		return;
	if (call_is_wait(kind)) {
		if (!call->result && call->exit != WALK_NEVER && call->stretch != STRETCH_NONE)
			add_wait(redundant, order, call);
	} else if (kind == KIND_STREAM_DESTROY) {
		stream = id_map_take(&redundant->streams, call->stream);
		if (!stream)
			return;
		/* Its work may still be running. */
		stream->context->unknown = at_least(stream->context->unknown, stream->point);
		unlink_stream(stream);
		free_stream(stream);
	} else if (kind_has(kind, K_ANY_STREAM) || (walk_submits(call) && !call->stream)) {
		add_unknown(redundant, call);
	} else if (call->stream && !kind_has(kind, K_IDLE)) {
		add_work(redundant, call);
		/* If it failed, it may have submitted work; it has awaited nothing. */
		if (call->result)
			return;
		if (kind == KIND_EVENT_RECORD && call->contested)
			stream_of(redundant, call)->contested = call->id;
		if (call_is_sync_copy(kind) &&
			(call->direction == COPY_D2H || call->direction == COPY_H2H))
			observe_copy(redundant, call);
	}
}
