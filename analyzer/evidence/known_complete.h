/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Explicit waits for work that their thread had observed complete: it had waited for all of it
 * before, and nothing was submitted since.  Not: a wait that found everything done, which the
 * thread could not know.  Takes part in the walk over a run; fills table known_wait.
 *
 * Work is observed complete by an explicit wait that returned, or a synchronous copy to the host
 * ("for transfers from device to either pageable or pinned host memory, the function returns only
 * once the copy has completed").  If another thread was submitting meanwhile, nothing is concluded.
 */
#ifndef CUFENCE_KNOWN_COMPLETE_H
#define CUFENCE_KNOWN_COMPLETE_H

#include "db.h"
#include "walk.h"

struct known;

/* NULL after a message. */
struct known *known_new(struct db *db);
void known_free(struct known *known);

/* Takes the next call: 0, or -1 after a message. */
int known_see(struct known *known, const struct walk_call *call);

#endif
