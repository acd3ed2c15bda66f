// SPDX-License-Identifier: Apache-2.0
// Every slot has an event, but the consumer waits for that of the next slot, which was never
// recorded: such a wait is no error, it does nothing. The program looks fenced, runs without an
// error, and reads slots before they are written.
// The fix waits for the slot's own event.
#include "app.h"

static const int SLOTS = 10;
static const size_t SLOT_SIZE = 1 << 14, SIZE = SLOTS * SLOT_SIZE;

static NOINLINE void produce(float *slot, cudaStream_t stream)
{
	cufence::spin<<<1, 1, 0, stream>>>(MILLISECOND / 2);
	CHECK(cudaGetLastError());
	cufence::fill<<<8, 256, 0, stream>>>(MILLISECOND / 4, slot, SLOT_SIZE, 3);
	CHECK(cudaGetLastError());
}

static NOINLINE void consume(const float *slot, float *sum, cudaStream_t stream)
{
	cufence::accumulate<<<8, 256, 0, stream>>>(MILLISECOND / 4, slot, sum, SLOT_SIZE);
	CHECK(cudaGetLastError());
}

static void run(float *slots, float *sums, cudaStream_t producer, cudaStream_t consumer)
{
	cudaEvent_t produced[SLOTS + 1];

	for (int i = 0; i <= SLOTS; i++)
		produced[i] = new_event();
	for (int i = 0; i < SLOTS; i++) {
		produce(slots + i * SLOT_SIZE, producer);
		CHECK(cudaEventRecord(produced[i], producer));
#ifdef FIXED
		CHECK(cudaStreamWaitEvent(consumer, produced[i], 0));
#else
		CHECK(cudaStreamWaitEvent(consumer, produced[i + 1], 0));
#endif
		consume(slots + i * SLOT_SIZE, sums + i * SLOT_SIZE, consumer);
	}
}

int main()
{
	load_kernels();
	cudaStream_t producer = new_stream(), consumer = new_stream();
	float *slots = device_floats(SIZE, 0), *sums = device_floats(SIZE, 0);

	CHECK(cudaDeviceSynchronize());
	run(slots, sums, producer, consumer);
	print_device("sums", sums, SIZE);
	return 0;
}
