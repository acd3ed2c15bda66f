// SPDX-License-Identifier: Apache-2.0
// A stage reads a frame that another stream decodes, and no event orders the two. In between a
// caching allocator asks an event of the decoding stream whether a block may be used again, hears
// yes, and takes it: that orders the use of that block, and says nothing about the frame.
// The fix lets the stage's stream wait for an event behind the decoder.
#include <cub/util_allocator.cuh>

#include "app.h"

static const int FRAMES = 8;
static const size_t SIZE = 1 << 14, BYTES = SIZE * sizeof(float);

static NOINLINE void decode(float *frame, float *scratch, int number, cudaStream_t stream)
{
	cufence::touch<<<4, 256, 0, stream>>>(MILLISECOND / 10, scratch, SIZE);
	CHECK(cudaGetLastError());
	cufence::fill<<<4, 256, 0, stream>>>(MILLISECOND / 10, frame, SIZE, (float)number);
	CHECK(cudaGetLastError());
}

static NOINLINE void clear(float *block, cudaStream_t stream)
{
	CHECK(cudaMemsetAsync(block, 0, BYTES, stream));
}

static NOINLINE void process(const float *frame, float *sum, cudaStream_t stream)
{
	cufence::accumulate<<<4, 256, 0, stream>>>(MILLISECOND / 10, frame, sum, SIZE);
	CHECK(cudaGetLastError());
}

/* Meanwhile another stream finds out a number that the host needs. */
static NOINLINE float prepare(float *host, float *number, cudaStream_t stream)
{
	cufence::touch<<<1, 1, 0, stream>>>(MILLISECOND, number, 1);
	CHECK(cudaGetLastError());
	CHECK(cudaMemcpyAsync(host, number, sizeof(*host), cudaMemcpyDeviceToHost, stream));
	CHECK(cudaStreamSynchronize(stream));
	return *host;
}

static float *host, *number;
static double total;

static void run(cub::CachingDeviceAllocator *allocator, const cudaStream_t *stream,
	cudaEvent_t decoded, float *frame, float *sum, int which)
{
	void *scratch, *block; /* that one is kept, for a later stage */

	CHECK(allocator->DeviceAllocate(&scratch, BYTES, stream[0]));
	decode(frame, (float *)scratch, which, stream[0]);
#ifdef FIXED
	CHECK(cudaEventRecord(decoded, stream[0]));
#endif
	/* Records an event: the block is free for other streams once that is complete. */
	CHECK(allocator->DeviceFree(scratch));
	total += prepare(host, number, stream[2]);
	CHECK(allocator->DeviceAllocate(&block, BYTES, stream[1]));
	clear((float *)block, stream[1]);
#ifdef FIXED
	CHECK(cudaStreamWaitEvent(stream[1], decoded, 0));
#else
	(void)decoded;
#endif
	process(frame, sum, stream[1]);
}

int main()
{
	load_kernels();
	cub::CachingDeviceAllocator allocator;
	cudaStream_t stream[] = { new_stream(), new_stream(), new_stream() };
	cudaEvent_t decoded = new_event();
	float *frames = device_floats(FRAMES * SIZE, 0), *sum = device_floats(SIZE, 0);

	host = pinned_floats(1);
	number = device_floats(1, 0);
	CHECK(cudaDeviceSynchronize());
	for (int i = 0; i < FRAMES; i++)
		run(&allocator, stream, decoded, frames + i * SIZE, sum, i);
	printf("total: %.1f\n", total);
	print_device("sum", sum, SIZE);
	return 0;
}
