// SPDX-License-Identifier: Apache-2.0
// Products are computed in the default stream and in one made by cudaStreamCreate, to overlap. They
// share no data, but such a stream is a blocking one: it and the legacy default stream wait for
// each other's earlier work all the time.
// The fix creates it with cudaStreamNonBlocking, as PyTorch creates the streams of its pool.
#include "app.h"

static const int PRODUCTS = 12;
static const size_t SIZE = 1 << 14;

static NOINLINE void multiply_in_default(float *data)
{
	cufence::scale<<<4, 256>>>(MILLISECOND, data, SIZE, 2);
	CHECK(cudaGetLastError());
}

static NOINLINE void multiply_in_custom(float *data, cudaStream_t stream)
{
	cufence::scale<<<4, 256, 0, stream>>>(MILLISECOND, data, SIZE, 2);
	CHECK(cudaGetLastError());
}

int main()
{
	load_kernels();
#ifdef FIXED
	cudaStream_t stream = new_stream(cudaStreamNonBlocking);
#else
	cudaStream_t stream = new_stream(cudaStreamDefault);
#endif
	float *data[2] = { device_floats(SIZE, 0x3e), device_floats(SIZE, 0x3e) };

	CHECK(cudaDeviceSynchronize());
	for (int i = 0; i < PRODUCTS; i++) {
		multiply_in_default(data[0]);
		multiply_in_custom(data[1], stream);
	}
	for (int i = 0; i < 2; i++)
		print_device("data", data[i], SIZE);
	return 0;
}
