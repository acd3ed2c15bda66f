// SPDX-License-Identifier: Apache-2.0
// The second device sums what lies in the memory of the first. Nobody gave it access: the kernel
// breaks its context, and every later call fails with an error that tells of no kernel.
// The fix gives the second device access to the memory of the first.
#include "app.h"

static const size_t SIZE = 1 << 12;

static NOINLINE void sum_up(const float *data, float *sums, cudaStream_t stream)
{
	cufence::accumulate<<<4, 256, 0, stream>>>(MILLISECOND, data, sums, SIZE);
	CHECK(cudaGetLastError());
}

int main()
{
	CHECK(cudaSetDevice(0));
	float *data = device_floats(SIZE, 0x3f);

	CHECK(cudaSetDevice(1));
	load_kernels();
	float *sums = device_floats(SIZE, 0);
	cudaStream_t stream = new_stream();

#ifdef FIXED
	CHECK(cudaDeviceEnablePeerAccess(0, 0));
#endif
	CHECK(cudaDeviceSynchronize());
	sum_up(data, sums, stream);
	printf("sums: %s\n", cudaDeviceSynchronize() == cudaSuccess ? "there" : "lost");
	return 0;
}
