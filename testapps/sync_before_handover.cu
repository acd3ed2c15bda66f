// SPDX-License-Identifier: Apache-2.0
// As in training, a step has two threads: one prepares and submits the forward pass and then waits,
// outside of CUDA, for the other one, which does the same for the backward pass. The first one also
// waits for the device before it hands over, which nobody needs, and the device idles while the
// second one prepares its work.
// The fix leaves the wait out.
#include <condition_variable>
#include <mutex>
#include <thread>

#include "app.h"

static const int STEPS = 40;
static const size_t SIZE = 1 << 12;

static std::mutex mutex;
static std::condition_variable turned;
static int turn;

static void wait_for_turn(int mine)
{
	std::unique_lock<std::mutex> lock(mutex);

	turned.wait(lock, [mine] { return turn == mine; });
}

static void hand_over(int to)
{
	std::lock_guard<std::mutex> lock(mutex);

	turn = to;
	turned.notify_all();
}

// The simulated device's clock runs in CUDA calls only.
static NOINLINE void prepare()
{
	static void *blocks[2 * STEPS][25];
	static int count;

	for (auto &block : blocks[count++])
		CHECK(cudaMalloc(&block, 256));
}

static NOINLINE void submit(float *data, int ns, cudaStream_t stream)
{
	for (int i = 0; i < 8; i++)
		cufence::touch<<<4, 256, 0, stream>>>(ns, data, SIZE);
	CHECK(cudaGetLastError());
}

static NOINLINE void finish(cudaStream_t stream)
{
#ifndef FIXED
	CHECK(cudaStreamSynchronize(stream));
#endif
}

static void backward(float *gradients, cudaStream_t stream)
{
	for (int i = 0; i < STEPS; i++) {
		wait_for_turn(1);
		prepare();
		submit(gradients, MILLISECOND / 5, stream);
		hand_over(0);
	}
}

int main()
{
	load_kernels();
	cudaStream_t stream = new_stream();
	float *activations = device_floats(SIZE, 0x3f), *gradients = device_floats(SIZE, 0);

	CHECK(cudaDeviceSynchronize());
	std::thread other(backward, gradients, stream);
	for (int i = 0; i < STEPS; i++) {
		wait_for_turn(0);
		prepare();
		submit(activations, MILLISECOND / 10, stream);
		finish(stream);
		hand_over(1);
	}
	other.join();
	print_device("activations", activations, SIZE);
	print_device("gradients", gradients, SIZE);
	return 0;
}
