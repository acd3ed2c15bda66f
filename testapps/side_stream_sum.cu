// SPDX-License-Identifier: Apache-2.0
// Batches are normalized in the default stream and summed in a side stream, on the belief that the
// default stream is ordered with all others, or that two streams which use the same memory are.
// The side stream is non-blocking, as those of PyTorch's pool are: nothing orders the two.
// The fix lets the side stream wait for an event of the default stream.
#include "app.h"

static const int BATCHES = 10;
static const size_t BATCH_SIZE = 1 << 14, SIZE = BATCHES * BATCH_SIZE;

static NOINLINE void normalize(const float *batch, float *normal)
{
	cufence::spin<<<1, 1>>>(MILLISECOND / 2);
	CHECK(cudaGetLastError());
	cufence::stencil<<<8, 256>>>(MILLISECOND / 4, batch, normal, BATCH_SIZE);
	CHECK(cudaGetLastError());
}

static NOINLINE void add_up(const float *normal, float *sum, cudaStream_t stream)
{
	cufence::accumulate<<<8, 256, 0, stream>>>(MILLISECOND / 4, normal, sum, BATCH_SIZE);
	CHECK(cudaGetLastError());
}

int main()
{
	load_kernels();
	cudaStream_t side = new_stream();
	float *batches = device_floats(SIZE, 0x3f), *normal = device_floats(SIZE, 0);
	float *sums = device_floats(SIZE, 0);
	cudaEvent_t normalized = new_event();

	CHECK(cudaDeviceSynchronize());
	for (size_t i = 0; i < SIZE; i += BATCH_SIZE) {
		normalize(batches + i, normal + i);
#ifdef FIXED
		CHECK(cudaEventRecord(normalized, 0));
		CHECK(cudaStreamWaitEvent(side, normalized, 0));
#endif
		add_up(normal + i, sums + i, side);
	}
	print_device("sums", sums, SIZE);
	CHECK(cudaEventDestroy(normalized));
	return 0;
}
