/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Streams and threads that are gone leave entries in clocks.  One that every thread knows complete
 * nothing can come before any more: it is taken out of all clocks, and whoever asks for its
 * operations later is told that they are over.
 */
#include <stdlib.h>

#include "order_agents.h"

/* Fewer keys than these are no reason to look for dead ones. */
#define ORDER_FORGET_MIN 64
/* Clocks that have grown by this part of their limit are one. */
#define ORDER_FORGET_PART 8

/* By every thread that may submit something. */
static int is_known_to_all(const struct order *order, const struct order_key *key)
{
	const struct order_process *process = idmap_get(&order->processes, key->process);

	for (size_t i = 0; process && i < process->thread_count; i++)
		if (order_clock_strength(process->thread[i]->last.clock, NULL, &key->last) <
			ORDER_GUARANTEED)
			return 0;
	return process && process->thread_count;
}

/* A key that is gone, in *arg. */
static int is_gone(void *arg, uint32_t key)
{
	return key != ORDER_ALL_KEY && !idmap_get(arg, key);
}

static void forget_state(struct order *order, struct order_state *state)
{
	order_clock_forget(&state->clock, is_gone, &order->keys);
}

static void forget_stream(struct order *order, struct order_stream *stream)
{
	forget_state(order, &stream->last);
	forget_state(order, &stream->before);
	for (size_t i = 0; i < stream->pending_count; i++)
		forget_state(order, &stream->pending[i].state);
}

static void forget_context(struct order *order, struct order_context *context)
{
	order_clock_forget(&context->gone, is_gone, &order->keys);
	order_clock_forget(&context->gone_blocking, is_gone, &order->keys);
	forget_state(order, &context->barrier);
	forget_state(order, &context->peer);
	for (size_t i = 0; i < context->orphan_count; i++)
		forget_state(order, &context->orphan[i].state);
}

static void forget_process(struct order *order, struct order_process *process)
{
	forget_state(order, &process->told);
	for (size_t i = 0; i < process->news_count; i++)
		forget_state(order, &process->news[i].state);
}

static void forget_everywhere(struct order *order)
{
	for (size_t i = 0; i < order->streams.size; i++)
		if (order->streams.slot[i].object)
			forget_stream(order, order->streams.slot[i].object);
	for (size_t i = 0; i < order->contexts.size; i++)
		if (order->contexts.slot[i].object)
			forget_context(order, order->contexts.slot[i].object);
	for (size_t i = 0; i < order->processes.size; i++)
		if (order->processes.slot[i].object)
			forget_process(order, order->processes.slot[i].object);
	for (size_t i = 0; i < order->events.size; i++)
		if (order->events.slot[i].object)
			forget_state(order,
				&((struct order_event *)order->events.slot[i].object)->state);
	for (size_t i = 0; i < order->freed.size; i++)
		if (order->freed.slot[i].object)
			forget_state(order,
				&((struct order_event *)order->freed.slot[i].object)->state);
	for (size_t i = 0; i < order->threads.size; i++)
		if (order->threads.slot[i].object)
			forget_state(order,
				&((struct order_thread *)order->threads.slot[i].object)->last);
	for (size_t i = 0; i < order->execs.size; i++)
		if (order->execs.slot[i].object)
			forget_state(order,
				&((struct order_exec *)order->execs.slot[i].object)->last);
}

int order_forget(struct order *order)
{
	uint32_t *gone = malloc((order->keys.count + 1) * sizeof(*gone));
	size_t count = 0;

	if (!gone)
		return 0; /* another time */
	for (size_t i = 0; i < order->keys.size; i++) {
		const struct order_key *key = order->keys.slot[i].object;

		if (key && key->dead && is_known_to_all(order, key))
			gone[count++] = (uint32_t)order->keys.slot[i].id;
	}
	for (size_t i = 0; i < count; i++)
		free(idmap_take(&order->keys, gone[i]));
	free(gone);
	if (count)
		forget_everywhere(order);
	order->forget_at = ORDER_FORGET_MIN + 2 * (uint32_t)order->keys.count;
	order->forget_bytes = order->joiner.bytes + order->joiner.limit / ORDER_FORGET_PART;
	return 0;
}
