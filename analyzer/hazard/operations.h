/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the operations of a run access, as far as it is known and of interest: others are not looked
 * at further.
 */
#ifndef CUFENCE_OPERATIONS_H
#define CUFENCE_OPERATIONS_H

#include "access.h"
#include "access_graph.h"
#include "idmap.h"
#include "run_columns.h"
#include "usage.h"
#include "walk.h"

struct operations {
	const struct run *run;
	struct access_reader *reader;
	struct run_cursor operands;
	struct idmap told; /* kernels of which it is known what they access */
	int graph_is_new;  /* the call read last launches a graph that was not read before */
};

/* 0, or -1 after a message; operations_release() in both cases. */
int operations_init(struct operations *operations, struct db *db);
void operations_release(struct operations *operations);

/*
 * The accesses of the call's operation, which stay until the next one is read; *accesses is NULL if
 * none of them is known, or none is to memory that is shared.  Calls come in order.  0, or -1
 * after a message.
 */
int operations_read(struct operations *operations, const struct walk_call *call,
	const struct usage *usage, const struct accesses **accesses);

/* 1 and what the graph consists of that the call read last launches; 0 if that is no launch of one,
 * or of one that was launched before and did the same. */
int operations_graph(const struct operations *operations, struct graph_content *content);

#endif
