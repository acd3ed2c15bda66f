/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Preloaded by bench/savings/run: appends to the file CUFENCE_BENCH_ELAPSED the ns from the return
 * of the program's first CUDA call, which creates the context, to the program's exit.  On the
 * simulated device the time is virtual.  For programs with a shared runtime.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static uint64_t first;

static uint64_t now(void)
{
	uint64_t (*simulated)(void) = (uint64_t(*)(void))dlsym(RTLD_DEFAULT, "cufence_sim_clock");
	void *driver = simulated ? NULL : dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
	struct timespec time;

	if (driver)
		simulated = (uint64_t(*)(void))dlsym(driver, "cufence_sim_clock");
	if (simulated)
		return simulated();
	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static void report(void)
{
	const char *path = getenv("CUFENCE_BENCH_ELAPSED");
	int fd = path ? open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644) : -1;

	if (fd < 0)
		return;
	dprintf(fd, "%llu\n", (unsigned long long)(now() - first));
	close(fd);
}

/* After the runtime has registered its own handler: ours runs first. */
static void begin(void)
{
	if (first)
		return;
	first = now();
	atexit(report);
}

/* The calls with which programs begin; their results are ints. */
#define FIRST(name, ...) FIRST_(name, __VA_ARGS__)
#define FIRST_(name, parameters, arguments) \
	int name parameters; \
	int name parameters \
	{ \
		static int(*real) parameters; \
		int result; \
		if (!real) \
			real = (int(*) parameters)dlsym(RTLD_NEXT, #name); \
		result = real arguments; \
		begin(); \
		return result; \
	}
FIRST(cudaMalloc, (void **address, size_t bytes), (address, bytes))
FIRST(cudaMallocHost, (void **address, size_t bytes), (address, bytes))
FIRST(cudaSetDevice, (int device), (device))
FIRST(cudaFree, (void *address), (address))
FIRST(cudaFuncGetAttributes, (void *attributes, const void *function), (attributes, function))
FIRST(cudaStreamCreate, (void **stream), (stream))
FIRST(cudaStreamCreateWithFlags, (void **stream, unsigned flags), (stream, flags))
