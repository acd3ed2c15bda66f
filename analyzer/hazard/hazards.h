/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Missing fences: pairs of operations that access the same bytes, at least one of them writing, and
 * that CUDA does not order.  Part of the walk over a run, after order_step(); fills table hazard.
 *
 * For each life of an allocation that more than one stream uses, the last accesses are kept by
 * address range, with their position in the order (history.h).  A conflicting access that is not
 * ordered after one of these is a hazard even if the two operations did not overlap in this run.
 * No hazard proves nothing: accesses that a kernel's code does not show, and those of the host, are
 * not recorded.
 *
 * Confidence.  Certain: both accesses are exact or read from the code of the kernel, and have bytes
 * in common.  Likely: one covers all that the other may access, or is known by convention.
 * Possible: any other pair; the order of two threads that only host time decides; the same flag
 * written by both; an upload from pageable memory of up to HAZARD_SMALL_UPLOAD bytes, or by a
 * synchronous call that had ended when the later operation was submitted.  A pointer parameter of a
 * kernel without other evidence does not count as an access.  Pairs with a load of code in between
 * are likely at most (loads.h), and possible if the earlier operation is set-up (set_up.h).
 */
#ifndef CUFENCE_HAZARDS_H
#define CUFENCE_HAZARDS_H

#include "db.h"
#include "order.h"
#include "walk.h"

/* Reason in table loss: graphs whose nodes were not compared. */
#define HAZARD_LOSS "graphs_not_read"
#define HAZARD_LEFT_OUT "graph_launches_not_read"
/*
 * Reason in table loss: accesses removed from a full history before they were known to be
 * irrelevant.
 */
#define HAZARD_FORGOTTEN "accesses_forgotten"

struct hazards;

/* Of a part of the run, which is the caller's.  Returns NULL after a message. */
struct hazards *hazards_new(struct db *db, const struct walk_part *part);

/*
 * Looks at what the part's calls use, before the first one is processed, on the thread that will do
 * that.  Returns 0, or -1 after a message.
 */
int hazards_look_ahead(struct hazards *hazards, const struct walk_part *part);

/* Processes the call that order_step() has just processed.  Returns 0, or -1 after a message. */
int hazards_process_call(struct hazards *hazards, struct order *order,
	const struct walk_call *call);

/*
 * Fill table hazard, and table loss; of parts that were walked at the same time one after the
 * other.  Each returns 0, or -1 after a message.
 */
int hazards_finish(struct hazards *hazards);
int hazards_finish_losses(struct hazards *hazards);

void hazards_free(struct hazards *hazards);

#endif
