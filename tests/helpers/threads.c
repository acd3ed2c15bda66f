/* SPDX-License-Identifier: Apache-2.0 */
/*
 * threads posix|try|timed|clock|c11|early|exit: a thread fills memory and waits for it, then the
 * joining thread fills the memory in another stream. early: the thread is created before the first
 * CUDA call.  Prints the results of the calls.
 */
#include <pthread.h>
#include <string.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

#include "driver_calls.h"

static unsigned long long memory;
static int failed;
static const char *mode;

static void fill(void)
{
	void *stream = NULL;

	failed |= cuda_begin();
	if (!memory)
		failed |= cuda.allocate(&memory, 4096);
	failed |= cuda.new_stream(&stream, 1) | cuda.set(memory, 1, 4096, stream);
	failed |= cuda.wait(stream);
}

static void *posix(void *argument)
{
	if (strcmp(mode, "posix"))
		usleep(20000);
	fill();
	return argument;
}

static int c11(void *argument)
{
	fill();
	if (!strcmp(mode, "exit"))
		thrd_exit(*(int *)argument);
	return *(int *)argument;
}

static void join(pthread_t thread, void **result)
{
	struct timespec soon;

	clock_gettime(CLOCK_REALTIME, &soon);
	soon.tv_sec += 20;
	if (!strcmp(mode, "try"))
		while (pthread_tryjoin_np(thread, result))
			usleep(100);
	else if (!strcmp(mode, "timed"))
		failed |= pthread_timedjoin_np(thread, result, &soon);
	else if (!strcmp(mode, "clock"))
		failed |= pthread_clockjoin_np(thread, result, CLOCK_REALTIME, &soon);
	else
		failed |= pthread_join(thread, result);
}

int main(int argc, char **argv)
{
	int number = 7, got = 0;
	void *result = NULL;
	pthread_t thread;
	thrd_t other;

	mode = argc > 1 ? argv[1] : "posix";
	cuda_find();
	if (strcmp(mode, "early"))
		failed |= cuda_begin();
	if (!strcmp(mode, "c11") || !strcmp(mode, "exit")) {
		failed |= thrd_create(&other, c11, &number) != thrd_success;
		failed |= thrd_join(other, &got) != thrd_success;
		failed |= got != number;
	} else {
		failed |= pthread_create(&thread, NULL, posix, &number);
		join(thread, &result);
		failed |= result != &number;
	}
	fill();
	printf("%d\n", failed);
	return 0;
}
