// SPDX-License-Identifier: Apache-2.0
// Four threads work on data of their own, and none of them names a stream: all share the legacy
// default stream, and their kernels take turns although nothing is common to them.
// The fix gives every thread a stream, as --default-stream per-thread would.
#include <thread>

#include "app.h"

static const int THREADS = 4, STEPS = 8, KERNELS = 16;
static const size_t SIZE = 1 << 14;

static cudaStream_t stream_of_thread()
{
#ifdef FIXED
	return cudaStreamPerThread;
#else
	return 0;
#endif
}

static NOINLINE void compute(float *data)
{
	cufence::touch<<<2, 256, 0, stream_of_thread()>>>(MILLISECOND / 4, data, SIZE);
	CHECK(cudaGetLastError());
}

static void work(float *data, pthread_barrier_t *barrier)
{
	start_together(barrier);
	for (int i = 0; i < STEPS; i++) {
		pthread_barrier_wait(barrier);
		for (int j = 0; j < KERNELS; j++)
			compute(data);
	}
	CHECK(cudaStreamSynchronize(stream_of_thread()));
}

int main()
{
	std::thread threads[THREADS];
	float *data[THREADS];
	pthread_barrier_t barrier;

	load_kernels();
	pthread_barrier_init(&barrier, NULL, THREADS);
	for (int i = 0; i < THREADS; i++)
		data[i] = device_floats(SIZE, 0x3f);
	CHECK(cudaDeviceSynchronize());
	for (int i = 0; i < THREADS; i++)
		threads[i] = std::thread(work, data[i], &barrier);
	for (int i = 0; i < THREADS; i++)
		threads[i].join();
	for (int i = 0; i < THREADS; i++)
		print_device("data", data[i], SIZE);
	return 0;
}
