// SPDX-License-Identifier: Apache-2.0
// One stream produces slots, another adds them up. Nothing says that a slot is read only after it
// was written: streams do not see that they use the same memory, and the hardware does not
// either. Mostly the consumer reads what was there before.
// The fix records an event after the producer, and the consumer's stream waits for it.
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
#ifdef FIXED
	cudaEvent_t produced = new_event();
#endif
	for (int i = 0; i < SLOTS; i++) {
		produce(slots + i * SLOT_SIZE, producer);
#ifdef FIXED
		CHECK(cudaEventRecord(produced, producer));
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
