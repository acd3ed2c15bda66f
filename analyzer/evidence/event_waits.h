/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the record that each event wait waits for, if any: table event_wait.  Part of the walk over
 * a run, after order_step().
 */
#ifndef CUFENCE_EVENT_WAITS_H
#define CUFENCE_EVENT_WAITS_H

#include "db.h"
#include "order.h"
#include "walk.h"

struct event_waits;

/* NULL after a message. */
struct event_waits *event_waits_new(struct db *db);

/* Processes the call that order_step() has just processed.  Returns 0, or -1 after a message. */
int event_waits_process_call(struct event_waits *waits, const struct order *order,
	const struct walk_call *call);

/* Completes the table.  Returns 0, or -1 after a message. */
int event_waits_finish(struct event_waits *waits);

void event_waits_free(struct event_waits *waits);

#endif
