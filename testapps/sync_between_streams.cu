// SPDX-License-Identifier: Apache-2.0
// Two halves of a simulation have a stream each so that they overlap. Each half waits for its
// stream after its launch, left over from the day when it was debugged: the host looks at nothing
// until the end, but launches the other half only when this one is done. The two never overlap.
// The fix leaves the waits out; work of one stream is in order anyway.
#include "app.h"

static const int STEPS = 20;
static const size_t SIZE = 1 << 12;

static NOINLINE void advance(float *half, cudaStream_t stream)
{
	cufence::touch<<<8, 256, 0, stream>>>(MILLISECOND, half, SIZE);
	CHECK(cudaGetLastError());
#ifndef FIXED
	CHECK(cudaStreamSynchronize(stream));
#endif
}

int main()
{
	load_kernels();
	cudaStream_t stream[2] = { new_stream(), new_stream() };
	float *half[2] = { device_floats(SIZE, 0), device_floats(SIZE, 0) };

	CHECK(cudaDeviceSynchronize());
	for (int i = 0; i < STEPS; i++) {
		advance(half[0], stream[0]);
		advance(half[1], stream[1]);
	}
	print_device("first half", half[0], SIZE);
	print_device("second half", half[1], SIZE);
	return 0;
}
