// SPDX-License-Identifier: Apache-2.0
// The fence programs share this: a check, a delay and a checksum.
//
// hold(stream) makes that stream busy for about 20 ms when FENCES_HOLD is "1",
// and does nothing otherwise. It orders nothing: it is a kernel of one thread
// in that stream alone, and all the code is on the device before the first
// checked call, so that no launch waits for code to be loaded.
#pragma once
#include <cuda_runtime.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

__attribute__((constructor)) static void hold_load_eagerly(void)
{
	setenv("CUDA_MODULE_LOADING", "EAGER", 1);
}

static __global__ void hold_spin(unsigned long long ns)
{
	unsigned long long t0, t;
	asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t0));
	do {
		asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t));
	} while (t - t0 < ns);
}

// A lazy runtime loads here, at the latest, the code that EAGER loads at the program's start.
static inline void hold_load(void)
{
	static int loaded;
	cudaFuncAttributes attributes;
	if (loaded++ == 0)
		cudaFuncGetAttributes(&attributes, (const void *)hold_spin);
}

#define CHECK(call) \
	do { \
		hold_load(); \
		cudaError_t check_ = (call); \
		if (check_ != cudaSuccess) { \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, \
				cudaGetErrorString(check_)); \
			exit(2); \
		} \
	} while (0)

static inline int hold_wanted(void)
{
	const char *v = getenv("FENCES_HOLD");
	return v && !strcmp(v, "1");
}

static inline void hold(cudaStream_t stream)
{
	if (hold_wanted()) {
		hold_spin<<<1, 1, 0, stream>>>(20000000ull);
		CHECK(cudaGetLastError());
	}
}

// A node of a graph that is built by hand, which is busy for so long.
static inline void spin_node(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *deps,
	size_t n, unsigned long long ns)
{
	void *args[] = { &ns };
	cudaKernelNodeParams p = {};
	p.func = (void *)hold_spin;
	p.gridDim = dim3(1);
	p.blockDim = dim3(1);
	p.kernelParams = args;
	CHECK(cudaGraphAddKernelNode(node, graph, deps, n, &p));
}

// hold() as such a node (an empty node if not wanted).
static inline void hold_node(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *deps,
	size_t n)
{
	if (hold_wanted())
		spin_node(node, graph, deps, n, 20000000ull);
	else
		CHECK(cudaGraphAddEmptyNode(node, graph, deps, n));
}

// Prints a checksum of bytes of host memory.
static inline void report(const void *data, size_t bytes)
{
	const unsigned char *p = (const unsigned char *)data;
	unsigned long long h = 1469598103934665603ull;
	for (size_t i = 0; i < bytes; i++)
		h = (h ^ p[i]) * 1099511628211ull;
	printf("%016llx\n", h);
}
