// SPDX-License-Identifier: Apache-2.0
// One long kernel per step decides how long the step takes. Concurrent with it, in another stream,
// a short one frees its memory. The wait is long, and its cost is small.
// The fix keeps the memory.
#include "app.h"

static const int STEPS = 12;
static const size_t SIZE = 1 << 12;

int main()
{
	load_kernels();
	cudaStream_t main_stream = new_stream(), side = new_stream();
	float *data = device_floats(2 * SIZE, 0), *scratch;

#ifdef FIXED
	CHECK(cudaMalloc(&scratch, SIZE * sizeof(float)));
#endif
	CHECK(cudaDeviceSynchronize());
	for (int i = 0; i < STEPS; i++) {
		cufence::touch<<<4, 256, 0, main_stream>>>(4 * MILLISECOND, data, SIZE);
		CHECK(cudaGetLastError());
#ifndef FIXED
		CHECK(cudaMalloc(&scratch, SIZE * sizeof(float)));
#endif
		cufence::touch<<<4, 256, 0, side>>>(MILLISECOND / 2, scratch, SIZE);
		CHECK(cudaGetLastError());
#ifndef FIXED
		CHECK(cudaFree(scratch));
#endif
		cufence::touch<<<4, 256, 0, side>>>(MILLISECOND / 2, data + SIZE, SIZE);
		CHECK(cudaGetLastError());
		CHECK(cudaDeviceSynchronize());
	}
	print_device("data", data, 2 * SIZE);
	return 0;
}
