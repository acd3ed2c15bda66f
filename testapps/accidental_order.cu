// SPDX-License-Identifier: Apache-2.0
// A stream writes a table and another reads it, and it works: between the two launches a buffer
// is freed, and cudaFree happens to wait for the device. Nobody knows that the program depends on
// it; when the buffer comes from a pool one day, the race is there.
// The fix says it with an event. It never bites as it is, since cudaFree does wait.
#include "app.h"

static const size_t SIZE = 1 << 14;

static NOINLINE void build_table(float *table, const float *buffer, cudaStream_t stream)
{
	cufence::stencil<<<8, 256, 0, stream>>>(MILLISECOND / 4, buffer, table, SIZE);
	CHECK(cudaGetLastError());
}

static NOINLINE void use_table(const float *table, float *sum, cudaStream_t stream)
{
	cufence::accumulate<<<8, 256, 0, stream>>>(20 * MILLISECOND, table, sum, SIZE);
	CHECK(cudaGetLastError());
}

int main()
{
	load_kernels();
	cudaStream_t building = new_stream(), using_ = new_stream();
	cudaEvent_t built = new_event();
	float *buffer = device_floats(SIZE, 0x3f), *table = device_floats(SIZE, 0);
	float *sum = device_floats(SIZE, 0);

	CHECK(cudaDeviceSynchronize());
	build_table(table, buffer, building);
#ifdef FIXED
	CHECK(cudaEventRecord(built, building));
	CHECK(cudaStreamWaitEvent(using_, built, 0));
#endif
	CHECK(cudaFree(buffer));
	use_table(table, sum, using_);
	print_device("sum", sum, SIZE);
	CHECK(cudaEventDestroy(built));
	return 0;
}
