/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds why operations started late although they were ready: their stream's earlier work, events,
 * legacy work and their thread's waits were complete.  Private to holds.c, with which it is part of
 * the walk over a run and fills table hold.
 *
 * The reason is the first that matches the operation that ended just before the start:
 *
 * load      it was running when code was loaded; the next kernel of every stream waits for that
 *           (measured on an H200: lazy loading, by a launch or a query)
 * engine    a copy in the same direction
 * full      a kernel; the operations running with it left too little of the device
 * channel   any, in a program with more streams than CUDA_DEVICE_MAX_CONNECTIONS: "false
 *           dependencies" among streams that share a hardware queue
 * unknown   any other
 * queue     none: the device was idle, so the work itself was submitted late
 */
#ifndef CUFENCE_LATE_START_H
#define CUFENCE_LATE_START_H

#include "db.h"
#include "order.h"
#include "walk.h"

struct late;

/* NULL after a message. */
struct late *late_new(struct db *db);
void late_free(struct late *late);

/*
 * Processes the next call, after order_step().  The last argument is the end of the last legacy or
 * blocking work that its operation comes after, ns.
 */
void late_start_process_call(struct late *late, const struct order *order,
	const struct walk_call *call, int64_t legacy_end);

#endif
