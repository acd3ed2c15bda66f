/* SPDX-License-Identifier: Apache-2.0 */
#include "footprint.h"

#include <stdlib.h>
#include <string.h>

#include "memory.h"

/*
 * Bodies of conditional nodes can contain bodies; those nested deeper than CUDA allows are ignored.
 */
#define BODY_DEPTH 8

struct footprint_node {
	int64_t row, graph;
	struct footprint names;
	int64_t *body; /* rows of body graphs */
	size_t body_count;
};

struct footprint_graph {
	int64_t row;
	int64_t *node; /* rows, ascending */
	size_t count;
	struct footprint more; /* memory of unidentified nodes */
};

/* Memory of an executable: of one of its nodes, or of its graph's unidentified ones. */
struct part {
	uint64_t node; /* as footprint_set_in_exec() has it; 0: of no node */
	struct footprint names;
};

struct footprint_exec {
	int64_t row;
	struct part *part;
	size_t count;
	struct map parts;       /* node -> index + 1 */
	struct footprint names; /* of all parts, unless it is old */
	int old;
};

static void release(struct footprint *footprint)
{
	free(footprint->address);
	*footprint = (struct footprint){ 0 };
}

static void add(struct footprint *to, const struct footprint *from)
{
	size_t count = to->count + from->count;

	to->content |= from->content;
	if (count > to->room) {
		to->address = xrealloc(to->address, 2 * count, sizeof(*to->address));
		to->room = 2 * count;
	}
	if (from->count)
		memcpy(to->address + to->count, from->address,
			from->count * sizeof(*from->address));
	to->count = count;
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static void sort(struct footprint *footprint)
{
	size_t kept = 0;

	if (footprint->count)
		qsort(footprint->address, footprint->count, sizeof(*footprint->address), compare);
	for (size_t i = 0; i < footprint->count; i++)
		if (!kept || footprint->address[i] != footprint->address[kept - 1])
			footprint->address[kept++] = footprint->address[i];
	footprint->count = kept;
}

static struct footprint_graph *graph_of(const struct footprints *all, int64_t row)
{
	uint64_t index = map_get(&all->graphs, (uint64_t)row, 0);

	return index ? &all->graph[index - 1] : NULL;
}

static struct footprint_graph *need_graph(struct footprints *all, int64_t row)
{
	struct footprint_graph *known = graph_of(all, row);

	if (known)
		return known;
	*array_push(all->graph, all->graph_count) = (struct footprint_graph){ .row = row };
	map_set(&all->graphs, (uint64_t)row, all->graph_count);
	return &all->graph[all->graph_count - 1];
}

static struct footprint_node *node_of(const struct footprints *all, int64_t row)
{
	uint64_t index = map_get(&all->nodes, (uint64_t)row, 0);

	return index ? &all->node[index - 1] : NULL;
}

static struct footprint_node *need_node(struct footprints *all, int64_t graph_row, int64_t row)
{
	struct footprint_node *known = node_of(all, row);
	struct footprint_graph *graph;

	if (known)
		return known;
	graph = need_graph(all, graph_row);
	*array_push(all->node, all->node_count) =
		(struct footprint_node){ .row = row, .graph = graph_row };
	map_set(&all->nodes, (uint64_t)row, all->node_count);
	*array_push(graph->node, graph->count) = row;
	return &all->node[all->node_count - 1];
}

static int sum_up(const struct footprints *all, int64_t row, struct footprint *sum, int depth);

static int sum_up_node(const struct footprints *all, int64_t row, struct footprint *sum, int depth)
{
	const struct footprint_node *node = node_of(all, row);

	add(sum, &node->names);
	for (size_t i = 0; i < node->body_count; i++)
		if (sum_up(all, node->body[i], sum, depth + 1))
			return -1;
	return 0;
}

/* Sums up the graph's current contents. */
static int sum_up(const struct footprints *all, int64_t row, struct footprint *sum, int depth)
{
	const struct footprint_graph *graph = graph_of(all, row);

	sum->content |= all->doubt;
	if (!graph || depth == BODY_DEPTH)
		return 0;
	add(sum, &graph->more);
	for (size_t i = 0; i < graph->count; i++)
		if (sum_up_node(all, graph->node[i], sum, depth))
			return -1;
	return 0;
}

int footprint_set_node(struct footprints *all, int64_t graph, int64_t row,
	const struct footprint *names)
{
	struct footprint_node *node = need_node(all, graph, row);

	if (!node)
		return -1;
	node->names.count = 0;
	node->names.content = 0;
	add(&node->names, names);
	return 0;
}

int footprint_add_to_graph(struct footprints *all, int64_t row, const struct footprint *more)
{
	struct footprint_graph *graph = need_graph(all, row);

	if (!graph)
		return -1;
	add(&graph->more, more);
	return 0;
}

int footprint_set_child(struct footprints *all, int64_t graph, int64_t node, int64_t child)
{
	struct footprint sum = { .count = 0 };
	int rc = sum_up(all, child, &sum, 0);

	sort(&sum);
	rc = rc || footprint_set_node(all, graph, node, &sum) ? -1 : 0;
	release(&sum);
	return rc;
}

void footprint_add_body(struct footprints *all, int64_t graph, int64_t row, int64_t body)
{
	struct footprint_node *node = need_node(all, graph, row);

	*array_push(node->body, node->body_count) = body;
}

int64_t footprint_graph_of(const struct footprints *all, int64_t row)
{
	const struct footprint_node *node = node_of(all, row);

	return node ? node->graph : 0;
}

size_t footprint_node_count(const struct footprints *all, int64_t row)
{
	const struct footprint_graph *graph = graph_of(all, row);

	return graph ? graph->count : 0;
}

int64_t footprint_first_node(const struct footprints *all, int64_t row)
{
	const struct footprint_graph *graph = graph_of(all, row);

	return graph && graph->count ? graph->node[0] : 0;
}

/* The last node moves into the free place. */
static void free_node(struct footprints *all, struct footprint_node *node)
{
	struct footprint_node *last = &all->node[all->node_count - 1];

	map_remove(&all->nodes, (uint64_t)node->row);
	release(&node->names);
	free(node->body);
	if (node != last) {
		*node = *last;
		map_set(&all->nodes, (uint64_t)node->row, (uint64_t)(node - all->node) + 1);
	}
	all->node_count--;
}

void footprint_remove_node(struct footprints *all, int64_t row)
{
	struct footprint_node *node = node_of(all, row);
	struct footprint_graph *graph = node ? graph_of(all, node->graph) : NULL;
	size_t kept = 0;

	if (!graph)
		return;
	for (size_t i = 0; i < graph->count; i++)
		if (graph->node[i] != row)
			graph->node[kept++] = graph->node[i];
	graph->count = kept;
	free_node(all, node);
}

int footprint_clone(struct footprints *all, int64_t from, int64_t to, int64_t first)
{
	struct footprint sum = { .count = 0 };
	size_t count = graph_of(all, from) ? graph_of(all, from)->count : 0;
	int rc;

	if (graph_of(all, from))
		add(&sum, &graph_of(all, from)->more);
	rc = footprint_add_to_graph(all, to, &sum);
	for (size_t i = 0; i < count && !rc; i++) {
		sum.count = 0;
		sum.content = 0;
		rc = sum_up_node(all, graph_of(all, from)->node[i], &sum, 0);
		rc = rc || footprint_set_node(all, to, first + (int64_t)i, &sum) ? -1 : 0;
	}
	release(&sum);
	return rc;
}

static void drop(struct footprints *all, int64_t row, int depth)
{
	struct footprint_graph *graph = graph_of(all, row), *last, gone;

	if (!graph)
		return;
	gone = *graph;
	last = &all->graph[--all->graph_count];
	map_remove(&all->graphs, (uint64_t)row);
	if (graph != last) {
		*graph = *last;
		map_set(&all->graphs, (uint64_t)graph->row, (uint64_t)(graph - all->graph) + 1);
	}
	for (size_t i = 0; i < gone.count; i++) {
		struct footprint_node *node = node_of(all, gone.node[i]);
		size_t bodies = depth < BODY_DEPTH ? node->body_count : 0;
		int64_t *body = node->body;

		node->body = NULL;
		free_node(all, node);
		for (size_t k = 0; k < bodies; k++)
			drop(all, body[k], depth + 1);
		free(body);
	}
	free(gone.node);
	release(&gone.more);
}

void footprint_drop_graph(struct footprints *all, int64_t graph)
{
	drop(all, graph, 0);
}

static struct footprint_exec *exec_of(const struct footprints *all, int64_t row)
{
	uint64_t index = map_get(&all->execs, (uint64_t)row, 0);

	return index ? &all->exec[index - 1] : NULL;
}

static struct footprint_exec *need_exec(struct footprints *all, int64_t row)
{
	struct footprint_exec *exec = exec_of(all, row);

	if (exec)
		return exec;
	exec = array_push(all->exec, all->exec_count);
	*exec = (struct footprint_exec){ .row = row };
	map_set(&all->execs, (uint64_t)row, all->exec_count);
	return exec;
}

static void empty_exec(struct footprint_exec *exec)
{
	for (size_t i = 0; i < exec->count; i++)
		release(&exec->part[i].names);
	exec->count = 0;
	map_release(&exec->parts);
	exec->old = 1;
}

/* The part of a node, emptied. */
static struct footprint *new_part(struct footprint_exec *exec, uint64_t node)
{
	uint64_t known = map_get(&exec->parts, node, 0);
	struct footprint *names;

	exec->old = 1;
	if (!known) {
		*array_push(exec->part, exec->count) = (struct part){ .node = node };
		known = exec->count;
		map_set(&exec->parts, node, known);
	}
	names = &exec->part[known - 1].names;
	names->count = 0;
	names->content = 0;
	return names;
}

int footprint_instantiate(struct footprints *all, int64_t row, int64_t graph_row)
{
	struct footprint_exec *exec = need_exec(all, row);
	const struct footprint_graph *graph = graph_of(all, graph_row);
	struct footprint *rest;
	int rc = 0;

	empty_exec(exec);
	rest = new_part(exec, 0);
	rest->content = all->doubt;
	if (graph)
		add(rest, &graph->more);
	for (size_t i = 0; graph && i < graph->count && !rc; i++)
		rc = sum_up_node(all, graph->node[i], new_part(exec, (uint64_t)graph->node[i]), 0);
	return rc;
}

void footprint_set_in_exec(struct footprints *all, int64_t row, uint64_t node,
	const struct footprint *names)
{
	struct footprint_exec *exec = exec_of(all, row);

	if (exec)
		add(new_part(exec, node), names);
}

const struct footprint *footprint_of_exec(const struct footprints *all, int64_t row)
{
	struct footprint_exec *exec = exec_of(all, row);

	if (exec && exec->old) {
		exec->old = exec->names.count = exec->names.content = 0;
		for (size_t i = 0; i < exec->count; i++)
			add(&exec->names, &exec->part[i].names);
		sort(&exec->names);
	}
	return exec ? &exec->names : NULL;
}

static void release_exec(struct footprint_exec *exec)
{
	empty_exec(exec);
	free(exec->part);
	release(&exec->names);
}

void footprint_drop_exec(struct footprints *all, int64_t row)
{
	struct footprint_exec *exec = exec_of(all, row), *last;

	if (!exec)
		return;
	release_exec(exec);
	map_remove(&all->execs, (uint64_t)row);
	last = &all->exec[--all->exec_count];
	if (exec == last)
		return;
	*exec = *last;
	map_set(&all->execs, (uint64_t)exec->row, (uint64_t)(exec - all->exec) + 1);
}

void footprints_release(struct footprints *all)
{
	for (size_t i = 0; i < all->node_count; i++) {
		release(&all->node[i].names);
		free(all->node[i].body);
	}
	for (size_t i = 0; i < all->graph_count; i++) {
		free(all->graph[i].node);
		release(&all->graph[i].more);
	}
	for (size_t i = 0; i < all->exec_count; i++)
		release_exec(&all->exec[i]);
	free(all->node);
	free(all->graph);
	free(all->exec);
	map_release(&all->nodes);
	map_release(&all->graphs);
	map_release(&all->execs);
	*all = (struct footprints){ .doubt = 0 };
}
