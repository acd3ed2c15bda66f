// SPDX-License-Identifier: Apache-2.0
#include "hold.h"

__global__ void cufence::scale_slice(
	unsigned long long spin_ns, float *data, size_t offset, size_t n, float factor)
{
	unsigned long long start = device_ns();

	for (size_t i = first_element(); i < n; i += element_stride())
		data[offset + i] *= factor;
	hold(start, spin_ns);
}
