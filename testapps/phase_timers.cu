// SPDX-License-Identifier: Apache-2.0
// Timers of three phases wait for the device where each starts and where it stops, and read the
// host's clock; the times are printed at the end. Where one starts there is mostly nothing to wait
// for, since another one has just stopped: without the waits of stop() alone those of start() would
// take their place, and little would be saved. Both must go.
// The fix records events, and asks for the times at the end.
#include <time.h>

#include "app.h"

static const int STEPS = 60;
static const size_t SIZE = 1 << 12;

struct timer {
	double since, spent;
	cudaEvent_t begin[STEPS], end[STEPS];
	int count;
};

#ifndef FIXED
static double now()
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec + 1e-9 * time.tv_nsec;
}
#endif

static NOINLINE void start(struct timer *timer, cudaStream_t stream)
{
#ifdef FIXED
	CHECK(cudaEventCreate(&timer->begin[timer->count]));
	CHECK(cudaEventCreate(&timer->end[timer->count]));
	CHECK(cudaEventRecord(timer->begin[timer->count], stream));
#else
	(void)stream;
	CHECK(cudaDeviceSynchronize());
	timer->since = now();
#endif
}

static NOINLINE void stop(struct timer *timer, cudaStream_t stream)
{
#ifdef FIXED
	CHECK(cudaEventRecord(timer->end[timer->count++], stream));
#else
	(void)stream;
	CHECK(cudaDeviceSynchronize());
	timer->spent += now() - timer->since;
#endif
}

static NOINLINE void run_phase(struct timer *timer, float *state, int kernels, cudaStream_t stream)
{
	start(timer, stream);
	for (int i = 0; i < kernels; i++)
		cufence::touch<<<4, 256, 0, stream>>>(MILLISECOND / 100, state, SIZE);
	CHECK(cudaGetLastError());
	stop(timer, stream);
}

static NOINLINE void print_times(struct timer *timers)
{
	for (int i = 0; i < 3; i++) {
		for (int k = 0; k < timers[i].count; k++) {
			float ms;

			CHECK(cudaEventElapsedTime(&ms, timers[i].begin[k], timers[i].end[k]));
			timers[i].spent += ms;
		}
		printf("phase %d: %s\n", i, timers[i].spent > 0 ? "timed" : "not timed");
	}
}

int main()
{
	static struct timer timers[3];

	load_kernels();
	cudaStream_t stream = new_stream();
	float *state = device_floats(SIZE, 0);

	CHECK(cudaDeviceSynchronize());
	for (int i = 0; i < STEPS; i++) {
		run_phase(&timers[0], state, 2, stream);
		run_phase(&timers[1], state, 4, stream);
		run_phase(&timers[2], state, 1, stream);
	}
	print_device("state", state, SIZE);
	print_times(timers);
	return 0;
}
