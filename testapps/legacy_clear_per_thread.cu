// SPDX-License-Identifier: Apache-2.0
// Four threads work on data of their own, each in its per-thread default stream, and should
// overlap. Each clears its counts before a step, by a call that names no stream: the legacy default
// stream waits for the kernels of all threads, and all their later kernels wait for it. Whose clear
// it is makes no difference: those of all threads follow each other in the one legacy stream.
// The fix clears in the stream of the kernel that counts.
#include <thread>

#include "app.h"

static const int THREADS = 4, STEPS = 8;
static const size_t SIZE = 1 << 14;

static NOINLINE void clear_counts(float *counts)
{
#ifdef FIXED
	CHECK(cudaMemsetAsync(counts, 0, SIZE * sizeof(float), cudaStreamPerThread));
#else
	CHECK(cudaMemsetAsync(counts, 0, SIZE * sizeof(float)));
#endif
}

static NOINLINE void count(const float *samples, float *counts)
{
	cufence::accumulate<<<4, 256, 0, cudaStreamPerThread>>>(MILLISECOND, samples, counts, SIZE);
	CHECK(cudaGetLastError());
}

static void work(const float *samples, float *counts, pthread_barrier_t *barrier)
{
	start_together(barrier);
	for (int i = 0; i < STEPS; i++) {
		clear_counts(counts);
		count(samples, counts);
	}
	CHECK(cudaStreamSynchronize(cudaStreamPerThread));
}

int main()
{
	std::thread threads[THREADS];
	float *samples[THREADS], *counts[THREADS];
	pthread_barrier_t barrier;

	load_kernels();
	pthread_barrier_init(&barrier, NULL, THREADS);
	for (int i = 0; i < THREADS; i++) {
		samples[i] = device_floats(SIZE, 0x3f);
		counts[i] = device_floats(SIZE, 0);
	}
	CHECK(cudaDeviceSynchronize());
	for (int i = 0; i < THREADS; i++)
		threads[i] = std::thread(work, samples[i], counts[i], &barrier);
	for (int i = 0; i < THREADS; i++)
		threads[i].join();
	for (int i = 0; i < THREADS; i++)
		print_device("counts", counts[i], SIZE);
	return 0;
}
