// SPDX-License-Identifier: Apache-2.0
// Buffers of all devices are cleared in one loop, while the first device is current. Without peer
// access a device cannot clear the memory of another: the call fails, nobody looks, and the
// second device adds to what was there before.
// The fix makes the owning device current first.
#include "app.h"

static const int DEVICES = 2, STEPS = 10;
static const size_t SIZE = 1 << 14;

static NOINLINE void clear(float *data)
{
	cudaMemset(data, 0, SIZE * sizeof(float));
	cudaGetLastError();
}

static NOINLINE void advance(float *data)
{
	cufence::touch<<<8, 256>>>(MILLISECOND / 8, data, SIZE);
	CHECK(cudaGetLastError());
}

int main()
{
	float *data[DEVICES];

	for (int i = 0; i < DEVICES; i++) {
		CHECK(cudaSetDevice(i));
		load_kernels();
		data[i] = device_floats(SIZE, 0x3f);
		CHECK(cudaDeviceSynchronize());
	}
	for (int step = 0; step < STEPS; step++)
		for (int i = 0; i < DEVICES; i++) {
#ifdef FIXED
			CHECK(cudaSetDevice(i));
#else
			CHECK(cudaSetDevice(0));
#endif
			clear(data[i]);
			CHECK(cudaSetDevice(i));
			advance(data[i]);
		}
	for (int i = 0; i < DEVICES; i++) {
		CHECK(cudaSetDevice(i));
		print_device("data", data[i], SIZE);
	}
	return 0;
}
