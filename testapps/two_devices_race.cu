// SPDX-License-Identifier: Apache-2.0
// A block is computed on one device and fetched by the other, in a stream of the other: nothing
// orders the copy after the kernel. Streams of two devices know each other no better than two
// streams of one; that the copy comes later in the program says nothing.
// The fix records an event in the first device's stream, and the second's stream waits for it.
#include "app.h"

static const int BLOCKS = 10;
static const size_t BLOCK_SIZE = 1 << 14, SIZE = BLOCKS * BLOCK_SIZE;

static NOINLINE void compute(float *block, cudaStream_t stream)
{
	CHECK(cudaSetDevice(0));
	cufence::spin<<<1, 1, 0, stream>>>(MILLISECOND / 2);
	CHECK(cudaGetLastError());
	cufence::fill<<<8, 256, 0, stream>>>(MILLISECOND / 8, block, BLOCK_SIZE, 3);
	CHECK(cudaGetLastError());
}

static NOINLINE void fetch(float *copy, const float *block, cudaStream_t stream)
{
	CHECK(cudaSetDevice(1));
	CHECK(cudaMemcpyPeerAsync(copy, 1, block, 0, BLOCK_SIZE * sizeof(float), stream));
}

int main()
{
	cudaStream_t stream[2];
	float *blocks[2];
	cudaEvent_t computed = NULL;

	for (int i = 1; i >= 0; i--) {
		CHECK(cudaSetDevice(i));
		load_kernels();
		stream[i] = new_stream();
		blocks[i] = device_floats(SIZE, 0);
		computed = new_event();
		CHECK(cudaDeviceSynchronize());
	}
	for (size_t i = 0; i < SIZE; i += BLOCK_SIZE) {
		compute(blocks[0] + i, stream[0]);
#ifdef FIXED
		CHECK(cudaEventRecord(computed, stream[0]));
		CHECK(cudaStreamWaitEvent(stream[1], computed, 0));
#endif
		fetch(blocks[1] + i, blocks[0] + i, stream[1]);
	}
	print_device("copies", blocks[1], SIZE);
	CHECK(cudaSetDevice(0));
	print_device("blocks", blocks[0], SIZE);
	CHECK(cudaEventDestroy(computed));
	return 0;
}
