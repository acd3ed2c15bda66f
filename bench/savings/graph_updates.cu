// SPDX-License-Identifier: Apache-2.0
// A step is captured and instantiated anew in each round, as its kernels get another scale.
// The fix updates the executable of the first round (cudaGraphExecUpdate).
#include "app.h"

static const int STEPS = 300, LAYERS = 12;
static const size_t SIZE = 1 << 12;

static cudaGraph_t capture(float *state, float scale, cudaStream_t stream)
{
	cudaGraph_t graph;

	CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
	for (int i = 0; i < LAYERS; i++) {
		cufence::scale<<<4, 256, 0, stream>>>(MILLISECOND / 500, state, SIZE, scale);
		CHECK(cudaGetLastError());
	}
	CHECK(cudaStreamEndCapture(stream, &graph));
	return graph;
}

int main()
{
	load_kernels();
	cudaStream_t stream = new_stream();
	float *state = device_floats(SIZE, 0);
	cudaGraphExec_t exec = NULL;

	CHECK(cudaDeviceSynchronize());
	for (int i = 0; i < STEPS; i++) {
		cudaGraph_t graph = capture(state, 1.0F / (float)(i + 1), stream);
#ifdef FIXED
		cudaGraphExecUpdateResultInfo info;

		if (exec)
			CHECK(cudaGraphExecUpdate(exec, graph, &info));
		else
			CHECK(cudaGraphInstantiate(&exec, graph, 0));
#else
		if (exec)
			CHECK(cudaGraphExecDestroy(exec));
		CHECK(cudaGraphInstantiate(&exec, graph, 0));
#endif
		CHECK(cudaGraphDestroy(graph));
		CHECK(cudaGraphLaunch(exec, stream));
	}
	CHECK(cudaDeviceSynchronize());
	return 0;
}
