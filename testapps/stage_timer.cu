// SPDX-License-Identifier: Apache-2.0
// Stages on two streams are timed by a class of start and stop events, recorded in stream 0. Each
// record there comes after all work of both streams and before all that follows: no two stages
// overlap. The two records do the same, so that fixing one alone would win nothing.
// The fix records both in the stage's own stream. The per-thread variant has no legacy stream.
#include "app.h"

static const int STEPS = 20, STAGES = 2;
static const size_t SIZE = 1 << 14;

struct timer {
	cudaEvent_t begun, ended;
};

static NOINLINE void start_timer(const struct timer *timer, cudaStream_t stream)
{
	CHECK(cudaEventRecord(timer->begun, stream));
}

static NOINLINE void stop_timer(const struct timer *timer, cudaStream_t stream)
{
	CHECK(cudaEventRecord(timer->ended, stream));
}

static NOINLINE void run_stage(float *data, cudaStream_t stream)
{
	cufence::touch<<<8, 256, 0, stream>>>(MILLISECOND / 2, data, SIZE);
	CHECK(cudaGetLastError());
}

int main()
{
	load_kernels();
	cudaStream_t stream[STAGES];
	struct timer timer[STAGES];
	float *data[STAGES];

	for (int i = 0; i < STAGES; i++) {
		stream[i] = new_stream(cudaStreamDefault);
		CHECK(cudaEventCreate(&timer[i].begun));
		CHECK(cudaEventCreate(&timer[i].ended));
		data[i] = device_floats(SIZE, 0);
	}
	CHECK(cudaDeviceSynchronize());
	for (int step = 0; step < STEPS; step++)
		for (int i = 0; i < STAGES; i++) {
#ifdef FIXED
			cudaStream_t timed = stream[i];
#else
			cudaStream_t timed = 0;
#endif

			start_timer(&timer[i], timed);
			run_stage(data[i], stream[i]);
			stop_timer(&timer[i], timed);
		}
	for (int i = 0; i < STAGES; i++)
		print_device("data", data[i], SIZE);
	return 0;
}
