/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operations blocked on the device: submitted, ready by their own stream and all other orders, and
 * started when an operation of another stream ended. Takes part in the walk over a run, after
 * order_step().  Fills table hold.
 *
 * Reasons are the legacy default stream, in both directions, synchronous copies between devices,
 * likewise, and waits for events.  Left out: pairs that cannot overlap (kernels of which one fills
 * the device, copies in one direction) and, for legacy, synchronous copies, for which the host
 * waits by intent.
 */
#ifndef CUFENCE_HOLDS_H
#define CUFENCE_HOLDS_H

#include "db.h"
#include "order.h"
#include "walk.h"

struct holds;

/* NULL after a message. */
struct holds *holds_new(struct db *db);
int holds_see(struct holds *holds, const struct order *order, const struct walk_call *call);
void holds_free(struct holds *holds);

#endif
