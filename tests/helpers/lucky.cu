/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lucky KIND [fixed]: programs whose order is luck in a plain run, as each step takes less time
 * than its successor lets pass.
 *
 * pool     a free buffer is one whose event says so; if there is none, the oldest one is taken
 * stream   a stream is asked whether it is idle, and what it wrote is used in any case
 * thread   a thread waits for the work, another one uses its result a while later
 */
#include <pthread.h>
#include <string.h>

#include "app.h"

static const int ROUNDS = 12, BUFFERS = 3;
static const size_t SIZE = 1 << 12;
static int fixed;

/* Meanwhile the device does something else. */
static void pass_time(cudaStream_t stream)
{
	cufence::spin<<<1, 1, 0, stream>>>(2 * MILLISECOND);
	CHECK(cudaGetLastError());
	CHECK(cudaStreamSynchronize(stream));
}

static int is_ready(cudaError_t state)
{
	if (state != cudaErrorNotReady)
		CHECK(state);
	return state == cudaSuccess;
}

static NOINLINE void write_buffer(float *buffer, cudaStream_t stream)
{
	cufence::touch<<<2, 256, 0, stream>>>(MILLISECOND / 20, buffer, SIZE);
	CHECK(cudaGetLastError());
}

static NOINLINE void read_buffer(const float *buffer, float *sum, cudaStream_t stream)
{
	cufence::accumulate<<<2, 256, 0, stream>>>(MILLISECOND / 20, buffer, sum, SIZE);
	CHECK(cudaGetLastError());
}

static void use_pool(float *const *buffer, const cudaStream_t *stream)
{
	cudaEvent_t done[BUFFERS];

	for (cudaEvent_t &event : done)
		event = new_event();
	for (int round = 0; round < ROUNDS; round++) {
		int oldest = round % BUFFERS, chosen = oldest;

		for (int i = 0; i < BUFFERS && !is_ready(cudaEventQuery(done[chosen])); i++)
			chosen = (chosen + 1) % BUFFERS;
		if (fixed)
			CHECK(cudaEventSynchronize(done[chosen]));
		write_buffer(buffer[chosen], stream[round % 2]);
		CHECK(cudaEventRecord(done[chosen], stream[round % 2]));
		pass_time(stream[2]);
	}
}

static void ask_stream(float *const *buffer, const cudaStream_t *stream)
{
	int idle = 0;

	for (int round = 0; round < ROUNDS; round++) {
		write_buffer(buffer[0], stream[0]);
		pass_time(stream[2]);
		if (is_ready(cudaStreamQuery(stream[0])))
			idle++;
		else if (fixed)
			CHECK(cudaStreamSynchronize(stream[0]));
		read_buffer(buffer[0], buffer[1], stream[1]);
		CHECK(cudaStreamSynchronize(stream[1]));
	}
	fprintf(stderr, "%d times idle\n", idle);
}

struct waiter {
	cudaEvent_t done;
	pthread_barrier_t *begun, *ended;
};

static void *wait_for_work(void *argument)
{
	struct waiter *waiter = (struct waiter *)argument;

	for (int round = 0; round < ROUNDS; round++) {
		pthread_barrier_wait(waiter->begun);
		CHECK(cudaEventSynchronize(waiter->done));
		pthread_barrier_wait(waiter->ended);
	}
	return NULL;
}

static void use_thread(float *const *buffer, const cudaStream_t *stream)
{
	pthread_barrier_t begun, ended;
	struct waiter waiter = { new_event(), &begun, &ended };
	pthread_t thread;

	pthread_barrier_init(&begun, NULL, 2);
	pthread_barrier_init(&ended, NULL, 2);
	pthread_create(&thread, NULL, wait_for_work, &waiter);
	for (int round = 0; round < ROUNDS; round++) {
		write_buffer(buffer[0], stream[0]);
		CHECK(cudaEventRecord(waiter.done, stream[0]));
		pthread_barrier_wait(&begun);
		if (fixed)
			pthread_barrier_wait(&ended);
		else
			pass_time(stream[2]);
		read_buffer(buffer[0], buffer[1], stream[1]);
		CHECK(cudaStreamSynchronize(stream[1]));
		if (!fixed)
			pthread_barrier_wait(&ended);
	}
	pthread_join(thread, NULL);
}

int main(int argc, char **argv)
{
	const char *kind = argc > 1 ? argv[1] : "";
	float *buffer[BUFFERS];

	fixed = argc > 2 && !strcmp(argv[2], "fixed");
	load_kernels();
	cudaStream_t stream[] = { new_stream(), new_stream(), new_stream() };
	for (float *&data : buffer)
		data = device_floats(SIZE, 0);
	CHECK(cudaDeviceSynchronize());
	if (!strcmp(kind, "pool"))
		use_pool(buffer, stream);
	else if (!strcmp(kind, "stream"))
		ask_stream(buffer, stream);
	else
		use_thread(buffer, stream);
	print_device("buffer", buffer[0], SIZE);
	return 0;
}
