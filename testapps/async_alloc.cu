// SPDX-License-Identifier: Apache-2.0
// Clean: stream-ordered allocation used right. Memory is allocated in one stream and used in a
// second after an event that is recorded behind the allocation; it is freed in the first after an
// event that is recorded behind the last use. Between free and next allocation there is no wait
// on the host, and the pool hands the same memory out again.
#include "pool.h"

static const int TILES = 10;
static const size_t TILE_SIZE = 1 << 14, TILE_BYTES = TILE_SIZE * sizeof(float);

static NOINLINE float *make_tile(int number, cudaStream_t stream)
{
	float *tile;

	CHECK(cudaMallocAsync(&tile, TILE_BYTES, stream));
	cufence::fill<<<4, 256, 0, stream>>>(MILLISECOND / 2, tile, TILE_SIZE, (float)number);
	CHECK(cudaGetLastError());
	return tile;
}

static NOINLINE void sum_tile(const float *tile, float *sum, cudaStream_t stream)
{
	cufence::accumulate<<<4, 256, 0, stream>>>(MILLISECOND / 2, tile, sum, TILE_SIZE);
	CHECK(cudaGetLastError());
}

static NOINLINE void order_after(cudaEvent_t event, cudaStream_t later, cudaStream_t earlier)
{
	CHECK(cudaEventRecord(event, earlier));
	CHECK(cudaStreamWaitEvent(later, event, 0));
}

int main()
{
	load_kernels();
	keep_pool_memory();
	cudaStream_t making = new_stream(), summing = new_stream();
	cudaEvent_t made = new_event(), summed = new_event();
	float *sum = device_floats(TILE_SIZE, 0);

	CHECK(cudaDeviceSynchronize());
	for (int i = 0; i < TILES; i++) {
		float *tile = make_tile(i + 1, making);

		order_after(made, summing, making);
		sum_tile(tile, sum, summing);
		order_after(summed, making, summing);
		CHECK(cudaFreeAsync(tile, making));
	}
	print_device("sum", sum, TILE_SIZE);
	return 0;
}
