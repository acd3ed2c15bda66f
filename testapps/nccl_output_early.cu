// SPDX-License-Identifier: Apache-2.0
// Gradients are reduced over all ranks in a stream for communication, and the update reads them
// in another one. Nothing says that it comes after the reduction: ncclAllReduce returns once its
// kernel is submitted.
// The fix lets the update's stream wait for the reduction.
#include "app.h"
#include "nccl_calls.h"

static const int STEPS = 10;
static const size_t SIZE = 1 << 14;

static NOINLINE void compute_gradients(float *gradients, cudaStream_t stream)
{
	cufence::fill<<<8, 256, 0, stream>>>(MILLISECOND / 4, gradients, SIZE, 3);
	CHECK(cudaGetLastError());
}

static NOINLINE void reduce(float *gradients, ncclComm_t comm, cudaStream_t stream)
{
	if (ncclAllReduce(gradients, gradients, SIZE, ncclFloat32, ncclSum, comm, stream))
		exit(1);
}

static NOINLINE void update(const float *gradients, float *weights, cudaStream_t stream)
{
	cufence::accumulate<<<8, 256, 0, stream>>>(MILLISECOND / 4, gradients, weights, SIZE);
	CHECK(cudaGetLastError());
}

int main()
{
	load_kernels();
	cudaStream_t compute = new_stream(), communication = new_stream();
	cudaEvent_t computed = new_event(), reduced = new_event();
	float *gradients = device_floats(SIZE, 0), *weights = device_floats(SIZE, 0);
	ncclUniqueId id;
	ncclComm_t comm;

	if (ncclGetUniqueId(&id) || ncclCommInitRank(&comm, 1, id, 0))
		return 1;
	for (int i = 0; i < STEPS; i++) {
		compute_gradients(gradients, compute);
		CHECK(cudaEventRecord(computed, compute));
		CHECK(cudaStreamWaitEvent(communication, computed, 0));
		reduce(gradients, comm, communication);
#ifdef FIXED
		CHECK(cudaEventRecord(reduced, communication));
		CHECK(cudaStreamWaitEvent(compute, reduced, 0));
#endif
		update(gradients, weights, compute);
#ifndef FIXED
		CHECK(cudaEventRecord(reduced, communication));
		CHECK(cudaStreamWaitEvent(compute, reduced, 0));
#endif
	}
	CHECK(cudaDeviceSynchronize());
	ncclCommDestroy(comm);
	print_device("weights", weights, SIZE);
	return 0;
}
