// SPDX-License-Identifier: Apache-2.0
// A rank of a program that reduces gradients in each step, while the next batch is prepared: the
// host is ahead of the device. A launcher sets RANK and WORLD_SIZE; WAITS says which ranks wait for
// the device after the forward pass, though nothing needs that: "all", "none" or a number. The time
// in which the host prepares a batch, by PIECES copies, adds to theirs then, and the others wait in
// their collectives.
#include <string.h>

#include "app.h"
#include "nccl_calls.h"

static const int STEPS = 60, PIECES = 90, BUCKETS = 2;
static const size_t SIZE = 1 << 14;

static NOINLINE void prepare_batch(float *batch, const float *source, cudaStream_t stream)
{
	for (int i = 0; i < PIECES; i++)
		CHECK(cudaMemcpyAsync(batch + i * 64, source + i * 64, 64 * sizeof(float),
			cudaMemcpyHostToDevice, stream));
}

static NOINLINE void forward(float *activations, cudaStream_t stream)
{
	cufence::fill<<<8, 256, 0, stream>>>(MILLISECOND * 3 / 10, activations, SIZE, 3);
	CHECK(cudaGetLastError());
}

static NOINLINE void backward(float *gradients, cudaStream_t stream)
{
	cufence::touch<<<8, 256, 0, stream>>>(MILLISECOND / 10, gradients, SIZE);
	CHECK(cudaGetLastError());
}

static NOINLINE void wait_for_forward()
{
	CHECK(cudaDeviceSynchronize());
}

static NOINLINE int reduce(float *gradients, ncclComm_t comm, cudaStream_t stream)
{
	return ncclAllReduce(gradients, gradients, SIZE, ncclFloat32, ncclSum, comm, stream);
}

int main()
{
	const char *rank = getenv("RANK"), *world = getenv("WORLD_SIZE"), *waits = getenv("WAITS");
	cudaStream_t upload = new_stream(), compute = new_stream(), communicate = new_stream();
	cudaEvent_t uploaded = new_event(), ready = new_event(), reduced = new_event();
	float *activations = device_floats(SIZE, 0);
	float *batch[] = { device_floats(SIZE, 0), device_floats(SIZE, 0) };
	float *source = pinned_floats(SIZE), *gradients[BUCKETS];
	ncclUniqueId id;
	ncclComm_t comm;

	for (int i = 0; i < BUCKETS; i++)
		gradients[i] = device_floats(SIZE, 0);
	load_kernels();
	if (!rank || !world || !waits)
		return 1;
	// All ranks get the same one, from the first.
	memset(&id, 7, sizeof(id));
	if (ncclCommInitRank(&comm, atoi(world), id, atoi(rank)))
		return 1;
	for (int i = 0; i < STEPS; i++) {
		prepare_batch(batch[i % 2], source, upload);
		CHECK(cudaEventRecord(uploaded, upload));
		CHECK(cudaStreamWaitEvent(compute, uploaded, 0));
		forward(activations, compute);
		if (!strcmp(waits, "all") || !strcmp(waits, rank))
			wait_for_forward();
		for (int bucket = 0; bucket < BUCKETS; bucket++) {
			backward(gradients[bucket], compute);
			CHECK(cudaEventRecord(ready, compute));
			CHECK(cudaStreamWaitEvent(communicate, ready, 0));
			if (reduce(gradients[bucket], comm, communicate))
				return 1;
		}
		CHECK(cudaEventRecord(reduced, communicate));
		CHECK(cudaStreamWaitEvent(compute, reduced, 0));
	}
	CHECK(cudaDeviceSynchronize());
	ncclCommDestroy(comm);
	for (int i = 0; i < BUCKETS; i++)
		print_device("gradients", gradients[i], SIZE);
	return 0;
}
