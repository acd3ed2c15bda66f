// SPDX-License-Identifier: Apache-2.0
// A stream writes a table and another reads it, and it works: between the two launches a buffer
// is freed, and cudaFree happens to wait for the device. Nobody knows that the program depends on
// it; when the buffer comes from a pool one day, the race is there.
// The fix says it with an event. It never bites as it is, since cudaFree does wait.
#include "app.h"

static const size_t SIZE = 1 << 14;

static NOINLINE void build_table(float *table, const float *buffer, cudaStream_t stream)
{
	cufence::stencil<<<8, 256, 0, stream>>>(MILLISECOND / 10, buffer, table, SIZE);
	CHECK(cudaGetLastError());
}

static NOINLINE void use_table(const float *table, float *sum, cudaStream_t stream)
{
	cufence::accumulate<<<8, 256, 0, stream>>>(20 * MILLISECOND, table, sum, SIZE);
	CHECK(cudaGetLastError());
}

static void run(float *table, float *sum, float *buffer, const cudaStream_t *stream,
	cudaEvent_t built)
{
	build_table(table, buffer, stream[0]);
#ifdef FIXED
	CHECK(cudaEventRecord(built, stream[0]));
	CHECK(cudaStreamWaitEvent(stream[1], built, 0));
#else
	(void)built;
	CHECK(cudaFree(buffer));
#endif
	use_table(table, sum, stream[1]);
#ifdef FIXED
	CHECK(cudaFree(buffer));
#endif
}

int main()
{
	load_kernels();
	cudaStream_t stream[] = { new_stream(), new_stream() };
	cudaEvent_t built = new_event();
	float *buffer[] = { device_floats(SIZE, 0x3f), device_floats(SIZE, 0x3f) };
	float *table = device_floats(2 * SIZE, 0), *sum = device_floats(2 * SIZE, 0);

	CHECK(cudaDeviceSynchronize());
	for (int i = 0; i < 2; i++)
		run(table + i * SIZE, sum + i * SIZE, buffer[i], stream, built);
	print_device("sum", sum, 2 * SIZE);
	CHECK(cudaEventDestroy(built));
	return 0;
}
