// SPDX-License-Identifier: Apache-2.0
// Clean: two devices, a stream on each, no data in common. Work of different devices needs no order
// where it shares nothing, and no call here waits for the other device: they overlap from the
// first kernel to the last.
// Each device is waited for by its own stream.
#include "app.h"

static const int DEVICES = 2, STEPS = 10;
static const size_t SIZE = 1 << 14;

static NOINLINE void advance(float *data, cudaStream_t stream)
{
	cufence::touch<<<4, 256, 0, stream>>>(MILLISECOND, data, SIZE);
	CHECK(cudaGetLastError());
}

int main()
{
	cudaStream_t stream[DEVICES];
	float *data[DEVICES];

	for (int i = 0; i < DEVICES; i++) {
		CHECK(cudaSetDevice(i));
		load_kernels();
		stream[i] = new_stream();
		data[i] = device_floats(SIZE, 0);
		CHECK(cudaDeviceSynchronize());
	}
	for (int step = 0; step < STEPS; step++)
		for (int i = 0; i < DEVICES; i++) {
			CHECK(cudaSetDevice(i));
			advance(data[i], stream[i]);
		}
	for (int i = 0; i < DEVICES; i++) {
		CHECK(cudaSetDevice(i));
		CHECK(cudaStreamSynchronize(stream[i]));
		print_device("data", data[i], SIZE);
	}
	return 0;
}
