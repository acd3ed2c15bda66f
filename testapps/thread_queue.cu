// SPDX-License-Identifier: Apache-2.0
// Clean: one thread produces tiles in its stream and hands them to another by a queue; that one
// uses them in a stream of its own. The producer records an event before it hands a tile over, and
// the consumer's stream waits for it: the queue orders the threads, the event the streams.
// Each tile is used once.
#include <condition_variable>
#include <mutex>
#include <queue>
#include <thread>

#include "app.h"

static const int TILES = 12;
static const size_t TILE_SIZE = 1 << 14;

struct item {
	float *tile;
	cudaEvent_t ready;
};

class item_queue {
	std::queue<struct item> items;
	std::mutex mutex;
	std::condition_variable filled;

public:
	void put(struct item item)
	{
		std::lock_guard<std::mutex> lock(mutex);

		items.push(item);
		filled.notify_one();
	}

	struct item take()
	{
		std::unique_lock<std::mutex> lock(mutex);
		struct item item;

		filled.wait(lock, [this] { return !items.empty(); });
		item = items.front();
		items.pop();
		return item;
	}
};

static NOINLINE void produce_tile(float *tile, int number, cudaStream_t stream)
{
	cufence::fill<<<4, 256, 0, stream>>>(MILLISECOND, tile, TILE_SIZE, (float)number);
	CHECK(cudaGetLastError());
}

static NOINLINE void use_tile(const float *tile, float *sum, cudaStream_t stream)
{
	cufence::accumulate<<<4, 256, 0, stream>>>(MILLISECOND, tile, sum, TILE_SIZE);
	CHECK(cudaGetLastError());
}

static void produce(item_queue *queue, float *tiles, const cudaEvent_t *ready, cudaStream_t stream)
{
	for (int i = 0; i < TILES; i++) {
		struct item item = { tiles + i * TILE_SIZE, ready[i] };

		produce_tile(item.tile, i, stream);
		CHECK(cudaEventRecord(item.ready, stream));
		queue->put(item);
	}
}

static void consume(item_queue *queue, float *sum, cudaStream_t stream)
{
	for (int i = 0; i < TILES; i++) {
		struct item item = queue->take();

		CHECK(cudaStreamWaitEvent(stream, item.ready, 0));
		use_tile(item.tile, sum, stream);
	}
}

int main()
{
	load_kernels();
	cudaStream_t producing = new_stream(), consuming = new_stream();
	float *tiles = device_floats(TILES * TILE_SIZE, 0), *sum = device_floats(TILE_SIZE, 0);
	cudaEvent_t ready[TILES];
	item_queue queue;

	for (int i = 0; i < TILES; i++)
		ready[i] = new_event();
	CHECK(cudaDeviceSynchronize());

	std::thread producer(produce, &queue, tiles, ready, producing);
	std::thread consumer(consume, &queue, sum, consuming);

	producer.join();
	consumer.join();
	print_device("sum", sum, TILE_SIZE);
	return 0;
}
