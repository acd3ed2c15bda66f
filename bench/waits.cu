// SPDX-License-Identifier: Apache-2.0
// A program whose waits are known, for bench/waits:
//	waits SCHEDULE sync|free|copy MICROSECONDS COUNT THREADS GAP
// Each thread, with a stream of its own, launches a kernel of so many microseconds and enters a
// call that waits for it, COUNT times; half way it sleeps for GAP seconds.  Prints how many of the
// calls lasted at least nine tenths of that: a launch that lasts leaves nothing to wait for.
//	waits SCHEDULE clean COUNT
// COUNT calls with kernels of 10 microseconds in flight, none of which waits.  SCHEDULE is how
// threads wait: spin, yield or block.
#include <atomic>
#include <stdlib.h>
#include <string.h>
#include <thread>
#include <time.h>
#include <unistd.h>

#include "app.h"

static const unsigned long long MICROSECOND = 1000;
static const size_t SIZE = 1 << 10, BYTES = SIZE * sizeof(float);
static const int MAX_THREADS = 64, IN_FLIGHT = 32;

struct task {
	const char *how;
	unsigned long long length;
	int count, gap;
	pthread_barrier_t *barrier;
	std::atomic<int> *waited;
};

static unsigned long long now_ns()
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (unsigned long long)now.tv_sec * 1000000000 + (unsigned long long)now.tv_nsec;
}

static NOINLINE void wait_for_kernel(const char *how, float *host, float *data, float *freed,
	cudaStream_t stream)
{
	if (!strcmp(how, "sync"))
		CHECK(cudaStreamSynchronize(stream));
	else if (!strcmp(how, "free"))
		CHECK(cudaFree(freed));
	else
		CHECK(cudaMemcpyAsync(host, data, BYTES, cudaMemcpyDeviceToHost, stream));
}

static void run_task(const struct task *task)
{
	start_together(task->barrier);
	cudaStream_t stream = new_stream();
	float *data = device_floats(SIZE, 0), *host = (float *)calloc(1, BYTES), *freed = NULL;

	/* The first launch in a stream lasts as long as its kernel. */
	cufence::touch<<<1, 256, 0, stream>>>(MICROSECOND, data, SIZE);
	CHECK(cudaDeviceSynchronize());
	pthread_barrier_wait(task->barrier);
	for (int i = 0; i < task->count; i++) {
		unsigned long long start;

		if (task->gap && i == task->count / 2)
			sleep((unsigned)task->gap);
		if (!strcmp(task->how, "free"))
			CHECK(cudaMalloc(&freed, BYTES));
		cufence::touch<<<1, 256, 0, stream>>>(task->length, data, SIZE);
		CHECK(cudaGetLastError());
		start = now_ns();
		wait_for_kernel(task->how, host, data, freed, stream);
		*task->waited += now_ns() - start >= task->length * 9 / 10;
	}
	pthread_barrier_wait(task->barrier);
	free(host);
}

static void run_tasks(const struct task *task, int threads)
{
	std::thread thread[MAX_THREADS];

	for (int i = 0; i < threads; i++)
		thread[i] = std::thread(run_task, task);
	for (int i = 0; i < threads; i++)
		thread[i].join();
}

/* Never more in flight than the launch queue holds, and never a wait: the host asks. */
static void run_clean(int calls)
{
	cudaStream_t stream[2] = { new_stream(), new_stream() };
	cudaEvent_t done[IN_FLIGHT];
	float *data[2] = { device_floats(SIZE, 0), device_floats(SIZE, 0) };
	float *host = pinned_floats(SIZE), *scratch;

	for (int i = 0; i < IN_FLIGHT; i++)
		done[i] = new_event();
	CHECK(cudaDeviceSynchronize());
	for (int i = 0; i < calls / 8; i++) {
		cudaStream_t s = stream[i % 2];
		cudaEvent_t event = done[i % IN_FLIGHT];

		while (i >= IN_FLIGHT && cudaEventQuery(event) == cudaErrorNotReady)
			;
		cudaGetLastError(); /* "not ready" is no error */
		CHECK(cudaMallocAsync(&scratch, BYTES, s));
		cufence::touch<<<1, 256, 0, s>>>(10 * MICROSECOND, scratch, SIZE);
		cufence::touch<<<1, 256, 0, s>>>(10 * MICROSECOND, data[i % 2], SIZE);
		CHECK(cudaGetLastError());
		CHECK(cudaMemcpyAsync(host, data[i % 2], BYTES, cudaMemcpyDeviceToHost, s));
		CHECK(cudaMemsetAsync(data[i % 2], 0, BYTES, s));
		CHECK(cudaFreeAsync(scratch, s));
		CHECK(cudaEventRecord(event, s));
		CHECK(cudaStreamWaitEvent(stream[1 - i % 2], event, 0));
	}
	CHECK(cudaDeviceSynchronize());
}

int main(int argc, char **argv)
{
	unsigned flags = cudaDeviceScheduleSpin;
	pthread_barrier_t barrier;

	if (argc != 4 && argc != 7) {
		fprintf(stderr, "usage: waits spin|yield|block sync|free|copy MICROSECONDS COUNT "
			"THREADS GAP\n       waits spin|yield|block clean COUNT\n");
		return 2;
	}
	if (!strcmp(argv[1], "yield"))
		flags = cudaDeviceScheduleYield;
	else if (!strcmp(argv[1], "block"))
		flags = cudaDeviceScheduleBlockingSync;
	CHECK(cudaSetDeviceFlags(flags));
	load_kernels();
	if (argc == 4) {
		run_clean(atoi(argv[3]));
		return 0;
	}
	std::atomic<int> waited(0);
	struct task task = { argv[2], (unsigned)atoi(argv[3]) * MICROSECOND, atoi(argv[4]),
		atoi(argv[6]), &barrier, &waited };
	int threads = atoi(argv[5]);

	pthread_barrier_init(&barrier, NULL, (unsigned)threads);
	run_tasks(&task, threads < MAX_THREADS ? threads : MAX_THREADS);
	printf("waited %d\n", waited.load());
	return 0;
}
