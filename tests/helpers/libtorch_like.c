/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A library that names libnccl.so.2 as one that it needs, found by its run path and loaded with it
 * into the scope of one dlopen(), as PyTorch's libtorch_cuda.so.
 */
#include <stddef.h>
#include <string.h>

#include <cuda_runtime_api.h>

typedef struct {
	char internal[128];
} id_of_rank;

int ncclCommInitRank(void **comm, int ranks, id_of_rank id, int rank);
int ncclAllReduce(const void *from, void *to, size_t count, int type, int op, void *comm,
	cudaStream_t stream);
int ncclCommDestroy(void *comm);
int train(void);

/* Returns 3 if all is well. */
int train(void)
{
	id_of_rank id;
	void *comm, *data;
	int bad;

	memset(&id, 9, sizeof(id));
	bad = cudaMalloc(&data, 4096) || ncclCommInitRank(&comm, 2, id, 1);
	for (int i = 0; i < 3 && !bad; i++)
		bad = ncclAllReduce(data, data, 1024, 7, 0, comm, NULL);
	return bad || cudaDeviceSynchronize() || ncclCommDestroy(comm) ? 0 : 3;
}
