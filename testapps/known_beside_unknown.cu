// SPDX-License-Identifier: Apache-2.0
// A solver waits after each step. What the steps read and write is known; the kernel that gathers
// rows at the start finds its memory by pointers in memory, so that it may write anywhere, also to
// the pinned memory that the host reads at the end. That makes the waits for it uncertain, not
// those for the steps.
// The fix waits once, before the host reads.
#include "app.h"

static const int PARTS = 20, STEPS = 300, ROWS = 4;
static const size_t SIZE = 1 << 10;

static __global__ void add_rows(unsigned long long spin_ns, float *const *row, float *sum)
{
	size_t i = blockIdx.x * blockDim.x + threadIdx.x;
	unsigned long long begin = clock64();

	while (clock64() - begin < spin_ns)
		continue;
	for (int k = 0; k < ROWS; k++)
		row[k][i] += sum[i];
}

static NOINLINE void gather(float *const *row, float *sum)
{
	add_rows<<<SIZE / 256, 256>>>(MILLISECOND / 50, row, sum);
	CHECK(cudaGetLastError());
#ifndef FIXED
	CHECK(cudaDeviceSynchronize());
#endif
}

static NOINLINE void step(float *field)
{
	cufence::scale<<<SIZE / 256, 256>>>(MILLISECOND / 50, field, SIZE, 0.5f);
	CHECK(cudaGetLastError());
#ifndef FIXED
	CHECK(cudaDeviceSynchronize());
#endif
}

int main()
{
	load_kernels();
	float *result = pinned_floats(SIZE), *field = device_floats(SIZE, 1);
	float *row[ROWS], **rows;

	for (int k = 0; k < ROWS; k++)
		row[k] = device_floats(SIZE, 0);
	CHECK(cudaMalloc(&rows, sizeof(row)));
	CHECK(cudaMemcpy(rows, row, sizeof(row), cudaMemcpyHostToDevice));
	for (int i = 0; i < PARTS; i++)
		gather(rows, field);
	for (int i = 0; i < STEPS; i++)
		step(field);
	CHECK(cudaMemcpy(result, field, SIZE * sizeof(float), cudaMemcpyDeviceToHost));
	printf("checksum %.6g\n", checksum(result, SIZE));
	return 0;
}
