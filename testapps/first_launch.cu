// SPDX-License-Identifier: Apache-2.0
// A table is built in one stream and read in another, and nothing orders the two. It works once:
// the reading kernel's first launch loads its code, and loading drains the device.
// The next launch loads nothing.
// The fix says the order with an event, and loads the code before.
#include "app.h"
#include "hold.h"

static const size_t SIZE = 1 << 14;

namespace cufence {

/* Not one that load_kernels() loads. */
__global__ void lookup(unsigned long long spin_ns, const float *table, float *sum, size_t n)
{
	unsigned long long start = device_ns();

	for (size_t i = first_element(); i < n; i += element_stride())
		sum[i] += table[i];
	hold(start, spin_ns);
}

} // namespace cufence

static NOINLINE void build_table(float *table, cudaStream_t stream)
{
	cufence::fill<<<8, 256, 0, stream>>>(2 * MILLISECOND, table, SIZE, 3);
	CHECK(cudaGetLastError());
}

static NOINLINE void use_table(const float *table, float *sum, cudaStream_t stream)
{
	cufence::lookup<<<8, 256, 0, stream>>>(MILLISECOND, table, sum, SIZE);
	CHECK(cudaGetLastError());
}

int main()
{
	load_kernels();
	cudaStream_t building = new_stream(), reading = new_stream();
	cudaEvent_t built = new_event();
	float *table = device_floats(SIZE, 0), *sum = device_floats(SIZE, 0);

#ifdef FIXED
	struct cudaFuncAttributes attributes;
	CHECK(cudaFuncGetAttributes(&attributes, cufence::lookup));
#endif
	CHECK(cudaDeviceSynchronize());
	build_table(table, building);
#ifdef FIXED
	CHECK(cudaEventRecord(built, building));
	CHECK(cudaStreamWaitEvent(reading, built, 0));
#endif
	use_table(table, sum, reading);
	print_device("sum", sum, SIZE);
	CHECK(cudaEventDestroy(built));
	return 0;
}
