// SPDX-License-Identifier: Apache-2.0
// Each step frees its scratch memory between the kernel that builds a table and the one that uses
// it in another stream. cudaFree waits for the device: the steps, which have streams in turn, never
// overlap. It is also all that keeps the two kernels in order: whoever only takes the free out of
// the loop gets a race.
// The fix frees behind the loop, and says the order with an event.
#include "app.h"

static const int STEPS = 12;
static const size_t SIZE = 1 << 14;

static NOINLINE void build_table(float *table, const float *scratch, cudaStream_t stream)
{
	cufence::stencil<<<8, 256, 0, stream>>>(2 * MILLISECOND, scratch, table, SIZE);
	CHECK(cudaGetLastError());
}

static NOINLINE void use_table(const float *table, float *sum, cudaStream_t stream)
{
	cufence::accumulate<<<8, 256, 0, stream>>>(MILLISECOND, table, sum, SIZE);
	CHECK(cudaGetLastError());
}

static NOINLINE void free_scratch(float *scratch)
{
	CHECK(cudaFree(scratch));
}

int main()
{
	load_kernels();
	cudaStream_t building[] = { new_stream(), new_stream() };
	cudaStream_t using_it[] = { new_stream(), new_stream() };
	cudaEvent_t built = new_event();
	float *scratch[STEPS], *table = device_floats(STEPS * SIZE, 0);
	float *sum = device_floats(2 * SIZE, 0);

	for (int step = 0; step < STEPS; step++)
		scratch[step] = device_floats(SIZE, 0x3f);
	CHECK(cudaDeviceSynchronize());
	for (int step = 0; step < STEPS; step++) {
		int turn = step % 2;

		build_table(table + step * SIZE, scratch[step], building[turn]);
#ifdef FIXED
		CHECK(cudaEventRecord(built, building[turn]));
		CHECK(cudaStreamWaitEvent(using_it[turn], built, 0));
#else
		free_scratch(scratch[step]);
#endif
		use_table(table + step * SIZE, sum + turn * SIZE, using_it[turn]);
	}
	CHECK(cudaDeviceSynchronize());
#ifdef FIXED
	for (int step = 0; step < STEPS; step++)
		free_scratch(scratch[step]);
#endif
	print_device("sum", sum, 2 * SIZE);
	CHECK(cudaEventDestroy(built));
	return 0;
}
