/* SPDX-License-Identifier: Apache-2.0 */
#include "order_agents.h"

#include <stdio.h>
#include <stdlib.h>

#include "memory.h"

void order_keep(struct order_state *slot, struct order_state state)
{
	order_clock_ref(state.clock);
	order_clock_unref(slot->clock);
	*slot = state;
}

void order_drop(struct order_state *slot)
{
	order_clock_unref(slot->clock);
	*slot = ORDER_NOTHING;
}

uint32_t order_next(struct order *order)
{
	if (order->last_seq == UINT32_MAX) {
		fputs("cufence: the run has more than 4294967294 steps: load a part of it\n",
			stderr);
		return 0;
	}
	return ++order->last_seq;
}

uint32_t order_new_key(struct order *order, int count)
{
	uint32_t key = order->last_key + 1;

	if (key + (uint32_t)count >= ORDER_BLOCKING) {
		fputs("cufence: the run has too many streams: load a part of its traces\n", stderr);
		return 0;
	}
	for (int i = 0; i < count; i++)
		if (!id_map_need(&order->keys, key + i, sizeof(struct order_key)))
			return 0;
	order->last_key += (uint32_t)count;
	return key;
}

static void retire_key(struct order *order, struct order_epoch last, int64_t process)
{
	struct order_key *key = id_map_get(&order->keys, last.key);

	if (!key)
		return;
	if (!last.seq) {
		free(id_map_take(&order->keys, last.key));
		return;
	}
	key->last = last;
	key->process = process;
	key->dead = 1;
}

struct order_context *order_need_context(struct order *order, int64_t id,
	const struct walk_call *call)
{
	struct order_context *context = id_map_need(&order->contexts, id, sizeof(*context));

	if (!context->key) {
		context->id = id;
		context->process = call->process;
		context->device = -1;
		context->barrier = context->peer = ORDER_NOTHING;
		context->key = order_new_key(order, 2);
		if (!context->key)
			return NULL;
	}
	if (context->device < 0 && (id == call->context || !call->context))
		context->device = call->device;
	return context;
}

static void unlink_stream(struct order_stream *stream, struct order_context *context)
{
	if (context->newest == stream)
		context->newest = stream->older;
	if (stream->newer)
		stream->newer->older = stream->older;
	if (stream->older)
		stream->older->newer = stream->newer;
	stream->newer = stream->older = NULL;
	if (context->newest_blocking == stream)
		context->newest_blocking = stream->older_blocking;
	if (stream->newer_blocking)
		stream->newer_blocking->older_blocking = stream->older_blocking;
	if (stream->older_blocking)
		stream->older_blocking->newer_blocking = stream->newer_blocking;
	stream->newer_blocking = stream->older_blocking = NULL;
}

static void put_first(struct order_stream *stream, struct order_context *context)
{
	stream->older = context->newest;
	if (context->newest)
		context->newest->newer = stream;
	context->newest = stream;
	if (!stream_is_blocking(stream->kind))
		return;
	stream->older_blocking = context->newest_blocking;
	if (context->newest_blocking)
		context->newest_blocking->newer_blocking = stream;
	context->newest_blocking = stream;
}

void order_note_change(struct order_stream *stream, uint32_t seq)
{
	struct order_context *context = stream->context;

	if (seq > stream->changed)
		stream->changed = seq;
	if (seq > context->changed)
		context->changed = seq;
	if (context->newest == stream &&
		(context->newest_blocking == stream || !stream_is_blocking(stream->kind)))
		return;
	unlink_stream(stream, context);
	put_first(stream, context);
}

struct order_stream *order_need_stream(struct order *order, const struct walk_call *call)
{
	struct order_stream *stream;
	struct order_context *context;

	if (!call->stream)
		return NULL;
	stream = id_map_get(&order->streams, call->stream);
	if (stream)
		return stream;
	context = order_need_context(order, call->stream_context, call);
	stream = context ? id_map_need(&order->streams, call->stream, sizeof(*stream)) : NULL;
	if (!stream)
		return NULL;
	stream->id = call->stream;
	stream->kind = call->stream_kind;
	stream->context = context;
	stream->last = stream->before = ORDER_NOTHING;
	stream->last.own.set =
		context->key | (stream_is_blocking(stream->kind) ? ORDER_BLOCKING : 0);
	if (stream->kind == STREAM_KIND_LEGACY) {
		context->legacy = stream;
		stream->last.own.key = context->key + 1;
	} else {
		stream->last.own.key = order_new_key(order, 1);
	}
	if (stream->kind == STREAM_KIND_MOVED)
		context->moved = stream;
	/* The list is sorted by last change. */
	stream->changed = order->last_seq;
	put_first(stream, context);
	return stream->last.own.key ? stream : NULL;
}

struct order_event *order_need_event(struct order *order, int64_t id)
{
	struct order_event *event = id_map_get(&order->events, id);

	if (event)
		return event;
	event = id_map_need(&order->events, id, sizeof(*event));
	if (event)
		event->state = ORDER_NOTHING;
	return event;
}

struct order_process *order_need_process(struct order *order, int64_t id)
{
	struct order_process *process = id_map_get(&order->processes, id);

	if (process)
		return process;
	process = id_map_need(&order->processes, id, sizeof(*process));
	if (process)
		process->key = order_new_key(order, 1);
	return process && process->key ? process : NULL;
}

struct order_thread *order_need_thread(struct order *order, int64_t id, int64_t process_id)
{
	struct order_thread *thread = id_map_get(&order->threads, id);
	struct order_process *process;

	if (thread)
		return thread;
	process = order_need_process(order, process_id);
	if (!process)
		return NULL;
	thread = id_map_need(&order->threads, id, sizeof(*thread));
	thread->id = id;
	thread->process = process_id;
	thread->last = ORDER_NOTHING;
	thread->last.own.key = order_new_key(order, 1);
	thread->place = process->thread_count;
	*array_push(process->thread, process->thread_count) = thread;
	return thread->last.own.key ? thread : NULL;
}

struct order_exec *order_need_exec(struct order *order, int64_t id)
{
	struct order_exec *exec = id_map_get(&order->execs, id);

	if (exec)
		return exec;
	exec = id_map_need(&order->execs, id, sizeof(*exec));
	if (exec) {
		exec->id = id;
		exec->last = ORDER_NOTHING;
	}
	return exec;
}

static void add_orphan(const struct order_stream *stream, struct order_state state, int blocking)
{
	struct order_context *context = stream->context;
	struct order_orphan *orphan = array_push(context->orphan, context->orphan_count);

	*orphan = (struct order_orphan){ .state = ORDER_NOTHING,
		.changed = stream->changed,
		.blocking = blocking };
	/* bequeath() keeps the clock once for all. */
	state.clock = NULL;
	order_keep(&orphan->state, state);
}

/* Moves the stream's clock to its context; the context's key covers the stream's own work. */
static void bequeath(struct order *order, struct order_stream *stream, struct order_state state,
	int own)
{
	struct order_context *context = stream->context;
	struct order_clock **to[] = { &context->gone, &context->gone_blocking };

	for (int i = 0; i < (stream_is_blocking(stream->kind) ? 2 : 1); i++) {
		order->joiner.implied = context->key | (i ? ORDER_BLOCKING : 0);
		order_clock_join(&order->joiner, to[i], NULL, state.clock, ORDER_GUARANTEED);
		if (own)
			order_clock_add(&order->joiner, to[i], NULL, &state.own, ORDER_GUARANTEED);
	}
	order->joiner.implied = 0;
}

void order_drop_stream(struct order *order, int64_t id, const struct order_thread *by)
{
	struct order_stream *stream = id_map_take(&order->streams, id);
	struct order_context *context;
	int legacy_waits;

	if (!stream)
		return;
	context = stream->context;
	legacy_waits = stream_is_blocking(stream->kind) &&
		(!context->legacy || context->legacy->last.own.seq < stream->changed);
	if (stream->last.call &&
		(legacy_waits || !by ||
			order_clock_strength(by->last.clock, NULL, &stream->last.own) <
				ORDER_GUARANTEED))
		add_orphan(stream, stream->last, legacy_waits);
	bequeath(order, stream, stream->last, 0);
	for (size_t i = 0; i < stream->pending_count; i++) {
		add_orphan(stream, stream->pending[i].state, legacy_waits);
		bequeath(order, stream, stream->pending[i].state, 1);
	}
	unlink_stream(stream, context);
	if (context->moved == stream)
		context->moved = NULL;
	if (context->legacy == stream)
		context->legacy = NULL;
	else
		retire_key(order, stream->last.own, context->process);
	order_free_stream(stream);
}

void order_drop_event(struct order *order, int64_t id)
{
	void *event = id_map_take(&order->events, id);

	if (event)
		order_free_event(event);
}

void order_free_nodes(struct order *order, struct order_exec *exec)
{
	for (size_t i = 0; i < exec->node_count; i++) {
		if (exec->node[i].key)
			free(id_map_take(&order->keys, exec->node[i].key));
		order_drop(&exec->node[i].state);
	}
	free(exec->node);
	free(exec->arc);
	exec->node = NULL;
	exec->arc = NULL;
	exec->node_count = 0;
}

void order_drop_exec(struct order *order, int64_t id)
{
	struct order_exec *exec = id_map_take(&order->execs, id);

	if (!exec)
		return;
	order_free_nodes(order, exec);
	order_free_exec(exec);
}

void order_drop_context(struct order *order, int64_t id, const struct order_thread *by)
{
	struct order_context *context = id_map_take(&order->contexts, id);

	if (!context)
		return;
	while (context->newest)
		order_drop_stream(order, context->newest->id, by);
	order_free_context(context);
}

void order_end_thread(struct order *order, struct order_thread *thread)
{
	struct order_process *process = order_need_process(order, thread->process);
	struct order_thread *moved;

	if (!process || !process->thread_count)
		return;
	moved = process->thread[--process->thread_count];
	process->thread[thread->place] = moved;
	moved->place = thread->place;
	id_map_take(&order->threads, thread->id);
	retire_key(order, thread->last.own, thread->process);
	order_free_thread(thread);
}

void order_free_stream(void *object)
{
	struct order_stream *stream = object;

	for (size_t i = 0; i < stream->pending_count; i++)
		order_drop(&stream->pending[i].state);
	order_drop(&stream->last);
	order_drop(&stream->before);
	free(stream->pending);
	free(stream);
}

void order_free_event(void *object)
{
	struct order_event *event = object;

	order_drop(&event->state);
	free(event);
}

void order_free_context(void *object)
{
	struct order_context *context = object;

	for (size_t i = 0; i < context->orphan_count; i++)
		order_drop(&context->orphan[i].state);
	order_clock_unref(context->gone);
	order_clock_unref(context->gone_blocking);
	order_drop(&context->barrier);
	order_drop(&context->peer);
	free(context->orphan);
	free(context);
}

void order_free_thread(void *object)
{
	struct order_thread *thread = object;

	order_drop(&thread->last);
	free(thread);
}

void order_free_process(void *object)
{
	struct order_process *process = object;

	for (size_t i = 0; i < process->news_count; i++)
		order_drop(&process->news[i].state);
	id_map_release(&process->of, order_free_reports);
	free(process->news);
	free(process->thread);
	free(process);
}

void order_free_exec(void *object)
{
	struct order_exec *exec = object;

	for (size_t i = 0; i < exec->node_count; i++)
		order_drop(&exec->node[i].state);
	order_drop(&exec->last);
	free(exec->node);
	free(exec->arc);
	free(exec);
}
