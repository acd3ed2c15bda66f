/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which record each wait for an event saw, or that none had been made: table event_wait.  Takes
 * part in the walk over a run, after order_step().
 */
#ifndef CUFENCE_EVENT_WAITS_H
#define CUFENCE_EVENT_WAITS_H

#include "db.h"
#include "order.h"
#include "walk.h"

struct event_waits;

/* NULL after a message. */
struct event_waits *event_waits_new(struct db *db);

/* The call that order has just stepped: 0, or -1 after a message. */
int event_waits_see(struct event_waits *waits, const struct order *order,
	const struct walk_call *call);

/* The table is full; 0, or -1 after a message. */
int event_waits_finish(struct event_waits *waits);

void event_waits_free(struct event_waits *waits);

#endif
