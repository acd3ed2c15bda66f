// SPDX-License-Identifier: Apache-2.0
// Three mistakes in one loop, each of which hides the others: scratch memory is freed, a result
// goes back to pageable memory, a small kernel goes to the legacy default stream.
// The fix removes all three.
#include "app.h"

static const int STEPS = 16;
static const size_t SIZE = 1 << 14, BYTES = SIZE * sizeof(float);

static void compute(float *data, float *scratch, cudaStream_t stream)
{
	cufence::stencil<<<8, 256, 0, stream>>>(MILLISECOND, data, scratch, SIZE);
	CHECK(cudaGetLastError());
}

static void count_steps(float *counter, cudaStream_t stream)
{
	cufence::touch<<<1, 32, 0, stream>>>(MILLISECOND / 5, counter, 32);
	CHECK(cudaGetLastError());
}

static void fetch(float *result, const float *data, cudaStream_t stream)
{
	CHECK(cudaMemcpyAsync(result, data, BYTES, cudaMemcpyDeviceToHost, stream));
}

static float *allocate(void)
{
	float *scratch;

	CHECK(cudaMalloc(&scratch, BYTES));
	return scratch;
}

int main()
{
	load_kernels();
	cudaStream_t stream[2] = { new_stream(cudaStreamDefault), new_stream(cudaStreamDefault) };
	float *data[2] = { device_floats(SIZE, 1), device_floats(SIZE, 1) };
	float *counter = device_floats(32, 0);
	// Both versions set up the same, so that they differ by the loop alone.
	cudaStream_t counting = new_stream();
	float *scratch[2] = { allocate(), allocate() }, *pinned = pinned_floats(2 * SIZE);
	float *pageable = (float *)calloc(2, BYTES);

	CHECK(cudaDeviceSynchronize());
	for (int i = 0; i < STEPS; i++) {
		int s = i % 2;
#ifdef FIXED
		compute(data[s], scratch[s], stream[s]);
		count_steps(counter, counting);
		fetch(pinned + s * SIZE, data[s], stream[s]);
#else
		float *temporary = allocate();

		compute(data[s], temporary, stream[s]);
		count_steps(counter, 0);
		fetch(pageable + s * SIZE, data[s], stream[s]);
		CHECK(cudaFree(temporary));
#endif
	}
	CHECK(cudaDeviceSynchronize());
#ifdef FIXED
	memcpy(pageable, pinned, 2 * BYTES);
#endif
	printf("result: %.6e\n", checksum(pageable, 2 * SIZE));
	print_device("counter", counter, 32);
	return 0;
}
