// SPDX-License-Identifier: Apache-2.0
// Frames are smoothed, scaled and summed in one stream, but the launch that scales was left without
// its stream: it goes to the legacy default stream, which a non-blocking stream does not wait for,
// nor it for that stream.
// The fix launches it in the stream of the others.
#include "app.h"

static const int FRAMES = 8;
static const size_t SIZE = 1 << 14;

static NOINLINE void smooth(const float *frame, float *smoothed, cudaStream_t stream)
{
	cufence::spin<<<1, 1, 0, stream>>>(MILLISECOND);
	CHECK(cudaGetLastError());
	cufence::stencil<<<8, 256, 0, stream>>>(MILLISECOND, frame, smoothed, SIZE);
	CHECK(cudaGetLastError());
}

static NOINLINE void brighten(float *smoothed, cudaStream_t stream)
{
#ifdef FIXED
	cufence::scale<<<8, 256, 0, stream>>>(MILLISECOND, smoothed, SIZE, 2);
#else
	(void)stream;
	cufence::scale<<<8, 256>>>(MILLISECOND, smoothed, SIZE, 2);
#endif
	CHECK(cudaGetLastError());
}

static NOINLINE void add_up(const float *smoothed, float *sums, cudaStream_t stream)
{
	cufence::accumulate<<<8, 256, 0, stream>>>(MILLISECOND, smoothed, sums, SIZE);
	CHECK(cudaGetLastError());
}

int main()
{
	load_kernels();
	cudaStream_t stream = new_stream();
	float *frames = device_floats(FRAMES * SIZE, 0x3f), *smoothed = device_floats(SIZE, 0);
	float *sums = device_floats(SIZE, 0), *first = pinned_floats(1);
	double progress = 0;

	CHECK(cudaDeviceSynchronize());
	for (int i = 0; i < FRAMES; i++) {
		smooth(frames + i * SIZE, smoothed, stream);
		brighten(smoothed, stream);
		add_up(smoothed, sums, stream);
		CHECK(cudaMemcpyAsync(first, sums, sizeof(*first), cudaMemcpyDeviceToHost, stream));
		CHECK(cudaDeviceSynchronize());
		progress += *first;
	}
	printf("progress: %.17g\n", progress);
	print_device("sums", sums, SIZE);
	return 0;
}
