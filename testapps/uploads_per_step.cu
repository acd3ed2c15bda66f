// SPDX-License-Identifier: Apache-2.0
// Each step gets two small inputs by cudaMemcpy, one after the other, while another stream is at
// work. The first copy waits for that, and all of the next step with it; the second one then finds
// the device idle, but would wait just the same if only the first were fixed.
// The fix copies both by cudaMemcpyAsync in the stream that uses them.
#include "app.h"

static const int STEPS = 24;
static const size_t SIZE = 1 << 14, INPUT = 1 << 8;

static NOINLINE void simulate(float *field, int step, cudaStream_t stream)
{
	cufence::touch<<<8, 256, 0, stream>>>(
		step % 2 ? MILLISECOND : MILLISECOND / 10, field, SIZE);
	CHECK(cudaGetLastError());
}

#ifdef FIXED
#define COPY(to, from, bytes, stream) \
	CHECK(cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, stream))
#else
#define COPY(to, from, bytes, stream) CHECK(cudaMemcpy(to, from, bytes, cudaMemcpyHostToDevice))
#endif

static NOINLINE void upload(float *positions, float *colours, const float *input,
	cudaStream_t stream)
{
	(void)stream;
	COPY(positions, input, INPUT * sizeof(*input), stream);
	COPY(colours, input + INPUT, INPUT * sizeof(*input), stream);
}

static NOINLINE void draw(float *positions, float *colours, int step, cudaStream_t stream)
{
	cufence::touch<<<1, 256, 0, stream>>>(
		step % 2 ? MILLISECOND : MILLISECOND / 10, positions, INPUT);
	CHECK(cudaGetLastError());
	cufence::touch<<<1, 256, 0, stream>>>(MILLISECOND / 20, colours, INPUT);
	CHECK(cudaGetLastError());
}

int main()
{
	load_kernels();
	cudaStream_t simulating = new_stream(cudaStreamDefault);
	cudaStream_t drawing = new_stream(cudaStreamDefault);
	float *field = device_floats(SIZE, 0);
	float *positions = device_floats(INPUT, 0), *colours = device_floats(INPUT, 0);
	float *input = pinned_floats(2 * INPUT);

	CHECK(cudaDeviceSynchronize());
	for (int step = 0; step < STEPS; step++) {
		simulate(field, step, simulating);
		upload(positions, colours, input, drawing);
		draw(positions, colours, step, drawing);
	}
	print_device("field", field, SIZE);
	print_device("positions", positions, INPUT);
	print_device("colours", colours, INPUT);
	CHECK(cudaFreeHost(input));
	return 0;
}
