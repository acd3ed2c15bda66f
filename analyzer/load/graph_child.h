/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The graph that a child node consists of is what it was when the node was added, a copy; one that
 * the program has in its hands (table graph_body) is what it is when an executable is made.
 */
#ifndef CUFENCE_GRAPH_CHILD_H
#define CUFENCE_GRAPH_CHILD_H

/* SQL: the call as of which n.child counts, of a graph_node n as of the call at. */
#define CHILD_AS_OF(at) \
	"CASE WHEN EXISTS (SELECT 1 FROM graph_body b WHERE b.node = n.id " \
	"AND b.graph = n.child) THEN " at " ELSE n.call END"

#endif
