// SPDX-License-Identifier: Apache-2.0
// A program times each of its kernels: it records an event before and after it, waits for the
// second one, and asks how long that took. Nobody needs a result: the host waits for a clock, and
// the next kernel for the host. A wait among records that are timed may be meant so: possible only.
// The fix records the events of all kernels, and asks for the times at the end.
#include "app.h"

static const int STEPS = 200;
static const size_t SIZE = 1 << 12;

static NOINLINE void compute(float *state, cudaStream_t stream)
{
	cufence::touch<<<4, 256, 0, stream>>>(MILLISECOND / 50, state, SIZE);
	CHECK(cudaGetLastError());
}

static NOINLINE float elapsed(cudaEvent_t begin, cudaEvent_t end)
{
	float ms;

	CHECK(cudaEventElapsedTime(&ms, begin, end));
	return ms;
}

#ifndef FIXED
static NOINLINE void wait_for(cudaEvent_t event)
{
	CHECK(cudaEventSynchronize(event));
}
#endif

int main()
{
	load_kernels();
	cudaStream_t stream = new_stream();
	float *state = device_floats(SIZE, 0), sum = 0;
	static cudaEvent_t begin[STEPS], end[STEPS];

	for (int i = 0; i < STEPS; i++) {
		CHECK(cudaEventCreate(&begin[i]));
		CHECK(cudaEventCreate(&end[i]));
	}
	CHECK(cudaDeviceSynchronize());
	for (int i = 0; i < STEPS; i++) {
		CHECK(cudaEventRecord(begin[i], stream));
		compute(state, stream);
		CHECK(cudaEventRecord(end[i], stream));
#ifndef FIXED
		wait_for(end[i]);
		sum += elapsed(begin[i], end[i]);
#endif
	}
	print_device("state", state, SIZE);
#ifdef FIXED
	for (int i = 0; i < STEPS; i++)
		sum += elapsed(begin[i], end[i]);
#endif
	printf("timed: %s\n", sum > 0 ? "yes" : "no");
	return 0;
}
