// SPDX-License-Identifier: Apache-2.0
// A timed loop runs the phases of a computation for the first time, and every phase has a kernel
// of its own: its first launch loads its code, a moment which counts as time of the phase. (Code
// is loaded lazily unless CUDA_MODULE_LOADING=EAGER.)
// The fix asks for an attribute of each kernel before the loop, which loads it, and waits once.
#include "app.h"
#include "hold.h"

static const size_t SIZE = 1 << 12;

namespace cufence {

#define PHASE(number) \
	__global__ void phase_##number(unsigned long long spin_ns, float *data, size_t n) \
	{ \
		unsigned long long start = device_ns(); \
		for (size_t i = first_element(); i < n; i += element_stride()) \
			data[i] += number; \
		hold(start, spin_ns); \
	}
PHASE(1) PHASE(2) PHASE(3) PHASE(4) PHASE(5) PHASE(6) PHASE(7) PHASE(8)
PHASE(9) PHASE(10) PHASE(11) PHASE(12) PHASE(13) PHASE(14) PHASE(15) PHASE(16)

} // namespace cufence

#define ADDRESS(number) (const void *)cufence::phase_##number
static const void *const phases[] = {
	ADDRESS(1), ADDRESS(2), ADDRESS(3), ADDRESS(4), ADDRESS(5), ADDRESS(6), ADDRESS(7),
	ADDRESS(8), ADDRESS(9), ADDRESS(10), ADDRESS(11), ADDRESS(12), ADDRESS(13), ADDRESS(14),
	ADDRESS(15), ADDRESS(16),
};

static NOINLINE void launch_phase(const void *phase, float *data, cudaStream_t stream)
{
	unsigned long long spin_ns = MILLISECOND / 20;
	size_t n = SIZE;
	void *arguments[] = { &spin_ns, &data, &n };

	CHECK(cudaLaunchKernel(phase, 8, 256, arguments, 0, stream));
}

int main()
{
	load_kernels();
	cudaStream_t stream = new_stream();
	float *data = device_floats(SIZE, 0);

#ifdef FIXED
	struct cudaFuncAttributes attributes;
	for (const void *phase : phases)
		CHECK(cudaFuncGetAttributes(&attributes, phase));
#endif
	CHECK(cudaDeviceSynchronize());
	for (const void *phase : phases) {
		launch_phase(phase, data, stream);
#ifndef FIXED
		CHECK(cudaStreamSynchronize(stream));
#endif
	}
	print_device("data", data, SIZE);
	return 0;
}
