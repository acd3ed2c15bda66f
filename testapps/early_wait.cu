// SPDX-License-Identifier: Apache-2.0
// The consumer waits for the event before the producer records it. A wait stands for the last
// record before it, so the consumer waits for the previous slot; the first wait does nothing.
// The fix waits after the record.
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
	cudaEvent_t produced = new_event();

	for (int i = 0; i < SLOTS; i++) {
#ifndef FIXED
		CHECK(cudaStreamWaitEvent(consumer, produced, 0));
#endif
		produce(slots + i * SLOT_SIZE, producer);
		CHECK(cudaEventRecord(produced, producer));
#ifdef FIXED
		CHECK(cudaStreamWaitEvent(consumer, produced, 0));
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
