// SPDX-License-Identifier: Apache-2.0
// Clean: one allocation is divided among streams, each of which writes its own slice, given by a
// pointer into the allocation. Kernels of different streams have pointers to the same memory
// object at the same time, one of them at its very beginning, and share not a byte.
// The slices are copied out in the streams that wrote them.
#include "app.h"

static const int SLICES = 4, STEPS = 6;
static const size_t SLICE_SIZE = 1 << 14, SIZE = SLICES * SLICE_SIZE;

static NOINLINE void scale_slice(float *slice, cudaStream_t stream)
{
	cufence::scale<<<4, 256, 0, stream>>>(MILLISECOND, slice, SLICE_SIZE, 2);
	CHECK(cudaGetLastError());
}

static NOINLINE void fetch(float *host, const float *slice, cudaStream_t stream)
{
	CHECK(cudaMemcpyAsync(host, slice, SLICE_SIZE * sizeof(float), cudaMemcpyDeviceToHost,
		stream));
}

int main()
{
	load_kernels();
	float *data = device_floats(SIZE, 0x3e), *host = pinned_floats(SIZE);
	cudaStream_t stream[SLICES];

	for (int i = 0; i < SLICES; i++)
		stream[i] = new_stream();
	CHECK(cudaDeviceSynchronize());
	for (int step = 0; step < STEPS; step++)
		for (int i = 0; i < SLICES; i++)
			scale_slice(data + i * SLICE_SIZE, stream[i]);
	for (int i = 0; i < SLICES; i++)
		fetch(host + i * SLICE_SIZE, data + i * SLICE_SIZE, stream[i]);
	for (int i = 0; i < SLICES; i++)
		CHECK(cudaStreamSynchronize(stream[i]));
	printf("data: %.6e\n", checksum(host, SIZE));
	return 0;
}
