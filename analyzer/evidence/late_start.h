/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Why operations started late although they were ready by their order: by their stream, events,
 * legacy work and their thread's waits.  Private to holds.c, with which it takes part in the walk
 * over a run and fills table hold.
 *
 * The reason is the first that fits what ended just before the start:
 *
 *	load      it had been under way when code was loaded, which the next kernel of every
 *	          stream waits for (measured on an H200: lazily, by a launch or a query)
 *	engine    a copy in the same direction
 *	full      a kernel, and what ran with it left too little of the device
 *	channel   anything, in a program with more streams than CUDA_DEVICE_MAX_CONNECTIONS:
 *	          "false dependencies" among streams that share a hardware queue
 *	unknown   anything else
 *	queue     nothing: the device had been idle, so that the work itself came late
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
 * Takes the next call, after order_step() did, and when the last legacy or blocking work that its
 * operation came after ended, ns: 0, or -1 after a message.
 */
int late_see(struct late *late, const struct order *order, const struct walk_call *call,
	int64_t legacy_end);

#endif
