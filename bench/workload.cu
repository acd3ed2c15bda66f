/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the overhead benchmark times: workload [-n REPETITIONS] [-x SCALE] NAME... runs each named
 * loop after a warm-up and prints, per repetition,
 *
 *	sample NAME SUBMIT TOTAL CALLS
 *
 * SUBMIT is the host's nanoseconds in the calls, TOTAL the time until the device was done with
 * them, both per round of the loop; CALLS is how many rounds there were.  Loops named after a call
 * submit in bursts that fit into the launch queue, so that SUBMIT is the cost of the call and not
 * of a device that cannot keep up; "launches" and "mixed" run on without a pause.
 */
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda_runtime.h>
#include <time.h>

#include "kernels.h"

#define CHECK(call)                                                                                \
	do {                                                                                       \
		cudaError_t error_ = (call);                                                       \
		if (error_ != cudaSuccess) {                                                       \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__,                         \
				cudaGetErrorString(error_));                                       \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)

enum { STREAMS = 4, BURST = 256, MOST_BURSTS = 1000, NODES = 1000, POLLS = 1000 };
#define POLL_NS 4000000ull /* far longer than POLLS polls take under any tool */

static cudaStream_t stream[STREAMS];
static cudaEvent_t event[STREAMS];
static float *device_data[STREAMS], *host_data;
static cudaGraphExec_t graph;

struct times {
	double submit, total; /* ns, summed over all rounds */
	long rounds;
};

static double now_ns()
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

/* Sixteen argument words: the duration, four pointers, eleven scalars.  It computes nothing. */
__global__ void sixteen(unsigned long long spin_ns, float *a, const float *b, const float *c,
	float *d, size_t n, size_t m, size_t k, double alpha, double beta, size_t lda, size_t ldb,
	size_t ldc, size_t ldd, size_t first, size_t last)
{
	if (spin_ns == ~0ull)
		a[first] = b[last] * (float)alpha + c[n] * (float)beta +
			   d[m + k + lda + ldb + ldc + ldd];
}

static void launch(int i)
{
	sixteen<<<1, 32, 0, stream[i % STREAMS]>>>(0, device_data[0], device_data[1],
		device_data[2], device_data[3], 256, 16, 16, 1.5, 0.5, 16, 16, 16, 16, 0, 255);
}

static void copy(int i)
{
	cudaMemcpyAsync(host_data + i % STREAMS * 256, device_data[i % STREAMS], 1024,
		cudaMemcpyDeviceToHost, stream[i % STREAMS]);
}

static void record(int i)
{
	cudaEventRecord(event[i % STREAMS], stream[i % STREAMS]);
}

/* On an event that is pending: burst() holds stream 0. */
static void wait(int i)
{
	cudaStreamWaitEvent(stream[1 + i % (STREAMS - 1)], event[0], 0);
}

static void query(int i)
{
	cudaStreamQuery(stream[i % STREAMS]);
}

static void mixed(int i)
{
	cudaStream_t first = stream[i % STREAMS], second = stream[(i + 1) % STREAMS];

	cudaMemcpyAsync(host_data, device_data[0], 1024, cudaMemcpyDeviceToHost, first);
	cudaEventRecord(event[i % STREAMS], first);
	cudaStreamWaitEvent(second, event[i % STREAMS], 0);
	cufence::spin<<<1, 32, 0, second>>>(0);
}

/* BURST calls, then the device's time to finish. */
static void burst(void (*call)(int), struct times *times)
{
	double start, submitted;

	if (call == wait) {
		cufence::spin<<<1, 32, 0, stream[0]>>>(2000000);
		CHECK(cudaEventRecord(event[0], stream[0]));
	}
	start = now_ns();
	for (int i = 0; i < BURST; i++)
		call(i);
	submitted = now_ns();
	CHECK(cudaDeviceSynchronize());
	times->submit += submitted - start;
	times->total += now_ns() - start;
	times->rounds += BURST;
}

static int compare(const void *a, const void *b)
{
	double first = *(const double *)a, second = *(const double *)b;

	return (first > second) - (first < second);
}

/* What a call costs is what it costs in the median burst: others were interrupted. */
static void bursts(void (*call)(int), long count, struct times *times)
{
	double submit[MOST_BURSTS];
	long kept = count < MOST_BURSTS ? count : MOST_BURSTS;

	for (long i = 0; i < count; i++) {
		double before = times->submit;

		burst(call, times);
		submit[i % kept] = times->submit - before;
	}
	qsort(submit, (size_t)kept, sizeof(*submit), compare);
	times->submit = submit[kept / 2] * (double)count;
}

/* A loop that never pauses. */
static void steady(void (*call)(int), long count, struct times *times)
{
	double start = now_ns();

	for (long i = 0; i < count; i++)
		call((int)i);
	times->submit += now_ns() - start;
	CHECK(cudaDeviceSynchronize());
	times->total += now_ns() - start;
	times->rounds += count;
}

/* Queries of a stream that is busy for all of them; it is an error if it is not. */
static void polls(long count, struct times *times)
{
	for (long i = 0; i < count; i++) {
		int unfinished = 0;
		double start;

		cufence::spin<<<1, 32, 0, stream[0]>>>(POLL_NS);
		start = now_ns();
		for (int k = 0; k < POLLS; k++)
			unfinished += cudaStreamQuery(stream[0]) == cudaErrorNotReady;
		times->submit += now_ns() - start;
		times->total = times->submit;
		times->rounds += POLLS;
		CHECK(cudaDeviceSynchronize());
		if (unfinished != POLLS) {
			fprintf(stderr, "workload: only %d of %d polls met a busy stream\n",
				unfinished, (int)POLLS);
			exit(1);
		}
	}
}

/* A chain of NODES tiny kernels. */
static void make_graph()
{
	cudaGraph_t built;

	CHECK(cudaStreamBeginCapture(stream[0], cudaStreamCaptureModeGlobal));
	for (int i = 0; i < NODES; i++)
		cufence::spin<<<1, 32, 0, stream[0]>>>(0);
	CHECK(cudaStreamEndCapture(stream[0], &built));
	CHECK(cudaGraphInstantiate(&graph, built, 0));
}

static void replays(long count, struct times *times)
{
	if (!graph)
		make_graph();
	for (long i = 0; i < count; i++) {
		double start = now_ns();

		CHECK(cudaGraphLaunch(graph, stream[0]));
		times->submit += now_ns() - start;
		CHECK(cudaDeviceSynchronize());
		times->total += now_ns() - start;
	}
	times->rounds += count;
}

/* Counts are per repetition and give about 50 to 100 ms on an H200. */
static const struct workload {
	const char *name;
	void (*call)(int);
	void (*run)(void (*)(int), long, struct times *);
	void (*other)(long, struct times *);
	long count;
} workloads[] = {
	{ "launch", launch, bursts, NULL, 80 },
	{ "copy", copy, bursts, NULL, 60 },
	{ "record", record, bursts, NULL, 200 },
	{ "wait", wait, bursts, NULL, 30 },
	{ "query", query, bursts, NULL, 400 },
	{ "poll", NULL, NULL, polls, 16 },
	{ "launches", launch, steady, NULL, 30000 },
	{ "mixed", mixed, steady, NULL, 6000 },
	{ "graph", NULL, NULL, replays, 100 },
};

static void repeat(const struct workload *workload, long count, struct times *times)
{
	if (workload->other)
		workload->other(count, times);
	else
		workload->run(workload->call, count, times);
}

static int run(const char *name, int repetitions, double scale)
{
	const struct workload *found = NULL;
	cudaError_t last;

	for (const struct workload &workload : workloads)
		if (!strcmp(workload.name, name))
			found = &workload;
	if (!found) {
		fprintf(stderr, "workload: no '%s'\n", name);
		return 2;
	}
	for (int i = -1; i < repetitions; i++) {
		long count = (long)((double)found->count * (i < 0 ? 0.1 : 1) * scale);
		struct times times = {};

		repeat(found, count > 0 ? count : 1, &times);
		if (i >= 0)
			printf("sample %s %.2f %.2f %ld\n", name,
				times.submit / (double)times.rounds,
				times.total / (double)times.rounds, times.rounds);
	}
	last = cudaGetLastError();
	CHECK(last == cudaErrorNotReady ? cudaSuccess : last);
	return 0;
}

int main(int argc, char **argv)
{
	int repetitions = 1, status = 0, at = 1;
	double scale = 1;

	for (; at + 1 < argc && argv[at][0] == '-'; at += 2) {
		if (argv[at][1] == 'n')
			repetitions = atoi(argv[at + 1]);
		else
			scale = atof(argv[at + 1]);
	}
	if (at == argc || repetitions < 1 || !(scale > 0)) {
		fprintf(stderr, "usage: workload [-n REPETITIONS] [-x SCALE] NAME...\n");
		return 2;
	}
	CHECK(cudaMallocHost(&host_data, STREAMS * 1024));
	for (int i = 0; i < STREAMS; i++) {
		CHECK(cudaStreamCreateWithFlags(&stream[i], cudaStreamNonBlocking));
		CHECK(cudaEventCreateWithFlags(&event[i], cudaEventDisableTiming));
		CHECK(cudaMalloc(&device_data[i], 4096));
	}
	for (; at < argc && !status; at++)
		status = run(argv[at], repetitions, scale);
	return status;
}
