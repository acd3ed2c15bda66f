/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the overhead benchmark times: workload NAME COUNT runs COUNT rounds and prints the host
 * nanoseconds per round, the drain of the device included, so that work put off is not free.
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

enum { STREAMS = 4 };

static cudaStream_t stream[STREAMS];
static cudaEvent_t event[STREAMS];
static float *device_data, *host_data;

static double now_ns()
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

/* One tiny launch. */
static void launches(int i)
{
	cufence::spin<<<1, 32, 0, stream[i % STREAMS]>>>(0);
}

/* Copy, event record, event wait on another stream, launch. */
static void mixed(int i)
{
	cudaStream_t first = stream[i % STREAMS], second = stream[(i + 1) % STREAMS];

	cudaMemcpyAsync(host_data, device_data, 1024, cudaMemcpyDeviceToHost, first);
	cudaEventRecord(event[i % STREAMS], first);
	cudaStreamWaitEvent(second, event[i % STREAMS], 0);
	cufence::spin<<<1, 32, 0, second>>>(0);
}

/* One cudaStreamQuery. */
static void queries(int i)
{
	cudaStreamQuery(stream[i % STREAMS]);
}

static void run(void (*round)(int), int count)
{
	double start;

	for (int i = 0; i < 1000; i++)
		round(i);
	CHECK(cudaDeviceSynchronize());
	start = now_ns();
	for (int i = 0; i < count; i++)
		round(i);
	CHECK(cudaDeviceSynchronize());
	printf("%.1f\n", (now_ns() - start) / count);
}

int main(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : "";
	int count = argc > 2 ? atoi(argv[2]) : 0;

	if (count <= 0) {
		fprintf(stderr, "usage: workload launches|mixed|queries COUNT\n");
		return 2;
	}
	for (int i = 0; i < STREAMS; i++) {
		CHECK(cudaStreamCreateWithFlags(&stream[i], cudaStreamNonBlocking));
		CHECK(cudaEventCreateWithFlags(&event[i], cudaEventDisableTiming));
	}
	CHECK(cudaMalloc(&device_data, 1024));
	CHECK(cudaMallocHost(&host_data, 1024));
	if (!strcmp(name, "launches"))
		run(launches, count);
	else if (!strcmp(name, "mixed"))
		run(mixed, count);
	else if (!strcmp(name, "queries"))
		run(queries, count);
	else
		return 2;
	CHECK(cudaGetLastError());
	return 0;
}
