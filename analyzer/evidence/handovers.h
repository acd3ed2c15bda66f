/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a thread was blocked outside of CUDA until another thread had done its part, or until a
 * host function had run: the main thread of a training loop while another one submits the backward
 * pass, JAX's block_until_ready.
 *
 * The thread was silent for more than BLOCKED_SLACK_NS.  In that time a host function returned, or
 * another thread made its last call and then was silent itself until this thread's next call had
 * returned.  Where the thread's usage was read (table usage), that must be when it was woken: it
 * was off its processor before, for as long as was read, and ran after.  The other thread may have
 * run on between its last call and that time, as far as its own usage shows; this one may run only
 * WAKE_NS later.  If the thread was
 * blocked more than once, a function of its own work has ended the first time if that explains most
 * of the time off the processor.  Where usage was not read, two threads must take turns: the other
 * one goes on when this one is silent.
 */
#ifndef CUFENCE_HANDOVERS_H
#define CUFENCE_HANDOVERS_H

#include "db.h"
#include "run_columns.h"

/* Finds them, by the readings of usage, which it reads: run_evidence.  0, or -1 after a message. */
int handovers_find(struct db *db);

/* Returns the one by which a thread's silence ended at a time; NULL: none. */
const struct handover *handovers_at(const struct handovers *handovers, uint32_t thread,
	int64_t until);

#endif
