/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls that waited as a side effect, and what their threads had observed complete after them: the
 * call that gives an accidental order.
 */
#ifndef CUFENCE_INCIDENTS_H
#define CUFENCE_INCIDENTS_H

#include "order.h"
#include "walk.h"

/* Zero-initialised is empty. */
struct incidents {
	struct idmap processes; /* struct incident_ring */
};

void incidents_release(struct incidents *incidents);

/* A call that the order has stepped; 0, or -1 after a message. */
int incidents_see(struct incidents *incidents, const struct order *order,
	const struct walk_call *call);

/* The first of them, of those kept, that had waited for the operation by accident; 0: none had. */
int64_t incidents_find(const struct incidents *incidents, int64_t process,
	const struct order_epoch *operation);

#endif
