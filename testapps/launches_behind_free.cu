// SPDX-License-Identifier: Apache-2.0
// One thread allocates and frees a scratch buffer for each batch; another, with a stream and data
// of its own, launches small kernels all the time. While the first sits in cudaFree until its
// kernel is done, the launches of the second are held, although they have nothing to wait for.
// The fix keeps a scratch buffer for each stream.
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

static NOINLINE float *allocate_scratch()
{
	float *scratch;

	CHECK(cudaMalloc(&scratch, SIZE * sizeof(float)));
	return scratch;
}

static void run_batches(const cudaStream_t *stream, pthread_barrier_t *barrier)
{
	start_together(barrier);
#ifdef FIXED
	float *kept[2] = { allocate_scratch(), allocate_scratch() };

	for (int i = 0; i < BATCHES; i++)
		train(kept[i % 2], stream[i % 2]);
	/* To free them while any kernel runs would be the same mistake once more. */
	pthread_barrier_wait(barrier);
	CHECK(cudaDeviceSynchronize());
	for (float *scratch : kept)
		free_scratch(scratch);
#else
	for (int i = 0; i < BATCHES; i++) {
		float *scratch = allocate_scratch();

		train(scratch, stream[i % 2]);
		free_scratch(scratch);
	}
#endif
}

static void run_ticks(float *clock, cudaStream_t stream, pthread_barrier_t *barrier)
{
	start_together(barrier);
	for (int i = 0; i < TICKS; i++) {
		tick(clock, stream);
		CHECK(cudaStreamSynchronize(stream));
	}
#ifdef FIXED
	pthread_barrier_wait(barrier);
#endif
}

int main()
{
	load_kernels();
	cudaStream_t training[2] = { new_stream(), new_stream() }, ticking = new_stream();
	float *clock = device_floats(SIZE, 0);

	pthread_barrier_t barrier;

	pthread_barrier_init(&barrier, NULL, 2);
	CHECK(cudaDeviceSynchronize());

	std::thread batches(run_batches, training, &barrier);
	std::thread ticks(run_ticks, clock, ticking, &barrier);

	batches.join();
	ticks.join();
	print_device("clock", clock, SIZE);
	return 0;
}
