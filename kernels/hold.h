/* SPDX-License-Identifier: Apache-2.0 */
/* The begin and the end of every kernel of this folder, and the loop over its elements. */
#ifndef CUFENCE_HOLD_H
#define CUFENCE_HOLD_H

#include "kernels.h"

namespace cufence
{

/* Real time, as clock64() is not: the SM's frequency changes.  PTX leaves its step open. */
__device__ inline unsigned long long device_ns()
{
	unsigned long long ns;

	asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns));
	return ns;
}

/* Waits in the first thread of the grid until spin_ns after start. */
__device__ inline void hold(unsigned long long start, unsigned long long spin_ns)
{
	if (blockIdx.x == 0 && threadIdx.x == 0)
		while (device_ns() - start < spin_ns)
			;
}

__device__ inline size_t first_element()
{
	return (size_t)blockIdx.x * blockDim.x + threadIdx.x;
}

__device__ inline size_t element_stride()
{
	return (size_t)gridDim.x * blockDim.x;
}

} // namespace cufence

#endif
