/* SPDX-License-Identifier: Apache-2.0 */
/* Structure of a graph: querying nodes and edges, adding and removing edges. */
#include <stdlib.h>
#include <string.h>

#include "cuda_calls.h"
#include "cuda_graph.h"

/*
 * Output lists of the graph API: with a NULL array only the number is returned; otherwise as many
 * items as fit, the rest of the array set to NULL, and the number of items.
 */
struct list {
	CUgraphNode *first, *second;
	CUgraphEdgeData *data;
	size_t room, count;
	bool lossy; /* edge data was left out */
};

static void list_add(struct list *list, const struct node *first, const struct node *second,
	const CUgraphEdgeData *data)
{
	static const CUgraphEdgeData zero;

	if (list->first && list->count < list->room) {
		list->first[list->count] = (CUgraphNode)first;
		if (list->second)
			list->second[list->count] = (CUgraphNode)second;
		if (list->data)
			list->data[list->count] = *data;
		else if (data && memcmp(data, &zero, sizeof(zero)))
			list->lossy = true;
	}
	list->count++;
}

static CUresult list_end(struct list *list, size_t *count)
{
	for (size_t i = list->count; list->first && i < list->room; i++) {
		list->first[i] = NULL;
		if (list->second)
			list->second[i] = NULL;
	}
	*count = list->first && list->count > list->room ? list->room : list->count;
	return list->lossy ? CUDA_ERROR_LOSSY_QUERY : CUDA_SUCCESS;
}

static CUresult get_nodes(CUgraph handle, CUgraphNode *nodes, size_t *count, bool roots)
{
	struct graph *graph = graph_get(handle);
	struct list list = { .first = nodes };

	if (!graph || !count)
		return CUDA_ERROR_INVALID_VALUE;
	list.room = *count;
	for (struct node *node = graph->nodes; node; node = node->next) {
		if (!roots || !node->edges->count)
			list_add(&list, node, NULL, NULL);
	}
	return list_end(&list, count);
}

CUresult do_cuGraphGetNodes(CUgraph graph, CUgraphNode *nodes, size_t *count)
{
	return get_nodes(graph, nodes, count, false);
}

CUresult do_cuGraphGetRootNodes(CUgraph graph, CUgraphNode *nodes, size_t *count)
{
	return get_nodes(graph, nodes, count, true);
}

CUresult do_cuGraphGetEdges_v2(CUgraph handle, CUgraphNode *from, CUgraphNode *to,
	CUgraphEdgeData *data, size_t *count)
{
	struct graph *graph = graph_get(handle);
	struct list list = { .first = from, .second = to, .data = data };

	if (!graph || !count || !from != !to)
		return CUDA_ERROR_INVALID_VALUE;
	list.room = *count;
	for (struct node *node = graph->nodes; node; node = node->next) {
		for (size_t i = 0; i < node->edges->count; i++)
			list_add(&list, node->edges->edge[i].from, node,
				&node->edges->edge[i].data);
	}
	return list_end(&list, count);
}

CUresult do_cuGraphGetEdges(CUgraph graph, CUgraphNode *from, CUgraphNode *to, size_t *count)
{
	return do_cuGraphGetEdges_v2(graph, from, to, NULL, count);
}

CUresult do_cuGraphNodeGetDependencies_v2(CUgraphNode handle, CUgraphNode *nodes,
	CUgraphEdgeData *data, size_t *count)
{
	struct node *node = node_get(handle);
	struct list list = { .first = nodes, .data = data };

	if (!node || !count)
		return CUDA_ERROR_INVALID_VALUE;
	list.room = *count;
	for (size_t i = 0; i < node->edges->count; i++)
		list_add(&list, node->edges->edge[i].from, NULL, &node->edges->edge[i].data);
	return list_end(&list, count);
}

CUresult do_cuGraphNodeGetDependencies(CUgraphNode node, CUgraphNode *nodes, size_t *count)
{
	return do_cuGraphNodeGetDependencies_v2(node, nodes, NULL, count);
}

CUresult do_cuGraphNodeGetDependentNodes_v2(CUgraphNode handle, CUgraphNode *nodes,
	CUgraphEdgeData *data, size_t *count)
{
	struct node *node = node_get(handle);
	struct list list = { .first = nodes, .data = data };

	if (!node || !count)
		return CUDA_ERROR_INVALID_VALUE;
	list.room = *count;
	for (struct node *n = node->graph->nodes; n; n = n->next) {
		for (size_t i = 0; i < n->edges->count; i++) {
			if (n->edges->edge[i].from == node)
				list_add(&list, n, NULL, &n->edges->edge[i].data);
		}
	}
	return list_end(&list, count);
}

CUresult do_cuGraphNodeGetDependentNodes(CUgraphNode node, CUgraphNode *nodes, size_t *count)
{
	return do_cuGraphNodeGetDependentNodes_v2(node, nodes, NULL, count);
}

/* Does node depend on from? */
static bool comes_after(const struct node *node, const struct node *from)
{
	if (node == from)
		return true;
	for (size_t i = 0; i < node->edges->count; i++) {
		if (comes_after(node->edges->edge[i].from, from))
			return true;
	}
	return false;
}

static bool changeable(const struct graph *graph)
{
	for (const struct node *node = graph->nodes; node; node = node->next) {
		/* Edges of allocation nodes cannot be changed. */
		if (node->work.params.type == CU_GRAPH_NODE_TYPE_MEM_ALLOC ||
			node->work.params.type == CU_GRAPH_NODE_TYPE_MEM_FREE)
			return false;
	}
	return true;
}

CUresult do_cuGraphAddDependencies_v2(CUgraph handle, const CUgraphNode *from,
	const CUgraphNode *to, const CUgraphEdgeData *data, size_t count)
{
	struct graph *graph = graph_get(handle);

	if (!graph || (count && (!from || !to)))
		return CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < count; i++) {
		struct edges *edge = edges_new(&from[i], data ? &data[i] : NULL, 1);
		struct node *node = node_get(to[i]);
		bool valid = edge && node && node->graph == graph &&
			edge->edge[0].from->graph == graph &&
			!edges_have(node->edges, edge->edge[0].from) &&
			!comes_after(edge->edge[0].from, node);

		if (valid)
			node->edges = edges_merge(node->edges, edge);
		free(edge);
		if (!valid)
			return CUDA_ERROR_INVALID_VALUE;
	}
	return CUDA_SUCCESS;
}

CUresult do_cuGraphAddDependencies(CUgraph graph, const CUgraphNode *from, const CUgraphNode *to,
	size_t count)
{
	return do_cuGraphAddDependencies_v2(graph, from, to, NULL, count);
}

static bool edge_remove(struct node *node, const struct node *from)
{
	struct edges *edges = node->edges;

	for (size_t i = 0; i < edges->count; i++) {
		if (edges->edge[i].from != from)
			continue;
		edges->count--;
		memmove(&edges->edge[i], &edges->edge[i + 1],
			(edges->count - i) * sizeof(*edges->edge));
		return true;
	}
	return false;
}

CUresult do_cuGraphRemoveDependencies_v2(CUgraph handle, const CUgraphNode *from,
	const CUgraphNode *to, const CUgraphEdgeData *data, size_t count)
{
	struct graph *graph = graph_get(handle);

	if (!graph || (count && (!from || !to)) || !changeable(graph))
		return CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < count; i++) {
		struct node *node = node_get(to[i]);

		if (!node || node->graph != graph || !edge_remove(node, node_get(from[i])))
			return CUDA_ERROR_INVALID_VALUE;
	}
	return CUDA_SUCCESS;
}

CUresult do_cuGraphRemoveDependencies(CUgraph graph, const CUgraphNode *from, const CUgraphNode *to,
	size_t count)
{
	return do_cuGraphRemoveDependencies_v2(graph, from, to, NULL, count);
}

CUresult do_cuGraphDestroyNode(CUgraphNode handle)
{
	struct node *node = node_get(handle), **link;

	if (!node || !changeable(node->graph))
		return CUDA_ERROR_INVALID_VALUE;
	for (struct node *n = node->graph->nodes; n; n = n->next)
		edge_remove(n, node);
	for (link = &node->graph->nodes; *link != node; link = &(*link)->next)
		;
	*link = node->next;
	if (!node->next)
		node->graph->end = link;
	node_free(node);
	return CUDA_SUCCESS;
}

CUresult do_cuGraphNodeGetType(CUgraphNode handle, CUgraphNodeType *type)
{
	struct node *node = node_get(handle);

	if (!node || !type)
		return CUDA_ERROR_INVALID_VALUE;
	*type = node->work.params.type;
	return CUDA_SUCCESS;
}
