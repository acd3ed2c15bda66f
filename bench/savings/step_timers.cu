// SPDX-License-Identifier: Apache-2.0
// Each part of a step is timed by two events, and the host waits for the second before it goes on
// (CUDA C++ Best Practices Guide, "Using CUDA GPU Timers"): while it prepares the next part the
// device idles. The fix reads the times of a step when the next one is submitted.
#include <vector>

#include "app.h"

static const int STEPS = 40, PARTS = 3;
static const size_t SIZE = 1 << 12;

static void prepare(std::vector<float> &input)
{
	for (int i = 0; i < 40; i++)
		for (float &value : input)
			value = value * 0.5F + 1;
}

int main()
{
	load_kernels();
	cudaStream_t stream = new_stream();
	float *state = device_floats(SIZE, 0), total = 0;
	std::vector<float> input(SIZE);
	cudaEvent_t event[2][PARTS][2];

	for (auto &step : event)
		for (auto &part : step)
			for (cudaEvent_t &one : part)
				CHECK(cudaEventCreate(&one));
	CHECK(cudaDeviceSynchronize());
	for (int i = 0; i < STEPS; i++) {
		for (int part = 0; part < PARTS; part++) {
			cudaEvent_t *now = event[i % 2][part];
			float ms;

			prepare(input);
			CHECK(cudaEventRecord(now[0], stream));
			cufence::touch<<<16, 256, 0, stream>>>(MILLISECOND / 4, state, SIZE);
			CHECK(cudaGetLastError());
			CHECK(cudaEventRecord(now[1], stream));
#ifdef FIXED
			cudaEvent_t *done = event[(i + 1) % 2][part];

			if (!i)
				continue;
#else
			cudaEvent_t *done = now;
#endif
			CHECK(cudaEventSynchronize(done[1]));
			CHECK(cudaEventElapsedTime(&ms, done[0], done[1]));
			total += ms;
		}
	}
	CHECK(cudaDeviceSynchronize());
	printf("%d\n", total > 0);
	return 0;
}
