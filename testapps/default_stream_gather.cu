// SPDX-License-Identifier: Apache-2.0
// Clean: two blocking streams each compute a half from the same input, and kernels in the legacy
// default stream gather both halves into the input of the next step. The legacy stream waits for
// both streams and they wait for it, which is just the order that the data needs: every kernel
// that waited shares memory with the one it waited for. Nothing would overlap without the legacy
// stream, so a tool that reports every wait for it would be wrong here.
#include "app.h"

static const int STEPS = 10, STREAMS = 2;
static const size_t SIZE = 1 << 15, BYTES = SIZE * sizeof(float);

static NOINLINE void launch_half(const float *input, float *half, cudaStream_t stream)
{
	cufence::stencil<<<8, 256, 0, stream>>>(2 * MILLISECOND, input, half, SIZE);
	CHECK(cudaGetLastError());
}

static NOINLINE void gather(const float *half, float *input)
{
	cufence::accumulate<<<8, 256>>>(MILLISECOND, half, input, SIZE);
	CHECK(cudaGetLastError());
}

int main()
{
	static float host[SIZE];
	float *input, *half[STREAMS];
	cudaStream_t stream[STREAMS];
	double sum = 0;

	for (size_t i = 0; i < SIZE; i++)
		host[i] = (float)(i % 100);
	CHECK(cudaMalloc(&input, BYTES));
	CHECK(cudaMemcpy(input, host, BYTES, cudaMemcpyHostToDevice));
	for (int i = 0; i < STREAMS; i++) {
		CHECK(cudaStreamCreate(&stream[i]));
		CHECK(cudaMalloc(&half[i], BYTES));
	}
	for (int step = 0; step < STEPS; step++) {
		for (int i = 0; i < STREAMS; i++)
			launch_half(input, half[i], stream[i]);
		for (int i = 0; i < STREAMS; i++)
			gather(half[i], input);
	}
	CHECK(cudaMemcpy(host, input, BYTES, cudaMemcpyDeviceToHost));
	for (size_t i = 0; i < SIZE; i++)
		sum += host[i];
	printf("%d steps: %.6e\n", STEPS, sum);
	for (int i = 0; i < STREAMS; i++) {
		CHECK(cudaStreamDestroy(stream[i]));
		CHECK(cudaFree(half[i]));
	}
	CHECK(cudaFree(input));
	return 0;
}
