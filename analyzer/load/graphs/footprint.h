/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The memory that graphs access, by address.  The footprint of a graph is the sum of its nodes,
 * which are added, changed and removed.  The footprint of an executable graph is that of its graph
 * when it was instantiated or updated, by nodes, which may be set in it since.  It never misses an
 * address, but may contain some that are no longer accessed: those that unidentified nodes had.
 *
 * Graphs, nodes and executables are database rows.  All functions that return an int return 0, or
 * -1 after a message.  Zero-initialized is empty.
 */
#ifndef CUFENCE_FOOTPRINT_H
#define CUFENCE_FOOTPRINT_H

#include <stddef.h>
#include <stdint.h>

#include "map.h"

struct footprint {
	uint64_t *address; /* ascending and unique in the result of footprint_of_exec() */
	size_t count, room;
	unsigned content; /* unnamed_memory.h */
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
	unsigned doubt; /* content of all graphs, from changes that could not be resolved */
};

/* Replaces the footprint of a node; the addresses are copied. */
int footprint_set_node(struct footprints *all, int64_t graph, int64_t node,
	const struct footprint *names);
/* Adds memory of an unidentified node to a graph. */
int footprint_add_to_graph(struct footprints *all, int64_t graph, const struct footprint *more);
/* The node contains a child graph as it is now, or as it will be at instantiation. */
int footprint_set_child(struct footprints *all, int64_t graph, int64_t node, int64_t child);
void footprint_add_body(struct footprints *all, int64_t graph, int64_t node, int64_t body);
void footprint_remove_node(struct footprints *all, int64_t node);
/* Makes to a copy of from; its nodes are numbered from first on, in the same order. */
int footprint_clone(struct footprints *all, int64_t from, int64_t to, int64_t first);
/* The graph of a node, 0: unknown. */
int64_t footprint_graph_of(const struct footprints *all, int64_t node);
size_t footprint_node_count(const struct footprints *all, int64_t graph);
int64_t footprint_first_node(const struct footprints *all, int64_t graph);
void footprint_drop_graph(struct footprints *all, int64_t graph);

/* Sets exec to the current contents of graph. */
int footprint_instantiate(struct footprints *all, int64_t exec, int64_t graph);
/* Replaces that of a node in exec.  node: its row, or any other number that is always the same. */
void footprint_set_in_exec(struct footprints *all, int64_t exec, uint64_t node,
	const struct footprint *names);
/* The memory that it accesses; NULL: unknown. */
const struct footprint *footprint_of_exec(const struct footprints *all, int64_t exec);
void footprint_drop_exec(struct footprints *all, int64_t exec);

void footprints_release(struct footprints *all);

#endif
