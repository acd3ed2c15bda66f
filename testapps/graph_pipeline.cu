// SPDX-License-Identifier: Apache-2.0
// Clean: two branches and their join are captured into a graph, which is launched over and over.
// Capture turns the events between the streams into edges, and launches of one executable follow
// each other, so that a launch never meets the one before it.
// The input is uploaded in the same stream, between launches.
#include "app.h"

static const int FRAMES = 10;
static const size_t SIZE = 1 << 14;

static cudaGraph_t capture(const float *in, float *left, float *right, float *out,
	const cudaStream_t *stream)
{
	cudaEvent_t forked = new_event(), joined = new_event();
	cudaGraph_t graph;

	CHECK(cudaStreamBeginCapture(stream[0], cudaStreamCaptureModeThreadLocal));
	CHECK(cudaEventRecord(forked, stream[0]));
	CHECK(cudaStreamWaitEvent(stream[1], forked, 0));
	cufence::stencil<<<4, 256, 0, stream[0]>>>(MILLISECOND, in, left, SIZE);
	CHECK(cudaGetLastError());
	cufence::stencil<<<4, 256, 0, stream[1]>>>(MILLISECOND, in, right, SIZE);
	CHECK(cudaGetLastError());
	CHECK(cudaEventRecord(joined, stream[1]));
	CHECK(cudaStreamWaitEvent(stream[0], joined, 0));
	cufence::accumulate<<<4, 256, 0, stream[0]>>>(MILLISECOND / 2, left, out, SIZE);
	CHECK(cudaGetLastError());
	cufence::accumulate<<<4, 256, 0, stream[0]>>>(MILLISECOND / 2, right, out, SIZE);
	CHECK(cudaGetLastError());
	CHECK(cudaStreamEndCapture(stream[0], &graph));
	return graph;
}

int main()
{
	load_kernels();
	cudaStream_t stream[2] = { new_stream(), new_stream() };
	float *in = device_floats(SIZE, 0), *left = device_floats(SIZE, 0);
	float *right = device_floats(SIZE, 0), *out = device_floats(SIZE, 0);
	float *input = pinned_floats(FRAMES * SIZE);
	cudaGraph_t graph = capture(in, left, right, out, stream);
	cudaGraphExec_t frame;

	CHECK(cudaGraphInstantiate(&frame, graph, 0));
	CHECK(cudaDeviceSynchronize());
	for (int i = 0; i < FRAMES; i++) {
		CHECK(cudaMemcpyAsync(in, input + i * SIZE, SIZE * sizeof(float),
			cudaMemcpyHostToDevice, stream[0]));
		CHECK(cudaGraphLaunch(frame, stream[0]));
	}
	print_device("out", out, SIZE);
	CHECK(cudaGraphExecDestroy(frame));
	CHECK(cudaGraphDestroy(graph));
	return 0;
}
