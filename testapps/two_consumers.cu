// SPDX-License-Identifier: Apache-2.0
// Clean: one event, two consumers. A producer's event is waited for by two streams, which both read
// what it wrote, at the same time, and write to memory of their own. An event is not used up by a
// wait, and it is recorded anew while the waits of the round before are still pending.
// The producer waits for both readers before it writes again.
#include "app.h"

static const int ROUNDS = 10, READERS = 2;
static const size_t SIZE = 1 << 14;

static NOINLINE void produce(float *data, int number, cudaStream_t stream)
{
	cufence::fill<<<4, 256, 0, stream>>>(MILLISECOND, data, SIZE, (float)number);
	CHECK(cudaGetLastError());
}

static NOINLINE void consume(const float *data, float *sum, cudaStream_t stream)
{
	cufence::accumulate<<<4, 256, 0, stream>>>(MILLISECOND, data, sum, SIZE);
	CHECK(cudaGetLastError());
}

int main()
{
	load_kernels();
	cudaStream_t producing = new_stream(), reading[READERS];
	cudaEvent_t produced = new_event(), read[READERS];
	float *data = device_floats(SIZE, 0), *sum[READERS];

	for (int i = 0; i < READERS; i++) {
		reading[i] = new_stream();
		read[i] = new_event();
		sum[i] = device_floats(SIZE, 0);
	}
	CHECK(cudaDeviceSynchronize());
	for (int round = 0; round < ROUNDS; round++) {
		produce(data, round, producing);
		CHECK(cudaEventRecord(produced, producing));
		for (int i = 0; i < READERS; i++) {
			CHECK(cudaStreamWaitEvent(reading[i], produced, 0));
			consume(data, sum[i], reading[i]);
			CHECK(cudaEventRecord(read[i], reading[i]));
			CHECK(cudaStreamWaitEvent(producing, read[i], 0));
		}
	}
	for (int i = 0; i < READERS; i++)
		print_device("sum", sum[i], SIZE);
	return 0;
}
