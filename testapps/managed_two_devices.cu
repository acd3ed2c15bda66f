// SPDX-License-Identifier: Apache-2.0
// Two devices work on managed memory each, the first one for longer. The host waits for the current
// device only and reads the results of both.
// The fix waits for both devices.
#include "app.h"

static const size_t SIZE = 1 << 12;

static NOINLINE void work(float *half, int device, cudaStream_t stream)
{
	CHECK(cudaSetDevice(device));
	cufence::fill<<<8, 256, 0, stream>>>((4 - 3 * device) * MILLISECOND, half, SIZE, 1);
	CHECK(cudaGetLastError());
}

static NOINLINE double read_half(const volatile float *half)
{
	return half[100];
}

int main()
{
	cudaStream_t stream[2];
	float *half[2];
	double sum = 0;

	for (int i = 0; i < 2; i++) {
		CHECK(cudaSetDevice(i));
		load_kernels();
		stream[i] = new_stream();
		CHECK(cudaMallocManaged(&half[i], SIZE * sizeof(float)));
		for (size_t k = 0; k < SIZE; k++)
			half[i][k] = 0;
		CHECK(cudaDeviceSynchronize());
	}
	for (int i = 0; i < 2; i++)
		work(half[i], i, stream[i]);
	CHECK(cudaDeviceSynchronize());
#ifdef FIXED
	CHECK(cudaStreamSynchronize(stream[0]));
#endif
	for (int i = 0; i < 2; i++)
		sum += read_half(half[i]);
	for (int i = 0; i < 2; i++)
		CHECK(cudaStreamSynchronize(stream[i]));
	printf("sum: %.1f\n", sum);
	return 0;
}
