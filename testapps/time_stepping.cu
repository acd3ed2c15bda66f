// SPDX-License-Identifier: Apache-2.0
// A time stepping computes each field from the last one and then swaps the two pointers. It waits
// for its stream before it swaps them, as if a kernel would see the swap. Kernels have their
// arguments by value.
// The fix swaps at once.
#include <utility>

#include "app.h"

static const int STEPS = 300;
static const size_t SIZE = 1 << 12;

static NOINLINE void step(const float *field, float *next, cudaStream_t stream)
{
	cufence::stencil<<<4, 256, 0, stream>>>(MILLISECOND / 50, field, next, SIZE);
	CHECK(cudaGetLastError());
}

static NOINLINE void finish(cudaStream_t stream)
{
#ifndef FIXED
	CHECK(cudaStreamSynchronize(stream));
#else
	(void)stream;
#endif
}

int main()
{
	load_kernels();
	cudaStream_t stream = new_stream();
	float *field = device_floats(SIZE, 1), *next = device_floats(SIZE, 0);

	for (int i = 0; i < STEPS; i++) {
		step(field, next, stream);
		finish(stream);
		std::swap(field, next);
	}
	print_device("field", field, SIZE);
	return 0;
}
