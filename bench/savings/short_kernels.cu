// SPDX-License-Identifier: Apache-2.0
// Kernels of 40 microseconds, thousands of calls: every step sends its parameters to the device by
// a blocking copy, so that the host never gets ahead and each launch's latency shows.
// The fix passes them by cudaMemcpyAsync from pinned memory.
#include "app.h"

static const int STEPS = 600;
static const size_t SIZE = 256, BYTES = SIZE * sizeof(float);

static void send(float *parameters, const float *values, cudaStream_t stream)
{
#ifdef FIXED
	CHECK(cudaMemcpyAsync(parameters, values, BYTES, cudaMemcpyHostToDevice, stream));
#else
	(void)stream;
	CHECK(cudaMemcpy(parameters, values, BYTES, cudaMemcpyHostToDevice));
#endif
}

int main()
{
	load_kernels();
	cudaStream_t stream[2] = { new_stream(cudaStreamDefault), new_stream(cudaStreamDefault) };
	float *parameters[2] = { device_floats(SIZE, 0), device_floats(SIZE, 0) };
	float *data[2] = { device_floats(SIZE, 0), device_floats(SIZE, 0) };
	float *values = pinned_floats(SIZE);

	CHECK(cudaDeviceSynchronize());
	for (int i = 0; i < STEPS; i++) {
		send(parameters[i % 2], values, stream[i % 2]);
		cufence::accumulate<<<1, 256, 0, stream[i % 2]>>>(MILLISECOND / 25,
			parameters[i % 2], data[i % 2], SIZE);
		CHECK(cudaGetLastError());
	}
	print_device("data", data[0], SIZE);
	return 0;
}
