/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A key of all that is concluded from the content of an executable graph: accesses, what its nodes
 * are, where they were made, and their edges.  Contents with equal keys are judged once.
 */
#ifndef CUFENCE_GRAPH_KEY_H
#define CUFENCE_GRAPH_KEY_H

#include "access_graph.h"
#include "access_internal.h"

/* The edges of graph ?1 at call ?2. */
#define GRAPH_KEY_EDGES \
	"SELECT from_node, to_node, programmatic FROM graph_edge WHERE graph = ?1 " \
	"AND added < ?2 AND ifnull(removed, ?2) >= ?2 ORDER BY from_node, to_node"

/* edges: the prepared statement above.  Returns 0, or -1 after a message. */
int graph_key(const struct run *run, const struct graph_content *content,
	const struct access_rows *launch, sqlite3_stmt *edges, uint64_t *key);

#endif
