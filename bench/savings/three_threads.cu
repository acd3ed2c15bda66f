// SPDX-License-Identifier: Apache-2.0
// Three threads, each with a stream and work of another length, each freeing scratch memory in
// every step: a thread waits for the other two's kernels as well, and they for it.
// The fix keeps the scratch memory.
#include <thread>

#include "app.h"

static const int THREADS = 3, STEPS = 12;
static const size_t SIZE = 1 << 14;

static void step(float *scratch, cudaStream_t stream, int number)
{
	cufence::touch<<<4, 256, 0, stream>>>((number + 1) * MILLISECOND, scratch, SIZE);
	CHECK(cudaGetLastError());
}

static void run_steps(int number, cudaStream_t stream, pthread_barrier_t *barrier)
{
	float *scratch;

	start_together(barrier);
#ifdef FIXED
	CHECK(cudaMalloc(&scratch, SIZE * sizeof(float)));
	for (int i = 0; i < STEPS; i++) {
		step(scratch, stream, number);
		CHECK(cudaStreamSynchronize(stream));
	}
#else
	for (int i = 0; i < STEPS; i++) {
		CHECK(cudaMalloc(&scratch, SIZE * sizeof(float)));
		step(scratch, stream, number);
		CHECK(cudaFree(scratch));
	}
#endif
}

int main()
{
	load_kernels();
	pthread_barrier_t barrier;
	cudaStream_t stream[THREADS];
	std::thread thread[THREADS];

	pthread_barrier_init(&barrier, NULL, THREADS);
	for (int i = 0; i < THREADS; i++)
		stream[i] = new_stream();
	for (int i = 0; i < THREADS; i++)
		thread[i] = std::thread(run_steps, i, stream[i], &barrier);
	for (int i = 0; i < THREADS; i++)
		thread[i].join();
	CHECK(cudaDeviceSynchronize());
	printf("%d steps\n", THREADS * STEPS);
	return 0;
}
