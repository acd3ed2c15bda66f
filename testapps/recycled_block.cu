// SPDX-License-Identifier: Apache-2.0
// Results go through blocks of pinned memory that are given back by host functions, as the
// runtimes of JAX and TensorFlow do: no call waits and no event is recorded. Here the host waits
// for the function of the block before, so the upload reads a block that is still being written.
// The fix waits for the function of the block itself. Host functions call no CUDA.
#include <condition_variable>
#include <mutex>

#include "app.h"

static const int CHUNKS = 10;
static const size_t SIZE = 1 << 13, BYTES = SIZE * sizeof(float);

struct block {
	float *memory;
	std::mutex mutex;
	std::condition_variable changed;
	int users; // copies under way
};

static void CUDART_CB give_back(void *argument)
{
	struct block *block = (struct block *)argument;
	std::lock_guard<std::mutex> lock(block->mutex);

	block->users--;
	block->changed.notify_one();
}

static void take(struct block *block)
{
	std::lock_guard<std::mutex> lock(block->mutex);

	block->users++;
}

static NOINLINE void wait_for(struct block *block)
{
	std::unique_lock<std::mutex> lock(block->mutex);

	block->changed.wait(lock, [=] { return !block->users; });
}

static NOINLINE void download(struct block *block, float *result, cudaStream_t stream)
{
	cufence::touch<<<4, 256, 0, stream>>>(MILLISECOND, result, SIZE);
	CHECK(cudaGetLastError());
	CHECK(cudaMemcpyAsync(block->memory, result, BYTES, cudaMemcpyDeviceToHost, stream));
	CHECK(cudaLaunchHostFunc(stream, give_back, block));
}

static NOINLINE cudaGraphExec_t capture_download(struct block *block, float *result)
{
	cudaStream_t stream = new_stream();
	cudaGraph_t graph;
	cudaGraphExec_t exec;

	CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
	download(block, result, stream);
	CHECK(cudaStreamEndCapture(stream, &graph));
	CHECK(cudaGraphInstantiate(&exec, graph, 0));
	return exec;
}

static NOINLINE void launch_download(cudaGraphExec_t exec, cudaStream_t stream)
{
	CHECK(cudaGraphLaunch(exec, stream));
}

static NOINLINE void upload(float *input, struct block *block, cudaStream_t stream)
{
	CHECK(cudaMemcpyAsync(input, block->memory, BYTES, cudaMemcpyHostToDevice, stream));
	CHECK(cudaLaunchHostFunc(stream, give_back, block));
}

int main()
{
	load_kernels();
	cudaStream_t downloading = new_stream(), uploading = new_stream();
	float *result = device_floats(SIZE, 0), *inputs = device_floats(CHUNKS * SIZE, 0);
	static struct block blocks[2];

	for (int i = 0; i < 2; i++)
		blocks[i].memory = pinned_floats(SIZE);

	cudaGraphExec_t exec = capture_download(&blocks[1], result);

	CHECK(cudaDeviceSynchronize());
	for (int i = 0; i < CHUNKS; i++) {
		struct block *block = &blocks[i % 2];

		take(block);
		if (i % 2)
			launch_download(exec, downloading);
		else
			download(block, result, downloading);
#ifdef FIXED
		wait_for(block);
#else
		wait_for(&blocks[1 - i % 2]);
#endif
		take(block);
		upload(inputs + i * SIZE, block, uploading);
		// One chunk at a time.
		wait_for(block);
	}
	print_device("inputs", inputs, CHUNKS * SIZE);
	return 0;
}
