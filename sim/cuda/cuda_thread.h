/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The threads that use CUDA, and when virtual time may jump.
 *
 * A call that must wait holds its thread (thread_hold) and moves time to the next completion
 * itself, once every other thread that has used CUDA waits in a call too or sleeps outside one
 * (its state in /proc): a thread that computes holds time back, for half a second of computing
 * without a call.  A keeper thread does the same when no thread is in a call at all.
 */
#ifndef CUFENCE_SIM_THREAD_H
#define CUFENCE_SIM_THREAD_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

struct context;

struct thread {
	struct thread *next, **link;
	int tid;
	clockid_t clock;              /* of what it has computed */
	uint64_t computed;            /* ns, when there last was a call */
	_Atomic int in_call;          /* set before the lock is asked for */
	bool (*held)(void *argument); /* non-NULL while it waits in a call */
	void *argument;
	bool waited;                /* this call was held */
	bool per_thread;            /* this call came by a per-thread entry point */
	uint32_t correlation;       /* of this call */
	uint64_t overhead;          /* ns to add to the cost of this call */
	struct context *context[8]; /* stack of current contexts */
	unsigned int depth;
	int capture_mode; /* CUstreamCaptureMode of its unsafe calls */
};

/* The calling thread's, registered at first use; no lock needed. */
struct thread *thread_self(void);

/* Wait while held(argument); true if the thread had to.  Lock held, released meanwhile. */
bool thread_hold(bool (*held)(void *argument), void *argument);

/* Does the kernel say that this thread sleeps?  One that is gone counts as asleep. */
bool thread_asleep(int tid);

/* Something completed: let those who wait look again. */
void thread_changed(void);

/* What sim_lock() locks, for condition variables. */
pthread_mutex_t *sim_mutex(void);

/* Wait briefly for a change; lock held. */
void thread_pause(void);

/* A call begins or ends; without the lock. */
void thread_enter_call(struct thread *thread);
void thread_leave_call(struct thread *thread);

/* Work is scheduled: the keeper must watch. */
void keeper_wake(void);

void *must_realloc(void *memory, size_t bytes);

#endif
