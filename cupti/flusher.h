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

/* What the thread does. */
struct flusher_work {
	void (*deliver)(int asked); /* after each period, and when asked, here or in the page */
	uint32_t (*rest)(void);     /* returns the ms after which it is to run again, 0: not */
	void (*open)(void);
	void (*end)(void); /* the process is about to end in order */
};

/* Starts the thread.  Does nothing if there can be no further thread, or if there is one. */
void flusher_start(const struct flusher_work *work, struct trace_control *page);

/*
 * Makes the thread, which runs, call open().  What CUPTI allocates comes from one arena then, and
 * memory does not grow with the number of threads that ever opened it.
 */
void flusher_open(void);

/* Whether there is that thread. */
int flusher_runs(void);

/* Calls rest() on it in about so many ms. */
void flusher_rest(uint32_t ms);

/*
 * Returns when deliver(1) has run, and end() if ends, after ms at the latest, at once without the
 * thread and on the thread itself.  Async-signal-safe.
 */
void flusher_ask(uint32_t ms, int ends);

/* In a forked child: there is no such thread. */
void flusher_child(void);

#endif
