/* SPDX-License-Identifier: Apache-2.0 */
/*
 * windows ROUNDS: each round allocates, launches a kernel of 10 ms, records an event, waits and
 * frees; before the first a graph is captured, which every round launches.  Rounds 4 to 7 lie
 * between cuProfilerStart and Stop and in the NVTX range "step".
 */
#include <cuda.h>
#include <cudaProfiler.h>
#include <dlfcn.h>
#include <nvtx3/nvToolsExt.h>
#include <stdio.h>
#include <stdlib.h>

static const char ptx[] = ".version 7.0\n.target sm_75\n.address_size 64\n"
	".visible .entry _ZN7cufence4spinEy(.param .u64 ns)\n{\nret;\n}\n";

static int bad;

#define CALL(name, ...) \
	do { \
		static __typeof__(&name) function; \
		if (!function) \
			*(void **)&function = dlsym(RTLD_DEFAULT, #name); \
		bad |= function ? (int)function(__VA_ARGS__) : -1; \
	} while (0)

static CUfunction kernel;
static CUstream stream;

static void launch(unsigned long long ns)
{
	void *parameters[] = { &ns };

	CALL(cuLaunchKernel, kernel, 1, 1, 1, 1, 1, 1, 0, stream, parameters, NULL);
}

static CUgraphExec capture(void)
{
	CUgraph graph;
	CUgraphExec exec;

	CALL(cuStreamBeginCapture_v2, stream, CU_STREAM_CAPTURE_MODE_GLOBAL);
	launch(1000);
	CALL(cuStreamEndCapture, stream, &graph);
	CALL(cuGraphInstantiateWithFlags, &exec, graph, 0);
	return exec;
}

static void round_of_work(CUgraphExec exec, CUevent event)
{
	CUdeviceptr memory;

	CALL(cuMemAlloc_v2, &memory, 4096);
	launch(10000000);
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

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 12;
	CUcontext context;
	CUmodule module;
	CUgraphExec exec;
	CUevent event;

	if (!dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL))
		return 2;
	CALL(cuInit, 0);
	CALL(cuDevicePrimaryCtxRetain, &context, 0);
	CALL(cuCtxSetCurrent, context);
	CALL(cuModuleLoadData, &module, ptx);
	CALL(cuModuleGetFunction, &kernel, module, "_ZN7cufence4spinEy");
	CALL(cuStreamCreate, &stream, CU_STREAM_NON_BLOCKING);
	CALL(cuEventCreate, &event, 0);
	exec = capture();
	for (int i = 0; i < rounds; i++) {
		begin(i);
		round_of_work(exec, event);
	}
	printf("%d\n", bad);
	return 0;
}
