// SPDX-License-Identifier: Apache-2.0
// More conditions at once than there are predicates: compilers keep some as bits of a register, and
// compare again for others.
#include <cuda_fp16.h>

template <int ITEMS>
__device__ __forceinline__ void sort(const unsigned *keys, unsigned *out, const unsigned *values,
	unsigned *moved, int count, unsigned bit)
{
	__shared__ unsigned place[ITEMS * 64];
	unsigned key[ITEMS], value[ITEMS];
	int base = blockIdx.x * ITEMS * 64;

#pragma unroll
	for (int i = 0; i < ITEMS; i++) {
		int at = threadIdx.x + i * 64;

		key[i] = at < count ? keys[base + at] : ~0u;
	}
#pragma unroll
	for (int i = 0; i < ITEMS; i++)
		place[threadIdx.x * ITEMS + i] = key[i] >> bit;
	__syncthreads();
#pragma unroll
	for (int i = 0; i < ITEMS; i++) {
		int at = threadIdx.x + i * 64;

		if (at < count)
			out[place[at] + key[i] % 64] = key[i];
	}
	__syncthreads();
#pragma unroll
	for (int i = 0; i < ITEMS; i++) {
		int at = threadIdx.x + i * 64;

		if (at < count)
			value[i] = values[base + at];
	}
#pragma unroll
	for (int i = 0; i < ITEMS; i++) {
		int at = threadIdx.x + i * 64;

		if (at < count)
			moved[place[at] + key[i] % 64] = value[i];
	}
}

#define SORT(items) \
	extern "C" __global__ void sort_##items(const unsigned *keys, unsigned *out, \
		const unsigned *values, unsigned *moved, int count, unsigned bit) \
	{ \
		sort<items>(keys, out, values, moved, count, bit); \
	}
SORT(24)
SORT(48)

// A loop, the branches of which a test makes into calls.
extern "C" __global__ void loops(const float *in, float *out, int n)
{
	float sum = 0;

#pragma unroll 1
	for (int i = 0; i < n; i++) {
#pragma unroll 1
		for (int j = i; j < n; j++)
			sum += in[j * blockDim.x + threadIdx.x];
		out[i] = sum;
	}
}

// Generic addresses: there is code for shared memory and for a thread's own, too.
extern "C" __global__ void add_pairs(__half2 *sums, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		atomicAdd(sums + i, __floats2half2_rn(1, 2));
}

// A quotient that is set right under one guard, again under another, and replaced under a third.
extern "C" __global__ void rows(float *out, unsigned width, unsigned count)
{
	unsigned i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < count)
		out[i / width] = 1;
}

// Comparisons of 64 bits, of whose lower halves some are written the other way round.
extern "C" __global__ void tiles(float *out, long rows, long columns)
{
	long row = 32l * blockIdx.x, column = 32l * blockIdx.y;

	if (rows <= row || columns <= column)
		return;
	row += threadIdx.x;
	if (row < rows)
		out[row] = 1;
}

// A copy to shared memory that reads nothing where its size is 0: machine code has a predicate for it.
extern "C" __global__ void stage(const float *in, int count)
{
#if __CUDA_ARCH__ >= 800
	__shared__ float staged[64];
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	unsigned to = (unsigned)__cvta_generic_to_shared(&staged[threadIdx.x]);

	asm volatile("cp.async.ca.shared.global [%1], [%2], 4, %0;" ::"r"(i < count ? 4 : 0), "r"(to),
		"l"(in + i)
		: "memory");
	asm volatile("cp.async.wait_all;" ::: "memory");
#endif
}

// Tables of tensors and of their chunks, as PyTorch's foreach kernels have: which one a block takes is
// looked up by its index.  What is at odds with the alignment is stored one by one.
struct tensors {
	float *data[4];
	long count[4];
	unsigned char tensor[16];
	int chunk[16];
};
extern "C" __global__ void each(const __grid_constant__ tensors all)
{
	int which = all.tensor[blockIdx.x];
	long first = (long)all.chunk[blockIdx.x] * 4096, left = all.count[which] - first;
	float *data = all.data[which] + first;

	if (((unsigned long)data % 16 | left % 4) == 0)
		return;
	for (long i = threadIdx.x; i < left && i < 4096; i += blockDim.x)
		data[i] = 1;
}

// Conditions kept as bits of a number, which are taken apart again.
extern "C" __global__ void masked(float *out, int count, int step)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	unsigned mask = 0;

#pragma unroll
	for (int k = 0; k < 6; k++)
		mask |= (unsigned)(i + k * step < count) << k;
	asm volatile("" : "+r"(mask));
#pragma unroll
	for (int k = 0; k < 6; k++)
		if (mask & 1u << k)
			out[i + k * step] = 1;
}

// A loop that ends by a multiple of what it counts in.
extern "C" __global__ void by_four(float4 *out, unsigned count, unsigned)
{
	for (unsigned i = threadIdx.x; 4 * i + 3 < count; i += blockDim.x)
		out[i] = make_float4(1, 1, 1, 1);
}
