// SPDX-License-Identifier: Apache-2.0
// Clean: two threads take turns in the legacy default stream, as PyTorch's forward and backward
// passes do: each submits its part of a step and then waits, outside of CUDA, for the other one.
// Kernels of one follow those of the other by intent, although they name different memory.
#include <condition_variable>
#include <mutex>
#include <thread>

#include "app.h"

static const int STEPS = 10;
static const size_t SIZE = 1 << 14;

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

static NOINLINE void submit(float *data)
{
	cufence::touch<<<2, 256>>>(MILLISECOND / 2, data, SIZE);
	CHECK(cudaGetLastError());
}

static void take_turns(float *data, int mine)
{
	for (int i = 0; i < STEPS; i++) {
		wait_for_turn(mine);
		submit(data);
		submit(data);
		hand_over(!mine);
	}
}

int main()
{
	load_kernels();
	float *activations = device_floats(SIZE, 0x3f), *gradients = device_floats(SIZE, 0);

	CHECK(cudaDeviceSynchronize());
	std::thread backward(take_turns, gradients, 1);
	take_turns(activations, 0);
	backward.join();
	print_device("activations", activations, SIZE);
	print_device("gradients", gradients, SIZE);
	return 0;
}
