/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The inside of access_read(): access.c reads what single operations do, access_graph.c what graphs
 * consist of.  Functions: 0, or -1 after a message.
 */
#ifndef CUFENCE_ACCESS_PARTS_H
#define CUFENCE_ACCESS_PARTS_H

#include "access.h"
#include "idmap.h"

struct access_reader {
	sqlite3_stmt *call, *ends, *extents, *claims, *words;
	struct access_graphs *graphs;
};

struct access_graphs *access_graphs_open(struct db *db);
void access_graphs_close(struct access_graphs *graphs);

/* Adds what lies in an allocation of that start and size. */
int access_add(struct accesses *accesses, const struct memory_access *access, int64_t start,
	int64_t bytes);

/*
 * Adds what an operation does that a call describes: as that call's own, or as a node of a graph of
 * that type (graph_node.type).  complete and named are those of this operation alone.
 */
int access_add_operation(struct access_reader *reader, int64_t call, const char *node_type,
	struct accesses *accesses);

/* The accesses of a call that launches an executable graph. */
int access_read_graph(struct access_reader *reader, int64_t call, struct accesses *accesses);

#endif
