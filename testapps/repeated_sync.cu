// SPDX-License-Identifier: Apache-2.0
// Every layer of a program makes sure: the step waits for its result, its caller waits for the
// stream, the loop for the device. The first wait is needed; after it the host knows that all is
// done, and the others ask the driver again. Each is short; they add up in a loop of short steps.
// The fix leaves them out.
#include "app.h"

static const int STEPS = 2000;
static const size_t SIZE = 256;

static NOINLINE double compute(float *state, float *result, cudaStream_t stream)
{
	cufence::touch<<<1, 256, 0, stream>>>(MILLISECOND / 100, state, SIZE);
	CHECK(cudaGetLastError());
	CHECK(cudaMemcpyAsync(result, state, SIZE * sizeof(float), cudaMemcpyDeviceToHost, stream));
	CHECK(cudaStreamSynchronize(stream));
	return result[0];
}

static NOINLINE void make_sure(cudaStream_t stream)
{
	CHECK(cudaStreamSynchronize(stream));
}

static NOINLINE void make_very_sure()
{
	CHECK(cudaDeviceSynchronize());
}

int main()
{
	load_kernels();
	cudaStream_t stream = new_stream();
	float *state = device_floats(SIZE, 0), *result = pinned_floats(SIZE);
	double sum = 0;

	CHECK(cudaDeviceSynchronize());
	for (int i = 0; i < STEPS; i++) {
		sum += compute(state, result, stream);
#ifndef FIXED
		make_sure(stream);
		make_very_sure();
#endif
	}
	printf("results: %.6e\n", sum);
	make_sure(stream);
	make_very_sure();
	return 0;
}
