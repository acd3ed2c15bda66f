// SPDX-License-Identifier: Apache-2.0
// A step is captured, instantiated, launched and thrown away, again and again, though it is always
// the same: to make an executable graph takes the host longer than to launch its kernels would.
// With other arguments cudaGraphExecUpdate would put them into the executable that is there.
// The fix makes the executable once, before the loop.
#include "app.h"

static const int STEPS = 300, LAYERS = 8;
static const size_t SIZE = 1 << 12;

static void forward(float *state, cudaStream_t stream)
{
	for (int i = 0; i < LAYERS; i++) {
		cufence::touch<<<4, 256, 0, stream>>>(MILLISECOND / 500, state, SIZE);
		CHECK(cudaGetLastError());
	}
}

static NOINLINE cudaGraph_t capture_step(float *state, cudaStream_t stream)
{
	cudaGraph_t graph;

	CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
	forward(state, stream);
	CHECK(cudaStreamEndCapture(stream, &graph));
	return graph;
}

static NOINLINE cudaGraphExec_t make_executable(cudaGraph_t graph)
{
	cudaGraphExec_t exec;

	CHECK(cudaGraphInstantiate(&exec, graph, 0));
	return exec;
}

static NOINLINE void throw_away(cudaGraphExec_t exec, cudaGraph_t graph)
{
	CHECK(cudaGraphExecDestroy(exec));
	CHECK(cudaGraphDestroy(graph));
}

int main()
{
	load_kernels();
	cudaStream_t stream = new_stream();
	float *state = device_floats(SIZE, 0);
	cudaGraph_t graph = capture_step(state, stream);
	cudaGraphExec_t exec = make_executable(graph);

	CHECK(cudaDeviceSynchronize());
	for (int i = 0; i < STEPS; i++) {
#ifndef FIXED
		throw_away(exec, graph);
		graph = capture_step(state, stream);
		exec = make_executable(graph);
#endif
		CHECK(cudaGraphLaunch(exec, stream));
	}
	print_device("state", state, SIZE);
	throw_away(exec, graph);
	return 0;
}
