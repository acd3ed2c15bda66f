/* SPDX-License-Identifier: Apache-2.0 */
#include "gate.h"

#include <errno.h>
#include <linux/membarrier.h>

#include "system.h"

#define THREADS 4096  /* that the gate can know; with more of them it stays open */
#define WAIT_MS 1000  /* patience at the gate: whoever closed it may be gone */
#define LOOK_NS 50000 /* between two looks at the threads */
#define LOOKS_PER_MS (1000000 / LOOK_NS)

static struct {
	_Atomic int lock; /* the threads are looked at, or one of them ends */
	unsigned count;
	struct {
		struct thread_state *state;
		int id;
	} thread[THREADS];
	struct gate_totals ended; /* of threads that have ended */
} gate;

static void lock(void)
{
	while (atomic_exchange_explicit(&gate.lock, 1, memory_order_acquire))
		system_sleep(LOOK_NS);
}

static void unlock(void)
{
	atomic_store_explicit(&gate.lock, 0, memory_order_release);
}

void gate_know(struct thread_state *thread)
{
	unsigned place = 0;

	thread->known = window_now.generation;
	thread_watch(thread);
	lock();
	while (place < gate.count && place < THREADS && gate.thread[place].state)
		place++;
	if (place < THREADS) {
		gate.thread[place].id = system_thread();
		gate.thread[place].state = thread;
	}
	/* One more than there are places: the gate no longer closes. */
	if (place >= gate.count)
		gate.count = place + 1;
	unlock();
}

static void go_in(struct thread_state *thread, uintptr_t frame)
{
	for (unsigned i = 0;; i++) {
		__atomic_store_n(&thread->inside, frame, __ATOMIC_RELAXED);
		atomic_signal_fence(memory_order_seq_cst);
		if (!atomic_load_explicit(&window_now.closed, memory_order_acquire) || i == WAIT_MS)
			return;
		__atomic_store_n(&thread->inside, 0, __ATOMIC_RELEASE);
		system_wait(&window_now.closed, 1, 1);
	}
}

void gate_enter(struct thread_state *thread, uintptr_t frame)
{
	int saved = errno;

	if (!thread->depth &&
		(!thread->inside ||
			(frame >= thread->inside && frame_was_left(thread->inside, frame))))
		go_in(thread, frame);
	errno = saved;
}

static void add(struct gate_totals *totals, const struct thread_state *thread)
{
	if (thread->announced > totals->announced)
		totals->announced = thread->announced;
	totals->kernels += thread->kernels;
}

void gate_forget(struct thread_state *thread)
{
	/* In a forked child the lock may be one that nobody gives back. */
	if (thread->known != window_now.generation || !*shim.alive)
		return;
	lock();
	for (unsigned i = 0; i < gate.count && i < THREADS; i++)
		if (gate.thread[i].state == thread) {
			add(&gate.ended, thread);
			gate.thread[i].state = NULL;
		}
	unlock();
	thread->known = thread->kernels = 0;
	thread->inside = 0;
}

/* A host call outside of CUDA, such as pthread_join, may last. */
static int is_inside(const struct thread_state *thread)
{
	int depth = __atomic_load_n(&thread->depth, __ATOMIC_ACQUIRE);

	return __atomic_load_n(&thread->inside, __ATOMIC_ACQUIRE) ||
		__atomic_load_n(&thread->busy, __ATOMIC_ACQUIRE) || depth > 1 ||
		(depth == 1 && !(thread->polled & FRAME_HOST));
}

static int is_any_inside(void)
{
	const struct thread_state *self = thread_state(), *thread;
	int found;

	lock();
	found = gate.count > THREADS;
	for (unsigned i = 0; i < gate.count && !found; i++) {
		thread = gate.thread[i].state;
		found = thread && thread != self && is_inside(thread);
	}
	unlock();
	return found;
}

/* Threads that ended without their destructors: their memory is gone. */
static void drop_dead(void)
{
	int saved = errno;

	lock();
	for (unsigned i = 0; i < gate.count && i < THREADS; i++)
		if (gate.thread[i].state && !system_thread_lives(gate.thread[i].id))
			gate.thread[i].state = NULL;
	unlock();
	errno = saved;
}

int gate_is_empty(void)
{
	drop_dead();
	/* Where it was registered: what other threads store is seen. */
	system_barrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED);
	return !is_any_inside();
}

int gate_works(void)
{
	return !system_barrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED);
}

int gate_close(uint32_t ms)
{
	drop_dead();
	window_now.closed = 1;
	if (!system_barrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED))
		for (uint32_t i = 0; i < ms * LOOKS_PER_MS; i++) {
			if (!is_any_inside())
				return 1;
			system_sleep(LOOK_NS);
		}
	gate_open();
	return 0;
}

void gate_open(void)
{
	window_now.closed = 0;
	system_wake(&window_now.closed);
}

struct gate_totals gate_totals(void)
{
	struct gate_totals totals;

	lock();
	totals = gate.ended;
	for (unsigned i = 0; i < gate.count && i < THREADS; i++)
		if (gate.thread[i].state)
			add(&totals, gate.thread[i].state);
	unlock();
	return totals;
}

void gate_reset(void)
{
	window_now.closed = 0;
	gate.lock = 0;
	for (unsigned i = 0; i < gate.count && i < THREADS; i++)
		gate.thread[i].state = NULL;
	gate.count = 0;
	gate.ended = (struct gate_totals){ 0 };
}
