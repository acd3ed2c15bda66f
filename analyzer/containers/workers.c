/* SPDX-License-Identifier: Apache-2.0 */
#include "workers.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "memory.h"

/* More would each wait for memory. */
enum { WORKERS_MOST = 8 };

struct workers {
	int (*work)(void *arg, size_t number);
	void *arg;
	size_t count;
	_Atomic size_t next;
	_Atomic int failed;
};

size_t workers_processors(size_t most)
{
	cpu_set_t set;
	int count = sched_getaffinity(0, sizeof(set), &set) ? 1 : CPU_COUNT(&set);

	return (size_t)count < most ? (size_t)count : most;
}

static void *take_numbers(void *arg)
{
	struct workers *workers = arg;
	size_t number;

	while (!workers->failed && (number = workers->next++) < workers->count)
		if (workers->work(workers->arg, number))
			workers->failed = 1;
	return NULL;
}

/*
 * Signals are for the caller's thread, but for those of mapped files that were cut off
 * (lost_pages.h).  Returns how many were started: what lacks is no loss.
 */
static size_t start_threads(struct workers *workers, pthread_t *thread, size_t count)
{
	sigset_t all, before;
	size_t started = 0;

	sigfillset(&all);
	sigdelset(&all, SIGBUS);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	while (started < count && !pthread_create(&thread[started], NULL, take_numbers, workers))
		started++;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return started;
}

int workers_run(size_t count, int (*work)(void *arg, size_t number), void *arg)
{
	struct workers workers = { .work = work, .arg = arg, .count = count };
	size_t most = workers_processors(count < WORKERS_MOST ? count : WORKERS_MOST);
	pthread_t *thread = xcalloc(most, sizeof(*thread));
	size_t started = most > 1 ? start_threads(&workers, thread, most - 1) : 0;

	take_numbers(&workers);
	for (size_t i = 0; i < started; i++)
		pthread_join(thread[i], NULL);
	free(thread);
	return workers.failed ? -1 : 0;
}
