/* SPDX-License-Identifier: Apache-2.0 */
#include "known_complete.h"

#include <stdlib.h>

#include "array.h"
#include "idmap.h"
#include "order.h"
#include "run_columns.h"
#include "stretches.h"

/* The point up to which a thread has observed a stream, or a context's streams, complete. */
struct observation {
	int64_t thread;
	int64_t point;
	int64_t by; /* the call that observed it */
};

struct observers {
	struct observation *list; /* one per thread */
	size_t count;
};

struct known_stream {
	int64_t id;
	enum stream_kind kind;
	struct known_context *context;
	int64_t point;     /* of its last work */
	int64_t last_exit; /* last return of a call that submitted work to it, ns */
	struct observers observers;
	struct known_stream *newer, *older; /* in the context's list, sorted by point */
};

struct known_context {
	int64_t process;
	struct known_stream *newest;
	int64_t unknown; /* point of the last work not in an existing stream */
	int64_t last_exit;
	struct observers observers; /* for all its streams */
	struct observers blocking;  /* for its legacy and blocking streams */
};

struct known_event {
	int64_t stream, point; /* the work that it covers; stream 0: unknown */
	int64_t exit;          /* of the record, ns */
};

struct known_process {
	int stretch;
};

struct known {
	struct idmap streams, contexts, events, processes;
	struct run_evidence *evidence;
	int64_t point; /* of the last work in the run; points are numbered consecutively */
};

struct known *known_new(struct db *db)
{
	struct known *known = calloc(1, sizeof(*known));

	if (known)
		known->evidence = &db->run->evidence;
	return known;
}

static void free_stream(void *object)
{
	struct known_stream *stream = object;

	free(stream->observers.list);
	free(stream);
}

static void free_context(void *object)
{
	struct known_context *context = object;

	free(context->observers.list);
	free(context->blocking.list);
	free(context);
}

void known_free(struct known *known)
{
	if (!known)
		return;
	idmap_release(&known->streams, free_stream);
	idmap_release(&known->contexts, free_context);
	idmap_release(&known->events, free);
	idmap_release(&known->processes, free);
	free(known);
}

/* --- what threads have observed --- */

static const struct observation *find(const struct observers *observers, int64_t thread)
{
	for (size_t i = 0; i < observers->count; i++)
		if (observers->list[i].thread == thread)
			return &observers->list[i];
	return NULL;
}

/* If the thread had already observed it, the earlier call stays. */
static int observe(struct observers *observers, int64_t thread, int64_t point, int64_t by)
{
	struct observation *known = (struct observation *)find(observers, thread);
	struct observation *more;

	if (!known) {
		more = array_room(observers->list, observers->count, sizeof(*more));
		if (!more)
			return -1;
		observers->list = more;
		known = &more[observers->count++];
		*known = (struct observation){ .thread = thread };
	}
	if (point > known->point)
		*known = (struct observation){ thread, point, by };
	return 0;
}

static int takes_part(const struct known_stream *stream, int blocking_only)
{
	return !blocking_only || stream->kind == STREAM_KIND_LEGACY ||
		stream->kind == STREAM_KIND_BLOCKING || stream->kind == STREAM_KIND_THREAD;
}

static int64_t earliest(const struct observation *known, int64_t point, int64_t by)
{
	return known && known->point >= point && (!by || known->by < by) ? known->by : by;
}

/* Returns the call by which a thread observed a stream complete up to a point, 0 if none. */
static int64_t observed_by(const struct known_stream *stream, int64_t thread, int64_t point)
{
	const struct known_context *context = stream->context;
	int64_t by = earliest(find(&stream->observers, thread), point, 0);

	by = earliest(find(&context->observers, thread), point, by);
	return takes_part(stream, 1) ? earliest(find(&context->blocking, thread), point, by) : by;
}

/* --- work --- */

static struct known_context *context_of(struct known *known, const struct walk_call *call,
	int64_t id)
{
	struct known_context *context = idmap_need(&known->contexts, id, sizeof(*context));

	if (context)
		context->process = call->process;
	return context;
}

static struct known_stream *stream_of(struct known *known, const struct walk_call *call)
{
	struct known_stream *stream = idmap_need(&known->streams, call->stream, sizeof(*stream));

	if (!stream || stream->id)
		return stream;
	stream->context = context_of(known, call, call->stream_context);
	if (!stream->context)
		return NULL;
	stream->id = call->stream;
	stream->kind = call->stream_kind;
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

static int add_work(struct known *known, const struct walk_call *call)
{
	struct known_stream *stream = stream_of(known, call);

	if (!stream)
		return -1;
	stream->point = ++known->point;
	if (call->exit > stream->last_exit)
		stream->last_exit = call->exit;
	if (call->exit > stream->context->last_exit)
		stream->context->last_exit = call->exit;
	unlink_stream(stream);
	stream->older = stream->context->newest;
	if (stream->older)
		stream->older->newer = stream;
	stream->context->newest = stream;
	return 0;
}

/*
 * A wait for either device also waits for a copy between them: measured on two H200s for copies in
 * the legacy stream, assumed for others.
 */
static int add_elsewhere(struct known *known, const struct walk_call *call)
{
	const int64_t ids[] = { call->dst_context, call->src_context };

	for (int i = 0; i < 2; i++) {
		struct known_context *context;

		if (!ids[i] || ids[i] == call->stream_context)
			continue;
		context = context_of(known, call, ids[i]);
		if (!context)
			return -1;
		context->unknown = known->point;
		if (call->exit > context->last_exit)
			context->last_exit = call->exit;
	}
	return 0;
}

/* Adds work that may be in any stream of the process. */
static void add_unknown(struct known *known, int64_t process)
{
	known->point++;
	for (size_t i = 0; i < known->contexts.size; i++) {
		struct known_context *context = known->contexts.slot[i].object;

		if (context && context->process == process)
			context->unknown = known->point;
	}
	for (size_t i = 0; i < known->streams.size; i++) {
		struct known_stream *stream = known->streams.slot[i].object;

		if (stream && stream->context->process == process)
			stream->point = known->point;
	}
}

/* Its work may still be running. */
static void destroy_stream(struct known *known, int64_t id)
{
	struct known_stream *stream = idmap_take(&known->streams, id);

	if (!stream)
		return;
	if (stream->point > stream->context->unknown)
		stream->context->unknown = stream->point;
	unlink_stream(stream);
	free_stream(stream);
}

static int record(struct known *known, const struct walk_call *call)
{
	struct known_event *event;

	if (!call->event)
		return 0;
	event = idmap_need(&known->events, call->event, sizeof(*event));
	if (!event)
		return -1;
	event->stream = call->contested ? 0 : call->stream;
	event->point = known->point;
	event->exit = call->exit;
	return 0;
}

/* --- waits --- */

static int add_row(struct known *known, const struct walk_call *call, int64_t since)
{
	if (!since)
		return 0;
	return run_add_known(known->evidence,
		&(struct run_known){ (uint32_t)call->id, (uint32_t)since });
}

static int wait_stream(struct known *known, const struct walk_call *call)
{
	struct known_stream *stream = idmap_get(&known->streams, call->stream);
	int64_t since;

	if (!stream || stream->last_exit > call->enter)
		return 0;
	since = observed_by(stream, call->thread, stream->point);
	if (since)
		return add_row(known, call, since);
	return observe(&stream->observers, call->thread, stream->point, call->id);
}

/*
 * A synchronous copy waits for its own operation in the stream, so it has observed that complete
 * when it returns.  In the legacy stream the operation comes after all previous work of blocking
 * streams.
 */
static int observe_copy(struct known *known, const struct walk_call *call)
{
	struct known_stream *stream = idmap_get(&known->streams, call->stream);

	if (!stream || call->contested || stream->last_exit > call->exit)
		return 0;
	if (observe(&stream->observers, call->thread, stream->point, call->id))
		return -1;
	if (stream->kind != STREAM_KIND_LEGACY)
		return 0;
	for (struct known_stream *s = stream->older; s; s = s->older) {
		if (!stream_is_blocking(s->kind) || s->last_exit > call->enter)
			continue;
		if (observed_by(s, call->thread, s->point))
			break; /* older ones were observed, too */
		if (observe(&s->observers, call->thread, s->point, call->id))
			return -1;
	}
	return 0;
}

static int wait_event(struct known *known, const struct walk_call *call)
{
	const struct known_event *event = idmap_get(&known->events, call->event);
	struct known_stream *stream =
		event && event->stream ? idmap_get(&known->streams, event->stream) : NULL;
	int64_t since;

	if (!stream || call->contested || event->exit > call->enter)
		return 0;
	since = observed_by(stream, call->thread, event->point);
	if (since)
		return add_row(known, call, since);
	return observe(&stream->observers, call->thread, event->point, call->id);
}

/*
 * A context wait: all of its streams, or the legacy and blocking ones.  Only streams with new work
 * since the thread observed all of them are visited.
 */
static int wait_context(struct known *known, const struct walk_call *call,
	struct known_context *context, int blocking_only)
{
	const struct observation *all = context ? find(&context->observers, call->thread) : NULL;
	int64_t seen = all ? all->point : 0, since = all ? all->by : 0;
	int known_all = !!context && context->unknown <= seen;
	const struct observation *blocking;
	struct observers *observers;

	if (!context || context->last_exit > call->enter)
		return 0;
	observers = blocking_only ? &context->blocking : &context->observers;
	blocking = blocking_only ? find(observers, call->thread) : NULL;
	if (blocking && blocking->point > seen) {
		seen = blocking->point;
		since = blocking->by > since ? blocking->by : since;
	}
	for (struct known_stream *s = context->newest; s && s->point > seen; s = s->older) {
		int64_t by = observed_by(s, call->thread, s->point);

		if (!takes_part(s, blocking_only))
			continue;
		known_all = known_all && by;
		since = by > since ? by : since;
	}
	if (!known_all)
		return observe(observers, call->thread, known->point, call->id);
	if (!since)
		return 0;
	return add_row(known, call, since) || observe(observers, call->thread, known->point, since)
		? -1
		: 0;
}

static int add_wait(struct known *known, const struct walk_call *call)
{
	switch (kind_waits(call->kind)) {
	case WAITS_EVENT:
		return wait_event(known, call);
	case WAITS_CONTEXT:
		return wait_context(known, call, idmap_get(&known->contexts, call->context), 0);
	default:
		if (call->stream_kind == STREAM_KIND_LEGACY)
			return wait_context(known, call,
				idmap_get(&known->contexts, call->stream_context), 1);
		return wait_stream(known, call);
	}
}

/* Work in a stream that the call does not name. */
static int is_work_anywhere(const struct walk_call *call)
{
	return kind_has(call->kind, K_ANY_STREAM) || (walk_submits(call) && !call->stream);
}

static int add_call(struct known *known, const struct walk_call *call)
{
	if (is_work_anywhere(call)) {
		add_unknown(known, call->process);
		return 0;
	}
	if (!call->stream || kind_has(call->kind, K_IDLE))
		return 0;
	if (add_work(known, call) || add_elsewhere(known, call) ||
		(call->kind == KIND_EVENT_RECORD && record(known, call)))
		return -1;
	if (call_is_sync_copy(call->kind) &&
		(call->direction == COPY_D2H || call->direction == COPY_H2H))
		return observe_copy(known, call);
	return 0;
}

/* Between recording windows, work was not recorded. */
static int note_stretch(struct known *known, const struct walk_call *call)
{
	struct known_process *process =
		idmap_need(&known->processes, call->process, sizeof(*process));

	if (!process)
		return -1;
	if (process->stretch != call->stretch)
		add_unknown(known, call->process);
	process->stretch = call->stretch;
	return 0;
}

int known_complete_process_call(struct known *known, const struct walk_call *call)
{
	if (note_stretch(known, call))
		return -1;
	if (call->captured)
		return 0;
	if (call_is_wait(call->kind))
		return call->result || call->exit == WALK_NEVER || call->stretch == STRETCH_NONE
			? 0
			: add_wait(known, call);
	switch (call->kind) {
	case KIND_STREAM_DESTROY:
		destroy_stream(known, call->stream);
		return 0;
	case KIND_EVENT_DESTROY:
		free(idmap_take(&known->events, call->event));
		return 0;
	default:
		return add_call(known, call);
	}
}
