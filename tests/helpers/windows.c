/* SPDX-License-Identifier: Apache-2.0 */
/*
 * windows ROUNDS: each round allocates, launches a kernel of 10 ms, records an event, waits and
 * frees; before the first round a graph is captured, which every round launches.  Rounds 4 to 7 are
 * between cuProfilerStart and Stop and in the NVTX range "step".
 *
 * windows ROUNDS THREADS: as many threads run all rounds, with short kernels, while windows open
 * and close; prints the duration of these to stderr.
 *
 * windows 0 0 LAUNCHES: prints the duration of a launch to stderr.
 */
#include <cuda.h>
#include <cudaProfiler.h>
#include <dlfcn.h>
#include <nvtx3/nvToolsExt.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static const char ptx[] =
	".version 7.0\n.target sm_75\n.address_size 64\n"
	".visible .entry _ZN7cufence4spinEy(.param .u64 ns)\n{\nret;\n}\n";

static _Atomic int bad;
static int rounds = 12;

#define CALL(name, ...) \
	do { \
		static __typeof__(&name) function; \
		if (!function) \
			*(void **)&function = dlsym(RTLD_DEFAULT, #name); \
		bad |= function ? (int)function(__VA_ARGS__) : -1; \
	} while (0)

static CUcontext context;
static CUfunction kernel;

static void launch(CUstream stream, unsigned long long ns)
{
	void *parameters[] = { &ns };

	CALL(cuLaunchKernel, kernel, 1, 1, 1, 1, 1, 1, 0, stream, parameters, NULL);
}

static CUgraphExec capture(CUstream stream)
{
	CUgraph graph;
	CUgraphExec exec = NULL;

	CALL(cuStreamBeginCapture_v2, stream, CU_STREAM_CAPTURE_MODE_GLOBAL);
	launch(stream, 1000);
	CALL(cuStreamEndCapture, stream, &graph);
	CALL(cuGraphInstantiateWithFlags, &exec, graph, 0);
	return exec;
}

static void round_of_work(CUstream stream, CUgraphExec exec, CUevent event, unsigned long long ns)
{
	CUdeviceptr memory;

	CALL(cuMemAlloc_v2, &memory, 4096);
	launch(stream, ns);
	CALL(cuGraphLaunch, exec, stream);
	CALL(cuEventRecord, event, stream);
	CALL(cuStreamSynchronize, stream);
	CALL(cuMemFree_v2, memory);
}

static void begin(int round)
{
	if (round == 4) {
		CALL(cuProfilerStart, );
		nvtxRangePushA("step");
	} else if (round == 8) {
		nvtxRangePop();
		CALL(cuProfilerStop, );
	}
}

static void *many_rounds(void *argument)
{
	CUstream stream = NULL;
	CUevent event;

	CALL(cuCtxSetCurrent, context);
	CALL(cuStreamCreate, &stream, CU_STREAM_NON_BLOCKING);
	CALL(cuEventCreate, &event, 0);
	for (int i = 0; i < rounds; i++) {
		CUdeviceptr memory;

		CALL(cuMemAlloc_v2, &memory, 4096);
		launch(stream, 1000);
		CALL(cuEventRecord, event, stream);
		CALL(cuStreamSynchronize, stream);
		CALL(cuMemFree_v2, memory);
	}
	return argument;
}

static long long now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ll + t.tv_nsec;
}

static void open_and_close(int times)
{
	long long opening = 0, closing = 0, before;

	for (int i = 0; i < times; i++) {
		before = now();
		CALL(cuProfilerStart, );
		opening += now() - before;
		usleep(1000);
		before = now();
		CALL(cuProfilerStop, );
		closing += now() - before;
		usleep(1000);
	}
	fprintf(stderr, "to open %lld us, to close %lld us\n", opening / times / 1000,
		closing / times / 1000);
}

static void with_threads(int count)
{
	pthread_t thread[64];

	for (int i = 0; i < count; i++)
		bad |= pthread_create(&thread[i], NULL, many_rounds, NULL);
	open_and_close(50);
	for (int i = 0; i < count; i++)
		bad |= pthread_join(thread[i], NULL);
}

static void one_after_the_other(void)
{
	CUstream stream = NULL;
	CUgraphExec exec = NULL;
	CUevent event;

	CALL(cuStreamCreate, &stream, CU_STREAM_NON_BLOCKING);
	CALL(cuEventCreate, &event, 0);
	exec = capture(stream);
	for (int i = 0; i < rounds; i++) {
		begin(i);
		round_of_work(stream, exec, event, 10000000);
	}
}

static void time_launches(int count)
{
	long long before;
	CUstream stream = NULL;

	CALL(cuStreamCreate, &stream, CU_STREAM_NON_BLOCKING);
	launch(stream, 1000);
	CALL(cuStreamSynchronize, stream);
	before = now();
	for (int i = 0; i < count; i++)
		launch(stream, 1000);
	CALL(cuStreamSynchronize, stream);
	fprintf(stderr, "a launch %lld ns\n", (now() - before) / count);
}

int main(int argc, char **argv)
{
	int threads = argc > 2 ? atoi(argv[2]) : 0;
	CUmodule module;

	if (argc > 1)
		rounds = atoi(argv[1]);
	if (threads > 64 || !dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL))
		return 2;
	CALL(cuInit, 0);
	CALL(cuDevicePrimaryCtxRetain, &context, 0);
	CALL(cuCtxSetCurrent, context);
	CALL(cuModuleLoadData, &module, ptx);
	CALL(cuModuleGetFunction, &kernel, module, "_ZN7cufence4spinEy");
	if (argc > 3)
		time_launches(atoi(argv[3]));
	else if (threads)
		with_threads(threads);
	else
		one_after_the_other();
	printf("%d\n", bad);
	return 0;
}
