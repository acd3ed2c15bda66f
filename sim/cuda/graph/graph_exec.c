/* SPDX-License-Identifier: Apache-2.0 */
/* Executable graphs: instantiation, launch and update. */
#include "cuda_graph.h"

#include <string.h>

#include "cuda_calls.h"

static uint32_t last_exec_id;

struct exec *exec_get(CUgraphExec handle)
{
	return object_check(handle, OBJECT_EXEC) ? (struct exec *)handle : NULL;
}

/* A graph may have nodes of several devices, as when a capture forks to another device's stream. */
static struct context *context_of(const struct node *node, struct context *launched)
{
	struct context *context = context_check((CUcontext)node->context);

	return context ? context : launched;
}

/* Loads code before the first launch.  The remaining time approximates instantiation per node. */
static void load_nodes(const struct graph *graph, struct context *context)
{
	for (const struct node *node = graph->nodes; node; node = node->next) {
		thread_self()->overhead += 1500;
		if (node->work.params.type == CU_GRAPH_NODE_TYPE_KERNEL)
			function_load((struct function *)node->work.params.kernel.func,
				context_of(node, context));
		for (unsigned int i = 0; i < node->child_count; i++)
			load_nodes(node->child[i], context);
	}
}

static CUresult exec_new(CUgraphExec *handle, CUgraph graph_handle, cuuint64_t flags)
{
	struct graph *graph = graph_get(graph_handle);
	struct context *context = context_current();
	struct exec *exec;

	if (!context)
		return CUDA_ERROR_INVALID_CONTEXT;
	if (!handle || !graph || flags & ~15ull)
		return CUDA_ERROR_INVALID_VALUE;
	exec = object_new(OBJECT_EXEC, sizeof(*exec));
	if (!exec)
		return CUDA_ERROR_OUT_OF_MEMORY;
	exec->graph = graph_clone(graph);
	exec->context = context;
	exec->flags = flags;
	exec->id = ++last_exec_id;
	exec->stream_id = context->next_stream_id++;
	*handle = (CUgraphExec)exec;
	load_nodes(graph, context);
	return exec->graph ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult do_cuGraphInstantiateWithFlags(CUgraphExec *exec, CUgraph graph, unsigned long long flags)
{
	return exec_new(exec, graph, flags);
}

CUresult do_cuGraphInstantiate(CUgraphExec *exec, CUgraph graph, CUgraphNode *bad, char *log,
	size_t size)
{
	if (log && size)
		log[0] = 0;
	return exec_new(exec, graph, 0);
}

CUresult do_cuGraphInstantiate_v2(CUgraphExec *exec, CUgraph graph, CUgraphNode *bad, char *log,
	size_t size)
{
	return do_cuGraphInstantiate(exec, graph, bad, log, size);
}

CUresult do_cuGraphInstantiateWithParams(CUgraphExec *exec, CUgraph graph,
	CUDA_GRAPH_INSTANTIATE_PARAMS *params)
{
	CUresult result;

	if (!params)
		return CUDA_ERROR_INVALID_VALUE;
	result = exec_new(exec, graph, params->flags);
	params->hErrNode_out = NULL;
	params->result_out = result ? CUDA_GRAPH_INSTANTIATE_ERROR : CUDA_GRAPH_INSTANTIATE_SUCCESS;
	if (!result && params->flags & CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD)
		result = do_cuGraphUpload(*exec, params->hUploadStream);
	return result;
}

CUresult do_cuGraphExecGetFlags(CUgraphExec handle, cuuint64_t *flags)
{
	struct exec *exec = exec_get(handle);

	if (!exec || !flags)
		return CUDA_ERROR_INVALID_VALUE;
	*flags = exec->flags;
	return CUDA_SUCCESS;
}

/* Launches in progress do not need the nodes. */
CUresult do_cuGraphExecDestroy(CUgraphExec handle)
{
	struct exec *exec = exec_get(handle);

	if (!exec)
		return CUDA_ERROR_INVALID_VALUE;
	op_put(exec->last);
	graph_free(exec->graph);
	object_free(exec);
	return CUDA_SUCCESS;
}

CUresult do_cuGraphUpload(CUgraphExec handle, CUstream stream_handle)
{
	struct stream *stream;
	CUresult result = stream_find(stream_handle, &stream);
	struct op *op;

	if (result)
		return result;
	if (!exec_get(handle))
		return CUDA_ERROR_INVALID_VALUE;
	if (stream->capture)
		return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	op = op_new(OP_MARKER, stream, 0);
	op_submit(op);
	op_put(op);
	return CUDA_SUCCESS;
}

struct launch {
	struct exec *exec;
	struct stream *stream;
	struct op *begin, *end;
};

static void expand(const struct launch *launch, struct graph *graph, struct op *begin,
	struct op *end);

static void submit_loose(const struct launch *launch, const struct node *node, struct op *op)
{
	op->loose = true;
	if (op->record.kind) {
		op->record.stream = launch->exec->stream_id;
		op->record.graph = launch->exec->id;
		op->record.node = node->id;
	}
	op_submit(op);
}

/* Expands the memory operations of a node into consecutive ops. */
static void expand_values(const struct launch *launch, struct node *node)
{
	const CUDA_BATCH_MEM_OP_NODE_PARAMS_v2 *batch = &node->work.params.memOp;
	struct op *before = node->first;

	for (unsigned int i = 0; i < batch->count; i++) {
		struct op *op = value_op(&batch->paramArray[i], launch->stream);

		op_after(op, before);
		submit_loose(launch, node, op);
		before = op;
		op_after(node->last, op);
		op_put(op);
	}
}

/*
 * Only kernels change a conditional's value, and none computes here: the result is known at launch.
 * An endless loop runs once.
 */
static void expand_condition(const struct launch *launch, struct node *node)
{
	const CUDA_CONDITIONAL_NODE_PARAMS *params = &node->work.params.conditional;
	const struct condition *condition = (const struct condition *)(uintptr_t)params->handle;
	unsigned int value = condition->flags & CU_GRAPH_COND_ASSIGN_DEFAULT ? condition->value : 0;
	unsigned int body = 0;

	if (params->type == CU_GRAPH_COND_TYPE_SWITCH)
		body = value;
	else if (!value)
		body = params->type == CU_GRAPH_COND_TYPE_IF ? 1 : node->child_count;
	if (body < node->child_count)
		expand(launch, node->child[body], node->first, node->last);
}

/* Expands a node that is several ops, or none, between two joins. */
static void expand_inner(const struct launch *launch, struct node *node)
{
	node->last = join_new();
	op_after(node->last, node->first);
	if (node->work.params.type == CU_GRAPH_NODE_TYPE_BATCH_MEM_OP)
		expand_values(launch, node);
	else if (node->work.params.type == CU_GRAPH_NODE_TYPE_CONDITIONAL)
		expand_condition(launch, node);
	else if (node->child_count)
		expand(launch, node->child[0], node->first, node->last);
	op_submit(node->last);
}

static bool is_inner(const struct node *node)
{
	CUgraphNodeType type = node->work.params.type;

	return node->disabled || type == CU_GRAPH_NODE_TYPE_EMPTY ||
		type == CU_GRAPH_NODE_TYPE_BATCH_MEM_OP || type == CU_GRAPH_NODE_TYPE_GRAPH ||
		type == CU_GRAPH_NODE_TYPE_CONDITIONAL;
}

/* Programmatic port of a kernel: after its start, not its end. */
static void after_edge(struct op *op, const struct edge *edge)
{
	struct op *last = edge->from->last;

	if (edge->data.from_port == CU_GRAPH_KERNEL_NODE_PORT_DEFAULT || last->kind != OP_KERNEL)
		op_after(op, last);
	else
		op_after(op, op_started(last));
}

/* Graph edges define the order, so for another device any of its streams works. */
static struct stream *stream_for(const struct launch *launch, const struct node *node)
{
	struct context *context = context_of(node, launch->stream->context);

	return context == launch->stream->context ? launch->stream : context->legacy;
}

static void expand_node(const struct launch *launch, struct node *node, struct op *begin)
{
	struct op *op =
		is_inner(node) ? join_new() : work_op(&node->work, stream_for(launch, node));

	op_after(op, begin);
	for (size_t i = 0; i < node->edges->count; i++)
		after_edge(op, &node->edges->edge[i]);
	node->first = node->last = op;
	if (is_inner(node)) {
		op_submit(op);
		if (node->disabled)
			return;
		expand_inner(launch, node);
	} else {
		submit_loose(launch, node, op);
	}
}

static void put_ops(struct graph *graph)
{
	for (struct node *node = graph->nodes; node; node = node->next) {
		if (node->first != node->last)
			op_put(node->first);
		op_put(node->last);
		node->first = node->last = NULL;
	}
}

/* Creates the ops of a graph's nodes with their dependencies. */
static void expand(const struct launch *launch, struct graph *graph, struct op *begin,
	struct op *end)
{
	bool again = true;

	for (struct node *node = graph->nodes; node; node = node->next)
		node->marked = false;
	while (again) {
		again = false;
		for (struct node *node = graph->nodes; node; node = node->next) {
			bool ready = !node->marked;

			for (size_t i = 0; ready && i < node->edges->count; i++)
				ready = node->edges->edge[i].from->marked;
			if (!ready)
				continue;
			node->marked = again = true;
			expand_node(launch, node, begin);
			op_after(end, node->last);
		}
	}
	put_ops(graph);
}

/* Checks all nodes before anything is submitted. */
static CUresult check_nodes(const struct exec *exec, struct graph *graph, struct context *context)
{
	for (struct node *node = graph->nodes; node; node = node->next) {
		CUresult result = node->disabled
			? CUDA_SUCCESS
			: work_check(&node->work, context_of(node, context));

		for (unsigned int i = 0; !result && i < node->child_count; i++)
			result = check_nodes(exec, node->child[i], context);
		if (result)
			return result;
	}
	return CUDA_SUCCESS;
}

/* CUPTI's record of a whole launch, if graphs but not their nodes are recorded. */
static void launch_record(struct launch *launch)
{
	struct op *end = launch->end;

	record_origin(end, launch->stream);
	end->record.kind = SIM_GRAPH;
	end->record.graph = launch->exec->id;
	end->data = launch->begin;
	launch->begin->references++;
}

static void launch_done(struct op *end)
{
	struct op *begin = end->data;

	end->start = begin->start;
	op_put(begin);
}

static void launch_submit(struct launch *launch)
{
	struct exec *exec = launch->exec;

	launch->begin = op_new(OP_MARKER, launch->stream, 0);
	launch->begin->graph = true;
	op_after(launch->begin, exec->last);
	op_submit(launch->begin);
	launch->end = op_new(OP_MARKER, launch->stream, 0);
	launch->end->graph = true;
	launch->end->effect = launch_done;
	launch_record(launch);
	expand(launch, exec->graph, launch->begin, launch->end);
	op_submit(launch->end);
	op_put(launch->begin);
	op_put(exec->last);
	exec->last = launch->end;
}

CUresult do_cuGraphLaunch(CUgraphExec handle, CUstream stream_handle)
{
	struct launch launch = { .exec = exec_get(handle) };
	CUresult result = stream_find(stream_handle, &launch.stream);
	struct work work = { .params = { .type = CU_GRAPH_NODE_TYPE_GRAPH } };

	if (result)
		return result;
	if (!launch.exec)
		return CUDA_ERROR_INVALID_VALUE;
	if (launch.stream->capture) {
		work.params.graph.graph = (CUgraph)launch.exec->graph;
		return capture_add(launch.stream, &work);
	}
	result = check_nodes(launch.exec, launch.exec->graph, launch.stream->context);
	if (!result)
		result = graph_launch_memory(launch.exec);
	if (result)
		return result;
	stream_reserve(launch.stream);
	launch_submit(&launch);
	return CUDA_SUCCESS;
}

static CUresult update_node(struct node *node, const struct node *with,
	CUgraphExecUpdateResult *why)
{
	CUresult result;

	*why = CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED;
	if (node->work.params.type != with->work.params.type)
		return CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
	*why = CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
	if (node->edges->count != with->edges->count || node->child_count != with->child_count)
		return CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
	for (size_t i = 0; i < node->edges->count; i++) {
		if (!edges_have(node->edges, with->edges->edge[i].from->twin))
			return CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
	}
	*why = CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED;
	result = node_set(node, &with->work);
	if (!result)
		node->original = with->id;
	return result;
}

/* Nodes are paired in order of creation; the first mismatch ends the update. */
static CUresult update_graph(struct graph *graph, struct graph *with,
	CUgraphExecUpdateResultInfo *info)
{
	struct node *node = graph->nodes, *other = with->nodes;

	for (; node && other; node = node->next, other = other->next)
		other->twin = node;
	info->result = CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
	if (node || other)
		return CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
	for (node = graph->nodes, other = with->nodes; node;
		node = node->next, other = other->next) {
		CUresult result = update_node(node, other, &info->result);

		if (result) {
			info->errorNode = (CUgraphNode)other;
			return result;
		}
	}
	info->result = CU_GRAPH_EXEC_UPDATE_SUCCESS;
	return CUDA_SUCCESS;
}

CUresult do_cuGraphExecUpdate_v2(CUgraphExec handle, CUgraph graph_handle,
	CUgraphExecUpdateResultInfo *info)
{
	struct exec *exec = exec_get(handle);
	struct graph *graph = graph_get(graph_handle);
	CUgraphExecUpdateResultInfo unused;

	if (!exec || !graph)
		return CUDA_ERROR_INVALID_VALUE;
	if (!info)
		info = &unused;
	memset(info, 0, sizeof(*info));
	return update_graph(exec->graph, graph, info);
}

CUresult do_cuGraphExecUpdate(CUgraphExec exec, CUgraph graph, CUgraphNode *bad,
	CUgraphExecUpdateResult *why)
{
	CUgraphExecUpdateResultInfo info;
	CUresult result = do_cuGraphExecUpdate_v2(exec, graph, &info);

	if (result == CUDA_ERROR_INVALID_VALUE)
		return result;
	if (bad)
		*bad = info.errorNode;
	if (why)
		*why = info.result;
	return result;
}
