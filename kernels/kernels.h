/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernels that test apps, benchmarks and the probe launch.  The first parameter is always
 * how long the kernel lasts at least, in ns, so that a program's timeline is known beforehand;
 * the simulated device, which computes nothing, takes the duration from there.
 *
 * A kernel does its work first, with any grid, and then holds the device: only the first thread
 * waits, so that the duration does not depend on the grid and that kernels of other streams find
 * room.  Given 0 it lasts as long as its work.  Launch them with <<<>>> from any .cu file.
 */
#ifndef CUFENCE_KERNELS_H
#define CUFENCE_KERNELS_H

#include <stddef.h>

namespace cufence
{

/* Touches no memory. */
__global__ void spin(unsigned long long spin_ns);

/* data[i] = value */
__global__ void fill(unsigned long long spin_ns, float *data, size_t n, float value);

/* data[i] += 1 */
__global__ void touch(unsigned long long spin_ns, float *data, size_t n);

/* data[i] *= factor */
__global__ void scale(unsigned long long spin_ns, float *data, size_t n, float factor);

/* sum[i] += in[i] */
__global__ void accumulate(unsigned long long spin_ns, const float *in, float *sum, size_t n);

/* out[i] = the mean of in[i] and its two neighbours, the ends being their own neighbours. */
__global__ void stencil(unsigned long long spin_ns, const float *in, float *out, size_t n);

/* data[offset + i] *= factor */
__global__ void scale_slice(unsigned long long spin_ns, float *data, size_t offset, size_t n,
	float factor);

/* Adds to *counter, atomically, how many in[i] are above limit. */
__global__ void count_above(unsigned long long spin_ns, const float *in, size_t n, float limit,
	unsigned *counter);

/* out[i] = the sum of in[0][i] ... in[count - 1][i]; pointers from count on are never used. */
struct operands {
	const float *in[4];
	float *out;
	int count;
};
__global__ void combine(unsigned long long spin_ns, struct operands operands, size_t n);

/*
 * sum[i] += in[i], after the kernel before it in its stream, even if it may start earlier
 * (cudaLaunchAttributeProgrammaticStreamSerialization, from sm_90 on).
 */
__global__ void follow(unsigned long long spin_ns, const float *in, float *sum, size_t n);

} // namespace cufence

#endif
