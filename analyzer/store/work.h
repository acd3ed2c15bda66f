/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Device work in the units used by order and findings: table temp.work, with the columns of table
 * operation.
 *
 * A graph recorded node by node (run --graphs node) has an operation for each node, on internal
 * streams; a graph recorded as a whole has one.  In temp.work a graph launch is one unit in both
 * cases: kind 'graph', on the stream it was launched in, from the first start of its nodes to their
 * last end, with the id of the node that ended last.  All other rows are those of table operation.
 * Analysis uses temp.work; reports about the device use table operation.
 */
#ifndef CUFENCE_WORK_H
#define CUFENCE_WORK_H

#include "db.h"

/* Creates temp.work from the present rows of table operation.  Returns 0, or -1 after a message. */
int work_make(struct db *db);

/* The same if it is known whether graphs were recorded node by node. */
int work_make_of(struct db *db, int by_node);

/* The same, unless temp.work exists. */
int work_need(struct db *db);

#endif
