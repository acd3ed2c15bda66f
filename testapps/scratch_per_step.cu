// SPDX-License-Identifier: Apache-2.0
// Each step gives its scratch memory back and uploads the next input. cudaFree waits for whichever
// of two streams has more to do, and the other's next step with it. The cudaMemcpy behind it then
// finds the device idle, but would wait just the same if only the free were fixed.
// The fix allocates once, and copies by cudaMemcpyAsync in the stream that uses the input.
#include "app.h"

static const int STEPS = 24;
static const size_t SIZE = 1 << 14, INPUT = 1 << 8;

static NOINLINE void simulate(float *field, int step, cudaStream_t stream)
{
	cufence::touch<<<8, 256, 0, stream>>>(
		step % 2 ? MILLISECOND : MILLISECOND / 10, field, SIZE);
	CHECK(cudaGetLastError());
}

static NOINLINE void draw(float *scratch, float *picture, int step, cudaStream_t stream)
{
	cufence::touch<<<1, 256, 0, stream>>>(MILLISECOND / 20, scratch, INPUT);
	CHECK(cudaGetLastError());
	cufence::touch<<<1, 256, 0, stream>>>(
		step % 2 ? MILLISECOND / 10 : MILLISECOND, picture, INPUT);
	CHECK(cudaGetLastError());
}

static NOINLINE void next_input(float *picture, float *scratch, const float *input,
	cudaStream_t stream)
{
#ifdef FIXED
	(void)scratch;
	CHECK(cudaMemcpyAsync(picture, input, INPUT * sizeof(*input), cudaMemcpyHostToDevice,
		stream));
#else
	(void)stream;
	CHECK(cudaFree(scratch));
	CHECK(cudaMemcpy(picture, input, INPUT * sizeof(*input), cudaMemcpyHostToDevice));
#endif
}

int main()
{
	load_kernels();
	cudaStream_t simulating = new_stream(cudaStreamDefault);
	cudaStream_t drawing = new_stream(cudaStreamDefault);
	float *field = device_floats(SIZE, 0), *picture = device_floats(INPUT, 0);
	float *input = pinned_floats(INPUT), *scratch = nullptr;

	CHECK(cudaMalloc(&scratch, INPUT * sizeof(*scratch)));
	CHECK(cudaDeviceSynchronize());
	for (int step = 0; step < STEPS; step++) {
		simulate(field, step, simulating);
		draw(scratch, picture, step, drawing);
		next_input(picture, scratch, input, drawing);
#ifndef FIXED
		CHECK(cudaMalloc(&scratch, INPUT * sizeof(*scratch)));
#endif
	}
	print_device("field", field, SIZE);
	print_device("picture", picture, INPUT);
	CHECK(cudaFree(scratch));
	CHECK(cudaFreeHost(input));
	return 0;
}
