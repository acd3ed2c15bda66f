// SPDX-License-Identifier: Apache-2.0
// Calls of the stand-in for NCCL (testapps/nccl), which is reached by dlopen() and dlsym() as from
// Python, or, with the argument "linked", by the program's own symbols. Prints what they return.
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "kernels.h"
#include "nccl_calls.h"

static const size_t SIZE = 1 << 12;
static void *library;

template <typename Function> static Function *reached(Function *linked, const char *name)
{
	return library ? (Function *)dlsym(library, name) : linked;
}
#define REACHED(name) reached(name, #name)

static int failed(const char *what, int result)
{
	printf("%s %d\n", what, result);
	return result != 0;
}
#define CALL(name, ...) failed(#name, REACHED(name)(__VA_ARGS__))

// Communicators: of one process, in a group, parts of another one, and one that was destroyed.
static int make(ncclComm_t comms[4])
{
	ncclUniqueId id;
	int bad = CALL(ncclGetUniqueId, &id) | CALL(ncclGroupStart) |
		CALL(ncclCommInitRank, &comms[0], 4, id, 2) |
		CALL(ncclCommInitRank, &comms[1], 4, id, 3) | CALL(ncclGroupEnd) |
		CALL(ncclCommSplit, comms[0], 1, 0, &comms[2], NULL);

	comms[3] = NULL;
	return bad | CALL(ncclCommSplit, comms[0], -1, 0, &comms[3], NULL) | (comms[3] != NULL);
}

static int communicate(ncclComm_t comm, ncclComm_t part, float *a, float *b, cudaStream_t one,
	cudaStream_t two)
{
	return CALL(ncclAllReduce, a, b, SIZE, ncclFloat32, ncclMax, comm, one) |
		CALL(ncclBcast, a, SIZE, ncclFloat32, 2, comm, one) |
		CALL(ncclReduce, a, b, SIZE, ncclFloat32, ncclSum, 0, comm, one) |
		CALL(ncclReduceScatter, a, b, SIZE / 4, ncclFloat32, ncclSum, comm, one) |
		CALL(ncclAllGather, a, b, SIZE / 4, ncclFloat32, comm, one) |
		CALL(ncclGroupStart) | CALL(ncclGroupStart) |
		CALL(ncclSend, a, SIZE, ncclFloat32, 3, comm, one) |
		CALL(ncclRecv, b, SIZE, ncclInt32, 1, comm, one) | CALL(ncclGroupEnd) |
		CALL(ncclAllReduce, a, a, 8, ncclFloat32, ncclSum, part, two) | CALL(ncclGroupEnd);
}

static int capture(ncclComm_t comm, float *a, float *b, cudaStream_t stream)
{
	cudaGraph_t graph;
	cudaGraphExec_t exec;
	int bad = cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);

	bad |= CALL(ncclAllReduce, a, b, SIZE, ncclFloat32, ncclSum, comm, stream);
	bad |= cudaStreamEndCapture(stream, &graph) | cudaGraphInstantiate(&exec, graph, 0);
	for (int i = 0; i < 3; i++)
		bad |= cudaGraphLaunch(exec, stream);
	return bad;
}

int main(int argc, char **argv)
{
	cudaStream_t one, two;
	ncclComm_t comms[4];
	float *a, *b;

	if (argc < 2 || strcmp(argv[1], "linked"))
		library = dlopen("libnccl.so.2", RTLD_NOW | RTLD_LOCAL);
	if (cudaStreamCreateWithFlags(&one, cudaStreamNonBlocking) ||
		cudaStreamCreateWithFlags(&two, cudaStreamNonBlocking) ||
		cudaMalloc(&a, SIZE * sizeof(float)) || cudaMalloc(&b, SIZE * sizeof(float)))
		return 1;
	int bad = make(comms) | communicate(comms[0], comms[2], a, b, one, two) |
		capture(comms[0], a, b, one);

	bad |= cudaDeviceSynchronize() | CALL(ncclCommDestroy, comms[2]);
	// Not one of the communicator's: its number is not taken.
	bad |= REACHED(ncclGroupEnd)() == ncclSuccess;
	cufence::spin<<<1, 1, 0, one>>>(1000);
	bad |= cudaDeviceSynchronize() |
		CALL(ncclAllReduce, a, b, SIZE, ncclFloat32, ncclSum, comms[0], one) |
		cudaDeviceSynchronize();
	return bad;
}
