/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Removes dead entries from clocks.  Destroyed streams and threads leave entries in clocks.  Once
 * every thread has observed one complete, it orders nothing any more: it is removed from all
 * clocks, and later questions about its operations are answered "complete".
 */
#include <stdlib.h>

#include "memory.h"
#include "order_agents.h"

/* Minimum number of keys before dead ones are looked for. */
#define ORDER_FORGET_MIN 64
/* Growth of the clocks, as a part of their limit, after which dead keys are looked for. */
#define ORDER_FORGET_PART 8

int order_is_known_to_all(const struct order *order, int64_t id,
	const struct order_epoch *operation)
{
	const struct order_process *process = id_map_get(&order->processes, id);

	/* A forgotten key is of an agent that was known to all. */
	if (operation->key && !id_map_get(&order->keys, operation->key))
		return 1;
	for (size_t i = 0; process && i < process->thread_count; i++)
		if (order_clock_strength(process->thread[i]->last.clock, NULL, operation) <
			ORDER_GUARANTEED)
			return 0;
	return process && process->thread_count;
}

/* Is the key missing from the keys at arg? */
static int is_gone(void *arg, uint32_t key)
{
	return key != ORDER_ALL_KEY && !id_map_get(arg, key);
}

/* --- all clocks --- */

struct visitor {
	void (*visit)(struct visitor *visitor, struct order_clock **clock);
	struct order *order;
	uint32_t key;       /* of the process */
	uint32_t *received; /* positions up to which clocks contain it */
	size_t count;
};

static void visit_events(struct visitor *visitor, const struct id_map *events)
{
	for (size_t i = 0; i < events->size; i++)
		if (events->slot[i].object)
			visitor->visit(visitor,
				&((struct order_event *)events->slot[i].object)->state.clock);
}

static void visit_all(struct visitor *visitor)
{
	const struct order *order = visitor->order;

	for (size_t i = 0; i < order->streams.size; i++) {
		struct order_stream *stream = order->streams.slot[i].object;

		if (!stream)
			continue;
		visitor->visit(visitor, &stream->last.clock);
		visitor->visit(visitor, &stream->before.clock);
		for (size_t j = 0; j < stream->pending_count; j++)
			visitor->visit(visitor, &stream->pending[j].state.clock);
	}
	for (size_t i = 0; i < order->contexts.size; i++) {
		struct order_context *context = order->contexts.slot[i].object;

		if (!context)
			continue;
		visitor->visit(visitor, &context->gone);
		visitor->visit(visitor, &context->gone_blocking);
		visitor->visit(visitor, &context->barrier.clock);
		visitor->visit(visitor, &context->peer.clock);
		for (size_t j = 0; j < context->orphan_count; j++)
			visitor->visit(visitor, &context->orphan[j].state.clock);
	}
	for (size_t i = 0; i < order->processes.size; i++) {
		struct order_process *process = order->processes.slot[i].object;

		for (size_t j = 0; process && j < process->news_count; j++)
			visitor->visit(visitor, &process->news[j].state.clock);
	}
	visit_events(visitor, &order->events);
	visit_events(visitor, &order->freed);
	for (size_t i = 0; i < order->threads.size; i++)
		if (order->threads.slot[i].object)
			visitor->visit(visitor,
				&((struct order_thread *)order->threads.slot[i].object)
					 ->last.clock);
	for (size_t i = 0; i < order->execs.size; i++) {
		struct order_exec *exec = order->execs.slot[i].object;

		if (exec)
			visitor->visit(visitor, &exec->last.clock);
		for (size_t j = 0; exec && j < exec->node_count; j++)
			visitor->visit(visitor, &exec->node[j].state.clock);
	}
}

static void forget_keys(struct visitor *visitor, struct order_clock **clock)
{
	order_clock_forget(&visitor->order->joiner, clock, is_gone, &visitor->order->keys);
}

/* --- reports to processes --- */

static void add_received(struct visitor *visitor, uint32_t number)
{
	if (number)
		*array_push(visitor->received, visitor->count) = number;
}

static void collect_received(struct visitor *visitor, struct order_clock **clock)
{
	for (int level = ORDER_UNKNOWN; level <= ORDER_ASSUMED; level++)
		add_received(visitor,
			order_clock_reach(*clock, visitor->key, (enum order_strength)level));
}

static void forget_told(struct order *order, struct order_process *process)
{
	struct visitor visitor = { .visit = collect_received, .order = order, .key = process->key };

	visit_all(&visitor);
	collect_received(&visitor, &order->now);
	for (size_t i = 0; i < process->thread_count; i++)
		add_received(&visitor, process->thread[i]->received);
	order_forget_reports(order, process, visitor.received, visitor.count);
	free(visitor.received);
}

void order_forget(struct order *order)
{
	uint32_t *gone = xrealloc(NULL, order->keys.count, sizeof(*gone));
	size_t count = 0;

	for (size_t i = 0; i < order->keys.size; i++) {
		const struct order_key *key = order->keys.slot[i].object;

		if (key && key->dead && order_is_known_to_all(order, key->process, &key->last))
			gone[count++] = (uint32_t)order->keys.slot[i].id;
	}
	for (size_t i = 0; i < count; i++)
		free(id_map_take(&order->keys, gone[i]));
	if (count) {
		visit_all(&(struct visitor){ .visit = forget_keys, .order = order });
		order_clock_forget(&order->joiner, &order->now, is_gone, &order->keys);
	}
	for (size_t i = 0; i < order->processes.size; i++) {
		struct order_process *process = order->processes.slot[i].object;

		for (size_t j = 0; process && j < count; j++) {
			struct order_reports *reports = id_map_take(&process->of, gone[j]);

			if (!reports)
				continue;
			order->joiner.bytes -= reports->count * sizeof(*reports->from);
			order_free_reports(reports);
		}
		if (process && process->of.count)
			forget_told(order, process);
	}
	free(gone);
	order->forget_at = ORDER_FORGET_MIN + 2 * (uint32_t)order->keys.count;
	order->forget_bytes = order->joiner.bytes + order->joiner.limit / ORDER_FORGET_PART;
}
