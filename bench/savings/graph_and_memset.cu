// SPDX-License-Identifier: Apache-2.0
// A graph is replayed on each of two blocking streams; a counter is cleared between them by
// cudaMemset, which goes to the legacy default stream: graph waits for graph.
// The fix clears the counter with cudaMemsetAsync in a stream of its own.
#include "app.h"

static const int ROUNDS = 20, NODES = 4;
static const size_t SIZE = 1 << 14;

static cudaGraphExec_t capture(float *data, cudaStream_t stream)
{
	cudaGraph_t graph;
	cudaGraphExec_t exec;

	CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
	for (int i = 0; i < NODES; i++) {
		cufence::touch<<<4, 256, 0, stream>>>(MILLISECOND / 4, data, SIZE);
		CHECK(cudaGetLastError());
	}
	CHECK(cudaStreamEndCapture(stream, &graph));
	CHECK(cudaGraphInstantiate(&exec, graph, 0));
	CHECK(cudaGraphDestroy(graph));
	return exec;
}

static void clear(unsigned *counter, cudaStream_t stream)
{
#ifdef FIXED
	CHECK(cudaMemsetAsync(counter, 0, sizeof(*counter), stream));
#else
	(void)stream;
	CHECK(cudaMemset(counter, 0, sizeof(*counter)));
#endif
}

int main()
{
	load_kernels();
	cudaStream_t stream[2] = { new_stream(cudaStreamDefault), new_stream(cudaStreamDefault) };
	cudaStream_t clearing = new_stream();
	float *data[2] = { device_floats(SIZE, 0), device_floats(SIZE, 0) };
	cudaGraphExec_t exec[2] = { capture(data[0], stream[0]), capture(data[1], stream[1]) };
	unsigned *counter;

	CHECK(cudaMalloc(&counter, sizeof(*counter)));
	CHECK(cudaDeviceSynchronize());
	for (int i = 0; i < ROUNDS; i++) {
		CHECK(cudaGraphLaunch(exec[i % 2], stream[i % 2]));
		clear(counter, clearing);
	}
	print_device("data", data[0], SIZE);
	return 0;
}
