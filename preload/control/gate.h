/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The gate: keeps the program's threads out of CUDA for some milliseconds, as CUPTI can be closed
 * only while no thread is in a CUDA call (tests/gpu/attach).  It is used while no window is open,
 * so that recorded calls do not pay for it: an unrecorded call says on entry that its thread is
 * inside, looks whether the gate is closed, and waits at it.  The thread that closes it makes all
 * processors see that order (membarrier), and waits for those inside.  Calls without a wrapper
 * submit no work and are not seen.
 */
#ifndef CUFENCE_GATE_H
#define CUFENCE_GATE_H

#include "shim.h"

/* Whether the system has what the gate needs; to be asked once, before the first gate_close(). */
int gate_works(void);

/*
 * On a thread of the recorder: returns 1 once no other thread is in a CUDA call, and then none is
 * until gate_open(); 0 if that did not come in so many ms, and the gate is open.
 */
int gate_close(uint32_t ms);
void gate_open(void);

/* The same without closing it: returns 1 if no other thread is in a CUDA call now. */
int gate_is_empty(void);

/*
 * Call once for each thread before its first call is recorded or enters: what the gate does not
 * know it does not wait for.
 */
void gate_know(struct thread_state *thread);

/*
 * An unrecorded call begins, or one that is recorded outside of windows; frame: its wrapper's
 * frame address.
 */
void gate_enter(struct thread_state *thread, uintptr_t frame);

/* As gate_enter(), if that has not to wait; else returns 0. */
static ALWAYS_INLINE int gate_passes(struct thread_state *thread, uintptr_t frame)
{
	uintptr_t inside = thread->inside;

	if (thread->depth || frame < inside)
		return 1;
	if (inside)
		return 0;
	__atomic_store_n(&thread->inside, frame, __ATOMIC_RELAXED);
	atomic_signal_fence(memory_order_seq_cst);
	if (!atomic_load_explicit(&window_now.closed, memory_order_acquire))
		return 1;
	__atomic_store_n(&thread->inside, 0, __ATOMIC_RELEASE);
	return 0;
}

/* The call ends.  Of nested calls only the outermost one counts. */
static inline void gate_leave(uintptr_t frame)
{
	struct thread_state *thread = thread_nearby();

	if (thread->inside == frame)
		thread->inside = 0;
}

/* The thread ends. */
void gate_forget(struct thread_state *thread);

/* Of all threads, also of those that have ended. */
struct gate_totals {
	uint32_t announced; /* the largest correlation id of CUPTI's that a call had */
	uint32_t kernels;   /* launches */
};
struct gate_totals gate_totals(void);

/* A forked child: has no other threads. */
void gate_reset(void);

#endif
