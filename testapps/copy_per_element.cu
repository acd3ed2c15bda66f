// SPDX-License-Identifier: Apache-2.0
// Each step reads the results of its parts one by one, a cudaMemcpy of four bytes for each. Nothing
// is submitted between two of them, so that one copy could bring all.
// The fix copies them at once: they lie in one array already.
#include "app.h"

static const int STEPS = 12, PARTS = 16;
static const size_t SIZE = 1 << 14;

static NOINLINE void read_results(float *results, const float *device)
{
#ifdef FIXED
	CHECK(cudaMemcpy(results, device, PARTS * sizeof(float), cudaMemcpyDeviceToHost));
#else
	for (int i = 0; i < PARTS; i++)
		CHECK(cudaMemcpy(&results[i], &device[i], sizeof(float), cudaMemcpyDeviceToHost));
#endif
}

static NOINLINE void step(float *data, float *sums)
{
	cufence::scale<<<4, 256>>>(MILLISECOND / 4, data, SIZE, 1.01f);
	CHECK(cudaGetLastError());
	cufence::accumulate<<<1, 32>>>(MILLISECOND / 4, data, sums, PARTS);
	CHECK(cudaGetLastError());
}

int main()
{
	load_kernels();
	float *data = device_floats(SIZE, 0x3f), *sums = device_floats(PARTS, 0);
	float results[PARTS];
	double sum = 0;

	CHECK(cudaDeviceSynchronize());
	for (int i = 0; i < STEPS; i++) {
		step(data, sums);
		read_results(results, sums);
		sum += checksum(results, PARTS);
	}
	printf("sum: %.6e\n", sum);
	return 0;
}
