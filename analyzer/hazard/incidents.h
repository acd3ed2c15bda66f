/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls that waited as a side effect, and what their threads had observed complete after them;
 * finds the call that causes an accidental order.
 */
#ifndef CUFENCE_INCIDENTS_H
#define CUFENCE_INCIDENTS_H

#include "order.h"
#include "walk.h"

/* Empty when zero-initialised. */
struct incidents {
	struct id_map processes; /* struct incident_ring */
};

void incidents_release(struct incidents *incidents);

/* Adds a call that order_step() has processed. */
void incidents_process_call(struct incidents *incidents, const struct order *order,
	const struct walk_call *call);

/* Returns the first call kept that waited for the operation as a side effect, 0: none. */
int64_t incidents_find(const struct incidents *incidents, int64_t process,
	const struct order_epoch *operation);

#endif
