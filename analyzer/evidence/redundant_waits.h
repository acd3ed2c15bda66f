/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds waits that have no effect; fills table known_wait.  Part of the walk over a run.
 *
 * Explicit waits for work that the thread had already observed complete: it had waited for all of
 * it before, and nothing was submitted since.  Does not include waits for work that was complete
 * without the thread having observed it.  Work is observed complete by an explicit wait that
 * returned, or by a synchronous copy to the host ("for transfers from device to either pageable or
 * pinned host memory, the function returns only once the copy has completed").  Nothing is
 * concluded if another thread was submitting meanwhile.
 *
 * A stream's waits for events: the stream already comes after all work that the event covers, or it
 * waits for another event that covers this work before it gets new work.
 */
#ifndef CUFENCE_REDUNDANT_WAITS_H
#define CUFENCE_REDUNDANT_WAITS_H

#include "db.h"
#include "order.h"
#include "walk.h"

struct redundant_waits;

struct redundant_waits *redundant_waits_new(struct db *db);
void redundant_waits_free(struct redundant_waits *redundant);

/* Processes the next call, before order_step(). */
void redundant_waits_process_call(struct redundant_waits *redundant, struct order *order,
	const struct walk_call *call);

#endif
