// SPDX-License-Identifier: Apache-2.0
// Clean: before a buffer is filled its stream waits for the event of the buffer's last reader, in
// the first round, too, when there has been no reader and the event was never recorded. Such a
// wait does nothing, and nothing is what is needed: it hides no missing fence.
// It spares the loop a special case, and is common.
#include "app.h"

static const int ROUNDS = 12, BUFFERS = 2;
static const size_t SIZE = 1 << 14;

static NOINLINE void produce(float *buffer, int number, cudaStream_t stream)
{
	cufence::fill<<<4, 256, 0, stream>>>(MILLISECOND, buffer, SIZE, (float)number);
	CHECK(cudaGetLastError());
}

static NOINLINE void consume(const float *buffer, float *sum, cudaStream_t stream)
{
	cufence::accumulate<<<4, 256, 0, stream>>>(MILLISECOND, buffer, sum, SIZE);
	CHECK(cudaGetLastError());
}

int main()
{
	load_kernels();
	cudaStream_t producing = new_stream(), consuming = new_stream();
	float *sum = device_floats(SIZE, 0), *buffer[BUFFERS];
	cudaEvent_t filled[BUFFERS], read[BUFFERS];

	for (int i = 0; i < BUFFERS; i++) {
		buffer[i] = device_floats(SIZE, 0);
		filled[i] = new_event();
		read[i] = new_event();
	}
	CHECK(cudaDeviceSynchronize());
	for (int round = 0; round < ROUNDS; round++) {
		int i = round % BUFFERS;

		CHECK(cudaStreamWaitEvent(producing, read[i], 0));
		produce(buffer[i], round, producing);
		CHECK(cudaEventRecord(filled[i], producing));
		CHECK(cudaStreamWaitEvent(consuming, filled[i], 0));
		consume(buffer[i], sum, consuming);
		CHECK(cudaEventRecord(read[i], consuming));
	}
	print_device("sum", sum, SIZE);
	return 0;
}
