// SPDX-License-Identifier: Apache-2.0
// Uses a library that copies results to the host, libcublas_like.c: one by one; with a word, one in
// each step, and prepares the next step only then; with two, the results stay on the device.
#include <stdio.h>
#include <cuda_runtime.h>

extern "C" int cublasSetPointerMode_v2(int mode);
extern "C" int cublasDdot_v2(double *result, const double *device);
extern "C" int cublasDnrm2_v2(double *result, double *device, unsigned long bytes);

static const unsigned long BYTES = 1 << 28;

// The simulated device's clock runs in CUDA calls only.
static __attribute__((noinline)) int prepare()
{
	int bad = 0;

	for (int i = 0; i < 10; i++) {
		void *block;

		bad |= cudaMalloc(&block, 256);
	}
	return bad;
}

static int norms()
{
	double norm = 0, *device;
	int bad = cudaMalloc(&device, BYTES);

	for (int step = 0; step < 20; step++) {
		bad |= cublasDnrm2_v2(&norm, device, BYTES);
		bad |= prepare();
	}
	printf("%.1f\n", norm);
	return bad;
}

static int dots()
{
	double result[16] = { 0 }, *device;
	int bad = cudaMalloc(&device, sizeof(result));

	for (int step = 0; step < 20; step++) {
		bad |= cudaMemset(device, 0, sizeof(result));
		for (int i = 0; i < 16; i++)
			bad |= cublasDdot_v2(&result[i], &device[i]);
	}
	printf("%.1f\n", result[0]);
	return bad;
}

int main(int argc, char **argv)
{
	(void)argv;
	cublasSetPointerMode_v2(argc > 2);
	return argc > 1 ? norms() : dots();
}
