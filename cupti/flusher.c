/* SPDX-License-Identifier: Apache-2.0 */
#include "flusher.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>

#include "control.h"
#include "machine.h"
#include "origin.h"
#include "selection.h"
#include "settings.h"
#include "system.h"

/* As of glibc 2.31 (preload/glibc.h). */
__asm__(".symver pthread_setname_np, pthread_setname_np@" MACHINE_OLD("2.12"));
__asm__(".symver pthread_sigmask, pthread_sigmask@" MACHINE_OLD("2.2.5"));

#define SLICE_MS 10
#define IDLE_MS 1000 /* a call of flusher_rest() that comes just before the wait is seen then */

static struct {
	_Atomic uint32_t *asked, *done; /* requests; in the page */
	_Atomic int running;
	struct flusher_work work;
	_Atomic uint32_t soon;  /* ms after which rest() is due, 0: it is not */
	_Atomic uint32_t opens; /* 1: open() is to run, for which it was asked, too */
	_Atomic uint32_t ends;  /* 1: end() likewise, after deliver() */
	uint32_t period;
} flusher;

static __thread int is_flusher;

static void *run(void *unused)
{
	is_flusher = 1;
	pthread_setname_np(pthread_self(), "cufence");
	for (;;) {
		uint32_t done = *flusher.done, asked, opens, soon = flusher.soon;

		control_watch();
		system_wait(flusher.asked, done,
			soon                     ? soon
				: flusher.period ? flusher.period
						 : IDLE_MS);
		control_unwatch();
		asked = *flusher.asked;
		/* Asked for that, it does not flush by force: work may be in progress. */
		opens = atomic_exchange(&flusher.opens, 0);
		if (opens)
			flusher.work.open();
		else if (asked != done || flusher.period)
			flusher.work.deliver(asked != done);
		if (atomic_exchange(&flusher.ends, 0))
			flusher.work.end();
		if (soon && asked == done) {
			flusher.soon = 0;
			soon = flusher.work.rest();
			if (soon)
				flusher.soon = soon;
		}
		*flusher.done = asked;
		system_wake(flusher.done);
	}
	return unused;
}

/*
 * CUPTI's own period (cuptiActivityFlushPeriod) is not used.  On an H200 it delivered full buffers
 * only, which hold 4854 kernels: nothing in the first seconds of a slow loop.
 */
static uint32_t flush_period(void)
{
	const char *period = origin_setting("CUFENCE_FLUSH_MS");
	uint64_t chosen;

	if (!period || !setting_number(period, &chosen))
		return SELECTION_FLUSH_MS;
	return chosen < SELECTION_FLUSH_MOST_MS ? (uint32_t)chosen : SELECTION_FLUSH_MOST_MS;
}

void flusher_start(const struct flusher_work *work, struct trace_control *page)
{
	pthread_attr_t detached;
	sigset_t all, before;
	pthread_t thread;

	if (flusher.running)
		return;
	flusher.work = *work;
	flusher.period = flush_period();
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

void flusher_ask(uint32_t ms, int ends)
{
	uint32_t wanted, done;

	if (!flusher.running || is_flusher)
		return;
	if (ends)
		flusher.ends = 1;
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

void flusher_rest(uint32_t ms)
{
	flusher.soon = ms;
	if (flusher.running)
		system_wake(flusher.asked);
}

void flusher_open(void)
{
	flusher.opens = 1;
	flusher_ask(0, 0);
}

int flusher_runs(void)
{
	return flusher.running;
}

void flusher_child(void)
{
	flusher.soon = 0;
	flusher.opens = flusher.ends = 0;
	flusher.running = 0;
}
