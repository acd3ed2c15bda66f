/* SPDX-License-Identifier: Apache-2.0 */
/* Adding nodes of each type to a graph. */
#include <stdlib.h>

#include "cuda_calls.h"
#include "cuda_graph.h"

/* Programmatic edges start at a kernel and end at one. */
static bool edge_data_valid(const struct edges *edges, CUgraphNodeType type)
{
	for (size_t i = 0; i < edges->count; i++) {
		const struct edge *edge = &edges->edge[i];

		if (!edge->data.from_port && !edge->data.type)
			continue;
		if (edge->from->work.params.type != CU_GRAPH_NODE_TYPE_KERNEL)
			return false;
		if (edge->data.type == CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC &&
			type != CU_GRAPH_NODE_TYPE_KERNEL)
			return false;
	}
	return true;
}

static CUresult add(CUgraphNode *handle, CUgraph graph_handle, const CUgraphNode *after,
	const CUgraphEdgeData *data, size_t count, const struct work *work)
{
	struct graph *graph = graph_get(graph_handle);
	struct context *context = context_current();
	struct node *node = NULL;
	struct edges *edges;
	CUresult result;

	if (!handle || !graph || (count && !after))
		return CUDA_ERROR_INVALID_VALUE;
	result = context ? work_check(work, context) : CUDA_SUCCESS;
	if (result)
		return result;
	edges = edges_new(after, data, count);
	if (!edges)
		return CUDA_ERROR_INVALID_VALUE;
	result = edge_data_valid(edges, work->params.type) ? node_add(graph, edges, work, &node)
							   : CUDA_ERROR_INVALID_VALUE;
	free(edges);
	if (result)
		return result;
	node->context = context;
	*handle = (CUgraphNode)node;
	return CUDA_SUCCESS;
}

/* Uses the names that all these functions give their first parameters. */
#define ADD(...) \
	do { \
		struct work work_ = { .params = { __VA_ARGS__ } }; \
		return add(node, graph, after, NULL, count, &work_); \
	} while (0)

CUresult do_cuGraphAddKernelNode_v2(CUgraphNode *node, CUgraph graph, const CUgraphNode *after,
	size_t count, const CUDA_KERNEL_NODE_PARAMS_v2 *p)
{
	if (!p)
		return CUDA_ERROR_INVALID_VALUE;
	ADD(.type = CU_GRAPH_NODE_TYPE_KERNEL, .kernel = kernel_params_v3(p));
}

CUresult do_cuGraphAddKernelNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *after,
	size_t count, const CUDA_KERNEL_NODE_PARAMS_v1 *p)
{
	CUDA_KERNEL_NODE_PARAMS_v2 wide;

	if (!p)
		return CUDA_ERROR_INVALID_VALUE;
	wide = kernel_params_v2(p);
	return do_cuGraphAddKernelNode_v2(node, graph, after, count, &wide);
}

CUresult do_cuGraphAddMemcpyNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *after,
	size_t count, const CUDA_MEMCPY3D *p, CUcontext context)
{
	if (!p || !context_check(context))
		return p ? CUDA_ERROR_INVALID_CONTEXT : CUDA_ERROR_INVALID_VALUE;
	ADD(.type = CU_GRAPH_NODE_TYPE_MEMCPY, .memcpy = { .copyCtx = context, .copyParams = *p });
}

CUresult do_cuGraphAddMemsetNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *after,
	size_t count, const CUDA_MEMSET_NODE_PARAMS *p, CUcontext context)
{
	if (!p || !context_check(context))
		return p ? CUDA_ERROR_INVALID_CONTEXT : CUDA_ERROR_INVALID_VALUE;
	ADD(.type = CU_GRAPH_NODE_TYPE_MEMSET, .memset = memset_params_v2(p, context));
}

CUresult do_cuGraphAddHostNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *after,
	size_t count, const CUDA_HOST_NODE_PARAMS *p)
{
	if (!p)
		return CUDA_ERROR_INVALID_VALUE;
	ADD(.type = CU_GRAPH_NODE_TYPE_HOST, .host = { p->fn, p->userData });
}

CUresult do_cuGraphAddEmptyNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *after,
	size_t count)
{
	ADD(.type = CU_GRAPH_NODE_TYPE_EMPTY);
}

CUresult do_cuGraphAddChildGraphNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *after,
	size_t count, CUgraph child)
{
	if (!graph_get(child) || child == graph)
		return CUDA_ERROR_INVALID_VALUE;
	ADD(.type = CU_GRAPH_NODE_TYPE_GRAPH, .graph = { .graph = child });
}

CUresult do_cuGraphAddEventRecordNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *after,
	size_t count, CUevent event)
{
	ADD(.type = CU_GRAPH_NODE_TYPE_EVENT_RECORD, .eventRecord = { event });
}

CUresult do_cuGraphAddEventWaitNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *after,
	size_t count, CUevent event)
{
	ADD(.type = CU_GRAPH_NODE_TYPE_WAIT_EVENT, .eventWait = { event });
}

CUresult do_cuGraphAddBatchMemOpNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *after,
	size_t count, const CUDA_BATCH_MEM_OP_NODE_PARAMS *p)
{
	if (!p)
		return CUDA_ERROR_INVALID_VALUE;
	ADD(.type = CU_GRAPH_NODE_TYPE_BATCH_MEM_OP,
		.memOp = { p->ctx, p->count, p->paramArray, p->flags });
}

CUresult do_cuGraphAddMemAllocNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *after,
	size_t count, CUDA_MEM_ALLOC_NODE_PARAMS *p)
{
	struct work work = { .params = { .type = CU_GRAPH_NODE_TYPE_MEM_ALLOC } };
	CUresult result;

	if (!p)
		return CUDA_ERROR_INVALID_VALUE;
	result = graph_memory_new(p->poolProps.location.id, p->bytesize, &p->dptr);
	if (result)
		return result;
	work.params.alloc = (CUDA_MEM_ALLOC_NODE_PARAMS_v2){ .poolProps = p->poolProps,
		.bytesize = p->bytesize,
		.dptr = p->dptr };
	return add(node, graph, after, NULL, count, &work);
}

CUresult do_cuGraphAddMemFreeNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *after,
	size_t count, CUdeviceptr ptr)
{
	ADD(.type = CU_GRAPH_NODE_TYPE_MEM_FREE, .free = { ptr });
}

CUresult do_cuGraphConditionalHandleCreate(CUgraphConditionalHandle *handle, CUgraph graph,
	CUcontext context, unsigned int value, unsigned int flags)
{
	struct condition *condition;

	if (!handle || !graph_get(graph) || flags & ~(unsigned int)CU_GRAPH_COND_ASSIGN_DEFAULT)
		return CUDA_ERROR_INVALID_VALUE;
	condition = object_new(OBJECT_CONDITION, sizeof(*condition));
	if (!condition)
		return CUDA_ERROR_OUT_OF_MEMORY;
	*condition = (struct condition){ graph_get(graph), value, flags };
	*handle = (uintptr_t)condition;
	return CUDA_SUCCESS;
}

static CUresult check_condition(const CUDA_CONDITIONAL_NODE_PARAMS *p)
{
	bool valid = object_check((const void *)(uintptr_t)p->handle, OBJECT_CONDITION) &&
		p->size && (unsigned int)p->type <= CU_GRAPH_COND_TYPE_SWITCH &&
		(p->type != CU_GRAPH_COND_TYPE_WHILE || p->size == 1) &&
		(p->type != CU_GRAPH_COND_TYPE_IF || p->size <= 2);

	return valid ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult do_cuGraphAddNode_v2(CUgraphNode *node, CUgraph graph, const CUgraphNode *after,
	const CUgraphEdgeData *data, size_t count, CUgraphNodeParams *params)
{
	struct work work = { .async = true };
	CUresult result = CUDA_SUCCESS;

	if (!params)
		return CUDA_ERROR_INVALID_VALUE;
	if (params->type == CU_GRAPH_NODE_TYPE_MEM_ALLOC)
		result = graph_memory_new(params->alloc.poolProps.location.id,
			params->alloc.bytesize, &params->alloc.dptr);
	else if (params->type == CU_GRAPH_NODE_TYPE_CONDITIONAL)
		result = check_condition(&params->conditional);
	else if (params->type == CU_GRAPH_NODE_TYPE_GRAPH && !graph_get(params->graph.graph))
		result = CUDA_ERROR_INVALID_VALUE;
	if (result)
		return result;
	work.params = *params;
	if (params->type == CU_GRAPH_NODE_TYPE_KERNEL && !params->kernel.func)
		work.params.kernel.func = (CUfunction)params->kernel.kern;
	result = add(node, graph, after, data, count, &work);
	if (!result && params->type == CU_GRAPH_NODE_TYPE_CONDITIONAL)
		params->conditional.phGraph_out = (CUgraph *)((struct node *)*node)->child;
	return result;
}

CUresult do_cuGraphAddNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *after, size_t count,
	CUgraphNodeParams *params)
{
	return do_cuGraphAddNode_v2(node, graph, after, NULL, count, params);
}
