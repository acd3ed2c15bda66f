// SPDX-License-Identifier: Apache-2.0
// Clean: one allocation is divided among streams, and every kernel is given its beginning and the
// offset of its own slice. The pointers are all equal; what tells the slices apart is an integer
// argument. To take equal pointers for equal memory would make a race of every pair here.
// The host waits for each stream before it reads the slice.
#include "app.h"

static const int SLICES = 4, STEPS = 6;
static const size_t SLICE_SIZE = 1 << 14, SIZE = SLICES * SLICE_SIZE;

static NOINLINE void scale(float *data, size_t offset, cudaStream_t stream)
{
	cufence::scale_slice<<<4, 256, 0, stream>>>(MILLISECOND, data, offset, SLICE_SIZE, 2);
	CHECK(cudaGetLastError());
}

int main()
{
	load_kernels();
	float *data = device_floats(SIZE, 0x3e);
	cudaStream_t stream[SLICES];
	struct cudaFuncAttributes attributes;

	CHECK(cudaFuncGetAttributes(&attributes, (const void *)cufence::scale_slice));
	for (int i = 0; i < SLICES; i++)
		stream[i] = new_stream();
	CHECK(cudaDeviceSynchronize());
	for (int step = 0; step < STEPS; step++)
		for (int i = 0; i < SLICES; i++)
			scale(data, i * SLICE_SIZE, stream[i]);
	print_device("data", data, SIZE);
	return 0;
}
