/* SPDX-License-Identifier: Apache-2.0 */
/*
 * server: for each line of standard input, a number of turns, prints how many turns there were so
 * far.  A turn allocates memory, launches a kernel of 100 us and a graph, records an event and
 * frees the memory, which waits for the kernel; every tenth makes a stream, an event and a range
 * and ends them.  The weights that the kernels read are allocated by a thread that waits until the
 * end; with HANGS it waits on a second device for a value that nobody writes.  "server N" waits
 * until it gets SIGINT N times, "server forever" never ends.  CROWD threads more, if that is set,
 * take turns without a pause, and start and end threads that do.  The graph has NODES kernels (1),
 * and if that is set each turn sets the parameters of all of them, as JAX does, to one of two.
 * With ASKS each turn asks for the function of a library's kernel, as cuBLAS does, and the 50th
 * loads and unloads code.
 */
#include <cuda.h>
#include <dlfcn.h>
#include <nvtx3/nvToolsExt.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char ptx[] =
	".version 7.0\n.target sm_75\n.address_size 64\n"
	".visible .entry serve(.param .u64 ns, .param .u64 weights)\n{\nret;\n}\n";

static _Atomic int bad;
static volatile sig_atomic_t interrupts;
static CUcontext context;
static CUfunction kernel;
static CUdeviceptr weights, spare;
static _Atomic int loaded;

#define CALL(name, ...) \
	do { \
		static __typeof__(&name) function; \
		if (!function) \
			*(void **)&function = dlsym(RTLD_DEFAULT, #name); \
		bad |= function ? (int)function(__VA_ARGS__) : -1; \
	} while (0)

static void launch(CUstream stream)
{
	unsigned long long ns = 100000;
	void *parameters[] = { &ns, &weights };

	CALL(cuLaunchKernel, kernel, 1, 1, 1, 1, 1, 1, 0, stream, parameters, NULL);
}

#define MOST_NODES 4096

static CUgraphNode node[MOST_NODES];
static size_t nodes;

static CUgraphExec capture(CUstream stream)
{
	CUgraph graph;
	CUgraphExec exec = NULL;
	size_t count = getenv("NODES") ? (size_t)atoi(getenv("NODES")) : 1;

	CALL(cuStreamBeginCapture_v2, stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
	for (size_t i = 0; i < count; i++)
		launch(stream);
	CALL(cuStreamEndCapture, stream, &graph);
	CALL(cuGraphInstantiateWithFlags, &exec, graph, 0);
	nodes = getenv("NODES") ? MOST_NODES : 0;
	if (nodes)
		CALL(cuGraphGetNodes, graph, node, &nodes);
	return exec;
}

static void update(CUgraphExec exec, CUdeviceptr memory)
{
	unsigned long long ns = 1000;
	void *parameters[] = { &ns, &memory };
	CUDA_KERNEL_NODE_PARAMS kernel_node = { .func = kernel,
		.gridDimX = 1,
		.gridDimY = 1,
		.gridDimZ = 1,
		.blockDimX = 1,
		.blockDimY = 1,
		.blockDimZ = 1,
		.kernelParams = parameters };

	for (size_t i = 0; i < nodes; i++)
		CALL(cuGraphExecKernelNodeSetParams_v2, exec, node[i], &kernel_node);
}

static void *load(void *argument)
{
	CUstream stream;
	CUcontext other;
	CUdeviceptr value;

	CALL(cuCtxSetCurrent, context);
	CALL(cuMemAlloc_v2, &weights, 1 << 20);
	CALL(cuMemAlloc_v2, &spare, 4096);
	loaded = 1;
	if (getenv("HANGS")) {
		CALL(cuDevicePrimaryCtxRetain, &other, 1);
		CALL(cuCtxSetCurrent, other);
		CALL(cuMemAlloc_v2, &value, 4096);
		CALL(cuStreamCreate, &stream, CU_STREAM_NON_BLOCKING);
		CALL(cuStreamWaitValue32_v2, stream, value, 1, CU_STREAM_WAIT_VALUE_GEQ);
		CALL(cuStreamSynchronize, stream);
	}
	for (;;)
		pause();
	return argument;
}

static void rare(void)
{
	CUstream stream;
	CUevent event;

	nvtxRangePushA("rare");
	CALL(cuStreamCreate, &stream, CU_STREAM_NON_BLOCKING);
	CALL(cuEventCreate, &event, 0);
	CALL(cuEventRecord, event, stream);
	CALL(cuEventDestroy_v2, event);
	CALL(cuStreamDestroy_v2, stream);
	nvtxRangePop();
}

static void ask(int number)
{
	static CUkernel asked;
	CUfunction answer;
	CUlibrary library;
	CUmodule module;

	if (!getenv("ASKS"))
		return;
	if (!asked) {
		CALL(cuLibraryLoadData, &library, ptx, NULL, NULL, 0, NULL, NULL, 0);
		CALL(cuLibraryGetKernel, &asked, library, "serve");
	}
	CALL(cuKernelGetFunction, &answer, asked);
	if (number != 50)
		return;
	CALL(cuModuleLoadData, &module, ptx);
	CALL(cuModuleUnload, module);
}

static void turn(CUstream stream, CUgraphExec exec, CUevent event, int number)
{
	CUdeviceptr memory;

	nvtxRangePushA("turn");
	ask(number);
	CALL(cuMemAlloc_v2, &memory, 4096);
	launch(stream);
	update(exec, number % 2 ? memory : spare);
	if (exec)
		CALL(cuGraphLaunch, exec, stream);
	CALL(cuEventRecord, event, stream);
	CALL(cuMemFree_v2, memory);
	if (number % 10 == 0)
		rare();
	nvtxRangePop();
}

static void *work(void *argument)
{
	int turns = argument ? *(int *)argument : -1;
	CUstream stream = NULL;
	CUevent event = NULL;
	pthread_t child;

	CALL(cuCtxSetCurrent, context);
	CALL(cuStreamCreate, &stream, CU_STREAM_NON_BLOCKING);
	CALL(cuEventCreate, &event, 0);
	for (int i = 0; i != turns; i++) {
		int few = 5;

		turn(stream, NULL, event, 1);
		if (argument || i % 50)
			continue;
		if (pthread_create(&child, NULL, work, &few))
			bad = -1;
		else
			pthread_join(child, NULL);
	}
	CALL(cuEventDestroy_v2, event);
	CALL(cuStreamDestroy_v2, stream);
	return argument;
}

static void interrupted(int signal)
{
	interrupts++;
}

int main(int argc, char **argv)
{
	int total = 0, turns, waits = argc > 1 ? atoi(argv[1]) : 0;
	CUstream stream = NULL;
	CUevent event = NULL;
	CUgraphExec exec = NULL;
	pthread_t loader;
	CUmodule module;
	char line[64];

	if (!dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL))
		return 2;
	if (waits)
		signal(SIGINT, interrupted);
	CALL(cuInit, 0);
	CALL(cuDevicePrimaryCtxRetain, &context, 0);
	CALL(cuCtxSetCurrent, context);
	CALL(cuModuleLoadData, &module, ptx);
	CALL(cuModuleGetFunction, &kernel, module, "serve");
	bad |= pthread_create(&loader, NULL, load, NULL);
	while (!loaded)
		usleep(1000);
	CALL(cuStreamCreate, &stream, CU_STREAM_NON_BLOCKING);
	CALL(cuEventCreate, &event, 0);
	if (!getenv("WITHOUT_GRAPH"))
		exec = capture(stream);
	for (int i = getenv("CROWD") ? atoi(getenv("CROWD")) : 0; i > 0; i--)
		bad |= pthread_create(&loader, NULL, work, NULL);
	if (argc > 1) {
		while (waits ? interrupts < waits : 1) {
			turn(stream, exec, event, total++);
			if (total == 20)
				fputs("serving\n", stderr);
			usleep(1000);
		}
		printf("%d interrupts, %d\n", (int)interrupts, bad);
		return 0;
	}
	while (fgets(line, sizeof(line), stdin)) {
		for (turns = atoi(line); turns > 0; turns--)
			turn(stream, exec, event, total++);
		printf("%d\n", total);
		fflush(stdout);
	}
	printf("%d\n", bad);
	return 0;
}
