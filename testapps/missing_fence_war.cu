// SPDX-License-Identifier: Apache-2.0
// A stream averages frames while another already clears them for the next round. The one that
// clears was submitted later, but streams know no "later": the reader may find a frame that is
// cleared in part or in whole.
// The fix lets the clearing stream wait for an event that is recorded after the reader.
#include "app.h"

static const int FRAMES = 10;
static const size_t FRAME_SIZE = 1 << 14, SIZE = FRAMES * FRAME_SIZE;

static NOINLINE void average(const float *frame, float *mean, cudaStream_t stream)
{
	cufence::spin<<<1, 1, 0, stream>>>(MILLISECOND / 2);
	CHECK(cudaGetLastError());
	cufence::stencil<<<8, 256, 0, stream>>>(MILLISECOND / 4, frame, mean, FRAME_SIZE);
	CHECK(cudaGetLastError());
}

static NOINLINE void clear(float *frame, cudaStream_t stream)
{
	cufence::fill<<<8, 256, 0, stream>>>(MILLISECOND / 4, frame, FRAME_SIZE, 0);
	CHECK(cudaGetLastError());
}

static void run(float *frames, float *means, cudaStream_t reader, cudaStream_t cleaner)
{
#ifdef FIXED
	cudaEvent_t read = new_event();
#endif
	for (int i = 0; i < FRAMES; i++) {
		average(frames + i * FRAME_SIZE, means + i * FRAME_SIZE, reader);
#ifdef FIXED
		CHECK(cudaEventRecord(read, reader));
		CHECK(cudaStreamWaitEvent(cleaner, read, 0));
#endif
		clear(frames + i * FRAME_SIZE, cleaner);
	}
}

int main()
{
	load_kernels();
	cudaStream_t reader = new_stream(), cleaner = new_stream();
	float *frames = device_floats(SIZE, 0x3f), *means = device_floats(SIZE, 0);

	CHECK(cudaDeviceSynchronize());
	run(frames, means, reader, cleaner);
	print_device("means", means, SIZE);
	return 0;
}
