/* SPDX-License-Identifier: Apache-2.0 */
#include "graph_order.h"

#include <stdlib.h>
#include <string.h>

#include "memory.h"
#include "sorted.h"

/*
 * Limits of clock entries: stored at the same time (8 bytes each), and merged in all (5 ns each).
 * A graph beyond them is a loss (HAZARD_LOSS).
 */
#define LIVE_LIMIT ((size_t)16 << 20)
#define WORK_LIMIT ((size_t)400 << 20)

/* For every chain, the position up to which its vertices come before this one; sorted by chain. */
struct graph_clock {
	uint32_t refs, count;
	uint32_t free; /* no chain before this entry can be continued */
	struct graph_place entry[];
};

int graph_order_init(struct graph_order *order, size_t vertices)
{
	size_t room = vertices + 1;

	*order = (struct graph_order){ .vertices = (uint32_t)vertices };
	if (vertices >= UINT32_MAX / 2)
		return -1;
	order->first = xcalloc(room, sizeof(*order->first));
	order->first_follower = xcalloc(room, sizeof(*order->first_follower));
	order->order = xcalloc(room, sizeof(*order->order));
	order->waiting = xcalloc(room, sizeof(*order->waiting));
	order->place = xcalloc(room, sizeof(*order->place));
	order->before = xcalloc(room, sizeof(struct graph_clock *));
	order->after = xcalloc(room, sizeof(struct graph_clock *));
	order->tail = xcalloc(room, sizeof(*order->tail));
	order->reach = xcalloc(room, sizeof(*order->reach));
	return 0;
}

void graph_order_add(struct graph_order *order, size_t from, size_t to)
{
	if (from >= order->vertices || to >= order->vertices || order->edges == UINT32_MAX / 2)
		return;
	*array_push(order->edge, order->edges) =
		(struct graph_edge){ (uint32_t)from, (uint32_t)to };
}

static void drop(struct graph_order *order, struct graph_clock **clock)
{
	if (*clock && !--(*clock)->refs) {
		order->live -= (*clock)->count;
		free(*clock);
	}
	*clock = NULL;
}

void graph_order_release(struct graph_order *order)
{
	for (size_t i = 0; order->before && order->after && i < order->vertices; i++) {
		drop(order, &order->before[i]);
		drop(order, &order->after[i]);
	}
	drop(order, &order->now);
	free(order->edge);
	free(order->first);
	free(order->follower);
	free(order->first_follower);
	free(order->order);
	free(order->waiting);
	free(order->place);
	free(order->before);
	free(order->after);
	free(order->tail);
	free(order->reach);
	*order = (struct graph_order){ 0 };
}

/* --- topological order --- */

/* Replaces each vertex's count by the index of its first edge. */
static void add_up(uint32_t *count, uint32_t vertices)
{
	uint32_t sum = 0;

	for (uint32_t i = 0; i <= vertices; i++) {
		uint32_t own = count[i];

		count[i] = sum;
		sum += own;
	}
}

/* Vertices whose predecessors were all visited, as a heap with the lowest rank on top. */
struct ready {
	uint32_t *vertex;
	uint32_t count;
	const int64_t *rank;
};

static int is_first(const struct ready *ready, uint32_t a, uint32_t b)
{
	int64_t x = ready->rank[ready->vertex[a]], y = ready->rank[ready->vertex[b]];

	return x != y ? x < y : ready->vertex[a] < ready->vertex[b];
}

static void exchange(struct ready *ready, uint32_t a, uint32_t b)
{
	uint32_t vertex = ready->vertex[a];

	ready->vertex[a] = ready->vertex[b];
	ready->vertex[b] = vertex;
}

static void push(struct ready *ready, uint32_t vertex)
{
	uint32_t i = ready->count++;

	ready->vertex[i] = vertex;
	for (; i && is_first(ready, i, (i - 1) / 2); i = (i - 1) / 2)
		exchange(ready, i, (i - 1) / 2);
}

static uint32_t pop(struct ready *ready)
{
	uint32_t vertex = ready->vertex[0], i = 0;

	ready->vertex[0] = ready->vertex[--ready->count];
	for (;;) {
		uint32_t least = i;

		for (uint32_t k = 2 * i + 1; k <= 2 * i + 2 && k < ready->count; k++)
			if (is_first(ready, k, least))
				least = k;
		if (least == i)
			return vertex;
		exchange(ready, i, least);
		i = least;
	}
}

/* Returns 1 if the edges form a cycle. */
static int sort_vertices(struct graph_order *order, struct ready *ready)
{
	uint32_t found = 0;

	for (uint32_t i = 0; i < order->vertices; i++) {
		order->waiting[i] = order->first[i + 1] - order->first[i];
		if (!order->waiting[i])
			push(ready, i);
	}
	while (ready->count) {
		uint32_t vertex = order->order[found++] = pop(ready);

		for (uint32_t i = order->first_follower[vertex];
			i < order->first_follower[vertex + 1]; i++)
			if (!--order->waiting[order->follower[i]])
				push(ready, order->follower[i]);
	}
	return found < order->vertices;
}

int graph_order_start(struct graph_order *order, const int64_t *rank)
{
	struct ready ready = { .rank = rank };
	int rc = 0;

	/* Sorts edges by destination, and lists the followers of each vertex. */
	size_t room = order->edges + 1;
	struct graph_edge *sorted = xcalloc(room, sizeof(*sorted));

	order->follower = xcalloc(room, sizeof(*order->follower));
	for (size_t i = 0; i < order->edges; i++) {
		order->first[order->edge[i].to]++;
		order->first_follower[order->edge[i].from]++;
	}
	add_up(order->first, order->vertices);
	add_up(order->first_follower, order->vertices);
	for (size_t i = 0; i < order->edges; i++) {
		struct graph_edge edge = order->edge[i];

		sorted[order->first[edge.to]++] = edge;
		order->follower[order->first_follower[edge.from]++] = edge.to;
	}
	/* Each start has moved to the start of the next vertex. */
	memmove(order->first + 1, order->first, order->vertices * sizeof(*order->first));
	memmove(order->first_follower + 1, order->first_follower,
		order->vertices * sizeof(*order->first_follower));
	order->first[0] = order->first_follower[0] = 0;
	free(order->edge);
	order->edge = sorted;
	if (rank) {
		ready.vertex = xcalloc((size_t)order->vertices + 1, sizeof(*ready.vertex));
		rc = sort_vertices(order, &ready);
		free(ready.vertex);
	}
	for (uint32_t i = 0; i < order->vertices; i++)
		order->waiting[i] = order->first_follower[i + 1] - order->first_follower[i];
	return rc;
}

/* --- clocks --- */

static struct graph_clock *ref(struct graph_clock *clock)
{
	if (clock)
		clock->refs++;
	return clock;
}

static uint32_t reach_of(const struct graph_clock *clock, uint32_t chain)
{
	size_t low = clock ? sorted_number(clock->entry, clock->count, sizeof(*clock->entry),
				     offsetof(struct graph_place, chain), chain)
			   : 0;

	return clock && low < clock->count && clock->entry[low].chain == chain
		? clock->entry[low].position
		: 0;
}

int graph_order_is_before(const struct graph_order *order, struct graph_place place)
{
	if (!place.position)
		return 0;
	if (place.chain == order->now_place.chain)
		return place.position < order->now_place.position;
	return reach_of(order->now, place.chain) >= place.position;
}

/* Chains with an entry in the clock that is being built. */
struct gathering {
	uint32_t *chain;
	uint32_t count, room;
};

static void note(struct graph_order *order, struct gathering *gathering, struct graph_place place)
{
	if (!order->reach[place.chain]) {
		if (gathering->count == gathering->room) {
			gathering->room = gathering->room ? 2 * gathering->room : 16;
			gathering->chain = xrealloc(gathering->chain, gathering->room,
				sizeof(*gathering->chain));
		}
		gathering->chain[gathering->count++] = place.chain;
	}
	if (order->reach[place.chain] < place.position)
		order->reach[place.chain] = place.position;
}

static int by_chain(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

/* Returns a clock of the gathered entries; NULL after a message, or beyond a limit. */
static struct graph_clock *make_clock(struct graph_order *order, struct gathering *gathering)
{
	struct graph_clock *clock = NULL;

	order->live += gathering->count;
	if (order->live <= LIVE_LIMIT && order->work <= WORK_LIMIT)
		clock = xrealloc(NULL, 1,
			sizeof(*clock) + gathering->count * sizeof(*clock->entry));
	if (clock && gathering->count)
		qsort(gathering->chain, gathering->count, sizeof(*gathering->chain), by_chain);
	if (clock)
		*clock = (struct graph_clock){ .refs = 1, .count = gathering->count };
	for (uint32_t i = 0; i < gathering->count; i++) {
		uint32_t chain = gathering->chain[i];

		if (clock)
			clock->entry[i] = (struct graph_place){ chain, order->reach[chain] };
		order->reach[chain] = 0;
	}
	if (!clock)
		order->live -= gathering->count;
	return clock;
}

static void gather(struct graph_order *order, struct gathering *gathering, uint32_t vertex,
	const struct graph_clock **last)
{
	const struct graph_clock *clock = order->before[vertex];

	/* Followers of one vertex may share a clock. */
	for (uint32_t i = 0; clock && clock != *last && i < clock->count; i++) {
		order->work++;
		note(order, gathering, clock->entry[i]);
	}
	*last = clock;
	order->work++;
	note(order, gathering, order->place[vertex]);
}

/* Returns the merged clocks of the sources of these edges; NULL as for make_clock(). */
static struct graph_clock *join(struct graph_order *order, uint32_t from, uint32_t to)
{
	struct gathering gathering = { 0 };
	const struct graph_clock *last = NULL;
	struct graph_clock *clock;

	for (uint32_t i = from; i < to; i++)
		gather(order, &gathering, order->edge[i].from, &last);
	clock = make_clock(order, &gathering);
	free(gathering.chain);
	return clock;
}

/*
 * Returns a source of these edges that is the last vertex of its chain, UINT32_MAX if there is
 * none.
 */
static uint32_t find_tail(const struct graph_order *order, uint32_t from, uint32_t to)
{
	for (uint32_t i = from; i < to; i++) {
		struct graph_place place = order->place[order->edge[i].from];

		if (order->tail[place.chain] == place.position)
			return order->edge[i].from;
	}
	return UINT32_MAX;
}

/* Returns a chain whose last vertex comes before this one, or a new chain. */
static uint32_t find_chain(struct graph_order *order, struct graph_clock *before)
{
	for (; before && before->free < before->count; before->free++) {
		struct graph_place place = before->entry[before->free];

		if (order->tail[place.chain] == place.position)
			return place.chain;
	}
	return order->chains++;
}

/*
 * Finds the clock of a vertex.  A vertex that continues the chain of its only predecessor shares
 * that one's clock.
 */
static int find_before(struct graph_order *order, uint32_t vertex, struct graph_clock **before)
{
	uint32_t from = order->first[vertex], to = order->first[vertex + 1];
	uint32_t only = from < to ? order->edge[from].from : 0;

	*before = NULL;
	if (from == to)
		return 0;
	if (to - from > 1) {
		*before = join(order, from, to);
		return *before ? 0 : -1;
	}
	if (find_tail(order, from, to) == only) {
		*before = ref(order->before[only]);
		return 0;
	}
	if (!order->after[only])
		order->after[only] = join(order, from, to);
	*before = ref(order->after[only]);
	return *before ? 0 : -1;
}

/* Releases the clocks of predecessors whose last follower this vertex is. */
static void release_before(struct graph_order *order, uint32_t vertex)
{
	for (uint32_t i = order->first[vertex]; i < order->first[vertex + 1]; i++) {
		uint32_t earlier = order->edge[i].from;

		if (--order->waiting[earlier])
			continue;
		drop(order, &order->before[earlier]);
		drop(order, &order->after[earlier]);
	}
}

int graph_order_visit(struct graph_order *order, size_t number)
{
	uint32_t vertex = (uint32_t)number, tail;
	struct graph_clock *before;

	if (find_before(order, vertex, &before))
		return -1;
	tail = find_tail(order, order->first[vertex], order->first[vertex + 1]);
	drop(order, &order->now);
	order->now = before;
	order->now_place.chain =
		tail < UINT32_MAX ? order->place[tail].chain : find_chain(order, before);
	order->now_place.position = ++order->tail[order->now_place.chain];
	order->place[vertex] = order->now_place;
	if (order->waiting[vertex])
		order->before[vertex] = ref(before);
	release_before(order, vertex);
	return 0;
}

int graph_order_next(struct graph_order *order, size_t *vertex)
{
	if (order->taken == order->vertices)
		return 0;
	*vertex = order->order[order->taken++];
	return graph_order_visit(order, *vertex) ? -1 : 1;
}
