/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attach OLD LEVEL END TIMES: what CUPTI bears in a process that launches all the time, in eight
 * threads, kernels and graphs.
 *
 * OLD    1: the graphs were instantiated before CUPTI was first opened; 0: after that
 * LEVEL  graph, node (kernels of graphs), first (graph, and from the second time on node), or none:
 *        no activity, callbacks only
 * END    stay: opened once, and activities are switched; unsubscribe; finalize: cuptiFinalize()
 *        from the thread that opened it; callback: from a callback, as a call of the driver
 *        returns; quiet: from the thread that opened it while no other one is in a call; gate: the
 *        same, but it is opened while others are, and a ninth thread asks the driver for things
 *        that no work depends on, all the time
 * TIMES  how often it is opened and closed
 *
 * Prints the numbers of kernel and graph records, and what opening and closing took in the median
 * and in the worst case, us.  A crash is the test's result.
 */
#include <cuda.h>
#include <cupti.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define THREADS 8

static const char ptx[] =
	".version 7.0\n.target sm_75\n.address_size 64\n"
	".visible .entry work(.param .u64 ns)\n{\n"
	".reg .u64 %rd<4>;\n.reg .pred %p;\n"
	"ld.param.u64 %rd1, [ns];\nmov.u64 %rd2, %globaltimer;\nadd.u64 %rd2, %rd2, %rd1;\n"
	"again:\nmov.u64 %rd3, %globaltimer;\nsetp.lt.u64 %p, %rd3, %rd2;\n@%p bra again;\n"
	"ret;\n}\n";

static void *cuda, *cupti;
static CUcontext context;
static CUfunction kernel;
static _Atomic int bad, ready, stop, opened, finalize, finalized;
static _Atomic long kernels, graphs, launches;
static int old, quiet, gate;
static pthread_rwlock_t calls;
static CUpti_SubscriberHandle subscriber;

#define FIND(library, name) ((__typeof__(&name))dlsym(library, #name))
#define CALL(name, ...) \
	do { \
		__typeof__(&name) function = FIND(cuda, name); \
		if (quiet) \
			pthread_rwlock_rdlock(&calls); \
		bad |= function ? (int)function(__VA_ARGS__) : -1; \
		if (quiet) \
			pthread_rwlock_unlock(&calls); \
	} while (0)
#define CUPTI(name, ...) \
	do { \
		__typeof__(&name) function = FIND(cupti, name); \
		int result = function ? (int)function(__VA_ARGS__) : -1; \
		if (result) { \
			fprintf(stderr, "%s: %d\n", #name, result); \
			bad = 1; \
		} \
	} while (0)

/* Every tenth takes a millisecond: at any time one is running. */
static void launch(CUstream stream)
{
	static _Atomic unsigned number;
	unsigned long long ns = number++ % 10 ? 2000 : 1000000;
	void *parameters[] = { &ns };

	CALL(cuLaunchKernel, kernel, 1, 1, 1, 1, 1, 1, 0, stream, parameters, NULL);
}

static CUgraphExec instantiate(CUstream stream)
{
	CUgraph graph = NULL;
	CUgraphExec exec = NULL;

	CALL(cuStreamBeginCapture_v2, stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
	launch(stream);
	launch(stream);
	CALL(cuStreamEndCapture, stream, &graph);
	CALL(cuGraphInstantiateWithFlags, &exec, graph, 0);
	return exec;
}

static void *work(void *unused)
{
	CUgraphExec exec = NULL;
	CUstream stream = NULL;

	CALL(cuCtxSetCurrent, context);
	CALL(cuStreamCreate, &stream, CU_STREAM_NON_BLOCKING);
	if (old)
		exec = instantiate(stream);
	ready++;
	while (!stop) {
		if (!exec && opened)
			exec = instantiate(stream);
		for (int i = 0; i < 20; i++) {
			launch(stream);
			if (exec)
				CALL(cuGraphLaunch, exec, stream);
		}
		launches += 20;
		CALL(cuStreamSynchronize, stream);
	}
	return unused;
}

/* Calls that a recorder does not need to know, and so does not wait for. */
static void *ask(void *unused)
{
	int device = 0, count = 0;
	size_t free_bytes, all;
	CUcontext now;

	while (!stop) {
		bad |= (int)FIND(cuda, cuCtxSetCurrent)(context);
		bad |= (int)FIND(cuda, cuCtxGetCurrent)(&now);
		bad |= (int)FIND(cuda, cuCtxGetDevice)(&device);
		bad |= (int)FIND(cuda, cuMemGetInfo_v2)(&free_bytes, &all);
		bad |= (int)FIND(cuda, cuDeviceGetAttribute)(&count,
			CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device);
	}
	return unused;
}

/* As many deliveries as the recorder waits: CUPTI 13.0 writes to buffers that it has delivered. */
#define RESTING 1024

static void CUPTIAPI requested(uint8_t **buffer, size_t *size, size_t *most)
{
	*size = 1 << 15;
	*buffer = aligned_alloc(8, *size);
	*most = 0;
}

static void CUPTIAPI completed(CUcontext unused, uint32_t stream, uint8_t *buffer, size_t size,
	size_t valid)
{
	__typeof__(&cuptiActivityGetNextRecord) next = FIND(cupti, cuptiActivityGetNextRecord);
	static _Atomic(uint8_t *) resting[RESTING];
	static _Atomic unsigned delivered;
	CUpti_Activity *record = NULL;

	while (valid && next(buffer, valid, &record) == CUPTI_SUCCESS) {
		kernels += record->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
		graphs += record->kind == CUPTI_ACTIVITY_KIND_GRAPH_TRACE;
	}
	free(atomic_exchange(&resting[atomic_fetch_add(&delivered, 1) % RESTING], buffer));
}

static void CUPTIAPI callback(void *user, CUpti_CallbackDomain domain, CUpti_CallbackId id,
	const void *argument)
{
	const CUpti_CallbackData *data = argument;

	if (data->callbackSite == CUPTI_API_EXIT && atomic_exchange(&finalize, 0)) {
		CUPTI(cuptiFinalize, );
		finalized = 1;
	}
}

static void activities(const char *level, int on)
{
	static int times;
	static const CUpti_ActivityKind kinds[] = { CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
		CUPTI_ACTIVITY_KIND_MEMCPY, CUPTI_ACTIVITY_KIND_MEMSET,
		CUPTI_ACTIVITY_KIND_GRAPH_TRACE };
	int count = !strcmp(level, "none")                                         ? 0
		: !strcmp(level, "node") || (!strcmp(level, "first") && times > 1) ? 3
										   : 4;

	times++;

	for (int i = 0; i < count; i++)
		if (on)
			CUPTI(cuptiActivityEnable, kinds[i]);
		else
			CUPTI(cuptiActivityDisable, kinds[i]);
}

static void open_cupti(const char *level)
{
	if (quiet && !gate)
		pthread_rwlock_wrlock(&calls);
	CUPTI(cuptiSubscribe, &subscriber, callback, NULL);
	CUPTI(cuptiActivityRegisterCallbacks, requested, completed);
	CUPTI(cuptiEnableDomain, 1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API);
	activities(level, 1);
	if (quiet && !gate)
		pthread_rwlock_unlock(&calls);
	opened = 1;
}

static void close_cupti(const char *level, const char *end)
{
	if (quiet)
		pthread_rwlock_wrlock(&calls);
	activities(level, 0);
	CUPTI(cuptiActivityFlushAll, 0);
	if (quiet || !strcmp(end, "unsubscribe") || !strcmp(end, "finalize"))
		CUPTI(cuptiUnsubscribe, subscriber);
	if (quiet || !strcmp(end, "finalize"))
		CUPTI(cuptiFinalize, );
	if (quiet)
		pthread_rwlock_unlock(&calls);
	if (!strcmp(end, "callback")) {
		finalized = 0;
		finalize = 1;
		while (!finalized)
			usleep(100);
	}
}

static long now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static int by_size(const void *a, const void *b)
{
	return *(const long *)a < *(const long *)b ? -1 : *(const long *)a > *(const long *)b;
}

int main(int argc, char **argv)
{
	const char *level = argc > 4 ? argv[2] : "graph", *end = argc > 4 ? argv[3] : "stay";
	int times = argc > 4 ? atoi(argv[4]) : 1;
	pthread_rwlockattr_t attributes;
	pthread_t thread[THREADS + 1];
	long *opening, *closing, begun;
	CUmodule module;

	old = argc > 4 && atoi(argv[1]);
	gate = !strcmp(end, "gate");
	quiet = gate || !strcmp(end, "quiet");
	opening = calloc(times, sizeof(*opening));
	closing = calloc(times, sizeof(*closing));
	pthread_rwlockattr_init(&attributes);
	pthread_rwlockattr_setkind_np(&attributes, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
	pthread_rwlock_init(&calls, &attributes);
	cuda = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
	cupti = dlopen(getenv("CUPTI") ? getenv("CUPTI") : "libcupti.so.13", RTLD_NOW | RTLD_LOCAL);
	if (!cuda || !cupti)
		return 2;
	CALL(cuInit, 0);
	CALL(cuDevicePrimaryCtxRetain, &context, 0);
	CALL(cuCtxSetCurrent, context);
	CALL(cuModuleLoadData, &module, ptx);
	CALL(cuModuleGetFunction, &kernel, module, "work");
	for (int i = 0; i < THREADS; i++)
		bad |= pthread_create(&thread[i], NULL, work, NULL);
	if (gate)
		bad |= pthread_create(&thread[THREADS], NULL, ask, NULL);
	while (ready < THREADS)
		usleep(1000);
	for (int i = 0; i < times; i++) {
		begun = now_us();
		if (!i || strcmp(end, "stay") != 0)
			open_cupti(level);
		else
			activities(level, 1);
		opening[i] = now_us() - begun;
		usleep(5000);
		begun = now_us();
		close_cupti(level, end);
		closing[i] = now_us() - begun;
		usleep(2000);
	}
	stop = 1;
	for (int i = 0; i < THREADS + gate; i++)
		bad |= pthread_join(thread[i], NULL);
	qsort(opening, times, sizeof(*opening), by_size);
	qsort(closing, times, sizeof(*closing), by_size);
	printf("%ld kernels, %ld graphs, %ld launches, open %ld %ld us, close %ld %ld us, %d\n",
		kernels, graphs, launches, opening[times / 2], opening[times - 1],
		closing[times / 2], closing[times - 1], bad != 0);
	return bad != 0;
}
