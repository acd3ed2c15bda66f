/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls in a loop from below a script's frames, and from a thread that has none, for
 * bench/python_frames.  The calls are unfinished queries, which leave almost nothing in the trace.
 * Or one call after other work has replaced the contents of the caches.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <time.h>

double script_calls(long count);
double other_calls(long count);
double cold_call(long kilobytes);
double other_cold_call(long kilobytes);

#define BUSY ((void *)16) /* the stub's stream that never ends */

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

/* As other work between calls: so much data, and code enough for the first level's cache. */
static void walk(long kilobytes)
{
	static volatile char data[8192][1024];
	void (*walk_code)(void);

	*(void **)&walk_code = dlsym(RTLD_DEFAULT, "stub_walk_code");
	for (long i = 0; i < kilobytes && i < 8192; i++)
		for (int line = 0; line < 1024; line += 64)
			data[i][line]++;
	walk_code();
}

/* ns of one call */
double cold_call(long kilobytes)
{
	int (*record)(void *, void *);
	double start, end;

	*(void **)&record = dlsym(RTLD_DEFAULT, "cuEventRecord");
	walk(kilobytes);
	start = now_ns();
	record(BUSY, BUSY);
	end = now_ns();
	return end - start;
}

struct elsewhere {
	double (*run)(long);
	long argument;
	double result;
};

static void *run(void *argument)
{
	struct elsewhere *elsewhere = argument;

	elsewhere->result = elsewhere->run(elsewhere->argument);
	return NULL;
}

static double run_elsewhere(double (*function)(long), long argument)
{
	struct elsewhere elsewhere = { function, argument, -1 };
	pthread_t thread;

	if (!pthread_create(&thread, NULL, run, &elsewhere))
		pthread_join(thread, NULL);
	return elsewhere.result;
}

double other_calls(long count)
{
	return run_elsewhere(script_calls, count);
}

/* The middle one of nine. */
static double cold_calls(long kilobytes)
{
	double ns[9];

	for (int i = 0; i < 9; i++) {
		double value = cold_call(kilobytes);
		int at = i;

		for (; at > 0 && ns[at - 1] > value; at--)
			ns[at] = ns[at - 1];
		ns[at] = value;
	}
	return ns[4];
}

double other_cold_call(long kilobytes)
{
	return run_elsewhere(cold_calls, kilobytes);
}
