// SPDX-License-Identifier: Apache-2.0
// Results go back through pageable memory while the next inputs come in: the call that fetches
// waits for its copy, and the two directions of the bus never work at the same time.
// The fix pins that memory.
#include "app.h"

static const int CHUNKS = 24;
static const size_t SIZE = 1 << 20, BYTES = SIZE * sizeof(float);

static void fetch(float *result, const float *chunk, cudaStream_t stream)
{
	CHECK(cudaMemcpyAsync(result, chunk, BYTES, cudaMemcpyDeviceToHost, stream));
}

int main()
{
	load_kernels();
	cudaStream_t stream[2] = { new_stream(), new_stream() };
	float *chunk[2] = { device_floats(SIZE, 0), device_floats(SIZE, 0) };
	float *input = pinned_floats(SIZE), *result;

	result = (float *)calloc(1, BYTES);
#ifdef FIXED
	CHECK(cudaHostRegister(result, BYTES, cudaHostRegisterDefault));
#endif
	CHECK(cudaDeviceSynchronize());
	for (int i = 0; i < CHUNKS; i++) {
		int s = i % 2;

		CHECK(cudaMemcpyAsync(chunk[s], input, BYTES, cudaMemcpyHostToDevice, stream[s]));
		cufence::touch<<<8, 256, 0, stream[s]>>>(MILLISECOND / 10, chunk[s], SIZE);
		CHECK(cudaGetLastError());
		fetch(result, chunk[s], stream[s]);
	}
	CHECK(cudaDeviceSynchronize());
	printf("result: %.6e\n", checksum(result, SIZE));
	return 0;
}
