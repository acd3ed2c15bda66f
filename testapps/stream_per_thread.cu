// SPDX-License-Identifier: Apache-2.0
// Clean: every thread has a stream, memory and pinned buffers of its own, and waits for its stream
// only. Threads call CUDA at the same time, in any order; there is nothing between them that
// would need an order, and no call of one waits for the work of another.
// Results are added up when all threads have been joined.
#include <thread>

#include "app.h"

static const int THREADS = 4, STEPS = 8;
static const size_t SIZE = 1 << 14, BYTES = SIZE * sizeof(float);

struct worker {
	cudaStream_t stream;
	float *device, *host;
};

static NOINLINE void step(const struct worker *worker)
{
	CHECK(cudaMemcpyAsync(worker->device, worker->host, BYTES, cudaMemcpyHostToDevice,
		worker->stream));
	cufence::touch<<<2, 256, 0, worker->stream>>>(MILLISECOND, worker->device, SIZE);
	CHECK(cudaGetLastError());
	CHECK(cudaMemcpyAsync(worker->host, worker->device, BYTES, cudaMemcpyDeviceToHost,
		worker->stream));
	CHECK(cudaStreamSynchronize(worker->stream));
}

static void work(const struct worker *worker)
{
	for (int i = 0; i < STEPS; i++)
		step(worker);
}

int main()
{
	load_kernels();
	struct worker workers[THREADS];
	std::thread threads[THREADS];

	for (int i = 0; i < THREADS; i++) {
		workers[i].stream = new_stream();
		workers[i].device = device_floats(SIZE, 0);
		workers[i].host = pinned_floats(SIZE);
	}
	CHECK(cudaDeviceSynchronize());
	for (int i = 0; i < THREADS; i++)
		threads[i] = std::thread(work, &workers[i]);
	for (int i = 0; i < THREADS; i++)
		threads[i].join();
	for (int i = 0; i < THREADS; i++)
		printf("worker %d: %.6e\n", i, checksum(workers[i].host, SIZE));
	return 0;
}
