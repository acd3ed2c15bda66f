/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The calls that wait, on the simulated device as on an H200. Each row is one call made while a 40
 * ms kernel runs on a blocking, on a non-blocking and on the legacy stream.
 */
#include <pthread.h>
#include <sched.h>

#include "sim_driver.h"

#define SMALL 1024ul
#define STAGED (1ul << 20)
#define LARGE (64ul << 20)

static CUstream blocking, other_blocking, non_blocking, other_non_blocking;
static CUdeviceptr device, device2;
static char *pinned, *pageable;

static int setup(void **state)
{
	sim_setup(state);
	blocking = stream_create(0);
	other_blocking = stream_create(0);
	non_blocking = stream_create(CU_STREAM_NON_BLOCKING);
	other_non_blocking = stream_create(CU_STREAM_NON_BLOCKING);
	drv.cuMemAlloc_v2(&device, LARGE);
	drv.cuMemAlloc_v2(&device2, LARGE);
	drv.cuMemAllocHost_v2((void **)&pinned, LARGE);
	pageable = calloc(1, LARGE);
	return !pageable;
}

static int teardown(void **state)
{
	free(pageable);
	return 0;
}

static void check(const char *what, CUresult (*call)(void), const char *waits)
{
	const CUstream background[] = { blocking, non_blocking, NULL };

	for (int i = 0; i < 3; i++) {
		double ms;

		assert_int_equal(sim_quiet(NULL), 0);
		assert_int_equal(spin(background[i], 400 * MS), 0);
		ms = TOOK(call());
		if ((ms > 300) != (waits[i] == 'y'))
			fprintf(stderr, "%s, background %d: %.3f ms\n", what, i, ms);
		assert_int_equal(ms > 300, waits[i] == 'y');
	}
}

/* name, waits for a kernel on a blocking, a non-blocking, the legacy stream; the call */
#define ROWS(X) \
	X(free_device, "yyy", free_new()) \
	X(free_host, "yyy", free_host_new()) \
	X(unregister, "yyy", unregister_new()) \
	X(load, "yyy", load_new()) \
	X(context_sync, "yyy", drv.cuCtxSynchronize()) \
	X(free_pool, "nnn", free_pool_new()) \
	X(alloc, "nnn", drv.cuMemAlloc_v2(&scratch, SMALL)) \
	X(legacy_sync, "yny", drv.cuStreamSynchronize(NULL)) \
	X(idle_sync, "nnn", drv.cuStreamSynchronize(other_blocking)) \
	X(h2d_pageable, "yny", drv.cuMemcpyHtoD_v2(device, pageable, SMALL)) \
	X(h2d_pinned, "yny", drv.cuMemcpyHtoD_v2(device, pinned, SMALL)) \
	X(d2h_pageable, "yny", drv.cuMemcpyDtoH_v2(pageable, device, SMALL)) \
	X(d2h_pinned, "yny", drv.cuMemcpyDtoH_v2(pinned, device, SMALL)) \
	X(h2h, "yny", drv.cuMemcpy((uintptr_t)pageable, (uintptr_t)pinned, SMALL)) \
	X(d2d, "nnn", drv.cuMemcpyDtoD_v2(device, device2, LARGE)) \
	X(set_device, "nnn", drv.cuMemsetD8_v2(device, 0, LARGE)) \
	X(set_pinned, "yny", drv.cuMemsetD8_v2((uintptr_t)pinned, 0, SMALL)) \
	X(async_d2h_pageable, "nny", \
		drv.cuMemcpyDtoHAsync_v2(pageable, device, SMALL, other_blocking)) \
	X(async_d2h_pinned, "nnn", \
		drv.cuMemcpyDtoHAsync_v2(pinned, device, LARGE, other_blocking)) \
	X(async_h2d_staged, "nnn", drv.cuMemcpyHtoDAsync_v2(device, pageable, STAGED, NULL)) \
	X(async_h2d_large, "yny", drv.cuMemcpyHtoDAsync_v2(device, pageable, LARGE, NULL)) \
	X(async_h2d_large_own, "nny", \
		drv.cuMemcpyHtoDAsync_v2(device, pageable, LARGE, other_blocking)) \
	X(async_h2d_non_blocking, "nnn", \
		drv.cuMemcpyHtoDAsync_v2(device, pageable, LARGE, other_non_blocking)) \
	X(async_h2d_pinned, "nnn", drv.cuMemcpyHtoDAsync_v2(device, pinned, LARGE, NULL)) \
	X(async_set, "nnn", drv.cuMemsetD32Async(device, 0, 1000, NULL)) \
	X(create, "nnn", drv.cuStreamCreate(&scratch_stream, 0))

static CUdeviceptr scratch;
static CUstream scratch_stream;

/* The calls that need something to free make it first; making it does not wait. */
static CUresult free_new(void)
{
	return drv.cuMemAlloc_v2(&scratch, SMALL) ? 1 : drv.cuMemFree_v2(scratch);
}

static CUresult free_host_new(void)
{
	void *host;

	return drv.cuMemAllocHost_v2(&host, SMALL) ? 1 : drv.cuMemFreeHost(host);
}

static CUresult unregister_new(void)
{
	return drv.cuMemHostRegister_v2(pageable, SMALL, 0) ? 1 : drv.cuMemHostUnregister(pageable);
}

static CUresult load_new(void)
{
	CUmodule module;

	return drv.cuModuleLoadData(&module, sim_ptx);
}

static CUresult free_pool_new(void)
{
	return drv.cuMemAllocAsync(&scratch, SMALL, other_non_blocking) ? 1
									: drv.cuMemFree_v2(scratch);
}

#define X(name, waits, expression) \
	static CUresult call_##name(void) \
	{ \
		return expression; \
	}
ROWS(X)
#undef X

SIM_TEST(calls_wait_for_what_they_wait_for_on_the_device)
{
#define X(name, waits, expression) check(#name, call_##name, waits);
	ROWS(X)
#undef X
}

SIM_TEST(full_launch_queue_blocks_the_1023rd_launch_of_its_stream_only)
{
	spin(blocking, 40 * MS);
	for (int i = 1; i < 1022; i++)
		assert_at_once(spin(blocking, 10));
	assert_at_once(spin(non_blocking, 10));
	assert_in_range(TOOK(spin(blocking, 10)), 35, 42);
}

/* The kernel that nothing else uses, so that its first launch is a first use. */
static CUfunction fresh_function(void)
{
	CUfunction function;
	CUmodule module;

	assert_int_equal(drv.cuModuleLoadData(&module, sim_ptx), 0);
	assert_int_equal(drv.cuModuleGetFunction(&function, module, "_Z5plainPf"), 0);
	return function;
}

SIM_TEST(first_launch_of_a_kernel_serializes_other_streams_but_not_the_host)
{
	CUfunction fresh = fresh_function();
	void *values[] = { &device };

	spin(blocking, 40 * MS);
	assert_at_once(drv.cuLaunchKernel(fresh, 1, 1, 1, 1, 1, 1, 0, non_blocking, values, NULL));
	spin(other_non_blocking, 1 * MS);
	assert_waited(drv.cuStreamSynchronize(other_non_blocking), 41);
	spin(blocking, 40 * MS);
	spin(other_non_blocking, 1 * MS);
	assert_waited(drv.cuStreamSynchronize(other_non_blocking), 1);
}

static _Atomic int waiting;
static CUcontext context;

static void *free_in_thread(void *unused)
{
	CUdeviceptr ptr;

	drv.cuCtxSetCurrent(context);
	drv.cuMemAlloc_v2(&ptr, SMALL);
	waiting = 1;
	return (void *)(uintptr_t)drv.cuMemFree_v2(ptr);
}

static void *copy_in_thread(void *to)
{
	drv.cuCtxSetCurrent(context);
	waiting = 1;
	return (void *)(uintptr_t)drv.cuMemcpyDtoH_v2(to, device, SMALL);
}

static void *copy_async_in_thread(void *to)
{
	drv.cuCtxSetCurrent(context);
	waiting = 1;
	return (void *)(uintptr_t)drv.cuMemcpyDtoHAsync_v2(to, device, SMALL, blocking);
}

/* ms of the longest launch of this thread while another one is in a call that waits for 400 ms. */
static double launches_beside(void *(*call)(void *), void *argument)
{
	pthread_t thread;
	void *result;
	double ms = 0, took;

	waiting = 0;
	drv.cuDevicePrimaryCtxRetain(&context, 0);
	spin(blocking, 400 * MS);
	pthread_create(&thread, NULL, call, argument);
	/* Computing, this thread holds time until the other one is inside the call. */
	while (!waiting)
		sched_yield();
	for (uint64_t start = drv.cufence_sim_clock();
		ms < 1 && drv.cufence_sim_clock() - start < 50 * MS;) {
		took = TOOK(spin(non_blocking, 10));
		ms = took > ms ? took : ms;
	}
	pthread_join(thread, &result);
	assert_null(result);
	return ms;
}

SIM_TEST(launches_of_other_threads_wait_while_one_frees)
{
	assert_true(launches_beside(free_in_thread, NULL) > 300);
}

/* Whatever memory it is; an Async copy that waits holds nobody. */
SIM_TEST(they_wait_while_one_copies_to_the_host)
{
	assert_true(launches_beside(copy_in_thread, pageable) > 300);
	assert_true(launches_beside(copy_in_thread, pinned) > 300);
	assert_true(launches_beside(copy_async_in_thread, pageable) < 1);
}

SIM_TEST(wrong_handles_and_values_are_refused)
{
	assert_int_equal(drv.cuStreamSynchronize((CUstream)pageable), CUDA_ERROR_INVALID_HANDLE);
	assert_int_equal(drv.cuEventQuery((CUevent)blocking), CUDA_ERROR_INVALID_HANDLE);
	assert_int_equal(drv.cuMemFree_v2(device + 1), CUDA_ERROR_INVALID_VALUE);
	assert_int_equal(drv.cuMemcpyDtoH_v2(pageable, device, LARGE + 1),
		CUDA_ERROR_INVALID_VALUE);
	assert_int_equal(drv.cuMemHostUnregister(pageable), CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
	assert_int_equal(drv.cuMemAlloc_v2(&scratch, 1ul << 40), CUDA_ERROR_OUT_OF_MEMORY);
	assert_int_equal(drv.cuLaunchKernel(spin_function, 1, 1, 1, 2000, 1, 1, 0, NULL,
				 (void *[]){ &scratch }, NULL),
		CUDA_ERROR_INVALID_VALUE);
}

GROUP(setup, teardown)
