// SPDX-License-Identifier: Apache-2.0
// Clean: a thread polls the events of all pending work, as the event managers of TensorFlow and XLA
// do, and starts what depends on an event once that has said yes. It collects those that said yes,
// asks on while others say no, and only then starts the dependents, in another stream.
// A yes orders the host after the work, whatever other events say after it.
#include <atomic>
#include <mutex>
#include <thread>
#include <vector>

#include <unistd.h>

#include "app.h"

static const int STEPS = 12;
static const size_t STEP_SIZE = 1 << 14;

struct pending {
	cudaEvent_t done;
	float *result;
};

static std::mutex lock;
static std::vector<pending> waiting;
static std::atomic<int> used{ 0 };

static NOINLINE void start_step(float *result, int number, cudaStream_t stream)
{
	cufence::fill<<<4, 256, 0, stream>>>((number % 3 + 1) * MILLISECOND / 4, result, STEP_SIZE,
		(float)number);
	CHECK(cudaGetLastError());
}

static NOINLINE void start_dependent(const float *result, float *sum, cudaStream_t stream)
{
	cufence::accumulate<<<4, 256, 0, stream>>>(MILLISECOND / 4, result, sum, STEP_SIZE);
	CHECK(cudaGetLastError());
}

static NOINLINE int is_done(cudaEvent_t done)
{
	cudaError_t state = cudaEventQuery(done);

	if (state != cudaErrorNotReady)
		CHECK(state);
	return state == cudaSuccess;
}

static std::vector<pending> collect()
{
	std::lock_guard<std::mutex> guard(lock);
	std::vector<pending> ready, later;

	for (const pending &one : waiting)
		(is_done(one.done) ? ready : later).push_back(one);
	waiting = later;
	return ready;
}

static void manage(float *sum, cudaStream_t stream)
{
	while (used < STEPS) {
		for (const pending &one : collect()) {
			start_dependent(one.result, sum, stream);
			used++;
		}
		usleep(200);
	}
}

int main()
{
	load_kernels();
	cudaStream_t stream[] = { new_stream(), new_stream() }, dependents = new_stream();
	float *results = device_floats(STEPS * STEP_SIZE, 0), *sum = device_floats(STEP_SIZE, 0);

	CHECK(cudaDeviceSynchronize());
	std::thread manager(manage, sum, dependents);
	for (int i = 0; i < STEPS; i++) {
		pending one = { new_event(), results + i * STEP_SIZE };

		start_step(one.result, i, stream[i % 2]);
		CHECK(cudaEventRecord(one.done, stream[i % 2]));
		std::lock_guard<std::mutex> guard(lock);
		waiting.push_back(one);
	}
	manager.join();
	print_device("sum", sum, STEP_SIZE);
	return 0;
}
