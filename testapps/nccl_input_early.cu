// SPDX-License-Identifier: Apache-2.0
// Each step's activations are gathered from all ranks in a stream for communication. The next step
// overwrites them in its own stream while the collective may still read them: it only waits for the
// copy that it needs itself.
// The fix lets the next step wait for the collective.
#include "app.h"
#include "nccl_calls.h"

static const int STEPS = 10;
static const size_t SIZE = 1 << 14;

static NOINLINE void compute(float *activations, cudaStream_t stream)
{
	cufence::fill<<<8, 256, 0, stream>>>(MILLISECOND / 8, activations, SIZE, 3);
	CHECK(cudaGetLastError());
}

static NOINLINE void gather(const float *activations, float *all, ncclComm_t comm,
	cudaStream_t stream)
{
	if (ncclGroupStart() ||
		ncclAllGather(activations, all, SIZE, ncclFloat32, comm, stream) || ncclGroupEnd())
		exit(1);
}

int main()
{
	load_kernels();
	cudaStream_t stream = new_stream(), communication = new_stream();
	cudaEvent_t computed = new_event(), gathered = new_event();
	float *activations = device_floats(SIZE, 0), *all = device_floats(SIZE, 0);
	ncclUniqueId id;
	ncclComm_t comm;

	if (ncclGetUniqueId(&id) || ncclCommInitRank(&comm, 1, id, 0))
		return 1;
	for (int i = 0; i < STEPS; i++) {
#ifdef FIXED
		if (i)
			CHECK(cudaStreamWaitEvent(stream, gathered, 0));
#endif
		compute(activations, stream);
		CHECK(cudaEventRecord(computed, stream));
		CHECK(cudaStreamWaitEvent(communication, computed, 0));
		gather(activations, all, comm, communication);
		CHECK(cudaEventRecord(gathered, communication));
	}
	CHECK(cudaDeviceSynchronize());
	ncclCommDestroy(comm);
	print_device("all", all, SIZE);
	return 0;
}
