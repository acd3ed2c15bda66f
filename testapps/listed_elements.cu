// SPDX-License-Identifier: Apache-2.0
// Clean: two streams change elements of one buffer whose numbers they read from lists. One list has
// the even numbers, the other one the odd ones, so that nothing need order the streams. The code of
// the kernel shows only that it stays within the buffer. That either kernel runs first if the other
// one is held back shows that nothing orders them, and no conflict.
// The host waits for both streams before it reads the buffer.
#include "app.h"
#include "hold.h"

static const int STEPS = 6;
static const unsigned SIZE = 1 << 12;

namespace cufence {

/* data[list[i]] *= factor, for numbers below SIZE, a power of two */
__global__ void scale_listed(unsigned long long spin_ns, float *data, const unsigned *list,
	size_t n, float factor)
{
	unsigned long long start = device_ns();

	for (size_t i = first_element(); i < n; i += element_stride())
		data[list[i] & (SIZE - 1)] *= factor;
	hold(start, spin_ns);
}

} // namespace cufence

/* first, first + 2, ... */
static unsigned *every_second(unsigned first)
{
	static unsigned host[SIZE / 2];
	unsigned *list;

	for (unsigned i = 0; i < SIZE / 2; i++)
		host[i] = first + 2 * i;
	CHECK(cudaMalloc(&list, sizeof(host)));
	CHECK(cudaMemcpy(list, host, sizeof(host), cudaMemcpyHostToDevice));
	return list;
}

static NOINLINE void scale_even(float *data, const unsigned *list, cudaStream_t stream)
{
	cufence::scale_listed<<<4, 256, 0, stream>>>(MILLISECOND, data, list, SIZE / 2, 2);
	CHECK(cudaGetLastError());
}

static NOINLINE void scale_odd(float *data, const unsigned *list, cudaStream_t stream)
{
	cufence::scale_listed<<<4, 256, 0, stream>>>(MILLISECOND, data, list, SIZE / 2, 3);
	CHECK(cudaGetLastError());
}

int main()
{
	load_kernels();
	float *data = device_floats(SIZE, 0x3e);
	unsigned *even = every_second(0), *odd = every_second(1);
	cudaStream_t stream[] = { new_stream(), new_stream() };
	struct cudaFuncAttributes attributes;

	CHECK(cudaFuncGetAttributes(&attributes, (const void *)cufence::scale_listed));
	CHECK(cudaDeviceSynchronize());
	for (int step = 0; step < STEPS; step++) {
		scale_even(data, even, stream[0]);
		scale_odd(data, odd, stream[1]);
	}
	print_device("data", data, SIZE);
	return 0;
}
