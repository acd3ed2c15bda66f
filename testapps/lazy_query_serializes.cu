// SPDX-License-Identifier: Apache-2.0
// Before a kernel is launched for the first time the program asks for its attributes, to choose a
// block size. That loads the kernel's code: no call is slow, but on the device the next kernel of
// every stream, non-blocking ones included, starts only when what was running has ended.
// The fix asks before the work begins, and leaves out the wait at the end of each round.
#include "app.h"
#include "hold.h"

static const size_t SIZE = 1 << 12;

namespace cufence {

#define SHAPE(number) \
	__global__ void shape_##number(unsigned long long spin_ns, float *data, size_t n) \
	{ \
		unsigned long long start = device_ns(); \
		for (size_t i = first_element(); i < n; i += element_stride()) \
			data[i] += number; \
		hold(start, spin_ns); \
	}
SHAPE(1) SHAPE(2) SHAPE(3) SHAPE(4) SHAPE(5) SHAPE(6) SHAPE(7) SHAPE(8)

} // namespace cufence

#define ADDRESS(number) (const void *)cufence::shape_##number
static const void *const shapes[] = {
	ADDRESS(1), ADDRESS(2), ADDRESS(3), ADDRESS(4), ADDRESS(5), ADDRESS(6), ADDRESS(7),
	ADDRESS(8),
};

static NOINLINE int choose_block(const void *shape)
{
	struct cudaFuncAttributes attributes;

	CHECK(cudaFuncGetAttributes(&attributes, shape));
	return attributes.maxThreadsPerBlock < 256 ? attributes.maxThreadsPerBlock : 256;
}

static NOINLINE void run_long_job(float *data, cudaStream_t stream)
{
	cufence::touch<<<8, 256, 0, stream>>>(2 * MILLISECOND, data, SIZE);
	CHECK(cudaGetLastError());
}

static NOINLINE void run_shape(const void *shape, int block, float *data, cudaStream_t stream)
{
	unsigned long long spin_ns = 2 * MILLISECOND;
	size_t n = SIZE;
	void *arguments[] = { &spin_ns, &data, &n };

	CHECK(cudaLaunchKernel(shape, 8, block, arguments, 0, stream));
}

int main()
{
	load_kernels();
	cudaStream_t working = new_stream(), shaping = new_stream();
	float *data = device_floats(SIZE, 0), *shaped = device_floats(SIZE, 0);

#ifdef FIXED
	for (const void *shape : shapes)
		choose_block(shape);
#endif
	for (const void *shape : shapes) {
		run_long_job(data, working);
		run_shape(shape, choose_block(shape), shaped, shaping);
#ifndef FIXED
		CHECK(cudaDeviceSynchronize());
#endif
	}
	print_device("data", data, SIZE);
	print_device("shaped", shaped, SIZE);
	return 0;
}
