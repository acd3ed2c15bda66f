// SPDX-License-Identifier: Apache-2.0
// Two streams are captured into a graph. The first joins the second, as it must, but only after
// the kernel that reads the second's result: capture turns the order of calls into edges, and
// between writer and reader there is none. Every launch of the graph has the race.
// The fix joins before the reader.
#include "app.h"

static const int FRAMES = 10;
static const size_t SIZE = 1 << 14;

static NOINLINE void blur(float *mask, cudaStream_t stream)
{
	cufence::spin<<<1, 1, 0, stream>>>(MILLISECOND / 2);
	CHECK(cudaGetLastError());
	cufence::touch<<<8, 256, 0, stream>>>(MILLISECOND / 8, mask, SIZE);
	CHECK(cudaGetLastError());
}

static NOINLINE void apply(const float *mask, float *image, cudaStream_t stream)
{
	cufence::accumulate<<<8, 256, 0, stream>>>(MILLISECOND / 8, mask, image, SIZE);
	CHECK(cudaGetLastError());
}

static cudaGraph_t capture_frame(float *mask, float *image, const cudaStream_t *stream)
{
	cudaEvent_t forked = new_event(), blurred = new_event();
	cudaGraph_t graph;

	CHECK(cudaStreamBeginCapture(stream[0], cudaStreamCaptureModeThreadLocal));
	CHECK(cudaEventRecord(forked, stream[0]));
	CHECK(cudaStreamWaitEvent(stream[1], forked, 0));
	blur(mask, stream[1]);
	CHECK(cudaEventRecord(blurred, stream[1]));
#ifdef FIXED
	CHECK(cudaStreamWaitEvent(stream[0], blurred, 0));
	apply(mask, image, stream[0]);
#else
	apply(mask, image, stream[0]);
	CHECK(cudaStreamWaitEvent(stream[0], blurred, 0));
#endif
	CHECK(cudaStreamEndCapture(stream[0], &graph));
	return graph;
}

int main()
{
	load_kernels();
	cudaStream_t stream[2] = { new_stream(), new_stream() };
	float *mask = device_floats(SIZE, 0), *image = device_floats(SIZE, 0);
	cudaGraph_t graph = capture_frame(mask, image, stream);
	cudaGraphExec_t frame;

	CHECK(cudaGraphInstantiate(&frame, graph, 0));
	CHECK(cudaDeviceSynchronize());
	for (int i = 0; i < FRAMES; i++)
		CHECK(cudaGraphLaunch(frame, stream[0]));
	print_device("image", image, SIZE);
	CHECK(cudaGraphDestroy(graph));
	return 0;
}
