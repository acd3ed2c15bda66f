// SPDX-License-Identifier: Apache-2.0
// Clean: one executable graph that works in place is launched in two streams in turn, without an
// event between them. CUDA orders the launches of one executable, whatever stream they go to: no
// step meets the one before it. (Two executables of the graph would be a race.)
// The streams have other work of their own, on other memory.
#include "app.h"

static const int STEPS = 10;
static const size_t SIZE = 1 << 14;

static cudaGraph_t capture(float *state, cudaStream_t stream)
{
	cudaGraph_t graph;

	CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
	cufence::touch<<<4, 256, 0, stream>>>(MILLISECOND, state, SIZE);
	CHECK(cudaGetLastError());
	cufence::scale<<<4, 256, 0, stream>>>(MILLISECOND / 4, state, SIZE, 2);
	CHECK(cudaGetLastError());
	CHECK(cudaStreamEndCapture(stream, &graph));
	return graph;
}

static NOINLINE void work(float *data, cudaStream_t stream)
{
	cufence::touch<<<4, 256, 0, stream>>>(MILLISECOND / 4, data, SIZE);
	CHECK(cudaGetLastError());
}

int main()
{
	load_kernels();
	cudaStream_t stream[2] = { new_stream(), new_stream() };
	float *state = device_floats(SIZE, 0);
	float *data[2] = { device_floats(SIZE, 0), device_floats(SIZE, 0) };
	cudaGraph_t graph = capture(state, stream[0]);
	cudaGraphExec_t step;

	CHECK(cudaGraphInstantiate(&step, graph, 0));
	CHECK(cudaDeviceSynchronize());
	for (int i = 0; i < STEPS; i++) {
		work(data[i % 2], stream[i % 2]);
		CHECK(cudaGraphLaunch(step, stream[i % 2]));
	}
	print_device("state", state, SIZE);
	for (int i = 0; i < 2; i++)
		print_device("data", data[i], SIZE);
	return 0;
}
