// SPDX-License-Identifier: Apache-2.0
// cudaMallocAsync returns a pointer at once, but the memory is the stream's only from that point
// of the stream on: here it is what an earlier kernel of that stream still writes to, and frees
// before. Another stream that uses the pointer right away is overwritten by that kernel.
// The fix lets the other stream wait for an event that is recorded after the allocation.
#include "pool.h"

static const int TILES = 8;
static const size_t TILE_SIZE = 1 << 14, TILE_BYTES = TILE_SIZE * sizeof(float);

/* Works in a tile of its own, and gives it back. */
static NOINLINE void compute_temporary(cudaStream_t stream)
{
	float *temporary;

	CHECK(cudaMallocAsync(&temporary, TILE_BYTES, stream));
	cufence::spin<<<1, 1, 0, stream>>>(MILLISECOND / 2);
	CHECK(cudaGetLastError());
	cufence::fill<<<8, 256, 0, stream>>>(0, temporary, TILE_SIZE, 1);
	CHECK(cudaGetLastError());
	CHECK(cudaFreeAsync(temporary, stream));
}

static NOINLINE float *allocate_tile(cudaStream_t stream)
{
	float *tile;

	CHECK(cudaMallocAsync(&tile, TILE_BYTES, stream));
	return tile;
}

static NOINLINE void fill_tile(float *tile, cudaStream_t stream)
{
	cufence::fill<<<8, 256, 0, stream>>>(MILLISECOND / 4, tile, TILE_SIZE, 2);
	CHECK(cudaGetLastError());
}

static void run(float *host, cudaStream_t allocating, cudaStream_t using_)
{
#ifdef FIXED
	cudaEvent_t allocated = new_event();
#endif
	for (int i = 0; i < TILES; i++) {
		compute_temporary(allocating);

		float *tile = allocate_tile(allocating);

#ifdef FIXED
		CHECK(cudaEventRecord(allocated, allocating));
		CHECK(cudaStreamWaitEvent(using_, allocated, 0));
#endif
		fill_tile(tile, using_);
		CHECK(cudaStreamSynchronize(allocating));
		CHECK(cudaMemcpyAsync(host + i * TILE_SIZE, tile, TILE_BYTES,
			cudaMemcpyDeviceToHost, using_));
		CHECK(cudaFreeAsync(tile, using_));
		CHECK(cudaStreamSynchronize(using_));
	}
}

int main()
{
	load_kernels();
#ifdef FIXED
	keep_pool_memory();
#endif
	cudaStream_t allocating = new_stream(), using_ = new_stream();
	float *host = pinned_floats(TILES * TILE_SIZE);

	run(host, allocating, using_);
	printf("tiles: %.6e\n", checksum(host, TILES * TILE_SIZE));
	return 0;
}
