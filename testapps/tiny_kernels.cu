// SPDX-License-Identifier: Apache-2.0
// A solver with four independent fields launches 17 kernels of 2 us in each step, call by call,
// always the same ones with the same arguments. The host takes longer to launch a kernel than the
// device to run it, and the four streams, which could work side by side, take turns.
// The fix captures a step once, and launches the graph.
#include "app.h"

static const int STEPS = 200, FIELDS = 4, PASSES = 4;
static const size_t SIZE = 256;

static NOINLINE void smooth(float *field, cudaStream_t stream)
{
	cufence::touch<<<1, 256, 0, stream>>>(MILLISECOND / 500, field, SIZE);
	CHECK(cudaGetLastError());
}

static NOINLINE void advance(float *time, cudaStream_t stream)
{
	cufence::scale<<<1, 64, 0, stream>>>(MILLISECOND / 500, time, 64, 1.0F);
	CHECK(cudaGetLastError());
}

static void step(float *time, float *const field[FIELDS], const cudaStream_t stream[FIELDS])
{
	advance(time, stream[0]);
	for (int i = 0; i < PASSES; i++)
		for (int f = 0; f < FIELDS; f++)
			smooth(field[f], stream[f]);
}

#ifdef FIXED
static cudaGraphExec_t capture(float *time, float *const field[FIELDS],
	const cudaStream_t stream[FIELDS])
{
	cudaEvent_t forked = new_event(), joined = new_event();
	cudaGraph_t graph;
	cudaGraphExec_t exec;

	CHECK(cudaStreamBeginCapture(stream[0], cudaStreamCaptureModeThreadLocal));
	CHECK(cudaEventRecord(forked, stream[0]));
	for (int f = 1; f < FIELDS; f++)
		CHECK(cudaStreamWaitEvent(stream[f], forked, 0));
	step(time, field, stream);
	for (int f = 1; f < FIELDS; f++) {
		CHECK(cudaEventRecord(joined, stream[f]));
		CHECK(cudaStreamWaitEvent(stream[0], joined, 0));
	}
	CHECK(cudaStreamEndCapture(stream[0], &graph));
	CHECK(cudaGraphInstantiate(&exec, graph, 0));
	return exec;
}
#endif

int main()
{
	load_kernels();
	cudaStream_t stream[FIELDS];
	float *field[FIELDS], *time = device_floats(64, 0);

	for (int f = 0; f < FIELDS; f++) {
		stream[f] = new_stream();
		field[f] = device_floats(SIZE, 0);
	}
#ifdef FIXED
	cudaGraphExec_t exec = capture(time, field, stream);
#endif
	CHECK(cudaDeviceSynchronize());
	for (int i = 0; i < STEPS; i++)
#ifdef FIXED
		CHECK(cudaGraphLaunch(exec, stream[0]));
#else
		step(time, field, stream);
#endif
	print_device("field", field[0], SIZE);
	return 0;
}
