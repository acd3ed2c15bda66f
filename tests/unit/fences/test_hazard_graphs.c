/* SPDX-License-Identifier: Apache-2.0 */
/* Which vertices of a graph come before others: graph_order.h.  Its text: hazards of nodes. */
#include "cases.h"

#include "graph_order.h"

/* Any graph: the same as a search along its edges. */
TEST(places_say_what_a_search_says)
{
	enum { VERTICES = 40, ROUNDS = 200 };
	uint64_t seed = 1;

	for (int round = 0; round < ROUNDS; round++) {
		char reaches[VERTICES][VERTICES] = { { 0 } };
		int64_t rank[VERTICES];
		struct graph_order order;
		size_t vertex, taken = 0;

		assert_int_equal(graph_order_init(&order, VERTICES), 0);
		for (size_t i = 0; i < VERTICES; i++)
			rank[i] = (int64_t)i;
		for (int i = 0; i < 20 + round; i++) {
			size_t from, to;

			seed = seed * 6364136223846793005u + 1442695040888963407u;
			from = (seed >> 33) % VERTICES;
			to = (seed >> 45) % VERTICES;
			if (from >= to)
				continue;
			graph_order_add(&order, from, to);
			reaches[from][to] = 1;
		}
		for (int k = 0; k < VERTICES; k++)
			for (int i = 0; i < VERTICES; i++)
				for (int j = 0; j < VERTICES; j++)
					reaches[i][j] |= reaches[i][k] & reaches[k][j];
		assert_int_equal(graph_order_start(&order, rank), 0);
		while (graph_order_next(&order, &vertex) > 0) {
			assert_int_equal(vertex, taken++);
			for (size_t i = 0; i < VERTICES; i++)
				assert_int_equal(graph_order_is_before(&order,
							 graph_order_place(&order, i)),
					reaches[i][vertex]);
		}
		assert_int_equal(taken, VERTICES);
		graph_order_release(&order);
	}
}

TEST(circles_are_refused)
{
	struct graph_order order;
	int64_t rank[2] = { 0, 0 };

	assert_int_equal(graph_order_init(&order, 2), 0);
	graph_order_add(&order, 0, 1);
	graph_order_add(&order, 1, 0);
	assert_int_equal(graph_order_start(&order, rank), 1);
	graph_order_release(&order);
}

/* Layers of a thousand that all follow one vertex, which follows all of the layer before. */
TEST(wide_graphs_stay_cheap)
{
	enum { WIDTH = 1000, LAYERS = 50, STEP = WIDTH + 1 };
	size_t vertices = (size_t)LAYERS * STEP, vertex;
	int64_t *rank = calloc(vertices, sizeof(*rank));
	struct graph_order order;

	assert_non_null(rank);
	assert_int_equal(graph_order_init(&order, vertices), 0);
	for (size_t i = 0; i < vertices; i++) {
		size_t hub = i / STEP * STEP;

		rank[i] = (int64_t)i;
		if (i != hub)
			graph_order_add(&order, hub, i);
		if (i != hub && hub + STEP < vertices)
			graph_order_add(&order, i, hub + STEP);
	}
	assert_int_equal(graph_order_start(&order, rank), 0);
	while (graph_order_next(&order, &vertex) > 0)
		;
	assert_int_equal(order.taken, vertices);
	assert_int_equal(order.chains, WIDTH);
	assert_true(order.work < 8 * vertices);
	graph_order_release(&order);
	free(rank);
}
