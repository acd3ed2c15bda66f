/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Interface of the device side for the wrappers. cupti/ implements it; preload/ does not use CUPTI.
 */
#ifndef CUFENCE_COLLECTOR_H
#define CUFENCE_COLLECTOR_H

#include <stdint.h>

/* Call before the process's first cuInit; does nothing when repeated or without CUPTI. */
void collector_start(void);

/*
 * Delivers records that CUPTI still holds: before a context is destroyed and at exit.  last: the
 * driver may end after that, and nothing else is delivered.
 */
void collector_flush(int last);

/*
 * The same on another thread, for a process about to die: waits for ms at most.  ends: that calls
 * shim_end_apart(), too.  Async-signal-safe.
 */
void collector_ask(uint32_t ms, int ends);

/*
 * 1: enables operations and calls in CUPTI; 0: flushes and disables them, and in a process that was
 * paused before it was opened closes it a little later.
 */
void collector_window(int open);

/* It is to be closed: window_rested() will be called. */
int collector_rests(void);

/* It is to be opened with the next window, and a thread of the recorder can do that. */
int collector_waits(void);

/*
 * Makes that thread open it.  The lock of windows, which the caller has, is that thread's from here
 * on, until window_release().  0: there is nothing to open, or no thread.
 */
int collector_open(void);

/* An executable graph was made: it may never be timed. */
void collector_graph(void);

/* In a forked child: CUPTI must not be used again if the parent had started it. */
void collector_child(void);

#endif
