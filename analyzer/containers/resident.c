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

#define LOOK_MS 100 /* a sweep touches 0.2 GB in that time */

struct resident {
	size_t most, whole; /* bytes: the bound, and of all ranges */
	size_t others;      /* bytes of files that are in no range, at most */
	size_t doubtful;    /* bytes that a sweep left, more than others, or 0 */
	pthread_t thread;
	int has_thread;
	pthread_mutex_t mutex;
	int stop[2]; /* a pipe */
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

/*
 * What a sweep leaves is in no range, or was touched before it could be counted, which says nothing
 * of the next time: more than was left before is believed when a second sweep leaves it, too.
 */
static void sweep(struct resident *resident)
{
	size_t left;

	pthread_mutex_lock(&resident->mutex);
	for (size_t i = 0; i < resident->count; i++)
		madvise(resident->range[i].at, resident->range[i].bytes, MADV_DONTNEED);
	pthread_mutex_unlock(&resident->mutex);
	left = resident_bytes();
	if (left > resident->others && !resident->doubtful) {
		resident->doubtful = left;
		return;
	}
	resident->others =
		resident->doubtful && resident->doubtful < left ? resident->doubtful : left;
	resident->doubtful = 0;
}

static void *keep_bound(void *arg)
{
	struct resident *resident = arg;

	/* A byte, or the end of the pipe, is the end. */
	while (!poll(&(struct pollfd){ .fd = resident->stop[0], .events = POLLIN }, 1, LOOK_MS)) {
		size_t bytes = resident_bytes();

		if (bytes < resident->others)
			resident->others = bytes;
		if (resident->doubtful || bytes > resident->most + resident->others)
			sweep(resident);
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

	resident->most = most;
	pthread_mutex_init(&resident->mutex, NULL);
	return resident;
}

struct resident *resident_of_process(void)
{
	static struct resident *process; /* what is resident is a property of the process */

	if (!process)
		process = resident_new(RESIDENT_BYTES);
	return process;
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
}
