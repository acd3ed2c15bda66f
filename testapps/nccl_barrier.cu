// SPDX-License-Identifier: Apache-2.0
// Clean: ranks write the parts of a result to files of their own, and meet after each step by
// reducing one number that nobody reads. The wait for it is a barrier: it says that all ranks have
// come that far, which no record of memory shows.
#include "app.h"
#include "nccl_calls.h"

static const int STEPS = 40;
static const size_t SIZE = 1 << 14;

static NOINLINE void step(float *part, cudaStream_t stream)
{
	cufence::touch<<<4, 256, 0, stream>>>(MILLISECOND / 4, part, SIZE);
	CHECK(cudaGetLastError());
}

static NOINLINE void barrier(float *one, ncclComm_t comm, cudaStream_t stream)
{
	if (ncclAllReduce(one, one, 1, ncclFloat32, ncclSum, comm, stream))
		exit(1);
	CHECK(cudaStreamSynchronize(stream));
}

int main()
{
	load_kernels();
	cudaStream_t stream = new_stream(), communication = new_stream();
	float *part = device_floats(SIZE, 0), *one = device_floats(1, 0);
	ncclUniqueId id;
	ncclComm_t comm;

	if (ncclGetUniqueId(&id) || ncclCommInitRank(&comm, 1, id, 0))
		return 1;
	for (int i = 0; i < STEPS; i++) {
		step(part, stream);
		barrier(one, comm, communication);
	}
	CHECK(cudaStreamSynchronize(stream));
	ncclCommDestroy(comm);
	print_device("part", part, SIZE);
	return 0;
}
