// SPDX-License-Identifier: Apache-2.0
// Two tiles advance on two streams; a host function counts finished steps. It is launched in
// stream 0: a host function there is work of the legacy default stream, waits for both streams,
// and both wait for it.
// The fix launches it in the tile's own stream. The per-thread variant has no legacy stream.
#include <atomic>

#include "app.h"

static const int STEPS = 20, TILES = 2;
static const size_t SIZE = 1 << 14;

static void CUDART_CB count_step(void *argument)
{
	++*(std::atomic<int> *)argument;
}

static NOINLINE void advance_tile(float *tile, cudaStream_t stream)
{
	cufence::touch<<<8, 256, 0, stream>>>(MILLISECOND, tile, SIZE);
	CHECK(cudaGetLastError());
}

static NOINLINE void report_step(std::atomic<int> *steps, cudaStream_t stream)
{
#ifdef FIXED
	CHECK(cudaLaunchHostFunc(stream, count_step, steps));
#else
	CHECK(cudaLaunchHostFunc(0, count_step, steps));
#endif
}

int main()
{
	load_kernels();
	std::atomic<int> steps(0);
	cudaStream_t stream[TILES];
	float *tile[TILES];

	for (int i = 0; i < TILES; i++) {
		stream[i] = new_stream(cudaStreamDefault);
		tile[i] = device_floats(SIZE, 0);
	}
	CHECK(cudaDeviceSynchronize());
	for (int step = 0; step < STEPS; step++)
		for (int i = 0; i < TILES; i++) {
			advance_tile(tile[i], stream[i]);
			report_step(&steps, stream[i]);
		}
	for (int i = 0; i < TILES; i++)
		print_device("tile", tile[i], SIZE);
	printf("%d steps\n", steps.load());
	return 0;
}
