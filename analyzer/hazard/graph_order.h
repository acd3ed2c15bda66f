/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which vertices of a directed graph without circles come before others.  They are taken in an
 * order in which every edge leads forwards; each is put on a chain of vertices that follow each
 * other, and knows how far it is behind on every other chain.  Such knowledge is shared by all that
 * follow one vertex, and lasts until the last of them was taken, so that what it costs goes by the
 * number of edges and by how many chains run side by side.
 *
 *	graph_order_init(&order, vertices);
 *	while (there are edges)
 *		graph_order_add(&order, from, to);
 *	if (!graph_order_start(&order, rank))
 *		while (graph_order_next(&order, &vertex) > 0)
 *			... graph_order_is_before(&order, graph_order_place(&order, earlier)) ...
 */
#ifndef CUFENCE_GRAPH_ORDER_H
#define CUFENCE_GRAPH_ORDER_H

#include <stddef.h>
#include <stdint.h>

/* Where a vertex that was taken is; position 0: nowhere. */
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
	uint32_t *first;    /* of a vertex, in edge, which is in order of to; one more at the end */
	uint32_t *follower; /* in order of vertices ... */
	uint32_t *first_follower; /* ... whose first one that is, one more at the end */
	uint32_t *order;          /* in which they are taken */
	uint32_t *waiting;        /* how many of a vertex's followers were not taken */
	struct graph_place *place;
	struct graph_clock **before, **after; /* of vertices that somebody still follows */
	uint32_t *tail;                       /* of each chain, its last position */
	uint32_t *reach;                      /* scratch, by chain */
	struct graph_clock *now;              /* what the vertex taken last comes after */
	struct graph_place now_place;
	size_t live, work; /* entries of clocks, and those that were merged */
};

/* 0, or -1 after a message; graph_order_release() in any case. */
int graph_order_init(struct graph_order *order, size_t vertices);
int graph_order_add(struct graph_order *order, size_t from, size_t to);

/*
 * Once all edges are there: 0; 1: they go in circles; -1 after a message.  Of vertices that may be
 * taken the one of the lowest rank is; without ranks graph_order_take() decides.
 */
int graph_order_start(struct graph_order *order, const int64_t *rank);

/* Takes the next vertex: 1; 0 at the end; -1: it is too much work, or after a message. */
int graph_order_next(struct graph_order *order, size_t *vertex);

/* Takes that one, as another order of these vertices and more edges has: 0, or -1 likewise. */
int graph_order_take(struct graph_order *order, size_t vertex);

static inline struct graph_place graph_order_place(const struct graph_order *order, size_t vertex)
{
	return order->place[vertex];
}

/* 1 if the vertex at a place comes before the one taken last. */
int graph_order_is_before(const struct graph_order *order, struct graph_place place);

void graph_order_release(struct graph_order *order);

#endif
