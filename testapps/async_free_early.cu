// SPDX-License-Identifier: Apache-2.0
// A tile is allocated in one stream, read in another, and freed in the first as soon as the
// reader has been launched. The free is ordered after the first stream's work only: the next
// allocation there gets the same memory and fills it while the reader has yet to begin.
// The fix lets the freeing stream wait for an event that is recorded after the reader.
#include "pool.h"

static const int TILES = 8;
static const size_t TILE_SIZE = 1 << 14, TILE_BYTES = TILE_SIZE * sizeof(float);

static NOINLINE float *make_tile(int number, cudaStream_t stream)
{
	float *tile;

	CHECK(cudaMallocAsync(&tile, TILE_BYTES, stream));
	cufence::fill<<<8, 256, 0, stream>>>(0, tile, TILE_SIZE, (float)number);
	CHECK(cudaGetLastError());
	return tile;
}

static NOINLINE void sum_tile(const float *tile, float *sum, cudaStream_t stream)
{
	cufence::spin<<<1, 1, 0, stream>>>(MILLISECOND / 2);
	CHECK(cudaGetLastError());
	cufence::accumulate<<<8, 256, 0, stream>>>(0, tile, sum, TILE_SIZE);
	CHECK(cudaGetLastError());
}

static NOINLINE void free_tile(float *tile, cudaStream_t stream)
{
	CHECK(cudaFreeAsync(tile, stream));
}

int main()
{
	load_kernels();
	keep_pool_memory();
	cudaStream_t making = new_stream(), summing = new_stream();
	cudaEvent_t made = new_event(), summed = new_event();
	float *sums = device_floats(TILES * TILE_SIZE, 0);

	CHECK(cudaDeviceSynchronize());
	for (int i = 0; i < TILES; i++) {
		float *tile = make_tile(i + 1, making);

		CHECK(cudaEventRecord(made, making));
		CHECK(cudaStreamWaitEvent(summing, made, 0));
		sum_tile(tile, sums + i * TILE_SIZE, summing);
#ifdef FIXED
		CHECK(cudaEventRecord(summed, summing));
		CHECK(cudaStreamWaitEvent(making, summed, 0));
#endif
		free_tile(tile, making);
	}
	print_device("sums", sums, TILES * TILE_SIZE);
	CHECK(cudaEventDestroy(summed));
	return 0;
}
