// SPDX-License-Identifier: Apache-2.0
// One stream gives every cell a default, another then writes the cells that it knows better. The
// default was submitted first and still may be written last, over the better value: the order
// of submission in different streams means nothing.
// The fix lets the second stream wait for an event that is recorded after the first.
#include "app.h"

static const int BLOCKS = 10;
static const size_t BLOCK_SIZE = 1 << 14, SIZE = BLOCKS * BLOCK_SIZE;

static NOINLINE void write_default(float *block, cudaStream_t stream)
{
	cufence::spin<<<1, 1, 0, stream>>>(MILLISECOND / 2);
	CHECK(cudaGetLastError());
	cufence::fill<<<8, 256, 0, stream>>>(MILLISECOND / 4, block, BLOCK_SIZE, 1);
	CHECK(cudaGetLastError());
}

static NOINLINE void write_known(float *block, cudaStream_t stream)
{
	cufence::fill<<<8, 256, 0, stream>>>(MILLISECOND / 4, block, BLOCK_SIZE / 2, 2);
	CHECK(cudaGetLastError());
}

static void run(float *blocks, cudaStream_t first, cudaStream_t second)
{
#ifdef FIXED
	cudaEvent_t written = new_event();
#endif
	for (int i = 0; i < BLOCKS; i++) {
		write_default(blocks + i * BLOCK_SIZE, first);
#ifdef FIXED
		CHECK(cudaEventRecord(written, first));
		CHECK(cudaStreamWaitEvent(second, written, 0));
#endif
		write_known(blocks + i * BLOCK_SIZE, second);
	}
}

int main()
{
	load_kernels();
	cudaStream_t first = new_stream(), second = new_stream();
	float *blocks = device_floats(SIZE, 0);

	CHECK(cudaDeviceSynchronize());
	run(blocks, first, second);
	print_device("blocks", blocks, SIZE);
	return 0;
}
