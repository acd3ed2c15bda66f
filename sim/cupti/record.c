/* SPDX-License-Identifier: Apache-2.0 */
/* Activity records in NVIDIA's layouts. */
#include "cupti.h"

#include <string.h>
#include <unistd.h>

CUpti_ActivityKind simtool_kind(const struct sim_record *record)
{
	static const CUpti_ActivityKind kinds[] = {
		[SIM_NOTHING] = CUPTI_ACTIVITY_KIND_INVALID,
		[SIM_KERNEL] = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
		[SIM_COPY] = CUPTI_ACTIVITY_KIND_MEMCPY,
		[SIM_PEER] = CUPTI_ACTIVITY_KIND_MEMCPY2,
		[SIM_SET] = CUPTI_ACTIVITY_KIND_MEMSET,
		[SIM_LAZY_LOADING] = CUPTI_ACTIVITY_KIND_OVERHEAD,
		[SIM_QUEUE_FULL] = CUPTI_ACTIVITY_KIND_OVERHEAD,
		[SIM_GRAPH] = CUPTI_ACTIVITY_KIND_GRAPH_TRACE,
	};

	return kinds[record->kind];
}

size_t simtool_size(CUpti_ActivityKind kind)
{
	switch (kind) {
	case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
		return sizeof(CUpti_ActivityKernel10);
	case CUPTI_ACTIVITY_KIND_MEMCPY:
		return sizeof(CUpti_ActivityMemcpy6);
	case CUPTI_ACTIVITY_KIND_MEMCPY2:
		return sizeof(CUpti_ActivityMemcpyPtoP4);
	case CUPTI_ACTIVITY_KIND_MEMSET:
		return sizeof(CUpti_ActivityMemset4);
	case CUPTI_ACTIVITY_KIND_OVERHEAD:
		return sizeof(CUpti_ActivityOverhead3);
	case CUPTI_ACTIVITY_KIND_GRAPH_TRACE:
		return sizeof(CUpti_ActivityGraphTrace2);
	default:
		return 0;
	}
}

static void encode_kernel(const struct sim_record *r, CUpti_ActivityKernel10 *k)
{
	*k = (CUpti_ActivityKernel10){
		.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
		.registersPerThread = 32,
		.start = r->start,
		.end = r->end,
		.deviceId = r->device,
		.contextId = r->context,
		.streamId = r->stream,
		.gridX = (int32_t)r->grid[0],
		.gridY = (int32_t)r->grid[1],
		.gridZ = (int32_t)r->grid[2],
		.blockX = (int32_t)r->block[0],
		.blockY = (int32_t)r->block[1],
		.blockZ = (int32_t)r->block[2],
		.dynamicSharedMemory = (int32_t)r->shared,
		.correlationId = r->correlation,
		.gridId = r->correlation,
		.name = r->name,
		.graphId = r->graph,
		.graphNodeId = r->node,
	};
}

static void encode_copy(const struct sim_record *r, CUpti_ActivityMemcpy6 *m)
{
	*m = (CUpti_ActivityMemcpy6){
		.kind = CUPTI_ACTIVITY_KIND_MEMCPY,
		.copyKind = r->copy_kind,
		.srcKind = r->src_kind,
		.dstKind = r->dst_kind,
		.flags = r->async ? CUPTI_ACTIVITY_FLAG_MEMCPY_ASYNC : 0,
		.bytes = r->bytes,
		.start = r->start,
		.end = r->end,
		.deviceId = r->device,
		.contextId = r->context,
		.streamId = r->stream,
		.correlationId = r->correlation,
		.copyCount = 1,
		.graphId = r->graph,
		.graphNodeId = r->node,
	};
}

static void encode_peer(const struct sim_record *r, CUpti_ActivityMemcpyPtoP4 *m)
{
	*m = (CUpti_ActivityMemcpyPtoP4){
		.kind = CUPTI_ACTIVITY_KIND_MEMCPY2,
		.copyKind = r->copy_kind,
		.srcKind = r->src_kind,
		.dstKind = r->dst_kind,
		.flags = r->async ? CUPTI_ACTIVITY_FLAG_MEMCPY_ASYNC : 0,
		.bytes = r->bytes,
		.start = r->start,
		.end = r->end,
		.deviceId = r->device,
		.contextId = r->context,
		.streamId = r->stream,
		.srcDeviceId = r->src_device,
		.dstDeviceId = r->dst_device,
		.correlationId = r->correlation,
		.graphId = r->graph,
		.graphNodeId = r->node,
	};
}

static void encode_set(const struct sim_record *r, CUpti_ActivityMemset4 *m)
{
	*m = (CUpti_ActivityMemset4){
		.kind = CUPTI_ACTIVITY_KIND_MEMSET,
		.value = r->value,
		.bytes = r->bytes,
		.start = r->start,
		.end = r->end,
		.deviceId = r->device,
		.contextId = r->context,
		.streamId = r->stream,
		.correlationId = r->correlation,
		.flags = r->async ? CUPTI_ACTIVITY_FLAG_MEMSET_ASYNC : 0,
		.memoryKind = r->dst_kind,
		.graphId = r->graph,
		.graphNodeId = r->node,
	};
}

static void encode_overhead(const struct sim_record *r, CUpti_ActivityOverhead3 *o)
{
	*o = (CUpti_ActivityOverhead3){
		.kind = CUPTI_ACTIVITY_KIND_OVERHEAD,
		.overheadKind = r->kind == SIM_QUEUE_FULL
			? CUPTI_ACTIVITY_OVERHEAD_COMMAND_BUFFER_FULL
			: CUPTI_ACTIVITY_OVERHEAD_LAZY_FUNCTION_LOADING,
		.objectKind = CUPTI_ACTIVITY_OBJECT_THREAD,
		.objectId = { .pt = { (uint32_t)getpid(), r->thread } },
		.start = r->start,
		.end = r->end,
		.correlationId = r->correlation,
	};
}

static void encode_graph(const struct sim_record *r, CUpti_ActivityGraphTrace2 *g)
{
	*g = (CUpti_ActivityGraphTrace2){
		.kind = CUPTI_ACTIVITY_KIND_GRAPH_TRACE,
		.correlationId = r->correlation,
		.start = r->start,
		.end = r->end,
		.deviceId = r->device,
		.graphId = r->graph,
		.contextId = r->context,
		.streamId = r->stream,
		.endDeviceId = r->device,
		.endContextId = r->context,
	};
}

size_t simtool_encode(const struct sim_record *record, void *memory, size_t room)
{
	CUpti_ActivityKind kind = simtool_kind(record);
	size_t size = simtool_size(kind);

	if (room < size)
		return 0;
	if (kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL)
		encode_kernel(record, memory);
	else if (kind == CUPTI_ACTIVITY_KIND_MEMCPY)
		encode_copy(record, memory);
	else if (kind == CUPTI_ACTIVITY_KIND_MEMCPY2)
		encode_peer(record, memory);
	else if (kind == CUPTI_ACTIVITY_KIND_MEMSET)
		encode_set(record, memory);
	else if (kind == CUPTI_ACTIVITY_KIND_GRAPH_TRACE)
		encode_graph(record, memory);
	else
		encode_overhead(record, memory);
	return size;
}
