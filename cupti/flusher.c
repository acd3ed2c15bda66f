/* SPDX-License-Identifier: Apache-2.0 */
#include "flusher.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>

#include "machine.h"
#include "system.h"

/* As of glibc 2.31 (preload/glibc.h). */
__asm__(".symver pthread_setname_np, pthread_setname_np@" MACHINE_OLD("2.12"));
__asm__(".symver pthread_sigmask, pthread_sigmask@" MACHINE_OLD("2.2.5"));

#define SLICE_MS 10

static struct {
	_Atomic uint32_t *asked, *done; /* requests; in the page */
	_Atomic int running;
	void (*deliver)(int asked);
	uint32_t period;
} flusher;

static __thread int is_flusher;

static void *run(void *unused)
{
	is_flusher = 1;
	pthread_setname_np(pthread_self(), "cufence");
	for (;;) {
		uint32_t done = *flusher.done, asked;

		system_wait(flusher.asked, done, flusher.period);
		asked = *flusher.asked;
		if (asked != done || flusher.period)
			flusher.deliver(asked != done);
		*flusher.done = asked;
		system_wake(flusher.done);
	}
	return unused;
}

void flusher_start(void (*deliver)(int asked), uint32_t period, struct trace_control *page)
{
	pthread_attr_t detached;
	sigset_t all, before;
	pthread_t thread;

	flusher.deliver = deliver;
	flusher.period = period;
	flusher.asked = (_Atomic uint32_t *)&page->flushes;
	flusher.done = (_Atomic uint32_t *)&page->flushed;
	if (pthread_attr_init(&detached))
		return;
	pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
	/* The new thread inherits the mask: no signal can arrive before it has blocked them. */
	sigfillset(&all);
	sigdelset(&all, SIGBUS);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	flusher.running = !pthread_create(&thread, &detached, run, NULL);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&detached);
}

void flusher_ask(uint32_t ms)
{
	uint32_t wanted, done;

	if (!flusher.running || is_flusher)
		return;
	wanted = atomic_fetch_add(flusher.asked, 1) + 1;
	system_wake(flusher.asked);
	/* Slices instead of a clock: a signal ends one early, and the wait with it. */
	for (uint32_t waited = 0; waited < ms; waited += SLICE_MS) {
		done = *flusher.done;
		if ((int32_t)(done - wanted) >= 0)
			return;
		system_wait(flusher.done, done, SLICE_MS);
	}
}

void flusher_child(void)
{
	flusher.running = 0;
}
