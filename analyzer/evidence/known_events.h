/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Waits of a stream for an event that order nothing: the stream came after all that the event
 * stands for already, or waits for another event that covers it before it is given any work.
 * Takes part in the walk over a run, before the order takes the call; adds to table known_wait.
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

/* Takes the next call: 0, or -1 after a message. */
int known_events_see(struct known_events *known, struct order *order, const struct walk_call *call);

#endif
