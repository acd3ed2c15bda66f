/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Windows: recording only a part of the run.  CUFENCE_DELAY and CUFENCE_DURATION (seconds),
 * CUFENCE_PROFILER (cudaProfilerStart and Stop), CUFENCE_NVTX (a range's name) and
 * CUFENCE_MAX_SIZE (bytes, or with K, M, G) each name a reason to be outside; work is recorded
 * while there is none.  Every change is a RECORD_WINDOW.
 *
 * Outside, shim.outside is 1: wrappers ask window_admits(), CUPTI is asked for nothing, and only
 * what makes or ends a handle, memory or a graph and what records an event is recorded, so that
 * inside all of these are known.  Any thread may open and close; none ever waits for another.
 */
#ifndef CUFENCE_WINDOW_H
#define CUFENCE_WINDOW_H

#include <stdint.h>

#include "shim.h"

/* Before a process records anything: reads the settings, decides whether it begins outside. */
void window_init(void);

/* Its first record, if there is any setting. */
void window_begin(struct thread_state *thread);

/* With shim.outside set: 1 if a call of this kind is recorded all the same. */
int window_admits(struct thread_state *thread, enum call_kind kind);

/*
 * A call without a wrapper is seen in a window: 0 if it probably has one, which let it pass just
 * before the window opened.  Once per thread and window.
 */
int window_bypassed(struct thread_state *thread);

/* Opens or closes what is due at now, in ticks; on a thread of the program's, while it is busy. */
void window_tick(struct thread_state *thread, uint64_t now);

/* The tick by which window_tick() must be called, at most limit. */
uint64_t window_next(uint64_t limit);

/* The trace has grown.  On any thread, CUPTI's too: what follows from it happens elsewhere. */
void window_grown(void);

/* cuProfilerStart (1) and cuProfilerStop (0). */
void window_profiler(int on);

/* The range of CUFENCE_NVTX begins or ends; ranges nest, on any thread. */
void window_range(const char *name, int begin);

/* A stream capture begins (1) or ends: what is called in one makes a graph and is recorded. */
void window_capture(int begin);
/* Captures in progress, of all threads. */
int window_captures(void);

#endif
