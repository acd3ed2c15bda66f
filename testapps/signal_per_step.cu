// SPDX-License-Identifier: Apache-2.0
// As some frameworks do, a runtime learns from a host function that a step's work has ended. The
// program waits for that after each step, outside of CUDA, uses nothing of what was computed, and
// prepares the next step only then: the device idles meanwhile.
// The fix waits after the last step.
#include <condition_variable>
#include <mutex>

#include "app.h"

static const int STEPS = 20;
static const size_t SIZE = 1 << 12;

struct progress {
	std::mutex mutex;
	std::condition_variable changed;
	int submitted, finished;
};

static void CUDART_CB finish_step(void *argument)
{
	struct progress *progress = (struct progress *)argument;
	std::lock_guard<std::mutex> lock(progress->mutex);

	progress->finished++;
	progress->changed.notify_one();
}

// The simulated device's clock runs in CUDA calls only.
static NOINLINE void prepare()
{
	static void *blocks[STEPS][10];
	static int count;

	for (auto &block : blocks[count++])
		CHECK(cudaMalloc(&block, 256));
}

static NOINLINE void step(float *state, struct progress *progress, cudaStream_t stream)
{
	for (int i = 0; i < 4; i++)
		cufence::touch<<<4, 256, 0, stream>>>(MILLISECOND / 5, state, SIZE);
	CHECK(cudaGetLastError());
	CHECK(cudaLaunchHostFunc(stream, finish_step, progress));
	progress->submitted++;
}

static NOINLINE void wait_until_ready(struct progress *progress)
{
	std::unique_lock<std::mutex> lock(progress->mutex);

	progress->changed.wait(lock, [=] { return progress->finished == progress->submitted; });
}

int main()
{
	load_kernels();
	cudaStream_t stream = new_stream();
	float *state = device_floats(SIZE, 0);
	static struct progress progress;

	CHECK(cudaDeviceSynchronize());
	for (int i = 0; i < STEPS; i++) {
		prepare();
		step(state, &progress, stream);
#ifndef FIXED
		wait_until_ready(&progress);
#endif
	}
	wait_until_ready(&progress);
	print_device("state", state, SIZE);
	return 0;
}
