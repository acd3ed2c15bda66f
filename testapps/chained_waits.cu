// SPDX-License-Identifier: Apache-2.0
// Three streams are chained up front, each to wait for the one before, and then given their work.
// A wait covers what was submitted before its record: here nothing yet. The chain has no effect,
// and the stages, which pass their data on, run at the same time.
// The fix chains the streams anew behind the work of each stage.
#include "app.h"

static const int STAGES = 3, ITEMS = 8;
static const size_t SIZE = 1 << 14;

static NOINLINE void wait_stream(cudaStream_t later, cudaStream_t earlier)
{
	cudaEvent_t event = new_event();

	CHECK(cudaEventRecord(event, earlier));
	CHECK(cudaStreamWaitEvent(later, event, 0));
	CHECK(cudaEventDestroy(event));
}

static NOINLINE void run_stage(const float *in, float *out, cudaStream_t stream)
{
	cufence::spin<<<1, 1, 0, stream>>>(MILLISECOND / 4);
	CHECK(cudaGetLastError());
	cufence::accumulate<<<4, 256, 0, stream>>>(MILLISECOND / 4, in, out, SIZE);
	CHECK(cudaGetLastError());
}

static void run_item(float *data, const cudaStream_t *stream)
{
#ifndef FIXED
	for (int i = 1; i < STAGES; i++)
		wait_stream(stream[i], stream[i - 1]);
#endif
	for (int i = 0; i < STAGES; i++) {
		run_stage(data + i * SIZE, data + (i + 1) * SIZE, stream[i]);
#ifdef FIXED
		if (i + 1 < STAGES)
			wait_stream(stream[i + 1], stream[i]);
#endif
	}
}

int main()
{
	load_kernels();
	cudaStream_t stream[STAGES] = { new_stream(), new_stream(), new_stream() };
	static const size_t ITEM_SIZE = (STAGES + 1) * SIZE;
	float *items = device_floats(ITEMS * ITEM_SIZE, 0x3f);

	CHECK(cudaDeviceSynchronize());
	for (int i = 0; i < ITEMS; i++)
		run_item(items + i * ITEM_SIZE, stream);
	print_device("items", items, ITEMS * ITEM_SIZE);
	return 0;
}
