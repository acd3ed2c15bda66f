/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads that use CUDA, and when virtual time may advance.
 *
 * A call that must wait blocks its thread (thread_hold) and advances time to the next completion
 * itself, once every other thread that has used CUDA also waits in a call or sleeps outside of one
 * (its state in /proc).  A thread that computes stops time, for up to half a second of computing
 * without a call.  While no thread is in a call, a keeper thread advances time.
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
	clockid_t clock;              /* CPU clock of the thread */
	uint64_t computed;            /* ns, at its last call */
	_Atomic int in_call;          /* set before locking */
	bool (*held)(void *argument); /* non-NULL while it waits in a call */
	void *argument;
	bool waited;                /* this call waited */
	bool per_thread;            /* this call used a per-thread entry point */
	uint32_t correlation;       /* of this call */
	uint64_t overhead;          /* additional cost of this call, ns */
	struct context *context[8]; /* stack of current contexts */
	unsigned int depth;
	int capture_mode; /* CUstreamCaptureMode of its unsafe calls */
	/* Of its next kernel: cufence_sim_next_kernel(). */
	uint64_t (*length)(void *argument, uint64_t start);
	void *length_argument;
};

/* The calling thread's state, created at first use; no lock needed. */
struct thread *thread_self(void);

/*
 * Waits while held(argument) is true; returns true if it had to wait.  Releases the lock meanwhile.
 */
bool thread_hold(bool (*held)(void *argument), void *argument);

/* Is this thread sleeping according to the kernel? A thread that has ended counts as sleeping. */
bool thread_asleep(int tid);

/* Something completed: wakes waiting threads to check their condition. */
void thread_changed(void);

/* The mutex of sim_lock(), for condition variables. */
pthread_mutex_t *sim_mutex(void);

/* Waits briefly for a change; lock held. */
void thread_pause(void);

/* A call begins or ends; without the lock. */
void thread_enter_call(struct thread *thread);
void thread_leave_call(struct thread *thread);

/* Work is scheduled: starts the keeper if needed. */
void keeper_wake(void);

void *must_realloc(void *memory, size_t bytes);

#endif
