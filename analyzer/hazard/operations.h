/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the accesses of operations, where they are known and the memory is shared; skips others. */
#ifndef CUFENCE_OPERATIONS_H
#define CUFENCE_OPERATIONS_H

#include "access.h"
#include "access_graph.h"
#include "id_map.h"
#include "run_columns.h"
#include "usage.h"
#include "walk.h"

struct operations {
	const struct run *run;
	struct access_reader *reader;
	struct run_cursor operands;
	struct id_map known;   /* kernels with known accesses */
	int graph_is_new;      /* the last call read launches a graph that was not read before */
	int64_t graph;         /* number of the graph that it launches, 0: none */
	int graph_is_left_out; /* or one that no longer was read: access_graph_is_left_out() */
};

/* Returns 0, or -1 after a message; operations_release() in both cases. */
int operations_init(struct operations *operations, struct db *db, const struct walk_part *part);
void operations_release(struct operations *operations);

/*
 * Reads the accesses of the call's operation, valid until the next call.  *accesses is NULL if none
 * is known, or none is to shared memory.  Calls must come in order.  Returns 0, or -1 after a
 * message.
 */
int operations_read(struct operations *operations, const struct walk_call *call,
	const struct usage *usage, const struct accesses **accesses);

/*
 * Returns 1 and the content of the graph that the last call read launches; 0 if that call launches
 * no graph, or one with the same content as before.
 */
int operations_graph(const struct operations *operations, struct graph_content *content);

#endif
