/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls in a loop from below a script's frames, and from a thread that has none, for
 * bench/python_frames.  Unfinished queries, because they leave next to nothing in the trace.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <time.h>

double script_calls(long count);
double other_calls(long count);

#define BUSY ((void *)16)  /* the stub's stream that never ends */

static double now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

/* ns per call */
double script_calls(long count)
{
	int (*query)(void *);
	double start;

	*(void **)&query = dlsym(RTLD_DEFAULT, "cuStreamQuery");
	for (int i = 0; i < 1000; i++)
		query(BUSY);
	start = now_ns();
	for (long i = 0; i < count; i++)
		query(BUSY);
	return (now_ns() - start) / (double)count;
}

static void *run(void *argument)
{
	double *value = argument;

	*value = script_calls((long)*value);
	return NULL;
}

double other_calls(long count)
{
	double value = (double)count;
	pthread_t thread;

	if (pthread_create(&thread, NULL, run, &value) || pthread_join(thread, NULL))
		return -1;
	return value;
}
