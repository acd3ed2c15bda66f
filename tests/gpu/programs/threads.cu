/* SPDX-License-Identifier: Apache-2.0 */
/* 64 threads, each with a stream of its own (or the per-thread default stream). */
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>
#include <thread>
#include <vector>

#define CHECK(call)                                                                                \
	do {                                                                                       \
		cudaError_t error_ = (call);                                                       \
		if (error_ != cudaSuccess) {                                                       \
			fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(error_));            \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)

enum { THREADS = 64, ROUNDS = 200, COUNT = 1024 };

static __global__ void add(float *p, float value)
{
	p[blockIdx.x * blockDim.x + threadIdx.x] += value;
}

static void work(int number, float *sum)
{
	static thread_local float host[COUNT];
	cudaStream_t stream = cudaStreamPerThread;
	float *device;

	if (number % 2)
		CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
	CHECK(cudaMallocAsync(&device, sizeof(host), stream));
	CHECK(cudaMemsetAsync(device, 0, sizeof(host), stream));
	for (int i = 0; i < ROUNDS; i++)
		add<<<COUNT / 256, 256, 0, stream>>>(device, 1.0f);
	CHECK(cudaMemcpyAsync(host, device, sizeof(host), cudaMemcpyDeviceToHost, stream));
	CHECK(cudaStreamSynchronize(stream));
	CHECK(cudaFreeAsync(device, stream));
	CHECK(cudaStreamSynchronize(stream));
	*sum = host[0] + host[COUNT - 1];
}

int main()
{
	std::vector<std::thread> threads;
	float sum[THREADS], all = 0;

	CHECK(cudaFree(nullptr));
	for (int i = 0; i < THREADS; i++)
		threads.emplace_back(work, i, &sum[i]);
	for (auto &thread : threads)
		thread.join();
	for (float one : sum)
		all += one;
	printf("%.1f\n", all);
	return all != THREADS * ROUNDS * 2.0f;
}
