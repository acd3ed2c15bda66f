/* SPDX-License-Identifier: Apache-2.0 */
/* Graphs and their nodes: creation, copying and destruction. */
#include "cuda_graph.h"

#include <stdlib.h>
#include <string.h>

#include "cuda_calls.h"

static uint64_t last_node_id;
static uint32_t last_graph_id;

struct graph *graph_get(CUgraph handle)
{
	return object_check(handle, OBJECT_GRAPH) ? (struct graph *)handle : NULL;
}

struct node *node_get(CUgraphNode handle)
{
	return object_check(handle, OBJECT_NODE) ? (struct node *)handle : NULL;
}

struct graph *graph_new(void)
{
	struct graph *graph = object_new(OBJECT_GRAPH, sizeof(*graph));

	if (!graph)
		return NULL;
	graph->end = &graph->nodes;
	graph->id = ++last_graph_id;
	return graph;
}

static void children_free(struct node *node)
{
	for (unsigned int i = 0; i < node->child_count; i++)
		graph_free(node->child[i]);
	free(node->child);
	node->child = NULL;
	node->child_count = 0;
}

void node_free(struct node *node)
{
	children_free(node);
	attributes_free(&node->attributes);
	free(node->edges);
	free(node->storage);
	object_free(node);
}

void graph_free(struct graph *graph)
{
	struct node *next;

	if (!graph)
		return;
	for (struct node *node = graph->nodes; node; node = next) {
		next = node->next;
		node_free(node);
	}
	users_release(graph);
	object_free(graph);
}

struct edges *edges_new(const CUgraphNode *nodes, const CUgraphEdgeData *data, size_t count)
{
	struct edges *edges = must_realloc(NULL, sizeof(*edges) + count * sizeof(*edges->edge));

	edges->count = count;
	for (size_t i = 0; i < count; i++) {
		edges->edge[i] = (struct edge){ .from = node_get(nodes[i]) };
		if (data)
			edges->edge[i].data = data[i];
		if (edges->edge[i].from)
			continue;
		free(edges);
		return NULL;
	}
	return edges;
}

struct edges *edges_copy(const struct edges *edges)
{
	size_t bytes = sizeof(*edges) + (edges ? edges->count * sizeof(*edges->edge) : 0);
	struct edges *copy = must_realloc(NULL, bytes);

	if (!edges)
		copy->count = 0;
	else
		memcpy(copy, edges, bytes);
	return copy;
}

bool edges_have(const struct edges *edges, const struct node *from)
{
	for (size_t i = 0; edges && i < edges->count; i++) {
		if (edges->edge[i].from == from)
			return true;
	}
	return false;
}

struct edges *edges_merge(struct edges *to, const struct edges *from)
{
	size_t count = (to ? to->count : 0) + (from ? from->count : 0);
	struct edges *both;

	if (!to)
		return edges_copy(from);
	both = must_realloc(to, sizeof(*both) + count * sizeof(*both->edge));
	for (size_t i = 0; from && i < from->count; i++) {
		if (!edges_have(both, from->edge[i].from))
			both->edge[both->count++] = from->edge[i];
	}
	return both;
}

/* Copies kernel parameters; with unknown layout each is assumed to be one word. */
static void *kernel_storage(CUDA_KERNEL_NODE_PARAMS_v3 *kernel)
{
	const struct function *function = (const struct function *)kernel->func;
	unsigned int count = function->parameter_count;
	void **pointers;
	char *values;

	if (!count && function->spins)
		count = 1;
	pointers = calloc(1,
		(count + 1) * (sizeof(void *) + sizeof(uint64_t)) + function->parameter_bytes);
	values = (char *)(pointers + count + 1);
	for (unsigned int i = 0; pointers && i < count; i++) {
		const void *value = kernel_parameter(kernel, i);
		size_t size = function->parameter_count ? function->parameters[i].size : 8;

		pointers[i] = values;
		if (value)
			memcpy(values, value, size);
		values += (size + 7) / 8 * 8;
	}
	kernel->kernelParams = pointers;
	kernel->extra = NULL;
	return pointers;
}

/* Copies memory that the work points to into the node. */
static CUresult node_store(struct node *node)
{
	CUgraphNodeParams *params = &node->work.params;
	void *old = node->storage;
	size_t bytes;

	node->storage = NULL;
	if (params->type == CU_GRAPH_NODE_TYPE_KERNEL) {
		node->storage = kernel_storage(&params->kernel);
	} else if (params->type == CU_GRAPH_NODE_TYPE_BATCH_MEM_OP) {
		bytes = params->memOp.count * sizeof(*params->memOp.paramArray);
		node->storage = must_realloc(NULL, bytes + 1);
		memcpy(node->storage, params->memOp.paramArray, bytes);
		params->memOp.paramArray = node->storage;
	}
	free(old);
	return CUDA_SUCCESS;
}

/* A child graph is copied into its node; a conditional node gets empty bodies. */
static CUresult node_make_children(struct node *node)
{
	CUgraphNodeParams *params = &node->work.params;
	struct graph *child = NULL;
	unsigned int count = 0;

	if (params->type == CU_GRAPH_NODE_TYPE_GRAPH) {
		count = 1;
		child = graph_get(params->graph.graph);
		if (!child)
			return CUDA_ERROR_INVALID_VALUE;
	} else if (params->type == CU_GRAPH_NODE_TYPE_CONDITIONAL) {
		count = params->conditional.size;
	}
	if (!count)
		return CUDA_SUCCESS;
	node->child = must_realloc(NULL, count * sizeof(*node->child));
	for (; node->child_count < count; node->child_count++) {
		struct graph *copy = child ? graph_clone(child) : graph_new();

		node->child[node->child_count] = copy;
		if (!copy)
			return CUDA_ERROR_OUT_OF_MEMORY;
		copy->owner = node;
	}
	if (child)
		params->graph.graph = (CUgraph)node->child[0];
	else
		params->conditional.phGraph_out = (CUgraph *)node->child;
	return CUDA_SUCCESS;
}

static bool edges_valid(const struct graph *graph, const struct edges *edges)
{
	for (size_t i = 0; edges && i < edges->count; i++) {
		if (edges->edge[i].from->graph != graph)
			return false;
		for (size_t k = 0; k < i; k++) {
			if (edges->edge[k].from == edges->edge[i].from)
				return false;
		}
	}
	return true;
}

CUresult node_add(struct graph *graph, const struct edges *edges, const struct work *work,
	struct node **made)
{
	struct node *node;
	CUresult result;

	if (!edges_valid(graph, edges))
		return CUDA_ERROR_INVALID_VALUE;
	node = object_new(OBJECT_NODE, sizeof(*node));
	if (!node)
		return CUDA_ERROR_OUT_OF_MEMORY;
	node->graph = graph;
	node->work = *work;
	node->edges = edges_copy(edges);
	node->id = node->original = ++last_node_id;
	result = node_store(node);
	if (!result)
		result = node_make_children(node);
	if (result) {
		node_free(node);
		return result;
	}
	*graph->end = node;
	graph->end = &node->next;
	if (made)
		*made = node;
	return CUDA_SUCCESS;
}

CUresult node_set(struct node *node, const struct work *work)
{
	CUresult result;

	if (work->params.type != node->work.params.type)
		return CUDA_ERROR_INVALID_VALUE;
	node->work = *work;
	result = node_store(node);
	if (!result && work->params.type == CU_GRAPH_NODE_TYPE_GRAPH) {
		children_free(node);
		result = node_make_children(node);
	}
	return result;
}

/* The copied node already has empty bodies. */
static CUresult clone_bodies(struct node *copy, const struct node *node)
{
	if (node->work.params.type != CU_GRAPH_NODE_TYPE_CONDITIONAL)
		return CUDA_SUCCESS;
	for (unsigned int i = 0; i < node->child_count; i++) {
		struct graph *body = graph_clone(node->child[i]);

		if (!body)
			return CUDA_ERROR_OUT_OF_MEMORY;
		graph_free(copy->child[i]);
		copy->child[i] = body;
		body->owner = copy;
	}
	return CUDA_SUCCESS;
}

static CUresult clone_nodes(struct graph *clone, const struct graph *graph)
{
	for (struct node *node = graph->nodes; node; node = node->next) {
		struct node *copy;
		CUresult result = node_add(clone, NULL, &node->work, &copy);

		if (!result)
			result = clone_bodies(copy, node);
		if (!result)
			result = attributes_copy(&copy->attributes, node->attributes);
		if (result)
			return result;
		node->twin = copy;
		copy->context = node->context;
		copy->original = node->id;
		copy->disabled = node->disabled;
	}
	return CUDA_SUCCESS;
}

static void clone_edges(const struct graph *graph)
{
	for (const struct node *node = graph->nodes; node; node = node->next) {
		free(node->twin->edges);
		node->twin->edges = edges_copy(node->edges);
		for (size_t i = 0; i < node->edges->count; i++)
			node->twin->edges->edge[i].from = node->edges->edge[i].from->twin;
	}
}

struct graph *graph_clone(struct graph *graph)
{
	struct graph *clone = graph_new();

	if (!clone)
		return NULL;
	clone->original = graph;
	if (clone_nodes(clone, graph) || users_copy(clone, graph)) {
		graph_free(clone);
		return NULL;
	}
	clone_edges(graph);
	return clone;
}

struct node *graph_find(struct graph *graph, uint64_t original)
{
	for (struct node *node = graph->nodes; node; node = node->next) {
		if (node->original == original || node->id == original)
			return node;
		for (unsigned int i = 0; i < node->child_count; i++) {
			struct node *found = graph_find(node->child[i], original);

			if (found)
				return found;
		}
	}
	return NULL;
}

CUresult do_cuGraphCreate(CUgraph *handle, unsigned int flags)
{
	if (!handle || flags)
		return CUDA_ERROR_INVALID_VALUE;
	*handle = (CUgraph)graph_new();
	return *handle ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

/* Graphs that belong to a node are destroyed with it. */
CUresult do_cuGraphDestroy(CUgraph handle)
{
	struct graph *graph = graph_get(handle);

	if (!graph || graph->owner || graph->capturing)
		return CUDA_ERROR_INVALID_VALUE;
	graph_free(graph);
	return CUDA_SUCCESS;
}

CUresult do_cuGraphClone(CUgraph *handle, CUgraph original)
{
	struct graph *graph = graph_get(original);

	if (!graph || !handle)
		return CUDA_ERROR_INVALID_VALUE;
	*handle = (CUgraph)graph_clone(graph);
	return *handle ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult do_cuGraphNodeFindInClone(CUgraphNode *found, CUgraphNode original, CUgraph clone)
{
	struct node *node = node_get(original);
	struct graph *graph = graph_get(clone);

	if (!found || !node || !graph || graph->original != node->graph)
		return CUDA_ERROR_INVALID_VALUE;
	*found = (CUgraphNode)graph_find(graph, node->id);
	return *found ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
