// SPDX-License-Identifier: Apache-2.0
// A result is made in one stream, fetched by an asynchronous copy in the legacy default stream into
// pageable memory, and the next picture is drawn in another stream. The thread waits for the copy,
// as its memory is pageable; with pinned memory the picture would wait for it on the device.
// The fix has pinned memory and copies in the stream that makes the result.
#include "app.h"

static const int STEPS = 16;
static const size_t SIZE = 1 << 10;

static NOINLINE void compute(float *state, cudaStream_t stream)
{
	cufence::touch<<<4, 256, 0, stream>>>(MILLISECOND, state, SIZE);
	CHECK(cudaGetLastError());
}

static NOINLINE void fetch(float *result, const float *state, cudaStream_t stream)
{
	CHECK(cudaMemcpyAsync(result, state, SIZE * sizeof(float), cudaMemcpyDeviceToHost, stream));
}

static NOINLINE void draw(float *picture, float *shown, cudaStream_t stream)
{
	cufence::touch<<<4, 256, 0, stream>>>(2 * MILLISECOND, picture, SIZE);
	CHECK(cudaGetLastError());
	CHECK(cudaMemcpyAsync(
		shown, picture, SIZE * sizeof(float), cudaMemcpyDeviceToHost, stream));
}

int main()
{
	load_kernels();
	cudaStream_t computing = new_stream(cudaStreamDefault);
	cudaStream_t drawing = new_stream(cudaStreamDefault);
	float *state = device_floats(SIZE, 0), *picture = device_floats(SIZE, 0);
	float *shown = pinned_floats(SIZE);
#ifdef FIXED
	float *result = pinned_floats(SIZE);
	cudaStream_t fetching = computing;
#else
	float *result = (float *)malloc(SIZE * sizeof(float));
	cudaStream_t fetching = 0;
#endif
	double sum = 0;

	CHECK(cudaDeviceSynchronize());
	for (int i = 0; i < STEPS; i++) {
		compute(state, computing);
		fetch(result, state, fetching);
		draw(picture, shown, drawing);
		CHECK(cudaDeviceSynchronize());
		sum += checksum(result, SIZE) + checksum(shown, SIZE);
	}
	printf("results: %.6e\n", sum);
	return 0;
}
