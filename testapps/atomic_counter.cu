// SPDX-License-Identifier: Apache-2.0
// Clean: kernels of two streams count into one counter, with atomic additions only. Atomic
// operations on the same word are no conflict, in whatever order they come, and the sum is the
// same. What they read is constant.
// The counter is cleared before and read after, with waits in between.
#include "app.h"

static const int STEPS = 10;
static const size_t SIZE = 1 << 14;

static NOINLINE void count(const float *data, unsigned *counter, cudaStream_t stream)
{
	cufence::count_above<<<4, 256, 0, stream>>>(MILLISECOND, data, SIZE, 0.5f, counter);
	CHECK(cudaGetLastError());
}

int main()
{
	load_kernels();
	cudaStream_t stream[2] = { new_stream(), new_stream() };
	float *data = device_floats(SIZE, 0x3f);
	struct cudaFuncAttributes attributes;
	unsigned *counter, total;

	CHECK(cudaFuncGetAttributes(&attributes, (const void *)cufence::count_above));
	CHECK(cudaMalloc(&counter, sizeof(*counter)));
	CHECK(cudaMemset(counter, 0, sizeof(*counter)));
	CHECK(cudaDeviceSynchronize());
	for (int i = 0; i < 2 * STEPS; i++)
		count(data, counter, stream[i % 2]);
	CHECK(cudaDeviceSynchronize());
	CHECK(cudaMemcpy(&total, counter, sizeof(total), cudaMemcpyDeviceToHost));
	printf("%u\n", total);
	return 0;
}
