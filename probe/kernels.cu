// SPDX-License-Identifier: Apache-2.0
#include "probe_kernels.h"

#include <cstdio>
#include <utility>

#include "kernels.h"

static __device__ unsigned sink[16];

template <unsigned number> static __global__ void fresh()
{
	sink[number % 16] = number;
}

template <unsigned number> static __global__ void asked()
{
	sink[number % 16] = number + 1;
}

/* The index keeps the array out of registers. */
template <unsigned words> static __global__ void local(unsigned index)
{
	volatile unsigned array[words];

	for (unsigned i = 0; i < words; i++)
		array[(i * 7 + index) % words] = i;
	sink[0] = array[index % words];
}

static __global__ void print(int really)
{
	if (really)
		printf("%d\n", really);
}

static __global__ void compare(const unsigned *words, size_t count, unsigned expected,
	unsigned *wrong)
{
	size_t step = (size_t)gridDim.x * blockDim.x;
	unsigned found = 0;

	for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += step)
		found += words[count - 1 - i] != expected;
	if (found)
		atomicAdd(wrong, found);
}

template <unsigned... n>
static const void *fresh_of(unsigned i, std::integer_sequence<unsigned, n...>)
{
	static const void *const table[] = { (const void *)fresh<n>... };

	return table[i % PROBE_FRESH];
}

template <unsigned... n>
static const void *asked_of(unsigned i, std::integer_sequence<unsigned, n...>)
{
	static const void *const table[] = { (const void *)asked<n>... };

	return table[i % PROBE_FRESH];
}

const void *probe_fresh_function(unsigned number)
{
	return fresh_of(number, std::make_integer_sequence<unsigned, PROBE_FRESH>());
}

const void *probe_attributes_function(unsigned number)
{
	return asked_of(number, std::make_integer_sequence<unsigned, PROBE_FRESH>());
}

const void *probe_spin_function(void)
{
	return (const void *)cufence::spin;
}

const void *probe_variable(void)
{
	return (const void *)&sink;
}

cudaError_t probe_spin(cudaStream_t stream, unsigned long long ns)
{
	cufence::spin<<<1, 1, 0, stream>>>(ns);
	return cudaGetLastError();
}

cudaError_t probe_fresh(cudaStream_t stream, unsigned number)
{
	return cudaLaunchKernel(probe_fresh_function(number), dim3(1), dim3(1), nullptr, 0, stream);
}

cudaError_t probe_local(cudaStream_t stream, unsigned number)
{
	/* Above the 1 KiB a thread has by default; the device reserves it for all its threads. */
	static void (*const kernels[PROBE_GROWING])(unsigned) = { local<320>, local<384>,
		local<448> };

	kernels[number % PROBE_GROWING]<<<1, 1, 0, stream>>>(number);
	return cudaGetLastError();
}

cudaError_t probe_print(cudaStream_t stream)
{
	print<<<1, 1, 0, stream>>>(0);
	return cudaGetLastError();
}

cudaError_t probe_compare(cudaStream_t stream, const unsigned *words, size_t count,
	unsigned expected, unsigned *wrong)
{
	compare<<<64, 256, 0, stream>>>(words, count, expected, wrong);
	return cudaGetLastError();
}
