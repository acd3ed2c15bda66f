// SPDX-License-Identifier: Apache-2.0
// A graph that steps a state is instantiated twice, once for each stream, so that launches need
// not wait for each other. CUDA orders launches of one executable graph; two executables know
// nothing of each other, and both steps start from the same state: one of them is lost.
// The fix launches one executable in both streams.
#include "app.h"

static const int STEPS = 10;
static const size_t SIZE = 1 << 14, BYTES = SIZE * sizeof(float);

/* state += 1 by way of next, which takes a while. */
static cudaGraph_t capture_step(float *state, float *next, cudaStream_t stream)
{
	cudaGraph_t graph;

	CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
	CHECK(cudaMemcpyAsync(next, state, BYTES, cudaMemcpyDeviceToDevice, stream));
	cufence::touch<<<8, 256, 0, stream>>>(MILLISECOND / 2, next, SIZE);
	CHECK(cudaGetLastError());
	CHECK(cudaMemcpyAsync(state, next, BYTES, cudaMemcpyDeviceToDevice, stream));
	CHECK(cudaStreamEndCapture(stream, &graph));
	return graph;
}

static NOINLINE void launch_step(cudaGraphExec_t step, cudaStream_t stream)
{
	CHECK(cudaGraphLaunch(step, stream));
}

int main()
{
	load_kernels();
	cudaStream_t stream[2] = { new_stream(), new_stream() };
	float *state = device_floats(SIZE, 0), *next = device_floats(SIZE, 0);
	cudaGraph_t graph = capture_step(state, next, stream[0]);
	cudaGraphExec_t step[2];

	for (int i = 0; i < 2; i++) {
		CHECK(cudaGraphInstantiate(&step[i], graph, 0));
		CHECK(cudaGraphUpload(step[i], stream[0]));
	}
	CHECK(cudaDeviceSynchronize());
	for (int i = 0; i < STEPS; i++) {
#ifdef FIXED
		launch_step(step[0], stream[i % 2]);
#else
		launch_step(step[i % 2], stream[i % 2]);
#endif
	}
	print_device("state", state, SIZE);
	CHECK(cudaGraphDestroy(graph));
	return 0;
}
