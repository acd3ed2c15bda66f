// SPDX-License-Identifier: Apache-2.0
// One thread allocates and frees a scratch buffer for each batch; another, with a stream and data
// of its own, launches small kernels all the time. While the first sits in cudaFree until its
// kernel is done, the launches of the second are held, although they have nothing to wait for.
// The fix keeps the scratch buffer.
#include <thread>

#include "app.h"

static const int BATCHES = 12, TICKS = 240;
static const size_t SIZE = 1 << 10;

static NOINLINE void train(float *scratch, cudaStream_t stream)
{
	cufence::touch<<<4, 256, 0, stream>>>(2 * MILLISECOND, scratch, SIZE);
	CHECK(cudaGetLastError());
}

static NOINLINE void free_scratch(float *scratch)
{
	CHECK(cudaFree(scratch));
}

static NOINLINE void tick(float *clock, cudaStream_t stream)
{
	cufence::touch<<<1, 256, 0, stream>>>(MILLISECOND / 10, clock, SIZE);
	CHECK(cudaGetLastError());
}

static void run_batches(cudaStream_t stream)
{
	float *scratch;

	CHECK(cudaMalloc(&scratch, SIZE * sizeof(float)));
	for (int i = 0; i < BATCHES; i++) {
		train(scratch, stream);
#ifndef FIXED
		free_scratch(scratch);
		CHECK(cudaMalloc(&scratch, SIZE * sizeof(float)));
#endif
	}
	CHECK(cudaStreamSynchronize(stream));
	free_scratch(scratch);
}

static void run_ticks(float *clock, cudaStream_t stream)
{
	for (int i = 0; i < TICKS; i++) {
		tick(clock, stream);
		CHECK(cudaStreamSynchronize(stream));
	}
}

int main()
{
	load_kernels();
	cudaStream_t training = new_stream(), ticking = new_stream();
	float *clock = device_floats(SIZE, 0);

	CHECK(cudaDeviceSynchronize());

	std::thread batches(run_batches, training), ticks(run_ticks, clock, ticking);

	batches.join();
	ticks.join();
	print_device("clock", clock, SIZE);
	return 0;
}
