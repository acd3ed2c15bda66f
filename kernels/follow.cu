// SPDX-License-Identifier: Apache-2.0
#include "hold.h"

__global__ void cufence::follow(
	unsigned long long spin_ns, const float *in, float *sum, size_t n)
{
	unsigned long long start = device_ns();

#if __CUDA_ARCH__ >= 900
	cudaGridDependencySynchronize();
#endif
	for (size_t i = first_element(); i < n; i += element_stride())
		sum[i] += in[i];
	hold(start, spin_ns);
}
