/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What every test app needs.  Functions that stand for a place in a program are NOINLINE, so
 * that a call site has the name which the .expect file gives it.
 */
#ifndef CUFENCE_APP_H
#define CUFENCE_APP_H

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include <cuda_runtime.h>

#include "kernels.h"

#define NOINLINE __attribute__((noinline))

#define CHECK(call) \
	do { \
		cudaError_t error_ = (call); \
		if (error_ != cudaSuccess) { \
			fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, \
				cudaGetErrorString(error_)); \
			exit(1); \
		} \
	} while (0)

static const unsigned long long MILLISECOND = 1000 * 1000;

/* The same on every run of one machine: element order is fixed. */
static inline double checksum(const float *data, size_t n)
{
	double sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += data[i] * (double)(i % 61 + 1);
	return sum;
}

/*
 * Loads the code of the shared kernels.  Else a kernel's first launch does, and that holds all
 * streams for a moment: a mistake of its own, which hides others.
 */
static inline void load_kernels()
{
	const void *kernels[] = {
		(const void *)cufence::spin,
		(const void *)cufence::fill,
		(const void *)cufence::touch,
		(const void *)cufence::scale,
		(const void *)cufence::accumulate,
		(const void *)cufence::stencil,
	};
	struct cudaFuncAttributes attributes;

	for (const void *kernel : kernels)
		CHECK(cudaFuncGetAttributes(&attributes, kernel));
}

/*
 * n floats on the device, each of byte repeated.  cudaMemset is asynchronous with respect to the
 * host, and non-blocking streams do not wait for the legacy stream, so that it is waited for here.
 */
static inline float *device_floats(size_t n, int byte)
{
	float *data;

	CHECK(cudaMalloc(&data, n * sizeof(float)));
	CHECK(cudaMemset(data, byte, n * sizeof(float)));
	CHECK(cudaStreamSynchronize(cudaStreamLegacy));
	return data;
}

/* n floats of pinned host memory: 0, 1, ... 999, 0, ... */
static inline float *pinned_floats(size_t n)
{
	float *data;

	CHECK(cudaMallocHost(&data, n * sizeof(float)));
	for (size_t i = 0; i < n; i++)
		data[i] = (float)(i % 1000);
	return data;
}

static inline cudaStream_t new_stream(unsigned flags = cudaStreamNonBlocking)
{
	cudaStream_t stream;

	CHECK(cudaStreamCreateWithFlags(&stream, flags));
	return stream;
}

static inline cudaEvent_t new_event()
{
	cudaEvent_t event;

	CHECK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
	return event;
}

/*
 * For threads whose work is meant to overlap: none begins before all are ready to.  Under CUPTI a
 * thread's first launch makes it a buffer, and may not come to it as long as another one goes on
 * (seen once in 20 runs: 22 ms).
 */
static inline void start_together(pthread_barrier_t *barrier)
{
	CHECK(cudaSetDevice(0));
	cufence::spin<<<1, 1, 0, cudaStreamPerThread>>>(0);
	CHECK(cudaGetLastError());
	CHECK(cudaStreamSynchronize(cudaStreamPerThread));
	pthread_barrier_wait(barrier);
}

/* Waits for the device; for the end of a program. */
static inline void print_device(const char *what, const float *data, size_t n)
{
	float *host = (float *)malloc(n * sizeof(float));

	CHECK(cudaDeviceSynchronize());
	CHECK(cudaMemcpy(host, data, n * sizeof(float), cudaMemcpyDeviceToHost));
	printf("%s: %.6e\n", what, checksum(host, n));
	free(host);
}

#endif
