/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls whose records contain more than their arguments, on libevery.c, with numbers that the test
 * recognizes: copies of rows and slices, graph nodes with dependencies, batches, launch attributes,
 * arrays that end at the end of a mapping.
 */
#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

static void *library;

#define CALL(name, ...) \
	do { \
		__typeof__(&name) call_; \
		*(void **)&call_ = dlsym(library, #name); \
		if (!call_) \
			exit(1); \
		call_(__VA_ARGS__); \
	} while (0)
#define HANDLE(type, number) ((type)(uintptr_t)(number))

static void copies(void)
{
	CUDA_MEMCPY2D plane = { .srcXInBytes = 3,
		.srcY = 2,
		.srcMemoryType = CU_MEMORYTYPE_HOST,
		.srcHost = (void *)0x10000,
		.srcPitch = 0x100,
		.dstXInBytes = 5,
		.dstY = 4,
		.dstMemoryType = CU_MEMORYTYPE_DEVICE,
		.dstDevice = 0x200000,
		.dstPitch = 0x80,
		.WidthInBytes = 0x40,
		.Height = 8 };
	CUDA_MEMCPY3D box = { .srcZ = 1,
		.srcMemoryType = CU_MEMORYTYPE_DEVICE,
		.srcDevice = 0x300000,
		.srcPitch = 0x100,
		.srcHeight = 16,
		.dstXInBytes = 7,
		.dstY = 6,
		.dstZ = 5,
		.dstMemoryType = CU_MEMORYTYPE_ARRAY,
		.dstArray = HANDLE(CUarray, 0xa1),
		.WidthInBytes = 0x20,
		.Height = 4,
		.Depth = 2 };

	CALL(cuMemcpy2D_v2, &plane);
	CALL(cuMemcpy3DAsync_v2, &box, HANDLE(CUstream, 0x51));
	CALL(cuMemsetD2D32_v2, 0x200000, 0x100, 7, 16, 3);
}

static void batches(void)
{
	CUdeviceptr dst[] = { 0xd1, 0xd2 }, src[] = { 0x51, 0x52 };
	size_t bytes[] = { 0xb1, 0xb2 }, first[] = { 0 };
	CUmemcpyAttributes attributes[] = { { .srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM,
		.flags = 9 } };

	CALL(cuMemcpyBatchAsync_v2, dst, src, bytes, 2, attributes, first, 1,
		HANDLE(CUstream, 0x51));
}

static void nodes(void)
{
	const CUgraphNode from[] = { HANDLE(CUgraphNode, 0xf1), HANDLE(CUgraphNode, 0xf2) };
	const CUgraphNode to[] = { HANDLE(CUgraphNode, 0x71), HANDLE(CUgraphNode, 0x72) };
	CUgraphEdgeData edge[2] = { { .from_port = 1, .to_port = 2, .type = 1 } };
	CUgraph body[2] = { HANDLE(CUgraph, 0xb1), HANDLE(CUgraph, 0xb2) };
	CUgraphNodeParams set = { .type = CU_GRAPH_NODE_TYPE_MEMSET,
		.memset = { .dst = 0x200000,
			.value = 3,
			.elementSize = 4,
			.width = 5,
			.height = 6,
			.pitch = 0x40 } };
	CUgraphNodeParams either = { .type = CU_GRAPH_NODE_TYPE_CONDITIONAL,
		.conditional = { .handle = 0xc1,
			.type = CU_GRAPH_COND_TYPE_IF,
			.size = 2,
			.phGraph_out = body } };
	CUgraphNode node = HANDLE(CUgraphNode, 0x91);

	CALL(cuGraphAddNode_v2, &node, HANDLE(CUgraph, 0x61), from, edge, 2, &set);
	CALL(cuGraphAddNode_v2, &node, HANDLE(CUgraph, 0x61), from, NULL, 1, &either);
	CALL(cuGraphAddDependencies, HANDLE(CUgraph, 0x61), from, to, 2);
}

static void launch(void)
{
	CUlaunchAttribute attribute[] = {
		{ .id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION,
			.value.programmaticStreamSerializationAllowed = 1 },
		{ .id = CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT,
			.value.launchCompletionEvent.event = HANDLE(CUevent, 0xe1) },
	};
	CUlaunchConfig config = { .gridDimX = 2,
		.gridDimY = 1,
		.gridDimZ = 1,
		.blockDimX = 32,
		.blockDimY = 1,
		.blockDimZ = 1,
		.hStream = HANDLE(CUstream, 0x51),
		.attrs = attribute,
		.numAttrs = 2 };

	CALL(cuLaunchKernelEx, &config, HANDLE(CUfunction, 0x81), NULL, NULL);
	config.numAttrs = 0;
	CALL(cuLaunchKernelEx, &config, HANDLE(CUfunction, 0x81), NULL, NULL);
}

/* As many as count says, and not one word more: the next page is unmapped. */
static void long_list(void)
{
	size_t page = 65536, count = page / sizeof(CUgraphNode);
	char *at = mmap(NULL, 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (at == MAP_FAILED || mprotect(at, page, PROT_READ | PROT_WRITE))
		exit(1);
	CALL(cuGraphAddDependencies, HANDLE(CUgraph, 0x62), (CUgraphNode *)(void *)at,
		(CUgraphNode *)(void *)at, count);
	CALL(cuGraphAddDependencies, HANDLE(CUgraph, 0x63), (CUgraphNode *)(void *)at + count - 1,
		(CUgraphNode *)(void *)at + count - 1, 1);
}

/* A page of a file, found in the list of mappings; not so for the last calls. */
static void registrations(void)
{
	void *shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	for (int i = 0; i < 70; i++)
		CALL(cuMemHostRegister_v2, shared, 4096, 0);
}

int main(void)
{
	library = dlopen("libcuda.so.1", RTLD_NOW);
	if (!library)
		return 1;
	copies();
	batches();
	nodes();
	launch();
	long_list();
	registrations();
	return 0;
}
