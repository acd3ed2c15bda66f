/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls of the stub libraries (stub_cuda.c) in loops: for each name that it reads from FOLDER/ask
 * (micro_calls -s FOLDER) it says "NAME NS NS COUNT" in FOLDER/say, the time per call twice for
 * crew.py, which binds it to a core by "core N".  Without arguments it prints all names.  Names
 * with a dot are runtime calls, which are two records.  The loops run eight functions deep, as
 * calls of real programs do, because a call site is up to eight return addresses.
 */
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define BURST 128 /* of any call: no window fills up within one */
#define COUNT (8 * BURST)
#define DEPTH 8

static __typeof__(&cuMemcpyDtoHAsync) copy;
static __typeof__(&cuEventRecord) record;
static __typeof__(&cuStreamWaitEvent) wait;
static __typeof__(&cuStreamQuery) query;
static __typeof__(&cuKernelGetAttribute) get_attribute;
static __typeof__(&cuLaunchKernel) launch;
static __typeof__(&cuLaunchHostFunc) call_host;
static __typeof__(&cuStreamSynchronize) synchronize;

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
static void copies(long i)
{
	copy(word, memory, 128, STREAM(i));
}
static void records(long i)
{
	record(EVENT, STREAM(i));
}
static void waits(long i)
{
	wait(STREAM(i), EVENT, 0);
}
static void queries(long i)
{
	query(STREAM(i));
}
static void polls(long i)
{
	query(BUSY);
}
static void attributes(long i)
{
	int value;

	get_attribute(&value, CU_FUNC_ATTRIBUTE_NUM_REGS, (CUkernel)&function, 0);
}
static void host_function(void *unused)
{
	(void)unused;
}
/* The stub calls it at once: both sides. */
static void host_functions(long i)
{
	call_host(STREAM(i), host_function, word);
}
static void runtime_launches(long i)
{
	const dim3 grid = { 1, 1, 1 }, block = { 32, 1, 1 };

	cudaLaunchKernel(&function, grid, block, values, 0, STREAM(i));
}
static void runtime_copies(long i)
{
	cudaMemcpyAsync(word, (void *)memory, 128, cudaMemcpyDeviceToHost, STREAM(i));
}
static void runtime_records(long i)
{
	cudaEventRecord(EVENT, STREAM(i));
}
static void runtime_waits(long i)
{
	cudaStreamWaitEvent(STREAM(i), EVENT, 0);
}
static void runtime_queries(long i)
{
	cudaStreamQuery(STREAM(i));
}
static void runtime_polls(long i)
{
	cudaStreamQuery(BUSY);
}

static const struct loop {
	const char *name;
	void (*call)(long i);
} loops[] = {
	{ "launch", launches },
	{ "copy", copies },
	{ "record", records },
	{ "wait", waits },
	{ "query", queries },
	{ "poll", polls },
	{ "attribute", attributes },
	{ "function", host_functions },
	{ "rt.launch", runtime_launches },
	{ "rt.copy", runtime_copies },
	{ "rt.record", runtime_records },
	{ "rt.wait", runtime_waits },
	{ "rt.query", runtime_queries },
	{ "rt.poll", runtime_polls },
};

static double now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

/*
 * Bursts as bench/overhead's: what the recorder does while the thread waits for the device is not
 * what a call takes.
 */
static double run(void (*call)(long), long count)
{
	double sum = 0;

	for (long i = 0; i < count;) {
		double start = now_ns();

		for (int j = 0; j < BURST; j++)
			call(i++);
		sum += now_ns() - start;
		synchronize(STREAM(0));
	}
	return sum / (double)count;
}

/* The volatile result keeps each level a frame of its own. */
__attribute__((noinline)) static double deep(int depth, void (*call)(long), long count)
{
	volatile double ns = depth ? deep(depth - 1, call, count) : run(call, count);

	return ns;
}

static int find_driver(void)
{
	void *driver = dlopen("libcuda.so.1", RTLD_NOW);
	CUresult (*init)(unsigned int);
	CUresult (*allocate)(CUdeviceptr *, size_t);

	if (!driver)
		return -1;
	*(void **)&init = dlsym(driver, "cuInit");
	*(void **)&allocate = dlsym(driver, "cuMemAlloc_v2");
	*(void **)&copy = dlsym(driver, "cuMemcpyDtoHAsync_v2");
	*(void **)&record = dlsym(driver, "cuEventRecord");
	*(void **)&wait = dlsym(driver, "cuStreamWaitEvent");
	*(void **)&query = dlsym(driver, "cuStreamQuery");
	*(void **)&synchronize = dlsym(driver, "cuStreamSynchronize");
	*(void **)&get_attribute = dlsym(driver, "cuKernelGetAttribute");
	*(void **)&launch = dlsym(driver, "cuLaunchKernel");
	*(void **)&call_host = dlsym(driver, "cuLaunchHostFunc");
	init(0);
	allocate(&memory, 1 << 20);
	for (unsigned i = 0; i < 16; i++) {
		word[i] = i >= 1 && i <= 4 ? memory + i * 4096 : i;
		values[i] = &word[i];
	}
	return 0;
}

/* After a fourth as many to warm up: others had their turns since. */
static int answer(const char *name, FILE *say)
{
	for (unsigned i = 0; i < sizeof(loops) / sizeof(loops[0]); i++) {
		double ns;

		if (strcmp(loops[i].name, name))
			continue;
		deep(DEPTH, loops[i].call, COUNT / 4);
		ns = deep(DEPTH, loops[i].call, COUNT);
		fprintf(say, "%s %.2f %.2f %d\n", name, ns, ns, COUNT);
		return 0;
	}
	return -1;
}

static int bind_to(int core)
{
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(core, &one);
	return sched_setaffinity(0, sizeof(one), &one);
}

static int serve(const char *folder)
{
	char path[4096], line[64];
	FILE *ask, *say;
	int core, failed = 0;

	snprintf(path, sizeof(path), "%s/ask", folder);
	ask = fopen(path, "r");
	snprintf(path, sizeof(path), "%s/say", folder);
	say = fopen(path, "w");
	if (!ask || !say)
		return 1;
	while (!failed && fgets(line, sizeof(line), ask)) {
		line[strcspn(line, "\n")] = '\0';
		if (sscanf(line, "core %d", &core) != 1) {
			failed = answer(line, say);
		} else {
			failed = bind_to(core);
			fprintf(say, "%s\n", line);
		}
		fflush(say);
	}
	return failed != 0;
}

int main(int argc, char **argv)
{
	if (argc == 3 && !strcmp(argv[1], "-s"))
		return find_driver() ? 2 : serve(argv[2]);
	for (unsigned i = 0; i < sizeof(loops) / sizeof(loops[0]); i++)
		printf("%s\n", loops[i].name);
	return 0;
}
