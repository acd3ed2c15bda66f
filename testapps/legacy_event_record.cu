// SPDX-License-Identifier: Apache-2.0
// Two tiles advance on two streams; after each step an event is recorded to show progress, and
// because no stream comes to mind, in stream 0. A record there is work of the legacy default
// stream, if of no duration: it waits for both streams, and both wait for it.
// The fix records the event in the tile's own stream. The per-thread variant has no legacy stream.
#include "app.h"

static const int STEPS = 20, TILES = 2;
static const size_t SIZE = 1 << 14;

static NOINLINE void advance_tile(float *tile, cudaStream_t stream)
{
	cufence::touch<<<8, 256, 0, stream>>>(MILLISECOND, tile, SIZE);
	CHECK(cudaGetLastError());
}

static NOINLINE void mark_progress(cudaEvent_t event, cudaStream_t stream)
{
#ifdef FIXED
	CHECK(cudaEventRecord(event, stream));
#else
	CHECK(cudaEventRecord(event, 0));
#endif
}

int main()
{
	load_kernels();
	cudaStream_t stream[TILES];
	cudaEvent_t event[TILES];
	float *tile[TILES];

	for (int i = 0; i < TILES; i++) {
		stream[i] = new_stream(cudaStreamDefault);
		event[i] = new_event();
		tile[i] = device_floats(SIZE, 0);
	}
	CHECK(cudaDeviceSynchronize());
	for (int step = 0; step < STEPS; step++)
		for (int i = 0; i < TILES; i++) {
			advance_tile(tile[i], stream[i]);
			mark_progress(event[i], stream[i]);
		}
	for (int i = 0; i < TILES; i++)
		print_device("tile", tile[i], SIZE);
	return 0;
}
