// SPDX-License-Identifier: Apache-2.0
#include "hold.h"

__global__ void cufence::count_above(unsigned long long spin_ns, const float *in, size_t n,
	float limit, unsigned *counter)
{
	unsigned long long start = device_ns();

	for (size_t i = first_element(); i < n; i += element_stride())
		if (in[i] > limit)
			atomicAdd(counter, 1);
	hold(start, spin_ns);
}
