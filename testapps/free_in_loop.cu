// SPDX-License-Identifier: Apache-2.0
// Tiles are smoothed on two streams in turn, each with a scratch buffer that is allocated for it
// and freed as soon as its kernels are launched. cudaFree has to wait until nothing uses the
// memory, and does so by waiting for all work of the device: the next tile, for the other
// stream, is launched only when this one is done, and the two streams never overlap.
// The fix keeps one scratch buffer for each stream and frees both at the end.
#include "app.h"

static const int TILES = 30, STREAMS = 2;
static const size_t TILE_SIZE = 1 << 15;

static NOINLINE float *allocate_scratch()
{
	float *scratch;

	CHECK(cudaMalloc(&scratch, TILE_SIZE * sizeof(float)));
	return scratch;
}

static NOINLINE void free_scratch(float *scratch)
{
	CHECK(cudaFree(scratch));
}

static NOINLINE void launch_stencil(const float *tile, float *scratch, cudaStream_t stream)
{
	cufence::stencil<<<8, 256, 0, stream>>>(MILLISECOND, tile, scratch, TILE_SIZE);
	CHECK(cudaGetLastError());
}

static NOINLINE void launch_accumulate(const float *scratch, float *tile, cudaStream_t stream)
{
	cufence::accumulate<<<8, 256, 0, stream>>>(2 * MILLISECOND, scratch, tile, TILE_SIZE);
	CHECK(cudaGetLastError());
}

static void smooth_tile(float *tile, float *scratch, cudaStream_t stream)
{
	launch_stencil(tile, scratch, stream);
	launch_accumulate(scratch, tile, stream);
}

static void smooth_tiles(float *tiles, const cudaStream_t *streams)
{
#ifdef FIXED
	float *scratch[STREAMS];

	for (int i = 0; i < STREAMS; i++)
		scratch[i] = allocate_scratch();
	for (int i = 0; i < TILES; i++)
		smooth_tile(tiles + i * TILE_SIZE, scratch[i % STREAMS], streams[i % STREAMS]);
	CHECK(cudaDeviceSynchronize());
	for (int i = 0; i < STREAMS; i++)
		free_scratch(scratch[i]);
#else
	for (int i = 0; i < TILES; i++) {
		float *scratch = allocate_scratch();

		smooth_tile(tiles + i * TILE_SIZE, scratch, streams[i % STREAMS]);
		free_scratch(scratch);
	}
	CHECK(cudaDeviceSynchronize());
#endif
}

static void print_result(const float *tiles)
{
	static float host[TILES * TILE_SIZE];

	CHECK(cudaMemcpy(host, tiles, sizeof(host), cudaMemcpyDeviceToHost));
	printf("%d tiles: %.6f\n", TILES, checksum(host, TILES * TILE_SIZE));
}

int main()
{
	cudaStream_t streams[STREAMS];
	float *tiles;

	for (int i = 0; i < STREAMS; i++)
		CHECK(cudaStreamCreate(&streams[i]));
	CHECK(cudaMalloc(&tiles, TILES * TILE_SIZE * sizeof(float)));
	CHECK(cudaMemset(tiles, 0x3e, TILES * TILE_SIZE * sizeof(float)));
	CHECK(cudaDeviceSynchronize());

	smooth_tiles(tiles, streams);

	print_result(tiles);
	for (int i = 0; i < STREAMS; i++)
		CHECK(cudaStreamDestroy(streams[i]));
	CHECK(cudaFree(tiles));
	return 0;
}
