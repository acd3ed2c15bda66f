/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls of the stub libraries (stub_cuda.c) in loops: prints "sample NAME NS" per kind of call,
 * of TRIES loops the fastest, because whatever else runs on the machine only adds.
 * Names with a dot are runtime calls, which are two records.  The loops run eight functions deep,
 * as calls of real programs do, because a call site is up to eight return addresses.
 */
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

#define COUNT 20000
#define TRIES 5
#define DEPTH 8

static __typeof__(&cuMemcpyDtoHAsync) copy;
static __typeof__(&cuEventRecord) record;
static __typeof__(&cuStreamWaitEvent) wait;
static __typeof__(&cuStreamQuery) query;
static __typeof__(&cuLaunchKernel) launch;

static CUdeviceptr memory;
static uint64_t word[16];
static void *values[16];
static int function; /* its address is a kernel's handle */
#define STREAM(i) ((CUstream)(uintptr_t)(32 + (i) % 4 * 16))
#define BUSY ((CUstream)16)
#define EVENT ((CUevent)64)

static void launches(long i)
{
	launch((CUfunction)&function, 1, 1, 1, 32, 1, 1, 0, STREAM(i), values, NULL);
}
static void copies(long i) { copy(word, memory, 128, STREAM(i)); }
static void records(long i) { record(EVENT, STREAM(i)); }
static void waits(long i) { wait(STREAM(i), EVENT, 0); }
static void queries(long i) { query(STREAM(i)); }
static void polls(long i) { query(BUSY); }
static void runtime_launches(long i)
{
	const dim3 grid = { 1, 1, 1 }, block = { 32, 1, 1 };

	cudaLaunchKernel(&function, grid, block, values, 0, STREAM(i));
}
static void runtime_copies(long i)
{
	cudaMemcpyAsync(word, (void *)memory, 128, cudaMemcpyDeviceToHost, STREAM(i));
}
static void runtime_records(long i) { cudaEventRecord(EVENT, STREAM(i)); }
static void runtime_waits(long i) { cudaStreamWaitEvent(STREAM(i), EVENT, 0); }
static void runtime_queries(long i) { cudaStreamQuery(STREAM(i)); }
static void runtime_polls(long i) { cudaStreamQuery(BUSY); }

static const struct loop {
	const char *name;
	void (*call)(long i);
} loops[] = {
	{ "launch", launches }, { "copy", copies }, { "record", records }, { "wait", waits },
	{ "query", queries }, { "poll", polls }, { "rt.launch", runtime_launches },
	{ "rt.copy", runtime_copies }, { "rt.record", runtime_records },
	{ "rt.wait", runtime_waits }, { "rt.query", runtime_queries },
	{ "rt.poll", runtime_polls },
};

static double now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static double run(void (*call)(long), long count)
{
	double start = now_ns();

	for (long i = 0; i < count; i++)
		call(i);
	return (now_ns() - start) / (double)count;
}

/* The volatile result keeps each level a frame of its own. */
__attribute__((noinline)) static double deep(int depth, void (*call)(long), long count)
{
	volatile double ns = depth ? deep(depth - 1, call, count) : run(call, count);

	return ns;
}

int main(void)
{
	void *driver = dlopen("libcuda.so.1", RTLD_NOW);
	CUresult (*init)(unsigned int);
	CUresult (*allocate)(CUdeviceptr *, size_t);

	if (!driver)
		return 2;
	*(void **)&init = dlsym(driver, "cuInit");
	*(void **)&allocate = dlsym(driver, "cuMemAlloc_v2");
	*(void **)&copy = dlsym(driver, "cuMemcpyDtoHAsync_v2");
	*(void **)&record = dlsym(driver, "cuEventRecord");
	*(void **)&wait = dlsym(driver, "cuStreamWaitEvent");
	*(void **)&query = dlsym(driver, "cuStreamQuery");
	*(void **)&launch = dlsym(driver, "cuLaunchKernel");
	init(0);
	allocate(&memory, 1 << 20);
	for (unsigned i = 0; i < 16; i++) {
		word[i] = i >= 1 && i <= 4 ? memory + i * 4096 : i;
		values[i] = &word[i];
	}
	for (unsigned i = 0; i < sizeof(loops) / sizeof(loops[0]); i++) {
		double best = deep(DEPTH, loops[i].call, COUNT);

		for (int n = 1; n < TRIES; n++) {
			double ns = deep(DEPTH, loops[i].call, COUNT);

			best = ns < best ? ns : best;
		}
		printf("sample %s %.2f\n", loops[i].name, best);
	}
	return 0;
}
