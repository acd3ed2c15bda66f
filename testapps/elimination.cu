// SPDX-License-Identifier: Apache-2.0
// An elimination launches two kernels a column in the default stream, as benchmarks of linear
// algebra do, and waits for the device after each: as if the second could start before the first
// was done. The host looks at nothing until the end, and no memory is the host's, too.
// The fix leaves the waits out: one stream is in order by itself.
#include "app.h"

static const int COLUMNS = 200;
static const size_t SIZE = 1 << 12;

static NOINLINE void wait_for_kernel()
{
#ifndef FIXED
	CHECK(cudaDeviceSynchronize());
#endif
}

static NOINLINE void eliminate(float *matrix, float *factors)
{
	for (int column = 0; column < COLUMNS; column++) {
		cufence::accumulate<<<4, 256>>>(MILLISECOND / 100, matrix, factors, SIZE);
		wait_for_kernel();
		cufence::accumulate<<<8, 128>>>(MILLISECOND / 50, factors, matrix, SIZE);
		wait_for_kernel();
	}
	CHECK(cudaGetLastError());
}

int main()
{
	load_kernels();
	float *matrix = device_floats(SIZE, 0), *factors = device_floats(SIZE, 0);

	eliminate(matrix, factors);
	print_device("matrix", matrix, SIZE);
	CHECK(cudaFree(matrix));
	CHECK(cudaFree(factors));
	return 0;
}
