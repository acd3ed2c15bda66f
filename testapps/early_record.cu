// SPDX-License-Identifier: Apache-2.0
// The event is recorded before the producer is launched, where the slot is chosen. An event
// stands for what was submitted before its record, so the consumer waits for everything but the
// one kernel that it needs.
// The fix records the event after the launch.
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
#ifdef FIXED
		produce(slots + i * SLOT_SIZE, producer);
		CHECK(cudaEventRecord(produced, producer));
#else
		CHECK(cudaEventRecord(produced, producer));
		produce(slots + i * SLOT_SIZE, producer);
#endif
		CHECK(cudaStreamWaitEvent(consumer, produced, 0));
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
