/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A child node contains a copy of its graph from the time the node was added.  If the program holds
 * the child graph (table graph_body), its contents count when an executable is instantiated.
 */
#ifndef CUFENCE_GRAPH_CHILD_H
#define CUFENCE_GRAPH_CHILD_H

/* SQL: the call as of which n.child applies, for a graph_node n as of the call at. */
#define CHILD_AS_OF(at) \
	"CASE WHEN EXISTS (SELECT 1 FROM graph_body b WHERE b.node = n.id " \
	"AND b.graph = n.child) THEN " at " ELSE n.call END"

#endif
