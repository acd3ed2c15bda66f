// SPDX-License-Identifier: Apache-2.0
// Clean: a producer stream and a consumer stream, tied by events from a small pool. Events are
// recorded anew long before the program ends: a wait covers what was recorded when it was
// called, so an event may be used again as soon as the wait on it has been submitted. The
// consumer's events keep the producer from overwriting a slot that is still being read.
// Whoever takes an event for its last record only sees fences here that are not missing.
#include "app.h"

static const int ROUNDS = 24, SLOTS = 3, POOL = 4;
static const size_t SLOT_SIZE = 1 << 14, SLOT_BYTES = SLOT_SIZE * sizeof(float);

struct pool {
	cudaEvent_t event[POOL];
	int next;
};

/* Lets what is submitted to later from now on wait for what was submitted to earlier. */
static NOINLINE void order_after(struct pool *pool, cudaStream_t later, cudaStream_t earlier)
{
	cudaEvent_t event = pool->event[pool->next++ % POOL];

	CHECK(cudaEventRecord(event, earlier));
	CHECK(cudaStreamWaitEvent(later, event, 0));
}

static NOINLINE void produce(float *slot, cudaStream_t stream)
{
	cufence::touch<<<4, 256, 0, stream>>>(MILLISECOND, slot, SLOT_SIZE);
	CHECK(cudaGetLastError());
}

static NOINLINE void consume(const float *slot, float *sum, cudaStream_t stream)
{
	cufence::accumulate<<<4, 256, 0, stream>>>(MILLISECOND / 2, slot, sum, SLOT_SIZE);
	CHECK(cudaGetLastError());
}

static void run_rounds(float *slots, float *sum, cudaStream_t producer, cudaStream_t consumer)
{
	cudaEvent_t read[SLOTS];
	struct pool pool = {};

	for (int i = 0; i < POOL; i++)
		CHECK(cudaEventCreateWithFlags(&pool.event[i], cudaEventDisableTiming));
	for (int i = 0; i < SLOTS; i++)
		CHECK(cudaEventCreateWithFlags(&read[i], cudaEventDisableTiming));
	for (int i = 0; i < ROUNDS; i++) {
		float *slot = slots + i % SLOTS * SLOT_SIZE;

		if (i >= SLOTS)
			CHECK(cudaStreamWaitEvent(producer, read[i % SLOTS], 0));
		produce(slot, producer);
		order_after(&pool, consumer, producer);
		consume(slot, sum, consumer);
		CHECK(cudaEventRecord(read[i % SLOTS], consumer));
	}
	CHECK(cudaStreamSynchronize(consumer));
	for (int i = 0; i < POOL; i++)
		CHECK(cudaEventDestroy(pool.event[i]));
	for (int i = 0; i < SLOTS; i++)
		CHECK(cudaEventDestroy(read[i]));
}

int main()
{
	static float host[SLOT_SIZE];
	cudaStream_t producer, consumer;
	float *slots, *sum;

	CHECK(cudaMalloc(&slots, SLOTS * SLOT_BYTES));
	CHECK(cudaMalloc(&sum, SLOT_BYTES));
	CHECK(cudaMemset(slots, 0, SLOTS * SLOT_BYTES));
	CHECK(cudaMemset(sum, 0, SLOT_BYTES));
	CHECK(cudaDeviceSynchronize());
	CHECK(cudaStreamCreateWithFlags(&producer, cudaStreamNonBlocking));
	CHECK(cudaStreamCreateWithFlags(&consumer, cudaStreamNonBlocking));

	run_rounds(slots, sum, producer, consumer);

	CHECK(cudaMemcpy(host, sum, SLOT_BYTES, cudaMemcpyDeviceToHost));
	printf("%d rounds: %.6f\n", ROUNDS, checksum(host, SLOT_SIZE));
	CHECK(cudaStreamDestroy(producer));
	CHECK(cudaStreamDestroy(consumer));
	CHECK(cudaFree(slots));
	CHECK(cudaFree(sum));
	return 0;
}
