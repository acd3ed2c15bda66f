/* SPDX-License-Identifier: Apache-2.0 */
#include "resident.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "memory.h"

#define LOOK_NS 100000000

struct resident {
	size_t most, whole; /* bytes: the bound, and of all ranges that were added */
	size_t others;      /* bytes of files that are in no range, as of the last time */
	pthread_t thread;
	int has_thread, is_stopping;
	pthread_mutex_t mutex;
	pthread_cond_t stop;
	struct range {
		char *at;
		size_t bytes;
	} * range;
	size_t count;
};

size_t resident_bytes(void)
{
	FILE *statm = fopen("/proc/self/statm", "re");
	size_t shared = 0;

	if (statm && fscanf(statm, "%*u %*u %zu", &shared) != 1)
		shared = 0;
	if (statm)
		fclose(statm);
	return shared * (size_t)sysconf(_SC_PAGESIZE);
}

static void *keep_bound(void *arg)
{
	struct resident *resident = arg;
	struct timespec at;

	clock_gettime(CLOCK_REALTIME, &at);
	pthread_mutex_lock(&resident->mutex);
	while (!resident->is_stopping) {
		at.tv_nsec += LOOK_NS;
		at.tv_sec += at.tv_nsec / 1000000000;
		at.tv_nsec %= 1000000000;
		if (pthread_cond_timedwait(&resident->stop, &resident->mutex, &at) != ETIMEDOUT)
			continue;
		clock_gettime(CLOCK_REALTIME, &at);
		if (resident_bytes() <= resident->most + resident->others)
			continue;
		for (size_t i = 0; i < resident->count; i++)
			madvise(resident->range[i].at, resident->range[i].bytes, MADV_DONTNEED);
		resident->others = resident_bytes();
	}
	pthread_mutex_unlock(&resident->mutex);
	return NULL;
}

/* Signals are for the thread that started it. */
static int start_thread(struct resident *resident)
{
	sigset_t all, before;
	int error;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	error = pthread_create(&resident->thread, NULL, keep_bound, resident);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return error;
}

struct resident *resident_new(size_t most)
{
	struct resident *resident = xcalloc(1, sizeof(*resident));

	resident->most = most;
	pthread_mutex_init(&resident->mutex, NULL);
	pthread_cond_init(&resident->stop, NULL);
	return resident;
}

void resident_free(struct resident *resident)
{
	if (!resident)
		return;
	pthread_mutex_lock(&resident->mutex);
	resident->is_stopping = 1;
	pthread_cond_signal(&resident->stop);
	pthread_mutex_unlock(&resident->mutex);
	if (resident->has_thread)
		pthread_join(resident->thread, NULL);
	free(resident->range);
	free(resident);
}

void resident_add(struct resident *resident, void *at, size_t bytes)
{
	pthread_mutex_lock(&resident->mutex);
	*array_push(resident->range, resident->count) = (struct range){ at, bytes };
	pthread_mutex_unlock(&resident->mutex);
	resident->whole += bytes;
	if (!resident->has_thread && resident->whole > resident->most)
		resident->has_thread = !start_thread(resident);
}

void resident_remove(struct resident *resident, const void *from, size_t bytes)
{
	const char *begin = from;
	size_t kept = 0;

	if (!resident)
		return;
	pthread_mutex_lock(&resident->mutex);
	for (size_t i = 0; i < resident->count; i++)
		if (resident->range[i].at < begin || resident->range[i].at >= begin + bytes)
			resident->range[kept++] = resident->range[i];
	resident->count = kept;
	pthread_mutex_unlock(&resident->mutex);
}
