// SPDX-License-Identifier: Apache-2.0
#include "hold.h"

__global__ void cufence::combine(unsigned long long spin_ns, struct operands operands, size_t n)
{
	unsigned long long start = device_ns();

	for (size_t i = first_element(); i < n; i += element_stride()) {
		float sum = 0;

		for (int k = 0; k < operands.count; k++)
			sum += operands.in[k][i];
		operands.out[i] = sum;
	}
	hold(start, spin_ns);
}
