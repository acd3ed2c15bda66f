/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a thread does outside of CUDA: RECORD_USAGE.
 *
 * Its use of the processor is read where 20 us passed between two readings of the clock for its
 * calls: at the end of a gap between calls, or of a long call.  The test costs a call one
 * comparison at its entry and one at its exit; a reading takes 0.3 to 1 us.  The simulator's
 * virtual time has no counterpart in the processor's, so nothing is read there.
 *
 * Clocks: the library exports clock_gettime, gettimeofday, time, clock and timespec_get (machine/).
 * They note, per thread, that a clock was read right after a wait, and jump to the C library's.
 * Whose code read it is up to the analyzer: CUDA's libraries and locks do so for themselves.
 */
#ifndef CUFENCE_USAGE_H
#define CUFENCE_USAGE_H

#include "shim.h"

/*
 * Whether usage may be read, and the ticks of 20 us; after clock_init(), for each process that
 * starts to record.  It is not read if a seccomp filter may forbid that: one that the parent
 * process has not (a container's is its parent's, too), or one set up later (prctl).
 */
void usage_init(void);

/* 1: a seccomp filter may forbid system calls that the recorder need not make. */
int usage_is_filtered(void);

/*
 * Reads and records the thread's usage at this time.  Returns the time afterwards.  Call while the
 * thread is busy.  Keeps errno.
 */
uint64_t usage_read(struct thread_state *thread, uint64_t now);

/*
 * A host function is about to run on this thread, which is busy.  If the process's first thread
 * sleeps in a script meanwhile, where it does is recorded: it may wait for the function, by which a
 * runtime such as XLA learns that the device is done.  Takes 10 us, at most every 10 ms; 5 us
 * otherwise, at most every 1 ms.  Returns the time afterwards.  Keeps errno.
 */
uint64_t usage_host_function(struct thread_state *thread, uint64_t now);

#endif
