// SPDX-License-Identifier: Apache-2.0
// The second program of doc/TUTORIAL.md: while a batch is worked on, the next one is uploaded in
// a stream of its own.  STEP says which of its two forms is built.  Copies make the values, so that
// the simulated device makes them, too.
#include "app.h"

static const int BATCHES = 10;
static const size_t PICKED = 1 << 14, EVERY = 4, SIZE = PICKED * EVERY;

static cudaStream_t copy, work;
static cudaEvent_t uploaded[BATCHES];

static NOINLINE void upload(int i, float *batch, const float *host)
{
	CHECK(cudaMemcpyAsync(batch, host, SIZE * sizeof(float), cudaMemcpyHostToDevice, copy));
	CHECK(cudaEventRecord(uploaded[i], copy));
}

/* Takes the first of every four values. */
static NOINLINE void pick(int i, float *picked, const float *batch)
{
#if STEP >= 2
	CHECK(cudaStreamWaitEvent(work, uploaded[i], 0));
#endif
	CHECK(cudaMemcpy2DAsync(picked, sizeof(float), batch, EVERY * sizeof(float), sizeof(float),
		PICKED, cudaMemcpyDeviceToDevice, work));
}

static NOINLINE double finish(float *result, const float *picked)
{
	double sum = 0;

	cufence::spin<<<1, 1, 0, work>>>(MILLISECOND);
	CHECK(cudaGetLastError());
	CHECK(cudaMemcpyAsync(result, picked, PICKED * sizeof(float), cudaMemcpyDeviceToHost,
		work));
	CHECK(cudaStreamSynchronize(work));
	for (size_t i = 0; i < PICKED; i++)
		sum += result[i];
	return sum;
}

int main()
{
	load_kernels();
	float *host = pinned_floats(BATCHES * SIZE), *result = pinned_floats(PICKED);
	float *batches = device_floats(BATCHES * SIZE, 0), *picked = device_floats(PICKED, 0);
	double sum = 0;

	copy = new_stream();
	work = new_stream();
	for (int i = 0; i < BATCHES; i++)
		uploaded[i] = new_event();
	upload(0, batches, host);
	CHECK(cudaStreamSynchronize(copy));

	for (int i = 0; i < BATCHES; i++) {
		if (i + 1 < BATCHES)
			upload(i + 1, batches + (i + 1) * SIZE, host + (i + 1) * SIZE);
		pick(i, picked, batches + i * SIZE);
		sum += finish(result, picked);
	}
	printf("sum %.0f\n", sum);
	return 0;
}
