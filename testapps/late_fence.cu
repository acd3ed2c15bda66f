// SPDX-License-Identifier: Apache-2.0
// The fence is there, but on the wrong side of what it should protect: the reduction is submitted
// to the communication stream first, and the stream's wait for the gradients second. A wait holds
// only what is submitted after it.
// The fix swaps the two lines.
#include "app.h"

static const int BUCKETS = 10;
static const size_t BUCKET_SIZE = 1 << 14, SIZE = BUCKETS * BUCKET_SIZE;

static NOINLINE void compute_gradients(float *bucket, cudaStream_t stream)
{
	cufence::spin<<<1, 1, 0, stream>>>(MILLISECOND / 2);
	CHECK(cudaGetLastError());
	cufence::fill<<<8, 256, 0, stream>>>(MILLISECOND / 4, bucket, BUCKET_SIZE, 5);
	CHECK(cudaGetLastError());
}

static NOINLINE void reduce(const float *bucket, float *total, cudaStream_t stream)
{
	cufence::accumulate<<<8, 256, 0, stream>>>(MILLISECOND / 4, bucket, total, BUCKET_SIZE);
	CHECK(cudaGetLastError());
}

static void run(float *buckets, float *totals, cudaStream_t computing, cudaStream_t communicating)
{
	cudaEvent_t ready[BUCKETS];

	for (int i = 0; i < BUCKETS; i++) {
		ready[i] = new_event();
		compute_gradients(buckets + i * BUCKET_SIZE, computing);
		CHECK(cudaEventRecord(ready[i], computing));
#ifdef FIXED
		CHECK(cudaStreamWaitEvent(communicating, ready[i], 0));
		reduce(buckets + i * BUCKET_SIZE, totals + i * BUCKET_SIZE, communicating);
#else
		reduce(buckets + i * BUCKET_SIZE, totals + i * BUCKET_SIZE, communicating);
		CHECK(cudaStreamWaitEvent(communicating, ready[i], 0));
#endif
	}
}

int main()
{
	load_kernels();
	cudaStream_t computing = new_stream(), communicating = new_stream();
	float *buckets = device_floats(SIZE, 0), *totals = device_floats(SIZE, 0);

	CHECK(cudaDeviceSynchronize());
	run(buckets, totals, computing, communicating);
	print_device("totals", totals, SIZE);
	return 0;
}
