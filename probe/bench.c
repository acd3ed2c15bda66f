/* SPDX-License-Identifier: Apache-2.0 */
/* Every group's process needs this: streams, memory that is in use already, and a clock. */
#include "probe.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "probe_kernels.h"

/* The simulated device's time is its own. */
static uint64_t (*virtual_clock)(void);
static pthread_once_t clock_found = PTHREAD_ONCE_INIT;

static void find_clock(void)
{
	void *library = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);

	if (library)
		virtual_clock = (uint64_t(*)(void))dlsym(library, "cufence_sim_clock");
}

static uint64_t read_clock(clockid_t clock)
{
	struct timespec now;

	pthread_once(&clock_found, find_clock);
	if (virtual_clock)
		return virtual_clock();
	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

uint64_t probe_now(void)
{
	return read_clock(CLOCK_MONOTONIC);
}

uint64_t probe_wall(void)
{
	return read_clock(CLOCK_REALTIME);
}

bool probe_alive(void)
{
	cudaError_t error = cudaDeviceSynchronize();

	return error == cudaSuccess || error == cudaErrorNotSupported;
}

static cudaError_t open_streams(cudaStream_t *streams)
{
	cudaError_t error = cudaStreamCreate(&streams[PROBE_BLOCKING]);

	if (error == cudaSuccess)
		error = cudaStreamCreateWithFlags(&streams[PROBE_NONBLOCKING],
			cudaStreamNonBlocking);
	streams[PROBE_LEGACY] = cudaStreamLegacy;
	streams[PROBE_PER_THREAD] = cudaStreamPerThread;
	return error;
}

static cudaError_t open_memory(struct bench *bench)
{
	cudaError_t error = cudaSuccess;

	for (int i = 0; i < 2 && error == cudaSuccess; i++) {
		bench->memory[PROBE_PAGEABLE][i] = malloc(PROBE_BYTES);
		if (!bench->memory[PROBE_PAGEABLE][i])
			return cudaErrorMemoryAllocation;
		/* Page faults are not what is measured. */
		memset(bench->memory[PROBE_PAGEABLE][i], i + 1, PROBE_BYTES);
		error = cudaMallocHost(&bench->memory[PROBE_PINNED][i], PROBE_PINNED_BYTES);
		if (error == cudaSuccess)
			error = cudaMalloc(&bench->memory[PROBE_DEVICE][i], PROBE_BYTES);
	}
	return error;
}

/* Loads the kernel that is used everywhere: on every stream, as streams are set up lazily too. */
static cudaError_t warm_up(struct bench *bench)
{
	for (int i = 0; i < PROBE_STREAMS; i++) {
		cudaError_t error = probe_spin(bench->busy[i], 0);
		if (error == cudaSuccess)
			error = probe_spin(bench->call[i], 0);
		if (error == cudaSuccess)
			error = probe_spin(bench->watch[i], 0);
		if (error != cudaSuccess)
			return error;
	}
	return cudaDeviceSynchronize();
}

cudaError_t bench_open(struct bench *bench, bool memory)
{
	cudaError_t error;

	*bench = (struct bench){ 0 };
	error = open_streams(bench->busy);
	if (error == cudaSuccess)
		error = open_streams(bench->call);
	if (error == cudaSuccess)
		error = open_streams(bench->watch);
	if (error == cudaSuccess && memory)
		error = open_memory(bench);
	return error == cudaSuccess ? warm_up(bench) : error;
}
