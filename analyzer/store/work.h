/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the device did, in the units that the order and the findings go by: table temp.work, with
 * the columns of table operation.
 *
 * A graph that was recorded node by node (run --graphs node) has an operation for each node, on
 * streams that nobody else knows; one that was recorded as a whole has one.  Here a launch is one
 * unit at either level: kind 'graph', on the stream it was launched to, from the first start of its
 * nodes to their last end, with the id of the node that ended last.  All else is as it is in
 * table operation.  Whoever concludes something reads temp.work; what is shown of the device comes
 * from table operation.
 */
#ifndef CUFENCE_WORK_H
#define CUFENCE_WORK_H

#include "db.h"

/* Makes temp.work of what table operation has now; 0, or -1 after a message. */
int work_make(struct db *db);

/* The same where it is known whether a graph was recorded node by node. */
int work_make_of(struct db *db, int by_node);

/* The same, unless the connection has one. */
int work_need(struct db *db);

#endif
