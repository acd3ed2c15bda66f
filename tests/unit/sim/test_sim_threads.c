/* SPDX-License-Identifier: Apache-2.0 */
/* Virtual time with several host threads: it passes when all wait, and only then. */
#include <pthread.h>
#include <time.h>
#include <unistd.h>

#include "sim_driver.h"

#define THREADS 6
#define ROUNDS 60

static CUcontext context;

static int setup(void **state)
{
	sim_setup(state);
	return drv.cuDevicePrimaryCtxRetain(&context, 0);
}

static double real_seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void nothing(void *data)
{
}

static void *work(void *unused)
{
	CUstream stream;
	CUevent event;

	drv.cuCtxSetCurrent(context);
	drv.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING);
	drv.cuEventCreate(&event, 0);
	for (int i = 0; i < ROUNDS; i++) {
		spin(stream, MS / 10);
		drv.cuLaunchHostFunc(stream, nothing, NULL);
		drv.cuEventRecord(event, stream);
		if (drv.cuEventSynchronize(event) || drv.cuEventQuery(event))
			return "event";
	}
	return NULL;
}

/* Two threads that were woken at once waited for each other, half a second each time. */
SIM_TEST(waking_threads_and_host_functions_do_not_stall_each_other)
{
	double start = real_seconds();
	pthread_t threads[THREADS];

	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, work, NULL), 0);
	for (int i = 0; i < THREADS; i++) {
		void *failed;

		pthread_join(threads[i], &failed);
		assert_null(failed);
	}
	assert_true(real_seconds() - start < 10);
}

static _Atomic int computing;

static void *compute(void *unused)
{
	double start = real_seconds();

	drv.cuCtxSetCurrent(context);
	computing = 1;
	while (real_seconds() - start < 0.1)
		;
	computing = 0;
	return NULL;
}

SIM_TEST(a_computing_thread_holds_time_back)
{
	pthread_t thread;

	pthread_create(&thread, NULL, compute, NULL);
	while (!computing)
		usleep(100);
	spin(NULL, 1 * MS);
	drv.cuCtxSynchronize();
	assert_int_equal(computing, 0);
	pthread_join(thread, NULL);
}

static void *sleep_long(void *done)
{
	drv.cuCtxSetCurrent(context);
	computing = 1;
	for (int i = 0; i < 300 && !*(_Atomic int *)done; i++)
		usleep(100000);
	return NULL;
}

SIM_TEST(a_sleeping_thread_does_not)
{
	static _Atomic int done;
	double start = real_seconds();
	pthread_t thread;

	pthread_create(&thread, NULL, sleep_long, &done);
	while (!computing)
		usleep(100);
	spin(NULL, 3600000 * MS);
	drv.cuCtxSynchronize();
	assert_true(real_seconds() - start < 5);
	done = 1;
	pthread_join(thread, NULL);
}

static CUresult from_host_function;

static void call_cuda(void *data)
{
	from_host_function = drv.cuStreamQuery(NULL);
}

SIM_TEST(host_functions_must_not_call_cuda)
{
	drv.cuLaunchHostFunc(NULL, call_cuda, NULL);
	drv.cuCtxSynchronize();
	assert_int_equal(from_host_function, CUDA_ERROR_NOT_PERMITTED);
}

GROUP(setup, NULL)
