/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds which vertices of a directed acyclic graph come before others.  Vertices are visited in
 * topological order.  Each is appended to a chain of vertices that follow each other, and has a
 * clock: the position up to which every other chain comes before it.  Followers of a vertex share
 * its clock, which is kept until the last of them was visited, so the cost depends on the number of
 * edges and of concurrent chains.
 *
 * 	graph_order_init(&order, vertices);
 * 	while (there are edges)
 * 		graph_order_add(&order, from, to);
 * 	if (!graph_order_start(&order, rank))
 * 		while (graph_order_next(&order, &vertex) > 0)
 * 			... graph_order_is_before(&order, graph_order_place(&order, earlier)) ...
 */
#ifndef CUFENCE_GRAPH_ORDER_H
#define CUFENCE_GRAPH_ORDER_H

#include <stddef.h>
#include <stdint.h>

/* The place of a visited vertex; position 0: not visited. */
struct graph_place {
	uint32_t chain, position;
};

struct graph_edge {
	uint32_t from, to;
};

struct graph_order {
	uint32_t vertices, taken, chains;
	struct graph_edge *edge;
	size_t edges;
	uint32_t *first; /* by vertex: its first edge, edges sorted by `to`; one more at the end */
	uint32_t *follower;       /* sorted by vertex */
	uint32_t *first_follower; /* by vertex: its first follower; one more at the end */
	uint32_t *order;          /* topological order */
	uint32_t *waiting;        /* by vertex: followers not visited yet */
	struct graph_place *place;
	struct graph_clock **before, **after; /* of vertices with such followers */
	uint32_t *tail;                       /* by chain: its last position */
	uint32_t *reach;                      /* scratch, by chain */
	struct graph_clock *now;              /* clock of the last vertex visited */
	struct graph_place now_place;
	size_t live, work; /* clock entries stored, and merged so far */
};

/* Both return 0, or -1 after a message; graph_order_release() in any case. */
int graph_order_init(struct graph_order *order, size_t vertices);
void graph_order_add(struct graph_order *order, size_t from, size_t to);

/*
 * Sorts the vertices once all edges were added.  Among vertices that may come next, the one with
 * the lowest rank comes first; with rank NULL, use graph_order_visit().  Returns 0; 1 if the edges
 * form a cycle; -1 after a message.
 */
int graph_order_start(struct graph_order *order, const int64_t *rank);

/* Visits the next vertex.  Returns 1; 0 at the end; -1 beyond a limit or after a message. */
int graph_order_next(struct graph_order *order, size_t *vertex);

/*
 * Visits that vertex; the order comes from another graph of these vertices with more edges.
 * Returns 0, or -1 as above.
 */
int graph_order_visit(struct graph_order *order, size_t vertex);

static inline struct graph_place graph_order_place(const struct graph_order *order, size_t vertex)
{
	return order->place[vertex];
}

/* Returns 1 if the vertex at a place comes before the last vertex visited. */
int graph_order_is_before(const struct graph_order *order, struct graph_place place);

void graph_order_release(struct graph_order *order);

#endif
