// SPDX-License-Identifier: Apache-2.0
// Clean: a host function at the end of each chunk's work signals a thread, which then reads the
// result from pinned memory. The host function runs after the copy before it in its stream, and
// the thread after the host function, by a mutex: no CUDA call waits, and nothing is read early.
// Host functions call no CUDA.
#include <condition_variable>
#include <mutex>
#include <thread>

#include "app.h"

static const int CHUNKS = 10;
static const size_t SIZE = 1 << 13, BYTES = SIZE * sizeof(float);

struct progress {
	std::mutex mutex;
	std::condition_variable changed;
	int finished;
};

static void CUDART_CB finish_chunk(void *argument)
{
	struct progress *progress = (struct progress *)argument;
	std::lock_guard<std::mutex> lock(progress->mutex);

	progress->finished++;
	progress->changed.notify_one();
}

static NOINLINE void submit_chunk(float *device, float *host, struct progress *progress,
	cudaStream_t stream)
{
	cufence::touch<<<4, 256, 0, stream>>>(MILLISECOND, device, SIZE);
	CHECK(cudaGetLastError());
	CHECK(cudaMemcpyAsync(host, device, BYTES, cudaMemcpyDeviceToHost, stream));
	CHECK(cudaLaunchHostFunc(stream, finish_chunk, progress));
}

static void read_chunks(struct progress *progress, const float *host, double *sum)
{
	for (int i = 0; i < CHUNKS; i++) {
		std::unique_lock<std::mutex> lock(progress->mutex);

		progress->changed.wait(lock, [=] { return progress->finished > i; });
		lock.unlock();
		*sum += checksum(host + i * SIZE, SIZE);
	}
}

int main()
{
	load_kernels();
	cudaStream_t stream = new_stream();
	float *device = device_floats(SIZE, 0), *host = pinned_floats(CHUNKS * SIZE);
	struct progress progress = {};
	double sum = 0;

	CHECK(cudaDeviceSynchronize());

	std::thread reader(read_chunks, &progress, host, &sum);

	for (int i = 0; i < CHUNKS; i++)
		submit_chunk(device, host + i * SIZE, &progress, stream);
	reader.join();
	printf("chunks: %.6e\n", sum);
	return 0;
}
