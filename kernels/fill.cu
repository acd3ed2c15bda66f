// SPDX-License-Identifier: Apache-2.0
#include "hold.h"

__global__ void cufence::fill(unsigned long long spin_ns, float *data, size_t n, float value)
{
	unsigned long long start = device_ns();

	for (size_t i = first_element(); i < n; i += element_stride())
		data[i] = value;
	hold(start, spin_ns);
}
