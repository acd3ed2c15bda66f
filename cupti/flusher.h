/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A thread that takes from CUPTI what it still holds: after each period, as CUPTI by itself
 * delivers full buffers only, when a process is about to die, and when another process asks for it,
 * as this one may make no call any more.  The dying thread may be in a signal handler, or hold a
 * lock that CUPTI needs: it only asks, and waits for a limited time.
 *
 * The thread blocks all signals, so that the program's handlers run on the program's threads, but
 * for SIGBUS, which the recorder's own handler needs (writer.h).  It waits by futex only.  It is
 * made when CUPTI starts; a forked child has none.
 */
#ifndef CUFENCE_FLUSHER_H
#define CUFENCE_FLUSHER_H

#include <stdint.h>

#include "record.h"

/*
 * Starts the thread, which calls deliver(0) after each period (ms; 0: none) and deliver(1) when
 * asked, here or in the page; and rest() when flusher_rest() asked for it, again after as many ms as it
 * returns, until that is 0.  Does nothing if there can be no further thread, or if there is one.
 */
void flusher_start(void (*deliver)(int asked), uint32_t (*rest)(void), uint32_t period,
	struct trace_control *page);

/* Whether there is that thread. */
int flusher_runs(void);

/* Calls rest() on it in about so many ms. */
void flusher_rest(uint32_t ms);

/*
 * Returns when deliver(1) has run, after ms at the latest, at once without the thread and on the
 * thread itself.  Async-signal-safe.
 */
void flusher_ask(uint32_t ms);

/* In a forked child: there is no such thread. */
void flusher_child(void);

#endif
