/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hangs HOW: programs that never end, each with its reason: an endless kernel, waited for (kernel),
 * polled for (poll) or behind which the launch queue is full (queue); a stream that waits for an
 * event whose record another stream never reaches (event); a host function that waits for a lock
 * which its waiter holds (lock), also as a node of a graph (graph); a thread that waits for
 * another's event (threads).  "ends" is like kernel, but ends.  Prints "hanging" before the last
 * call.
 */
#include <cuda.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char ptx[] =
	".version 7.0\n.target sm_75\n.address_size 64\n"
	".visible .entry _ZN7cufence4spinEy(.param .u64 ns)\n{\nret;\n}\n";

#define ENDLESS UINT64_MAX /* for the simulator */
#define SHORT 10000

#define CALL(name, ...) \
	do { \
		static __typeof__(&name) function; \
		if (!function) \
			*(void **)&function = dlsym(RTLD_DEFAULT, #name); \
		if (!function || function(__VA_ARGS__)) { \
			fprintf(stderr, "%s failed\n", #name); \
			exit(1); \
		} \
	} while (0)

static CUcontext context;
static CUfunction kernel;
static CUstream a, b;
static CUevent event;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void launch(CUstream stream, unsigned long long ns)
{
	void *parameters[] = { &ns };

	CALL(cuLaunchKernel, kernel, 1, 1, 1, 1, 1, 1, 0, stream, parameters, NULL);
}

static void say(void)
{
	fputs("hanging\n", stderr);
}

static void wait_for_kernel(unsigned long long ns)
{
	launch(a, SHORT);
	launch(a, ns);
	launch(a, SHORT);
	say();
	CALL(cuStreamSynchronize, a);
}

static void fill_queue(void)
{
	launch(a, ENDLESS);
	say();
	for (;;)
		launch(a, SHORT);
}

static void poll_for_kernel(void)
{
	CUresult (*query)(CUstream);

	*(void **)&query = dlsym(RTLD_DEFAULT, "cuStreamQuery");
	launch(a, ENDLESS);
	say();
	while (query(a) == CUDA_ERROR_NOT_READY)
		;
}

static void wait_for_event(void)
{
	CUdeviceptr flag;

	CALL(cuMemAlloc_v2, &flag, 4);
	CALL(cuStreamWaitValue32_v2, b, flag, 1, CU_STREAM_WAIT_VALUE_EQ);
	launch(b, SHORT);
	CALL(cuEventRecord, event, b);
	launch(a, SHORT);
	CALL(cuStreamWaitEvent, a, event, 0);
	launch(a, SHORT);
	say();
	CALL(cuStreamSynchronize, a);
}

static void CUDA_CB take_lock(void *unused)
{
	pthread_mutex_lock(&lock);
	pthread_mutex_unlock(&lock);
	(void)unused;
}

static void wait_with_lock(void)
{
	pthread_mutex_lock(&lock);
	launch(a, SHORT);
	CALL(cuLaunchHostFunc, a, take_lock, NULL);
	launch(a, SHORT);
	say();
	CALL(cuStreamSynchronize, a);
}

static void launch_graph(void)
{
	CUgraph graph;
	CUgraphExec exec;

	pthread_mutex_lock(&lock);
	CALL(cuStreamBeginCapture_v2, a, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
	launch(a, SHORT);
	CALL(cuLaunchHostFunc, a, take_lock, NULL);
	CALL(cuStreamEndCapture, a, &graph);
	CALL(cuGraphInstantiateWithFlags, &exec, graph, 0);
	CALL(cuGraphLaunch, exec, a);
	say();
	CALL(cuStreamSynchronize, a);
}

static void *wait_for_all(void *unused)
{
	CALL(cuCtxSetCurrent, context);
	CALL(cuEventSynchronize, event);
	return unused;
}

static void wait_in_threads(void)
{
	pthread_t other;

	launch(a, ENDLESS);
	CALL(cuEventRecord, event, a);
	launch(b, SHORT);
	pthread_create(&other, NULL, wait_for_all, NULL);
	usleep(100000);
	say();
	pthread_join(other, NULL);
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";
	CUmodule module;

	if (!dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL))
		return 2;
	CALL(cuInit, 0);
	CALL(cuDevicePrimaryCtxRetain, &context, 0);
	CALL(cuCtxSetCurrent, context);
	CALL(cuModuleLoadData, &module, ptx);
	CALL(cuModuleGetFunction, &kernel, module, "_ZN7cufence4spinEy");
	CALL(cuStreamCreate, &a, CU_STREAM_NON_BLOCKING);
	CALL(cuStreamCreate, &b, CU_STREAM_NON_BLOCKING);
	CALL(cuEventCreate, &event, 0);
	launch(a, SHORT);
	CALL(cuStreamSynchronize, a);
	if (!strcmp(how, "kernel"))
		wait_for_kernel(ENDLESS);
	else if (!strcmp(how, "ends"))
		wait_for_kernel(SHORT);
	else if (!strcmp(how, "queue"))
		fill_queue();
	else if (!strcmp(how, "poll"))
		poll_for_kernel();
	else if (!strcmp(how, "event"))
		wait_for_event();
	else if (!strcmp(how, "lock"))
		wait_with_lock();
	else if (!strcmp(how, "graph"))
		launch_graph();
	else if (!strcmp(how, "threads"))
		wait_in_threads();
	return 0;
}
