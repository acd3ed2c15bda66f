/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory allocated by graphs.  The address is fixed when the node is created, so that every launch
 * uses the same; launches change whether it is allocated.
 */
#include <string.h>

#include "cuda_calls.h"
#include "cuda_graph.h"

CUresult graph_memory_new(int ordinal, size_t bytes, CUdeviceptr *ptr)
{
	struct device *device = device_get(ordinal);

	if (!device || !bytes || !ptr)
		return CUDA_ERROR_INVALID_VALUE;
	*ptr = memory_reserve(device, PLACE_DEVICE, bytes);
	if (!*ptr)
		return CUDA_ERROR_OUT_OF_MEMORY;
	memory_exact(*ptr)->graph = true;
	return CUDA_SUCCESS;
}

CUresult graph_memory_capture(struct stream *stream, size_t bytes, CUdeviceptr *ptr)
{
	struct work work = { .params = { .type = CU_GRAPH_NODE_TYPE_MEM_ALLOC } };
	CUresult result;

	result = graph_memory_new(stream->context->device->ordinal, bytes, ptr);
	if (result)
		return result;
	work.params.alloc = (CUDA_MEM_ALLOC_NODE_PARAMS_v2){ .bytesize = bytes, .dptr = *ptr };
	work.params.alloc.poolProps = pool_default(stream->context->device)->props;
	return capture_add(stream, &work);
}

static struct memory *node_memory(const struct work *work)
{
	return memory_exact(work->params.type == CU_GRAPH_NODE_TYPE_MEM_ALLOC
			? work->params.alloc.dptr
			: work->params.free.dptr);
}

CUresult graph_memory_check(const struct work *work, struct context *context)
{
	struct memory *memory = node_memory(work);

	return memory && (memory->graph || memory->pool) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* The allocation state follows the order of submission, where errors are reported. */
struct op *graph_memory_op(const struct work *work, struct stream *stream)
{
	struct memory *memory = node_memory(work);
	struct op *op = op_new(OP_MARKER, stream, 0);

	if (memory && memory->graph) {
		memory->live = work->params.type == CU_GRAPH_NODE_TYPE_MEM_ALLOC;
	} else if (memory && memory->pool) {
		op->references++;
		memory_release_async(memory, op, stream);
	}
	return op;
}

CUresult graph_memory_free(struct memory *memory)
{
	if (!memory->live)
		return CUDA_ERROR_INVALID_VALUE;
	memory->live = false;
	return CUDA_SUCCESS;
}

CUresult graph_launch_memory(struct exec *exec)
{
	for (const struct node *node = exec->graph->nodes; node; node = node->next) {
		struct memory *memory;

		if (node->work.params.type != CU_GRAPH_NODE_TYPE_MEM_ALLOC)
			continue;
		memory = node_memory(&node->work);
		if (!memory || !memory->live)
			continue;
		if (!(exec->flags & CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH))
			return CUDA_ERROR_INVALID_VALUE;
		memory->live = false;
	}
	return CUDA_SUCCESS;
}

CUresult do_cuDeviceGraphMemTrim(CUdevice device)
{
	return device_get(device) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

CUresult do_cuDeviceGetGraphMemAttribute(CUdevice device, CUgraphMem_attribute attribute,
	void *value)
{
	if (!device_get(device))
		return CUDA_ERROR_INVALID_DEVICE;
	if (!value || (unsigned int)attribute > CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH)
		return CUDA_ERROR_INVALID_VALUE;
	memset(value, 0, sizeof(cuuint64_t));
	return CUDA_SUCCESS;
}

CUresult do_cuDeviceSetGraphMemAttribute(CUdevice device, CUgraphMem_attribute attribute,
	void *value)
{
	if (!device_get(device))
		return CUDA_ERROR_INVALID_DEVICE;
	return value ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
