// SPDX-License-Identifier: Apache-2.0
// Two phases of a step are timed by the host's clock: before and after each the timer waits for
// the device, and then reads the clock. Nobody needs a result: the waits serve the clock only,
// which events do without a wait. The report says which line reads it.
// The fix records events around the phases, and asks for the times at the end.
#include <time.h>

#include "app.h"

static const int STEPS = 100;
static const size_t SIZE = 1 << 12;

#ifndef FIXED
static NOINLINE double now()
{
	struct timespec time;

	CHECK(cudaDeviceSynchronize());
	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec + 1e-9 * time.tv_nsec;
}
#endif

static NOINLINE void forward(float *state, cudaStream_t stream)
{
	cufence::touch<<<4, 256, 0, stream>>>(MILLISECOND / 50, state, SIZE);
	CHECK(cudaGetLastError());
}

static NOINLINE void backward(float *state, cudaStream_t stream)
{
	cufence::touch<<<8, 128, 0, stream>>>(MILLISECOND / 25, state, SIZE);
	CHECK(cudaGetLastError());
}

int main()
{
	load_kernels();
	cudaStream_t stream = new_stream();
	float *state = device_floats(SIZE, 0);
	double spent = 0;
#ifdef FIXED
	static cudaEvent_t begin[STEPS], end[STEPS];

	for (int i = 0; i < STEPS; i++) {
		CHECK(cudaEventCreate(&begin[i]));
		CHECK(cudaEventCreate(&end[i]));
	}
#endif
	CHECK(cudaDeviceSynchronize());
	for (int i = 0; i < STEPS; i++) {
#ifdef FIXED
		CHECK(cudaEventRecord(begin[i], stream));
		forward(state, stream);
		CHECK(cudaEventRecord(end[i], stream));
		backward(state, stream);
#else
		double begin = now();
		forward(state, stream);
		spent += now() - begin;
		backward(state, stream);
#endif
	}
	print_device("state", state, SIZE);
#ifdef FIXED
	for (int i = 0; i < STEPS; i++) {
		float ms;

		CHECK(cudaEventElapsedTime(&ms, begin[i], end[i]));
		spent += ms;
	}
#endif
	printf("timed: %s\n", spent > 0 ? "yes" : "no");
	return 0;
}
