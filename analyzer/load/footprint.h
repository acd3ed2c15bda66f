/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which memory graphs name, by address.  A graph is the sum of its nodes, which come, change and
 * go; an executable is what its graph was when it was made or updated, and what was set in it
 * since.  That is never too little: what an executable no longer touches may still be there.
 *
 * Graphs, nodes and executables are rows of the database; all functions that return an int: 0, or
 * -1 after a message.  Zero-initialized is empty.
 */
#ifndef CUFENCE_FOOTPRINT_H
#define CUFENCE_FOOTPRINT_H

#include <stddef.h>
#include <stdint.h>

#include "map.h"

struct footprint {
	uint64_t *address; /* in order, each once, where an executable is asked for */
	size_t count, room;
	unsigned content; /* content.h */
};

struct footprint_node;
struct footprint_graph;
struct footprint_exec;

struct footprints {
	struct map nodes, graphs, execs; /* row -> index + 1 */
	struct footprint_node *node;
	struct footprint_graph *graph;
	struct footprint_exec *exec;
	size_t node_count, graph_count, exec_count;
	unsigned doubt; /* content of all graphs: changes that were not understood */
};

/* A node of a graph names these, and nothing else from now on; what points to is copied. */
int footprint_set_node(struct footprints *all, int64_t graph, int64_t node,
	const struct footprint *names);
/* A graph has more, though not known in which node. */
int footprint_add_to_graph(struct footprints *all, int64_t graph, const struct footprint *more);
/* A node is what a graph is at that time, or will be when it is instantiated. */
int footprint_set_child(struct footprints *all, int64_t graph, int64_t node, int64_t child);
int footprint_add_body(struct footprints *all, int64_t graph, int64_t node, int64_t body);
void footprint_remove_node(struct footprints *all, int64_t node);
/* to: a copy of from, whose nodes are numbered from first on in their order. */
int footprint_clone(struct footprints *all, int64_t from, int64_t to, int64_t first);
/* The graph of a node, 0: not known. */
int64_t footprint_graph_of(const struct footprints *all, int64_t node);
size_t footprint_node_count(const struct footprints *all, int64_t graph);
int64_t footprint_first_node(const struct footprints *all, int64_t graph);
void footprint_drop_graph(struct footprints *all, int64_t graph);

/* exec becomes what the graph is now. */
int footprint_instantiate(struct footprints *all, int64_t exec, int64_t graph);
int footprint_add_to_exec(struct footprints *all, int64_t exec, const struct footprint *more);
/* What it names; NULL: not known. */
const struct footprint *footprint_of_exec(const struct footprints *all, int64_t exec);
void footprint_drop_exec(struct footprints *all, int64_t exec);

void footprints_release(struct footprints *all);

#endif
