// SPDX-License-Identifier: Apache-2.0
// Clean: streams are chained up front, each to wait for the one before, when none of them has work
// yet. The chain has no effect, but the streams share no data, so none is needed: a wait that
// covers nothing is a mistake only where something had to be covered.
// Each stream works in memory of its own.
#include "app.h"

static const int STREAMS = 3, ITEMS = 8;
static const size_t SIZE = 1 << 14;

static NOINLINE void wait_stream(cudaStream_t later, cudaStream_t earlier)
{
	cudaEvent_t event = new_event();

	CHECK(cudaEventRecord(event, earlier));
	CHECK(cudaStreamWaitEvent(later, event, 0));
	CHECK(cudaEventDestroy(event));
}

static NOINLINE void work(float *data, cudaStream_t stream)
{
	cufence::touch<<<4, 256, 0, stream>>>(MILLISECOND, data, SIZE);
	CHECK(cudaGetLastError());
}

int main()
{
	load_kernels();
	cudaStream_t stream[STREAMS] = { new_stream(), new_stream(), new_stream() };
	float *data = device_floats(STREAMS * SIZE, 0);

	CHECK(cudaDeviceSynchronize());
	for (int i = 1; i < STREAMS; i++)
		wait_stream(stream[i], stream[i - 1]);
	for (int item = 0; item < ITEMS; item++)
		for (int i = 0; i < STREAMS; i++)
			work(data + i * SIZE, stream[i]);
	print_device("data", data, STREAMS * SIZE);
	return 0;
}
