/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pairs of operations that touch the same bytes, one of them writing, and that CUDA does not order:
 * missing fences.  Takes part in the walk over a run, after order_step(), and fills table hazard.
 *
 * Of each life of an allocation that more than one stream uses the last accesses are remembered, by
 * bytes, with the point of the order at which they were made (history.h).  An access that conflicts
 * with one of these and is not ordered after it is a hazard, however the run went: both operations
 * could have run at the same time.  Silence proves nothing: accesses that a kernel's code does not
 * show, and the host's own, are not recorded.
 *
 * Confidence.  Certain: both sides are exact or read off the code of the kernel, and have bytes in
 * common.  Likely: one side covers all that the other one may touch, or is known by convention.
 * Possible: any other pair; the order of two threads that only host time decides; the same flag
 * written by both; an upload from pageable memory of up to HAZARD_SMALL_UPLOAD bytes, or by a
 * synchronous call that had ended when the later operation was submitted.  What stands for nothing
 * but a pointer among the parameters of a kernel is no access here.
 */
#ifndef CUFENCE_HAZARDS_H
#define CUFENCE_HAZARDS_H

#include "db.h"
#include "order.h"
#include "walk.h"

/* Reason in table loss: graphs whose nodes were not compared. */
#define HAZARD_LOSS "graphs_not_read"
/* Likewise: accesses that were forgotten before it was known that they do not matter. */
#define HAZARD_FORGOTTEN "accesses_forgotten"

struct hazards;

/* NULL after a message. */
struct hazards *hazards_new(struct db *db);

/* The call that order has just stepped: 0, or -1 after a message. */
int hazards_see(struct hazards *hazards, struct order *order, const struct walk_call *call);

/* Fills table hazard. */
int hazards_finish(struct hazards *hazards);

void hazards_free(struct hazards *hazards);

#endif
