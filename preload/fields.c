/* SPDX-License-Identifier: Apache-2.0 */
#include "fields.h"

#include <stddef.h>
#include <string.h>

#include "image_hash.h"
#include "resolve.h"
#include "shim.h"

#define WORDS_OF(type) (sizeof(type) / sizeof(uint64_t))

/* One operand of a copy. */
struct side {
	CUmemorytype type;
	const void *host;
	CUdeviceptr device;
	CUarray array;
	uint64_t x, y, z;       /* x in bytes */
	uint64_t pitch, height; /* 0: array */
};

#define SIDE_2D(c, end) \
	((struct side){ .type = (c)->end##MemoryType, \
		.host = (c)->end##Host, \
		.device = (c)->end##Device, \
		.array = (c)->end##Array, \
		.x = (c)->end##XInBytes, \
		.y = (c)->end##Y, \
		.pitch = (c)->end##Pitch })
#define SIDE_3D(c, end) \
	((struct side){ .type = (c)->end##MemoryType, \
		.host = (c)->end##Host, \
		.device = (c)->end##Device, \
		.array = (c)->end##Array, \
		.x = (c)->end##XInBytes, \
		.y = (c)->end##Y, \
		.z = (c)->end##Z, \
		.pitch = (c)->end##Pitch, \
		.height = (c)->end##Height })

static int is_array(const struct side *side)
{
	return side->type == CU_MEMORYTYPE_ARRAY;
}

static uint64_t first_byte(const struct side *side)
{
	uint64_t base = side->type == CU_MEMORYTYPE_HOST ? (uint64_t)(uintptr_t)side->host
							 : (uint64_t)side->device;

	if (is_array(side))
		return 0;
	return base + (side->z * side->height + side->y) * side->pitch + side->x;
}

static uint64_t direction(const struct side *dst, const struct side *src)
{
	int from_host = src->type == CU_MEMORYTYPE_HOST, to_host = dst->type == CU_MEMORYTYPE_HOST;

	if (src->type == CU_MEMORYTYPE_UNIFIED || dst->type == CU_MEMORYTYPE_UNIFIED)
		return COPY_DEFAULT;
	if (from_host)
		return to_host ? COPY_H2H : COPY_H2D;
	return to_host ? COPY_D2H : COPY_D2D;
}

static uint64_t side_field(const struct side *dst, const struct side *src, enum field_kind field)
{
	switch (field) {
	case FIELD_dst:
		return first_byte(dst);
	case FIELD_src:
		return first_byte(src);
	case FIELD_direction:
		return direction(dst, src);
	case FIELD_dst_pitch:
		return is_array(dst) ? 0 : dst->pitch;
	case FIELD_src_pitch:
		return is_array(src) ? 0 : src->pitch;
	case FIELD_dst_height:
		return is_array(dst) ? 0 : dst->height;
	case FIELD_src_height:
		return is_array(src) ? 0 : src->height;
	case FIELD_dst_array:
		return is_array(dst) ? (uint64_t)(uintptr_t)dst->array : 0;
	case FIELD_src_array:
		return is_array(src) ? (uint64_t)(uintptr_t)src->array : 0;
	case FIELD_dst_position:
		return is_array(dst) ? CALL_GRID(dst->x, dst->y, dst->z) : 0;
	case FIELD_src_position:
		return is_array(src) ? CALL_GRID(src->x, src->y, src->z) : 0;
	default:
		return 0;
	}
}

uint64_t copy_2d(const CUDA_MEMCPY2D *copy, enum field_kind field)
{
	if (!copy)
		return 0;
	switch (field) {
	case FIELD_bytes:
		return copy->WidthInBytes * copy->Height;
	case FIELD_width:
		return copy->WidthInBytes;
	case FIELD_height:
		return copy->Height;
	default:
		return side_field(&SIDE_2D(copy, dst), &SIDE_2D(copy, src), field);
	}
}

uint64_t copy_3d(const CUDA_MEMCPY3D *copy, enum field_kind field)
{
	if (!copy)
		return 0;
	switch (field) {
	case FIELD_bytes:
		return copy->WidthInBytes * copy->Height * copy->Depth;
	case FIELD_width:
		return copy->WidthInBytes;
	case FIELD_height:
		return copy->Height;
	case FIELD_depth:
		return copy->Depth;
	default:
		return side_field(&SIDE_3D(copy, dst), &SIDE_3D(copy, src), field);
	}
}

/* "Value type for this attribute is int" for those of reuse, "cuuint64_t" for the others. */
const uint64_t *pool_value(CUmemPool_attribute attribute, const void *value, uint64_t *own)
{
	if (!value)
		return NULL;
	if (attribute < CU_MEMPOOL_ATTR_RELEASE_THRESHOLD)
		*own = *(const cuuint32_t *)value;
	else
		memcpy(own, value, sizeof(*own));
	return own;
}

uint64_t set_node(const CUDA_MEMSET_NODE_PARAMS *node, enum field_kind field)
{
	uint64_t width;

	if (!node)
		return 0;
	width = (uint64_t)node->width * node->elementSize;
	switch (field) {
	case FIELD_dst:
		return node->dst;
	case FIELD_value:
		return node->value;
	case FIELD_bytes:
		return width * node->height;
	case FIELD_dst_pitch:
		return node->pitch;
	case FIELD_width:
		return width;
	case FIELD_height:
		return node->height;
	default:
		return 0;
	}
}

static uint64_t kernel_field(const CUDA_KERNEL_NODE_PARAMS_v3 *kernel, enum field_kind field)
{
	switch (field) {
	case FIELD_function:
		return kernel->func ? (uint64_t)(uintptr_t)kernel->func
				    : (uint64_t)(uintptr_t)kernel->kern;
	case FIELD_grid:
		return CALL_GRID(kernel->gridDimX, kernel->gridDimY, kernel->gridDimZ);
	case FIELD_block:
		return CALL_BLOCK(kernel->blockDimX, kernel->blockDimY, kernel->blockDimZ,
			kernel->sharedMemBytes);
	default:
		return 0;
	}
}

/* Assumption of calls.def's PEER_3D(). */
_Static_assert(sizeof(CUDA_MEMCPY3D) == sizeof(CUDA_MEMCPY3D_PEER) &&
		offsetof(CUDA_MEMCPY3D, srcPitch) == offsetof(CUDA_MEMCPY3D_PEER, srcPitch) &&
		offsetof(CUDA_MEMCPY3D, dstDevice) == offsetof(CUDA_MEMCPY3D_PEER, dstDevice) &&
		offsetof(CUDA_MEMCPY3D, Depth) == offsetof(CUDA_MEMCPY3D_PEER, Depth),
	"peer copies");

/* The layout of batch operations described in trace/calls.h. */
_Static_assert(sizeof(CUDA_MEMCPY3D_BATCH_OP) == 8 * BATCH_OP_WORDS &&
		offsetof(CUDA_MEMCPY3D_BATCH_OP, src) == 8 * BATCH_OP_SRC &&
		offsetof(CUDA_MEMCPY3D_BATCH_OP, dst) == 8 * BATCH_OP_DST &&
		offsetof(CUDA_MEMCPY3D_BATCH_OP, extent) == 8 * BATCH_OP_EXTENT &&
		offsetof(CUmemcpy3DOperand, op.ptr.ptr) == 8 &&
		offsetof(CUmemcpy3DOperand, op.ptr.rowLength) == 16 &&
		offsetof(CUmemcpy3DOperand, op.ptr.layerHeight) == 24 &&
		(int)CU_MEMCPY_OPERAND_TYPE_POINTER == BATCH_OPERAND_POINTER,
	"copies of a batch");

/* Both memset structures begin with the same members. */
_Static_assert(offsetof(CUDA_MEMSET_NODE_PARAMS_v2, height) ==
		offsetof(CUDA_MEMSET_NODE_PARAMS, height),
	"memset nodes");

/* Fields that are a single member of their structure. */
static uint64_t single_field(const CUgraphNodeParams *node, enum field_kind field)
{
	switch ((int)node->type << 8 | (int)field) {
	case CU_GRAPH_NODE_TYPE_HOST << 8 | FIELD_callback:
		return (uint64_t)(uintptr_t)node->host.fn;
	case CU_GRAPH_NODE_TYPE_HOST << 8 | FIELD_handle:
		return (uint64_t)(uintptr_t)node->host.userData;
	case CU_GRAPH_NODE_TYPE_GRAPH << 8 | FIELD_handle:
		return (uint64_t)(uintptr_t)node->graph.graph;
	case CU_GRAPH_NODE_TYPE_GRAPH << 8 | FIELD_value:
		return older_ownership(&node->graph);
	case CU_GRAPH_NODE_TYPE_WAIT_EVENT << 8 | FIELD_event:
		return (uint64_t)(uintptr_t)node->eventWait.event;
	case CU_GRAPH_NODE_TYPE_EVENT_RECORD << 8 | FIELD_event:
		return (uint64_t)(uintptr_t)node->eventRecord.event;
	case CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL << 8 | FIELD_more:
		return node->extSemSignal.numExtSems;
	case CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT << 8 | FIELD_more:
		return node->extSemWait.numExtSems;
	case CU_GRAPH_NODE_TYPE_MEM_ALLOC << 8 | FIELD_ptr:
		return node->alloc.dptr;
	case CU_GRAPH_NODE_TYPE_MEM_ALLOC << 8 | FIELD_bytes:
		return node->alloc.bytesize;
	case CU_GRAPH_NODE_TYPE_MEM_FREE << 8 | FIELD_ptr:
		return node->free.dptr;
	case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP << 8 | FIELD_more:
		return node->memOp.count * WORDS_OF(CUstreamBatchMemOpParams);
	case CU_GRAPH_NODE_TYPE_CONDITIONAL << 8 | FIELD_handle:
		return node->conditional.handle;
	case CU_GRAPH_NODE_TYPE_CONDITIONAL << 8 | FIELD_value:
		return node->conditional.type;
	case CU_GRAPH_NODE_TYPE_CONDITIONAL << 8 | FIELD_more:
		return node->conditional.size;
	default:
		return 0;
	}
}

uint64_t node_field(const CUgraphNodeParams *node, enum field_kind field)
{
	if (!node)
		return 0;
	if (field == FIELD_type)
		return node->type;
	switch (node->type) {
	case CU_GRAPH_NODE_TYPE_KERNEL:
		return kernel_field(&node->kernel, field);
	case CU_GRAPH_NODE_TYPE_MEMCPY:
		return copy_3d(&node->memcpy.copyParams, field);
	case CU_GRAPH_NODE_TYPE_MEMSET:
		return set_node((const CUDA_MEMSET_NODE_PARAMS *)(const void *)&node->memset,
			field);
	default:
		return single_field(node, field);
	}
}

void **node_values(const CUgraphNodeParams *node)
{
	return node && node->type == CU_GRAPH_NODE_TYPE_KERNEL ? node->kernel.kernelParams : NULL;
}

void **node_extra(const CUgraphNodeParams *node)
{
	return node && node->type == CU_GRAPH_NODE_TYPE_KERNEL ? node->kernel.extra : NULL;
}

const void *node_list(const CUgraphNodeParams *node)
{
	switch (node ? node->type : CU_GRAPH_NODE_TYPE_EMPTY) {
	case CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL:
		return node->extSemSignal.extSemArray;
	case CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT:
		return node->extSemWait.extSemArray;
	case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP:
		return node->memOp.paramArray;
	case CU_GRAPH_NODE_TYPE_CONDITIONAL:
		return node->conditional.phGraph_out;
	default:
		return NULL;
	}
}

uint64_t resource_ptr(const CUDA_RESOURCE_DESC *resource)
{
	if (resource && resource->resType == CU_RESOURCE_TYPE_LINEAR)
		return resource->res.linear.devPtr;
	if (resource && resource->resType == CU_RESOURCE_TYPE_PITCH2D)
		return resource->res.pitch2D.devPtr;
	return 0;
}

uint64_t resource_bytes(const CUDA_RESOURCE_DESC *resource)
{
	if (resource && resource->resType == CU_RESOURCE_TYPE_LINEAR)
		return resource->res.linear.sizeInBytes;
	if (resource && resource->resType == CU_RESOURCE_TYPE_PITCH2D)
		return resource->res.pitch2D.pitchInBytes * resource->res.pitch2D.height;
	return 0;
}

uint64_t resource_array(const CUDA_RESOURCE_DESC *resource)
{
	if (resource && resource->resType == CU_RESOURCE_TYPE_ARRAY)
		return (uint64_t)(uintptr_t)resource->res.array.hArray;
	if (resource && resource->resType == CU_RESOURCE_TYPE_MIPMAPPED_ARRAY)
		return (uint64_t)(uintptr_t)resource->res.mipmap.hMipmappedArray;
	return 0;
}

uint64_t file_page(const void *address)
{
	return module_file_page((uintptr_t)address);
}

uint64_t name_hash(const char *name)
{
	return name ? image_hash(name, strlen(name)) : 0;
}

const size_t *variable_bytes(enum call_id call, const size_t *bytes, const void *of,
	const char *name, size_t *own)
{
	CUresult (*ask)(CUdeviceptr *, size_t *, const void *, const char *);

	if (bytes)
		return bytes;
	*(void **)&ask = driver_real(call, VARIANT_LEGACY);
	return ask && ask(NULL, own, of, name) == CUDA_SUCCESS ? own : NULL;
}
