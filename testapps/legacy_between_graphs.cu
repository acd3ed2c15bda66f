// SPDX-License-Identifier: Apache-2.0
// Two blocking streams launch a graph each, in turn, which should overlap; each graph has two
// branches. Between the launches a counter is cleared by cudaMemset, which goes to the legacy
// default stream: graph waits for graph, whether they are recorded as a whole or node by node.
// The fix clears the counter in a stream of its own.
#include "app.h"

static const int ROUNDS = 20, NODES = 3;
static const size_t SIZE = 1 << 14;

/* One branch of kernels on the stream itself, one of kernels and a memset on the other. */
static cudaGraphExec_t capture(float *data, float *sums, cudaStream_t stream, cudaStream_t other)
{
	cudaEvent_t fork = new_event(), join = new_event();
	cudaGraph_t graph;
	cudaGraphExec_t exec;

	CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
	CHECK(cudaEventRecord(fork, stream));
	CHECK(cudaStreamWaitEvent(other, fork, 0));
	for (int i = 0; i < NODES; i++) {
		cufence::touch<<<4, 256, 0, stream>>>(MILLISECOND / 4, data, SIZE);
		CHECK(cudaGetLastError());
		cufence::touch<<<4, 256, 0, other>>>(MILLISECOND / 5, sums, SIZE);
		CHECK(cudaGetLastError());
	}
	CHECK(cudaMemsetAsync(sums, 0, 64, other));
	CHECK(cudaEventRecord(join, other));
	CHECK(cudaStreamWaitEvent(stream, join, 0));
	CHECK(cudaStreamEndCapture(stream, &graph));
	CHECK(cudaGraphInstantiate(&exec, graph, 0));
	CHECK(cudaGraphDestroy(graph));
	return exec;
}

static NOINLINE void run_graph(cudaGraphExec_t exec, cudaStream_t stream)
{
	CHECK(cudaGraphLaunch(exec, stream));
}

static NOINLINE void clear_counter(unsigned *counter, cudaStream_t stream)
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
	cudaStream_t other = new_stream(), clearing = new_stream();
	float *data[2] = { device_floats(SIZE, 0), device_floats(SIZE, 0) };
	float *sums[2] = { device_floats(SIZE, 0), device_floats(SIZE, 0) };
	cudaGraphExec_t exec[2];
	unsigned *counter;

	for (int i = 0; i < 2; i++)
		exec[i] = capture(data[i], sums[i], stream[i], other);
	CHECK(cudaMalloc(&counter, sizeof(*counter)));
	CHECK(cudaDeviceSynchronize());
	for (int i = 0; i < ROUNDS; i++) {
		run_graph(exec[i % 2], stream[i % 2]);
		clear_counter(counter, clearing);
	}
	print_device("data", data[0], SIZE);
	print_device("sums", sums[0], SIZE);
	return 0;
}
