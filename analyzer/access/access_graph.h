/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The content of an executable graph at a launch, node by node, to find nodes that access the same
 * memory.  access.h has the accesses of the launch as a whole.
 */
#ifndef CUFENCE_ACCESS_GRAPH_H
#define CUFENCE_ACCESS_GRAPH_H

#include "access.h"

struct graph_part_node {
	int64_t id;   /* row of graph_node */
	int64_t top;  /* the node of the executable's own graph that it is or belongs to */
	int64_t call; /* the call that defines what it does */
	uint32_t part;
	uint8_t kind;  /* enum call_kind of a call that does the same; KIND_RUNTIME: none */
	uint8_t maybe; /* it may not run */
};

/* The executable's own graph (first), or the content of one of its nodes. */
struct graph_part {
	int64_t graph, at; /* the graph, in its state at that call */
	int64_t top;       /* as graph_part_node.top; 0 for the first part */
	/* index of the node that contains it; parts of a node are consecutive and run one by one */
	uint32_t owner;
	int first, maybe; /* first: the executable's own graph, where nodes can be changed */
};

struct graph_content {
	int64_t exec, number; /* number: equal ones are equal contents; 0: it was not read */
	const struct graph_part *part;
	const struct graph_part_node *node; /* sorted by part, then by id */
	const struct accesses *accesses; /* sorted by node; access.node is 1 + index, 0: any node */
	size_t part_count, node_count;
	int complete; /* no node is missing */
};

/*
 * Returns 1 and the content of the graph that the last access_read() of a launch read, valid until
 * the next one; 0 if an earlier launch had the same content.  Its number is that of any launch.
 */
int access_graph_is_new(const struct access_reader *reader, struct graph_content *content);

/* Returns 1 if the last launch was not read: a limit was reached before. */
int access_graph_is_left_out(const struct access_reader *reader);

/*
 * Sets the limit of nodes read, at 20 us each.  For further graphs only the memory that they name
 * is listed.
 */
void access_graph_limit(struct access_reader *reader, size_t nodes);

#endif
