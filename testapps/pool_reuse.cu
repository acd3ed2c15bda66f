// SPDX-License-Identifier: Apache-2.0
// Clean: two streams allocate temporaries from one pool, use them and free them, each in its own
// order. An address that one stream gave back may come to the other: the pool orders the new
// owner's work after the free, so that the same address in two streams is no conflict. History
// belongs to an allocation, not to an address.
#include "pool.h"

static const int ROUNDS = 12;
static const size_t SIZE = 1 << 14;

static NOINLINE void work_in_temporary(const float *in, float *out, cudaStream_t stream)
{
	float *temporary;

	CHECK(cudaMallocAsync(&temporary, SIZE * sizeof(float), stream));
	cufence::stencil<<<4, 256, 0, stream>>>(MILLISECOND / 2, in, temporary, SIZE);
	CHECK(cudaGetLastError());
	cufence::accumulate<<<4, 256, 0, stream>>>(MILLISECOND / 2, temporary, out, SIZE);
	CHECK(cudaGetLastError());
	CHECK(cudaFreeAsync(temporary, stream));
}

int main()
{
	load_kernels();
	keep_pool_memory();
	cudaStream_t stream[2] = { new_stream(), new_stream() };
	float *in = device_floats(SIZE, 0x3f);
	float *out[2] = { device_floats(SIZE, 0), device_floats(SIZE, 0) };

	CHECK(cudaDeviceSynchronize());
	for (int i = 0; i < ROUNDS; i++) {
		work_in_temporary(in, out[i % 2], stream[i % 2]);
		if (i % 3 == 2)
			CHECK(cudaStreamSynchronize(stream[(i + 1) % 2]));
	}
	for (int i = 0; i < 2; i++)
		print_device("out", out[i], SIZE);
	return 0;
}
