// SPDX-License-Identifier: Apache-2.0
// Of two threads that work on streams of their own one waits for the whole device, and so for
// the other one's long kernels.  The fix waits for its own stream.
#include <algorithm>
#include <thread>
#include <vector>

#include "pair.h"

static const int TURNS = 100, LONG_TURNS = 35, COUNT = 1 << 14;

static __global__ void relax(float *data, int rounds)
{
	int at = blockIdx.x * blockDim.x + threadIdx.x;
	float value = data[at];

	for (int i = 0; i < rounds; i++)
		value = value * 0.999F + 0.001F;
	data[at] = value;
}

/* About 0.05 us for each number. */
static void sort_on_host(int count)
{
	std::vector<unsigned> values(count);

	for (size_t i = 0; i < values.size(); i++)
		values[i] = (unsigned)i * 2654435761U;
	std::sort(values.begin(), values.end());
	__asm__ volatile("" : : "r"(values[0])); // else all this may be left out
}

static void serve(float *data, cudaStream_t stream, bool fixed)
{
	for (int i = 0; i < TURNS; i++) {
		relax<<<COUNT / 256, 256, 0, stream>>>(data, 250000);
		CHECK(cudaGetLastError());
		if (fixed)
			CHECK(cudaStreamSynchronize(stream));
		else
			CHECK(cudaDeviceSynchronize()); // the wait
		sort_on_host(6000);
	}
}

static void train(float *data, cudaStream_t stream)
{
	for (int i = 0; i < LONG_TURNS; i++) {
		relax<<<COUNT / 256, 256, 0, stream>>>(data, 600000);
		CHECK(cudaGetLastError());
		CHECK(cudaStreamSynchronize(stream));
		sort_on_host(16000);
	}
}

static void run_both(bool fixed)
{
	float *data, first[2];
	cudaStream_t stream[2];

	CHECK(cudaMalloc(&data, 2 * COUNT * sizeof(float)));
	CHECK(cudaMemset(data, 0, 2 * COUNT * sizeof(float)));
	for (cudaStream_t &each : stream)
		CHECK(cudaStreamCreateWithFlags(&each, cudaStreamNonBlocking));
	CHECK(cudaDeviceSynchronize());
	moment begin = now();
	std::thread other(train, data + COUNT, stream[1]);
	serve(data, stream[0], fixed);
	other.join();
	moment end = now();
	for (int i = 0; i < 2; i++)
		CHECK(cudaMemcpy(&first[i], data + i * COUNT, sizeof(float),
			cudaMemcpyDeviceToHost));
	report(begin, end, TURNS, first[0] + first[1]);
	for (cudaStream_t each : stream)
		CHECK(cudaStreamDestroy(each));
	CHECK(cudaFree(data));
}

int main(int count, char **arguments)
{
	return run(run_both, count, arguments);
}
