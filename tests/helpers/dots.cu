// SPDX-License-Identifier: Apache-2.0
// Uses a library that copies results to the host, one by one: libcublas_like.c.
#include <stdio.h>
#include <cuda_runtime.h>

extern "C" int cublasDdot_v2(double *result, const double *device);

int main()
{
	double result[16] = { 0 }, *device;
	int bad = 0;

	bad |= cudaMalloc(&device, sizeof(result));
	for (int step = 0; step < 20; step++) {
		bad |= cudaMemset(device, 0, sizeof(result));
		for (int i = 0; i < 16; i++)
			bad |= cublasDdot_v2(&result[i], &device[i]);
	}
	printf("%.1f\n", result[0]);
	return bad;
}
