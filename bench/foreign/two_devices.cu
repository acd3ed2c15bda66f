// SPDX-License-Identifier: Apache-2.0
// Each step gives work to two devices and waits for the first one before it goes on to the
// second. The fix gives work to both.
#include "pair.h"

static const int TURNS = 100, COUNT = 1 << 20;

static __global__ void relax(float *data, int rounds)
{
	int at = blockIdx.x * blockDim.x + threadIdx.x;
	float value = data[at];

	for (int i = 0; i < rounds; i++)
		value = value * 0.999F + 0.001F;
	data[at] = value;
}

static void step(int device, float *data)
{
	CHECK(cudaSetDevice(device));
	relax<<<COUNT / 256, 256>>>(data, 40000);
	CHECK(cudaGetLastError());
}

static void run_both(bool fixed)
{
	float *data[2], first[2];

	for (int device = 0; device < 2; device++) {
		CHECK(cudaSetDevice(device));
		CHECK(cudaMalloc(&data[device], COUNT * sizeof(float)));
		CHECK(cudaMemset(data[device], 0, COUNT * sizeof(float)));
		CHECK(cudaDeviceSynchronize());
	}
	moment begin = now();
	for (int i = 0; i < TURNS; i++) {
		step(0, data[0]);
		if (!fixed)
			CHECK(cudaDeviceSynchronize()); // the wait
		step(1, data[1]);
	}
	for (int device = 0; device < 2; device++) {
		CHECK(cudaSetDevice(device));
		CHECK(cudaDeviceSynchronize());
	}
	moment end = now();
	for (int device = 0; device < 2; device++) {
		CHECK(cudaMemcpy(&first[device], data[device], sizeof(float),
			cudaMemcpyDeviceToHost));
		CHECK(cudaFree(data[device]));
	}
	report(begin, end, TURNS, first[0] + first[1]);
}

int main(int count, char **arguments)
{
	return run(run_both, count, arguments);
}
