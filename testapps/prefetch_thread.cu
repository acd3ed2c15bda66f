// SPDX-License-Identifier: Apache-2.0
// Clean: a thread fills pinned staging buffers and uploads them in a stream of its own, one batch
// ahead of the thread that computes. It fills a buffer again only when the upload from it is done,
// and uploads over a batch only behind the kernels that read it; the other thread computes only
// behind the upload. Counters under a mutex order the threads, events the streams.
#include <condition_variable>
#include <mutex>
#include <thread>

#include "app.h"

static const int BATCHES = 12, SLOTS = 2;
static const size_t SIZE = 1 << 14, BYTES = SIZE * sizeof(float);

struct slot {
	float *staging, *device;
	cudaEvent_t uploaded, used;
};

struct pipeline {
	struct slot slot[SLOTS];
	std::mutex mutex;
	std::condition_variable changed;
	int uploaded, used; /* how many batches so far */
};

static void advance(struct pipeline *pipeline, int *counter)
{
	std::lock_guard<std::mutex> lock(pipeline->mutex);

	++*counter;
	pipeline->changed.notify_all();
}

static void wait_until(struct pipeline *pipeline, const int *counter, int count)
{
	std::unique_lock<std::mutex> lock(pipeline->mutex);

	pipeline->changed.wait(lock, [=] { return *counter >= count; });
}

static NOINLINE void fill_and_upload(struct slot *slot, int batch, cudaStream_t stream)
{
	CHECK(cudaEventSynchronize(slot->uploaded));
	for (size_t i = 0; i < SIZE; i++)
		slot->staging[i] = (float)(batch + i % 10);
	CHECK(cudaStreamWaitEvent(stream, slot->used, 0));
	CHECK(cudaMemcpyAsync(slot->device, slot->staging, BYTES, cudaMemcpyHostToDevice, stream));
	CHECK(cudaEventRecord(slot->uploaded, stream));
}

static NOINLINE void compute(struct slot *slot, float *sum, cudaStream_t stream)
{
	CHECK(cudaStreamWaitEvent(stream, slot->uploaded, 0));
	cufence::accumulate<<<4, 256, 0, stream>>>(MILLISECOND, slot->device, sum, SIZE);
	CHECK(cudaGetLastError());
	CHECK(cudaEventRecord(slot->used, stream));
}

static void prefetch(struct pipeline *pipeline, cudaStream_t stream)
{
	for (int i = 0; i < BATCHES; i++) {
		wait_until(pipeline, &pipeline->used, i + 1 - SLOTS);
		fill_and_upload(&pipeline->slot[i % SLOTS], i, stream);
		advance(pipeline, &pipeline->uploaded);
	}
}

int main()
{
	load_kernels();
	cudaStream_t uploading = new_stream(), computing = new_stream();
	float *sum = device_floats(SIZE, 0);
	struct pipeline pipeline = {};

	for (struct slot &slot : pipeline.slot)
		slot = { pinned_floats(SIZE), device_floats(SIZE, 0), new_event(), new_event() };
	CHECK(cudaDeviceSynchronize());

	std::thread prefetcher(prefetch, &pipeline, uploading);

	for (int i = 0; i < BATCHES; i++) {
		wait_until(&pipeline, &pipeline.uploaded, i + 1);
		compute(&pipeline.slot[i % SLOTS], sum, computing);
		advance(&pipeline, &pipeline.used);
	}
	prefetcher.join();
	print_device("sum", sum, SIZE);
	return 0;
}
