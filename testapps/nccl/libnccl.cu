// SPDX-License-Identifier: Apache-2.0
// Stands for NCCL, with a kernel of a name like NCCL's, which takes as long as a collective of
// ranks that all come at once: 200 us, or NCCL_TEST_NS. It gets its buffers encoded, as NCCL's
// kernels read theirs from memory: nothing but the call says what it reads and writes. It copies
// what is there of its own rank; other ranks there are none.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nccl_calls.h"

static const uint64_t CODE = 0x5a5a5a5a5a5a5a5a;
static const int MOST = 64;

struct ncclComm {
	int ranks, rank, device;
};

struct Work {
	const void *from;
	void *to;
	size_t bytes;
	cudaStream_t stream;
	int device;
};

static thread_local Work group[MOST];
static thread_local int groups, grouped;

__device__ static unsigned long long now()
{
	unsigned long long ns;

	asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns));
	return ns;
}

__global__ void ncclDevKernel_Generic_4(unsigned long long spin_ns, uint64_t from,
	uint64_t to, uint64_t bytes)
{
	unsigned long long start = now();
	const char *source = (const char *)(from ^ CODE);
	char *target = (char *)(to ^ CODE);

	if (source != target)
		for (size_t i = threadIdx.x; i < bytes; i += blockDim.x)
			target[i] = source[i];
	while (now() - start < spin_ns)
		;
}

static ncclResult_t submit(const Work &work)
{
	const char *text = getenv("NCCL_TEST_NS");
	unsigned long long ns = text ? strtoull(text, NULL, 10) : 200 * 1000;
	uint64_t from = (uint64_t)work.from ^ CODE, to = (uint64_t)work.to ^ CODE;
	uint64_t bytes = work.from && work.to ? work.bytes : 0;
	void *arguments[] = { &ns, &from, &to, &bytes };

	return cudaLaunchKernel((const void *)ncclDevKernel_Generic_4, dim3(1), dim3(256),
		       arguments, 0, work.stream) == cudaSuccess
		? ncclSuccess
		: ncclInvalidArgument;
}

// A group has one kernel for each stream.
static ncclResult_t enqueue(const void *from, void *to, size_t bytes, ncclComm_t comm,
	cudaStream_t stream)
{
	Work work = { from, to, bytes, stream, comm->device };

	if (!groups)
		return submit(work);
	if (grouped == MOST)
		return ncclInvalidArgument;
	group[grouped++] = work;
	return ncclSuccess;
}

extern "C" {

ncclResult_t ncclGetUniqueId(ncclUniqueId *id)
{
	// The same in each run, as all else is on the simulated device.
	static int made;

	memset(id, 0, sizeof(*id));
	snprintf(id->internal, sizeof(id->internal), "%d", ++made);
	return ncclSuccess;
}

static ncclComm_t make(int ranks, int rank)
{
	ncclComm_t comm = new ncclComm{ ranks, rank, 0 };

	cudaGetDevice(&comm->device);
	return comm;
}

ncclResult_t ncclCommInitRank(ncclComm_t *comm, int ranks, ncclUniqueId id, int rank)
{
	*comm = make(ranks, rank);
	return ncclSuccess;
}

ncclResult_t ncclCommInitAll(ncclComm_t *comm, int count, const int *devices)
{
	for (int i = 0; i < count; i++)
		comm[i] = make(count, i);
	return ncclSuccess;
}

ncclResult_t ncclCommSplit(ncclComm_t comm, int color, int key, ncclComm_t *part, void *config)
{
	*part = color < 0 ? NULL : make(comm->ranks / 2, comm->rank / 2);
	return ncclSuccess;
}

ncclResult_t ncclCommDestroy(ncclComm_t comm)
{
	delete comm;
	return ncclSuccess;
}

ncclResult_t ncclCommCount(const ncclComm_t comm, int *count)
{
	*count = comm->ranks;
	return ncclSuccess;
}

ncclResult_t ncclCommUserRank(const ncclComm_t comm, int *rank)
{
	*rank = comm->rank;
	return ncclSuccess;
}

ncclResult_t ncclCommCuDevice(const ncclComm_t comm, int *device)
{
	*device = comm->device;
	return ncclSuccess;
}

ncclResult_t ncclGroupStart()
{
	groups++;
	return ncclSuccess;
}

ncclResult_t ncclGroupEnd()
{
	if (!groups)
		return ncclInvalidArgument;
	if (--groups)
		return ncclSuccess;
	for (int i = 0; i < grouped; i++) {
		int seen = 0;

		for (int j = 0; j < i; j++)
			seen |= group[j].stream == group[i].stream;
		if (!seen && submit(group[i]))
			return ncclInvalidArgument;
	}
	grouped = 0;
	return ncclSuccess;
}

ncclResult_t ncclAllReduce(const void *from, void *to, size_t count, ncclDataType_t type,
	ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream)
{
	return enqueue(from, to, count * 4, comm, stream);
}

ncclResult_t ncclAllGather(const void *from, void *to, size_t count, ncclDataType_t type,
	ncclComm_t comm, cudaStream_t stream)
{
	return enqueue(from, (char *)to + comm->rank * count * 4, count * 4, comm, stream);
}

ncclResult_t ncclReduceScatter(const void *from, void *to, size_t count, ncclDataType_t type,
	ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream)
{
	return enqueue((const char *)from + comm->rank * count * 4, to, count * 4, comm, stream);
}

ncclResult_t ncclBroadcast(const void *from, void *to, size_t count, ncclDataType_t type, int root,
	ncclComm_t comm, cudaStream_t stream)
{
	return enqueue(from, to, count * 4, comm, stream);
}

// As NCCL's own: through the exported function.
ncclResult_t ncclBcast(void *buffer, size_t count, ncclDataType_t type, int root, ncclComm_t comm,
	cudaStream_t stream)
{
	return ncclBroadcast(buffer, buffer, count, type, root, comm, stream);
}

ncclResult_t ncclReduce(const void *from, void *to, size_t count, ncclDataType_t type,
	ncclRedOp_t op, int root, ncclComm_t comm, cudaStream_t stream)
{
	return enqueue(from, comm->rank == root ? to : NULL, count * 4, comm, stream);
}

ncclResult_t ncclSend(const void *from, size_t count, ncclDataType_t type, int peer,
	ncclComm_t comm, cudaStream_t stream)
{
	return enqueue(from, NULL, count * 4, comm, stream);
}

ncclResult_t ncclRecv(void *to, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
	cudaStream_t stream)
{
	return enqueue(NULL, to, count * 4, comm, stream);
}
}
