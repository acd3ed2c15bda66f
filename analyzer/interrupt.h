/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SIGINT, SIGTERM and SIGHUP wait while a database is made, so that what is half done can be
 * removed.  Whoever works long asks now and then; afterwards the signal does what it always does.
 */
#ifndef CUFENCE_INTERRUPT_H
#define CUFENCE_INTERRUPT_H

#include <signal.h>

/* before: for interrupt_restore(). */
void interrupt_hold(sigset_t *before);
void interrupt_restore(const sigset_t *before);

/* One is waiting. */
int interrupt_pending(void);

#endif
