// SPDX-License-Identifier: Apache-2.0
// A step's temporary is reduced over all ranks in a stream for communication, and given back to the
// pool in the stream that allocated it, which does not wait for the collective: the next allocation
// may get the same memory while the collective still reads it.
// The fix frees it once the stream has waited for the collective.
#include "app.h"
#include "nccl_calls.h"

static const int STEPS = 10;
static const size_t SIZE = 1 << 14;

static NOINLINE float *make_temporary(cudaStream_t stream)
{
	float *temporary;

	CHECK(cudaMallocAsync(&temporary, SIZE * sizeof(float), stream));
	cufence::fill<<<8, 256, 0, stream>>>(MILLISECOND / 8, temporary, SIZE, 3);
	CHECK(cudaGetLastError());
	return temporary;
}

static NOINLINE void reduce(const float *temporary, float *sums, ncclComm_t comm,
	cudaStream_t stream)
{
	if (ncclAllReduce(temporary, sums, SIZE, ncclFloat32, ncclSum, comm, stream))
		exit(1);
}

static NOINLINE void free_temporary(float *temporary, cudaStream_t stream)
{
	CHECK(cudaFreeAsync(temporary, stream));
}

int main()
{
	load_kernels();
	cudaStream_t stream = new_stream(), communication = new_stream();
	cudaEvent_t computed = new_event(), reduced = new_event();
	float *sums = device_floats(SIZE, 0);
	ncclUniqueId id;
	ncclComm_t comm;

	if (ncclGetUniqueId(&id) || ncclCommInitRank(&comm, 1, id, 0))
		return 1;
	for (int i = 0; i < STEPS; i++) {
		float *temporary = make_temporary(stream);

		CHECK(cudaEventRecord(computed, stream));
		CHECK(cudaStreamWaitEvent(communication, computed, 0));
		reduce(temporary, sums, comm, communication);
		CHECK(cudaEventRecord(reduced, communication));
#ifdef FIXED
		CHECK(cudaStreamWaitEvent(stream, reduced, 0));
#endif
		free_temporary(temporary, stream);
	}
	CHECK(cudaDeviceSynchronize());
	ncclCommDestroy(comm);
	print_device("sums", sums, SIZE);
	return 0;
}
