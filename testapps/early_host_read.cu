// SPDX-License-Identifier: Apache-2.0
// The result is copied to pinned memory with cudaMemcpyAsync and read in the next line. The copy
// has only been submitted; the host reads what was in the buffer before. With pageable memory
// the same line would have waited, which is how the mistake comes to be made.
// The fix waits for the stream before it reads.
#include "app.h"

static const int STEPS = 10;
static const size_t SIZE = 1 << 14, BYTES = SIZE * sizeof(float);

static NOINLINE void download(float *host, const float *device, cudaStream_t stream)
{
	cufence::spin<<<1, 1, 0, stream>>>(MILLISECOND / 2);
	CHECK(cudaGetLastError());
	CHECK(cudaMemcpyAsync(host, device, BYTES, cudaMemcpyDeviceToHost, stream));
}

static NOINLINE double read_result(const volatile float *host)
{
	double sum = host[0];

	for (size_t i = 1; i < SIZE; i++)
		sum += host[i];
	return sum;
}

int main()
{
	load_kernels();
	cudaStream_t stream = new_stream();
	float *device = device_floats(SIZE, 0x3f), *host = pinned_floats(STEPS * SIZE);
	double sum = 0;

	CHECK(cudaDeviceSynchronize());
	for (int i = 0; i < STEPS; i++) {
		download(host + i * SIZE, device, stream);
#ifdef FIXED
		CHECK(cudaStreamSynchronize(stream));
#endif
		sum += read_result(host + i * SIZE);
	}
	printf("sum: %.6e\n", sum);
	CHECK(cudaStreamSynchronize(stream));
	return 0;
}
