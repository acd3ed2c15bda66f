/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds explicit waits for work that the thread had already observed complete: it had waited for
 * all of it before, and nothing was submitted since.  Does not include waits for work that was
 * complete without the thread having observed it.  Part of the walk over a run; fills table
 * known_wait.
 *
 * Work is observed complete by an explicit wait that returned, or by a synchronous copy to the host
 * ("for transfers from device to either pageable or pinned host memory, the function returns only
 * once the copy has completed").  Nothing is concluded if another thread was submitting meanwhile.
 */
#ifndef CUFENCE_KNOWN_COMPLETE_H
#define CUFENCE_KNOWN_COMPLETE_H

#include "db.h"
#include "walk.h"

struct known;

/* NULL after a message. */
struct known *known_new(struct db *db);
void known_free(struct known *known);

/* Processes the next call.  Returns 0, or -1 after a message. */
int known_complete_process_call(struct known *known, const struct walk_call *call);

#endif
