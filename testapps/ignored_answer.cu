// SPDX-License-Identifier: Apache-2.0
// A consumer asks the event of a producer whether the buffer is full, counts the answer, and reads
// the buffer in any case. Where the producer was fast the answer is yes and all is well; where it
// is no the same line runs, and reads what is still being written.
// The fix waits for the event where the answer is no.
#include "app.h"

static const int ROUNDS = 8;
static const size_t SIZE = 1 << 14;

static NOINLINE void produce(float *buffer, int round, cudaStream_t stream)
{
	unsigned long long spin_ns = round % 4 == 3 ? 5 * MILLISECOND : MILLISECOND / 10;

	cufence::fill<<<4, 256, 0, stream>>>(spin_ns, buffer, SIZE, (float)round);
	CHECK(cudaGetLastError());
}

/* Meanwhile another stream finds out a number that the host needs. */
static NOINLINE float prepare(float *host, float *number, cudaStream_t stream)
{
	cufence::touch<<<1, 1, 0, stream>>>(MILLISECOND, number, 1);
	CHECK(cudaGetLastError());
	CHECK(cudaMemcpyAsync(host, number, sizeof(*host), cudaMemcpyDeviceToHost, stream));
	CHECK(cudaStreamSynchronize(stream));
	return *host;
}

static NOINLINE int is_full(cudaEvent_t full)
{
	cudaError_t state = cudaEventQuery(full);

	if (state != cudaErrorNotReady)
		CHECK(state);
	return state == cudaSuccess;
}

static NOINLINE void consume(const float *buffer, float *sum, cudaStream_t stream)
{
	cufence::accumulate<<<4, 256, 0, stream>>>(MILLISECOND / 10, buffer, sum, SIZE);
	CHECK(cudaGetLastError());
}

int main()
{
	load_kernels();
	cudaStream_t producing = new_stream(), consuming = new_stream(), preparing = new_stream();
	cudaEvent_t full = new_event(), consumed = new_event();
	float *buffer = device_floats(SIZE, 0), *sum = device_floats(SIZE, 0);
	float *host = pinned_floats(1), *number = device_floats(1, 0);
	double total = 0;
	int on_time = 0;

	CHECK(cudaDeviceSynchronize());
	for (int round = 0; round < ROUNDS; round++) {
		produce(buffer, round, producing);
		CHECK(cudaEventRecord(full, producing));
		total += prepare(host, number, preparing);
		if (is_full(full))
			on_time++;
#ifdef FIXED
		else
			CHECK(cudaEventSynchronize(full));
#endif
		consume(buffer, sum, consuming);
		CHECK(cudaEventRecord(consumed, consuming));
		CHECK(cudaStreamWaitEvent(producing, consumed, 0));
	}
	fprintf(stderr, "%d of %d on time\n", on_time, ROUNDS);
	printf("total: %.1f\n", total);
	print_device("sum", sum, SIZE);
	return 0;
}
