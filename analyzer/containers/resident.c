/* SPDX-License-Identifier: Apache-2.0 */
#include "resident.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "memory.h"

#define LOOK_MS 100 /* 0.2 GB are touched in that time */
#define LONGEST_MS 3200

struct resident {
	size_t most, whole; /* bytes: the bound for the process, and of all ranges */
	pthread_t thread;
	int has_thread;
	pthread_mutex_t change; /* of the ranges, and of what starts and stops the thread */
	pthread_mutex_t mutex;  /* of the ranges, which the thread reads */
	int stop[2];            /* a pipe */
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

static void sweep(struct resident *resident)
{
	pthread_mutex_lock(&resident->mutex);
	for (size_t i = 0; i < resident->count; i++)
		madvise(resident->range[i].at, resident->range[i].bytes, MADV_DONTNEED);
	pthread_mutex_unlock(&resident->mutex);
}

static void *keep_bound(void *arg)
{
	struct resident *resident = arg;
	int wait = LOOK_MS;

	/* A byte, or the end of the pipe, is the end. */
	while (!poll(&(struct pollfd){ .fd = resident->stop[0], .events = POLLIN }, 1, wait)) {
		int is_over = resident_bytes() > resident->most;

		if (is_over)
			sweep(resident);
		/* What is in no range stays: to unmap the ranges again and again is no use. */
		if (!is_over || resident_bytes() <= resident->most)
			wait = LOOK_MS;
		else if (wait < LONGEST_MS)
			wait *= 2;
	}
	return NULL;
}

/* Signals are for the thread that started it. */
static int start_thread(struct resident *resident)
{
	sigset_t all, before;
	int error;

	if (pipe2(resident->stop, O_CLOEXEC))
		return -1;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	error = pthread_create(&resident->thread, NULL, keep_bound, resident);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (error) {
		close(resident->stop[0]);
		close(resident->stop[1]);
	}
	return error;
}

struct resident *resident_new(size_t most)
{
	struct resident *resident = xcalloc(1, sizeof(*resident));

	resident->most = most + resident_bytes();
	pthread_mutex_init(&resident->change, NULL);
	pthread_mutex_init(&resident->mutex, NULL);
	return resident;
}

static struct resident *of_process; /* what is resident is a property of the process */

static void make_of_process(void)
{
	of_process = resident_new(RESIDENT_BYTES);
}

struct resident *resident_of_process(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, make_of_process);
	return of_process;
}

static void stop_thread(struct resident *resident)
{
	if (!resident->has_thread)
		return;
	close(resident->stop[1]);
	pthread_join(resident->thread, NULL);
	close(resident->stop[0]);
	resident->has_thread = 0;
}

void resident_free(struct resident *resident)
{
	stop_thread(resident);
	free(resident->range);
	free(resident);
}

void resident_add(struct resident *resident, void *at, size_t bytes)
{
	pthread_mutex_lock(&resident->change);
	pthread_mutex_lock(&resident->mutex);
	*array_push(resident->range, resident->count) = (struct range){ at, bytes };
	pthread_mutex_unlock(&resident->mutex);
	resident->whole += bytes;
	if (!resident->has_thread && resident->whole > resident->most)
		resident->has_thread = !start_thread(resident);
	pthread_mutex_unlock(&resident->change);
}

void resident_remove(struct resident *resident, const void *from, size_t bytes)
{
	const char *begin = from;
	size_t kept = 0;

	pthread_mutex_lock(&resident->change);
	pthread_mutex_lock(&resident->mutex);
	for (size_t i = 0; i < resident->count; i++) {
		const struct range *range = &resident->range[i];

		if (range->at < begin || range->at >= begin + bytes)
			resident->range[kept++] = *range;
		else
			resident->whole -= range->bytes;
	}
	resident->count = kept;
	pthread_mutex_unlock(&resident->mutex);
	if (!kept)
		stop_thread(resident);
	pthread_mutex_unlock(&resident->change);
}
