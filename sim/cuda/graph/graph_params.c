/* SPDX-License-Identifier: Apache-2.0 */
/* Node parameters: reading and changing them, in a graph and in an executable graph. */
#include <string.h>

#include "cuda_calls.h"
#include "cuda_graph.h"

CUDA_KERNEL_NODE_PARAMS_v2 kernel_params_v2(const CUDA_KERNEL_NODE_PARAMS_v1 *p)
{
	return (CUDA_KERNEL_NODE_PARAMS_v2){
		.func = p->func,
		.gridDimX = p->gridDimX,
		.gridDimY = p->gridDimY,
		.gridDimZ = p->gridDimZ,
		.blockDimX = p->blockDimX,
		.blockDimY = p->blockDimY,
		.blockDimZ = p->blockDimZ,
		.sharedMemBytes = p->sharedMemBytes,
		.kernelParams = p->kernelParams,
		.extra = p->extra,
	};
}

CUDA_KERNEL_NODE_PARAMS_v3 kernel_params_v3(const CUDA_KERNEL_NODE_PARAMS_v2 *p)
{
	return (CUDA_KERNEL_NODE_PARAMS_v3){
		.func = p->func ? p->func : (CUfunction)p->kern,
		.gridDimX = p->gridDimX,
		.gridDimY = p->gridDimY,
		.gridDimZ = p->gridDimZ,
		.blockDimX = p->blockDimX,
		.blockDimY = p->blockDimY,
		.blockDimZ = p->blockDimZ,
		.sharedMemBytes = p->sharedMemBytes,
		.kernelParams = p->kernelParams,
		.extra = p->extra,
		.kern = p->kern,
		.ctx = p->ctx,
	};
}

CUDA_MEMSET_NODE_PARAMS_v2 memset_params_v2(const CUDA_MEMSET_NODE_PARAMS *p, CUcontext context)
{
	return (CUDA_MEMSET_NODE_PARAMS_v2){ p->dst, p->pitch, p->value, p->elementSize, p->width,
		p->height, context };
}

/* Returns the node if it has that type, else NULL. */
static struct node *typed(CUgraphNode handle, CUgraphNodeType type)
{
	struct node *node = node_get(handle);

	return node && node->work.params.type == type ? node : NULL;
}

/* Returns the node of an executable graph that was made from a node of its graph. */
static struct node *exec_node(CUgraphExec exec_handle, CUgraphNode handle)
{
	struct exec *exec = exec_get(exec_handle);
	struct node *node = node_get(handle);

	return exec && node ? graph_find(exec->graph, node->id) : NULL;
}

static CUresult set(struct node *node, CUgraphNodeParams params)
{
	struct context *context = context_current();
	struct work work = { .params = params };
	CUresult result;

	if (!node || node->work.params.type != params.type)
		return CUDA_ERROR_INVALID_VALUE;
	work.async = node->work.async;
	result = context ? work_check(&work, context) : CUDA_SUCCESS;
	return result ? result : node_set(node, &work);
}

#define SET(target, ...) return set(target, (CUgraphNodeParams){ __VA_ARGS__ })

CUresult do_cuGraphKernelNodeGetParams_v2(CUgraphNode handle, CUDA_KERNEL_NODE_PARAMS_v2 *p)
{
	struct node *node = typed(handle, CU_GRAPH_NODE_TYPE_KERNEL);
	const CUDA_KERNEL_NODE_PARAMS_v3 *k;

	if (!node || !p)
		return CUDA_ERROR_INVALID_VALUE;
	k = &node->work.params.kernel;
	*p = (CUDA_KERNEL_NODE_PARAMS_v2){
		.func = k->func,
		.gridDimX = k->gridDimX,
		.gridDimY = k->gridDimY,
		.gridDimZ = k->gridDimZ,
		.blockDimX = k->blockDimX,
		.blockDimY = k->blockDimY,
		.blockDimZ = k->blockDimZ,
		.sharedMemBytes = k->sharedMemBytes,
		.kernelParams = k->kernelParams,
		.extra = k->extra,
		.kern = k->kern,
		.ctx = k->ctx,
	};
	return CUDA_SUCCESS;
}

CUresult do_cuGraphKernelNodeGetParams(CUgraphNode handle, CUDA_KERNEL_NODE_PARAMS_v1 *p)
{
	CUDA_KERNEL_NODE_PARAMS_v2 wide;
	CUresult result = do_cuGraphKernelNodeGetParams_v2(handle, &wide);

	/* The first version is the beginning of the second. */
	if (!result)
		memcpy(p, &wide, sizeof(*p));
	return result;
}

CUresult do_cuGraphKernelNodeSetParams_v2(CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS_v2 *p)
{
	SET(node_get(node), .type = CU_GRAPH_NODE_TYPE_KERNEL, .kernel = kernel_params_v3(p));
}

CUresult do_cuGraphKernelNodeSetParams(CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS_v1 *p)
{
	CUDA_KERNEL_NODE_PARAMS_v2 wide = kernel_params_v2(p);

	return do_cuGraphKernelNodeSetParams_v2(node, &wide);
}

CUresult do_cuGraphExecKernelNodeSetParams_v2(CUgraphExec exec, CUgraphNode node,
	const CUDA_KERNEL_NODE_PARAMS_v2 *p)
{
	SET(exec_node(exec, node), .type = CU_GRAPH_NODE_TYPE_KERNEL,
		.kernel = kernel_params_v3(p));
}

CUresult do_cuGraphExecKernelNodeSetParams(CUgraphExec exec, CUgraphNode node,
	const CUDA_KERNEL_NODE_PARAMS_v1 *p)
{
	CUDA_KERNEL_NODE_PARAMS_v2 wide = kernel_params_v2(p);

	return do_cuGraphExecKernelNodeSetParams_v2(exec, node, &wide);
}

CUresult do_cuGraphMemcpyNodeGetParams(CUgraphNode handle, CUDA_MEMCPY3D *p)
{
	struct node *node = typed(handle, CU_GRAPH_NODE_TYPE_MEMCPY);

	if (!node || !p)
		return CUDA_ERROR_INVALID_VALUE;
	*p = node->work.params.memcpy.copyParams;
	return CUDA_SUCCESS;
}

CUresult do_cuGraphMemcpyNodeSetParams(CUgraphNode node, const CUDA_MEMCPY3D *p)
{
	SET(node_get(node), .type = CU_GRAPH_NODE_TYPE_MEMCPY, .memcpy = { .copyParams = *p });
}

CUresult do_cuGraphExecMemcpyNodeSetParams(CUgraphExec exec, CUgraphNode node,
	const CUDA_MEMCPY3D *p, CUcontext context)
{
	SET(exec_node(exec, node), .type = CU_GRAPH_NODE_TYPE_MEMCPY,
		.memcpy = { .copyCtx = context, .copyParams = *p });
}

CUresult do_cuGraphMemsetNodeGetParams(CUgraphNode handle, CUDA_MEMSET_NODE_PARAMS *p)
{
	struct node *node = typed(handle, CU_GRAPH_NODE_TYPE_MEMSET);
	const CUDA_MEMSET_NODE_PARAMS_v2 *m;

	if (!node || !p)
		return CUDA_ERROR_INVALID_VALUE;
	m = &node->work.params.memset;
	*p = (CUDA_MEMSET_NODE_PARAMS){ m->dst, m->pitch, m->value, m->elementSize, m->width,
		m->height };
	return CUDA_SUCCESS;
}

CUresult do_cuGraphMemsetNodeSetParams(CUgraphNode node, const CUDA_MEMSET_NODE_PARAMS *p)
{
	SET(node_get(node), .type = CU_GRAPH_NODE_TYPE_MEMSET, .memset = memset_params_v2(p, NULL));
}

CUresult do_cuGraphExecMemsetNodeSetParams(CUgraphExec exec, CUgraphNode node,
	const CUDA_MEMSET_NODE_PARAMS *p, CUcontext context)
{
	SET(exec_node(exec, node), .type = CU_GRAPH_NODE_TYPE_MEMSET,
		.memset = memset_params_v2(p, context));
}

CUresult do_cuGraphHostNodeGetParams(CUgraphNode handle, CUDA_HOST_NODE_PARAMS *p)
{
	struct node *node = typed(handle, CU_GRAPH_NODE_TYPE_HOST);

	if (!node || !p)
		return CUDA_ERROR_INVALID_VALUE;
	p->fn = node->work.params.host.fn;
	p->userData = node->work.params.host.userData;
	return CUDA_SUCCESS;
}

CUresult do_cuGraphHostNodeSetParams(CUgraphNode node, const CUDA_HOST_NODE_PARAMS *p)
{
	SET(node_get(node), .type = CU_GRAPH_NODE_TYPE_HOST, .host = { p->fn, p->userData });
}

CUresult do_cuGraphExecHostNodeSetParams(CUgraphExec exec, CUgraphNode node,
	const CUDA_HOST_NODE_PARAMS *p)
{
	SET(exec_node(exec, node), .type = CU_GRAPH_NODE_TYPE_HOST, .host = { p->fn, p->userData });
}

CUresult do_cuGraphChildGraphNodeGetGraph(CUgraphNode handle, CUgraph *graph)
{
	struct node *node = typed(handle, CU_GRAPH_NODE_TYPE_GRAPH);

	if (!node || !graph)
		return CUDA_ERROR_INVALID_VALUE;
	*graph = (CUgraph)node->child[0];
	return CUDA_SUCCESS;
}

CUresult do_cuGraphExecChildGraphNodeSetParams(CUgraphExec exec, CUgraphNode node, CUgraph child)
{
	if (!graph_get(child))
		return CUDA_ERROR_INVALID_VALUE;
	SET(exec_node(exec, node), .type = CU_GRAPH_NODE_TYPE_GRAPH, .graph = { .graph = child });
}

CUresult do_cuGraphEventRecordNodeGetEvent(CUgraphNode handle, CUevent *event)
{
	struct node *node = typed(handle, CU_GRAPH_NODE_TYPE_EVENT_RECORD);

	if (!node || !event)
		return CUDA_ERROR_INVALID_VALUE;
	*event = node->work.params.eventRecord.event;
	return CUDA_SUCCESS;
}

CUresult do_cuGraphEventRecordNodeSetEvent(CUgraphNode node, CUevent event)
{
	SET(node_get(node), .type = CU_GRAPH_NODE_TYPE_EVENT_RECORD, .eventRecord = { event });
}

CUresult do_cuGraphExecEventRecordNodeSetEvent(CUgraphExec exec, CUgraphNode node, CUevent event)
{
	SET(exec_node(exec, node), .type = CU_GRAPH_NODE_TYPE_EVENT_RECORD,
		.eventRecord = { event });
}

CUresult do_cuGraphEventWaitNodeGetEvent(CUgraphNode handle, CUevent *event)
{
	struct node *node = typed(handle, CU_GRAPH_NODE_TYPE_WAIT_EVENT);

	if (!node || !event)
		return CUDA_ERROR_INVALID_VALUE;
	*event = node->work.params.eventWait.event;
	return CUDA_SUCCESS;
}

CUresult do_cuGraphEventWaitNodeSetEvent(CUgraphNode node, CUevent event)
{
	SET(node_get(node), .type = CU_GRAPH_NODE_TYPE_WAIT_EVENT, .eventWait = { event });
}

CUresult do_cuGraphExecEventWaitNodeSetEvent(CUgraphExec exec, CUgraphNode node, CUevent event)
{
	SET(exec_node(exec, node), .type = CU_GRAPH_NODE_TYPE_WAIT_EVENT, .eventWait = { event });
}

CUresult do_cuGraphBatchMemOpNodeGetParams(CUgraphNode handle, CUDA_BATCH_MEM_OP_NODE_PARAMS *p)
{
	struct node *node = typed(handle, CU_GRAPH_NODE_TYPE_BATCH_MEM_OP);

	if (!node || !p)
		return CUDA_ERROR_INVALID_VALUE;
	*p = (CUDA_BATCH_MEM_OP_NODE_PARAMS){ node->work.params.memOp.ctx,
		node->work.params.memOp.count, node->work.params.memOp.paramArray,
		node->work.params.memOp.flags };
	return CUDA_SUCCESS;
}

CUresult do_cuGraphBatchMemOpNodeSetParams(CUgraphNode node, const CUDA_BATCH_MEM_OP_NODE_PARAMS *p)
{
	SET(node_get(node), .type = CU_GRAPH_NODE_TYPE_BATCH_MEM_OP,
		.memOp = { p->ctx, p->count, p->paramArray, p->flags });
}

CUresult do_cuGraphExecBatchMemOpNodeSetParams(CUgraphExec exec, CUgraphNode node,
	const CUDA_BATCH_MEM_OP_NODE_PARAMS *p)
{
	SET(exec_node(exec, node), .type = CU_GRAPH_NODE_TYPE_BATCH_MEM_OP,
		.memOp = { p->ctx, p->count, p->paramArray, p->flags });
}

CUresult do_cuGraphMemAllocNodeGetParams(CUgraphNode handle, CUDA_MEM_ALLOC_NODE_PARAMS *p)
{
	struct node *node = typed(handle, CU_GRAPH_NODE_TYPE_MEM_ALLOC);

	if (!node || !p)
		return CUDA_ERROR_INVALID_VALUE;
	*p = (CUDA_MEM_ALLOC_NODE_PARAMS){ .poolProps = node->work.params.alloc.poolProps,
		.bytesize = node->work.params.alloc.bytesize,
		.dptr = node->work.params.alloc.dptr };
	return CUDA_SUCCESS;
}

CUresult do_cuGraphMemFreeNodeGetParams(CUgraphNode handle, CUdeviceptr *ptr)
{
	struct node *node = typed(handle, CU_GRAPH_NODE_TYPE_MEM_FREE);

	if (!node || !ptr)
		return CUDA_ERROR_INVALID_VALUE;
	*ptr = node->work.params.free.dptr;
	return CUDA_SUCCESS;
}

/* "Any pointers returned in nodeParams point to driver-owned memory" (CUDA 13.2). */
CUresult do_cuGraphNodeGetParams(CUgraphNode handle, CUgraphNodeParams *p)
{
	struct node *node = node_get(handle);

	if (!node || !p)
		return CUDA_ERROR_INVALID_VALUE;
	*p = node->work.params;
	return CUDA_SUCCESS;
}

static CUresult set_any(struct node *node, const CUgraphNodeParams *p)
{
	CUgraphNodeParams params;

	if (!p || p->type == CU_GRAPH_NODE_TYPE_CONDITIONAL ||
		p->type == CU_GRAPH_NODE_TYPE_MEM_ALLOC || p->type == CU_GRAPH_NODE_TYPE_MEM_FREE)
		return CUDA_ERROR_INVALID_VALUE;
	params = *p;
	if (p->type == CU_GRAPH_NODE_TYPE_KERNEL && !p->kernel.func)
		params.kernel.func = (CUfunction)p->kernel.kern;
	return set(node, params);
}

CUresult do_cuGraphNodeSetParams(CUgraphNode node, CUgraphNodeParams *p)
{
	return set_any(node_get(node), p);
}

CUresult do_cuGraphExecNodeSetParams(CUgraphExec exec, CUgraphNode node, CUgraphNodeParams *p)
{
	return set_any(exec_node(exec, node), p);
}

/* Only these node types can be disabled. */
static bool can_disable(const struct node *node)
{
	CUgraphNodeType type = node->work.params.type;

	return type == CU_GRAPH_NODE_TYPE_KERNEL || type == CU_GRAPH_NODE_TYPE_MEMCPY ||
		type == CU_GRAPH_NODE_TYPE_MEMSET;
}

CUresult do_cuGraphNodeSetEnabled(CUgraphExec exec, CUgraphNode handle, unsigned int enabled)
{
	struct node *node = exec_node(exec, handle);

	if (!node || !can_disable(node))
		return CUDA_ERROR_INVALID_VALUE;
	node->disabled = !enabled;
	return CUDA_SUCCESS;
}

CUresult do_cuGraphNodeGetEnabled(CUgraphExec exec, CUgraphNode handle, unsigned int *enabled)
{
	struct node *node = exec_node(exec, handle);

	if (!node || !enabled || !can_disable(node))
		return CUDA_ERROR_INVALID_VALUE;
	*enabled = !node->disabled;
	return CUDA_SUCCESS;
}

/* Kernel attributes; the cooperative attribute and priorities have no effect here. */
CUresult do_cuGraphKernelNodeSetAttribute(CUgraphNode handle, CUkernelNodeAttrID id,
	const CUkernelNodeAttrValue *value)
{
	struct node *node = typed(handle, CU_GRAPH_NODE_TYPE_KERNEL);

	if (!node || !value)
		return CUDA_ERROR_INVALID_VALUE;
	return attribute_set(&node->attributes, (int)id, value);
}

CUresult do_cuGraphKernelNodeGetAttribute(CUgraphNode handle, CUkernelNodeAttrID id,
	CUkernelNodeAttrValue *value)
{
	struct node *node = typed(handle, CU_GRAPH_NODE_TYPE_KERNEL);

	if (!node || !value)
		return CUDA_ERROR_INVALID_VALUE;
	return attribute_get(node->attributes, (int)id, value);
}

CUresult do_cuGraphKernelNodeCopyAttributes(CUgraphNode dst, CUgraphNode src)
{
	struct node *to = typed(dst, CU_GRAPH_NODE_TYPE_KERNEL);
	struct node *from = typed(src, CU_GRAPH_NODE_TYPE_KERNEL);

	if (!to || !from)
		return CUDA_ERROR_INVALID_VALUE;
	return attributes_copy(&to->attributes, from->attributes);
}
