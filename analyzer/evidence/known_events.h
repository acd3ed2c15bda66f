/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds stream waits for an event that have no effect: the stream already comes after all work that
 * the event covers, or it waits for another event that covers this work before it gets new work.
 * Part of the walk over a run, before the order processes the call; adds to table known_wait.
 */
#ifndef CUFENCE_KNOWN_EVENTS_H
#define CUFENCE_KNOWN_EVENTS_H

#include "db.h"
#include "order.h"
#include "walk.h"

struct known_events;

/* NULL after a message. */
struct known_events *known_events_new(struct db *db);
void known_events_free(struct known_events *known);

/* Processes the next call.  Returns 0, or -1 after a message. */
int known_events_process_call(struct known_events *known, struct order *order,
	const struct walk_call *call);

#endif
