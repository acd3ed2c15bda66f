/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples of whole turns.  Who asks for samples names the head of a loop in the control page: the
 * call site at which each turn begins (trace_control.h).  A requested sample then begins with the
 * next call from there, and ends with one from the same thread, after as many turns as fit.  No
 * call is looked at but between a request and the window, and in the window those of the head.
 *
 * Where no turn comes in half of a sample's length the sample begins by time.  The head is removed
 * from the page then, as when the request is withdrawn after a call: the program has left that
 * loop.
 */
#ifndef CUFENCE_TURNS_H
#define CUFENCE_TURNS_H

#include "shim.h"

/* Before a process records anything. */
void turns_init(void);

/* Whether the pending request is for a sample that begins with a turn that has not come. */
int turns_awaited(void);

/*
 * A call that is not recorded, with the wrapper's frame address, while a turn is awaited: whether
 * it is the head, with which the sample begins.  The thread is busy.
 */
int turns_arrive(struct thread_state *thread, uintptr_t frame);

/*
 * A sample begins or, with length 0, something else was asked for.  Returns the ticks after which
 * it ends at the latest: its length, or twice that if it ends with a turn.
 */
uint64_t turns_begin(uint64_t length);

/* A call of the head is to be recorded by the thread: whether the sample ends before it. */
int turns_ended(struct thread_state *thread);

#endif
