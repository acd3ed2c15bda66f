/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an executable graph consists of at a launch, node by node, for whoever asks which of its
 * nodes touch the same memory: the launch as a whole is access.h's.
 */
#ifndef CUFENCE_ACCESS_GRAPH_H
#define CUFENCE_ACCESS_GRAPH_H

#include "access.h"

struct graph_part_node {
	int64_t id;   /* row of graph_node */
	int64_t top;  /* the node of the executable's own graph that it is, or is in */
	int64_t call; /* that says what it does */
	uint32_t part;
	uint8_t kind;  /* enum call_kind of a call that does the same; KIND_RUNTIME: none */
	uint8_t maybe; /* whether it runs is not known */
};

/* The executable's own graph (the first), or what one of its nodes consists of. */
struct graph_part {
	int64_t graph, at; /* the graph as of that call */
	int64_t top;       /* as graph_part_node.top, 0 of the first */
	uint32_t owner;    /* index of the node that consists of it; parts of one owner follow each
	                    * other, and one of them at a time runs */
	int first, maybe;  /* first: the executable's own, where nodes can be set */
};

struct graph_content {
	int64_t exec;
	const struct graph_part *part;
	const struct graph_part_node *node; /* in order of parts, and of id */
	const struct accesses *accesses;    /* in order of nodes; node is index and 1, 0: of any */
	size_t part_count, node_count;
	int complete; /* all of its nodes are there */
};

/*
 * 1 and what the graph consists of that the last access_read() of a launch was about, until the
 * next one; 0 if it does what it did at an earlier launch.
 */
int access_graph_is_new(const struct access_reader *reader, struct graph_content *content);

/* How many nodes it reads at most; 20 us each.  Of other graphs it says what they name. */
void access_graph_limit(struct access_reader *reader, size_t nodes);

#endif
