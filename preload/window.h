/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recording windows: recording only a part of the run.  CUFENCE_DELAY and CUFENCE_DURATION
 * (seconds), CUFENCE_PROFILER (cudaProfilerStart and Stop), CUFENCE_NVTX (a range's name),
 * CUFENCE_TURNS (how many of these), CUFENCE_MAX_SIZE (bytes, or with K, M, G) and a request
 * (control.h; CUFENCE_PAUSED from the start) are each a reason to be outside of a window; work is
 * recorded while there is none.  Every change is a RECORD_WINDOW.
 *
 * Outside, outside is 1: wrappers check window_admits(), CUPTI is disabled, and only calls
 * that create or destroy a handle, memory or a graph and those that record an event are recorded,
 * so that these are known inside.  After the last window nothing is, unless the process is in a
 * session (CUFENCE_SESSION), where another one may be asked for.  Any thread may open and close
 * windows; no thread waits for another.
 */
#ifndef CUFENCE_WINDOW_H
#define CUFENCE_WINDOW_H

#include <stdint.h>

#include "shim.h"

#define WINDOW_BIT(cause) (1u << (cause))

/* Before a process records anything: reads the settings and decides whether it starts outside. */
void window_init(void);

/* Writes the first record of a process with any setting. */
void window_begin(struct thread_state *thread);

/*
 * With outside set: returns 1 if a call of this kind is recorded anyway; frame: its wrapper's
 * frame address.
 */
int window_admits(struct thread_state *thread, enum call_kind kind, uintptr_t frame);

/*
 * A call at its thread's turn_site has begun, and the thread is busy: closes the window if its
 * turns are over.  Returns whether the call has to begin again, outside.
 */
int window_turned(const struct call_frame *frame);

/* Opens or closes a window when due; now: ticks.  Called on a busy thread of the program. */
void window_tick(struct thread_state *thread, uint64_t now);

/* Returns the time by which window_tick() must be called, ticks, at most limit; now: ticks. */
uint64_t window_next(uint64_t now, uint64_t limit);

/* The trace has grown.  On any thread, including CUPTI's: changes are made elsewhere. */
void window_grown(void);

/* cuProfilerStart (1) and cuProfilerStop (0). */
void window_profiler(int on);

/* A range of CUFENCE_NVTX begins or ends; ranges nest, on any thread. */
void window_range(const char *name, int begin);

/* A stream capture begins (1) or ends (0): captured calls build a graph and are recorded. */
void window_capture(int begin);
/* Outside because of a request. */
int window_is_paused(void);

/* The thread is ready to write: it does so to the trace, or to its private memory (lives.h). */
void window_choose_chunk(struct thread_state *thread);

/* An executable graph was made. */
void window_graph(void);
/* Number of those so far. */
uint32_t window_graphs(void);

/* For the request that is to be followed CUPTI was opened, in so many ticks. */
void window_opened(uint64_t ticks);

/* Returns 1 if windows neither open nor close until window_release(). */
int window_hold(void);
void window_release(void);

/* Between those two: CUPTI is closed, which a request to pause waits for. */
void window_rested(void);

/* Number of captures in progress, on all threads. */
int window_captures(void);

#endif
