// SPDX-License-Identifier: Apache-2.0
// Clean: each batch is uploaded from pageable memory of its own, computed on, and waited for before
// the host frees the memory. An asynchronous copy from pageable memory may have read it before it
// returned, but that is not promised for all systems, so the wait may be for the source.
#include "app.h"

static const int BATCHES = 100;
static const size_t SIZE = 1 << 10;

static NOINLINE void upload(float *device, const float *source, cudaStream_t stream)
{
	CHECK(cudaMemcpyAsync(device, source, SIZE * sizeof(float), cudaMemcpyHostToDevice,
		stream));
}

static NOINLINE void compute(const float *device, float *sum, cudaStream_t stream)
{
	cufence::accumulate<<<4, 256, 0, stream>>>(MILLISECOND / 20, device, sum, SIZE);
	CHECK(cudaGetLastError());
}

static NOINLINE void wait_for_batch(cudaStream_t stream)
{
	CHECK(cudaStreamSynchronize(stream));
}

int main()
{
	load_kernels();
	cudaStream_t stream = new_stream();
	float *device = device_floats(SIZE, 0), *sum = device_floats(SIZE, 0);

	for (int i = 0; i < BATCHES; i++) {
		float *source = (float *)malloc(SIZE * sizeof(float));

		for (size_t k = 0; k < SIZE; k++)
			source[k] = (float)(i + k % 10);
		upload(device, source, stream);
		compute(device, sum, stream);
		wait_for_batch(stream);
		free(source);
	}
	print_device("sum", sum, SIZE);
	return 0;
}
