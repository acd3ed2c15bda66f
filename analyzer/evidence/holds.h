/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds operations that were blocked on the device: submitted, and ready by their own stream and
 * all other dependencies, they started when an operation of another stream ended.  Part of the walk
 * over a run, after order_step().  Fills table hold.
 *
 * Reasons are the legacy default stream and synchronous copies between devices, both in either
 * direction, and waits for events.  Excluded are pairs that cannot overlap (kernels of which one
 * fills the device, copies in one direction) and, for the legacy stream, synchronous copies, for
 * which the host waits by intent.
 */
#ifndef CUFENCE_HOLDS_H
#define CUFENCE_HOLDS_H

#include "db.h"
#include "order.h"
#include "walk.h"

struct holds;

/* NULL after a message. */
struct holds *holds_new(struct db *db);
void holds_process_call(struct holds *holds, const struct order *order,
	const struct walk_call *call);
void holds_free(struct holds *holds);

#endif
