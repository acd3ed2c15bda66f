/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The host memory that nodes of executable graphs use.  It is asked from the driver when a graph is
 * instantiated or an executable updated from a graph, and taken from the call that changes a node
 * of an executable.  Entries of a node are never changed but replaced.  One lock protects the
 * tables; it is not held while the driver is asked, since graphs must not be changed by two threads
 * at a time ("graph objects are not threadsafe", CUDA driver API).
 */
#include <cuda.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>

#include "guard_internal.h"

#define ENTRIES 8192 /* uses by all executables */
#define NODES 4096   /* of one graph */
#define DEPTH 4      /* graphs within graphs */

/* exec 0: unused. */
static struct node_use {
	uint64_t exec, node;
	struct pending_use use;
} entries[ENTRIES];
static unsigned used; /* entries in use are below it */
static _Atomic int busy, asking;

static const struct guard_recorder *recorder;

static void lock(void)
{
	while (atomic_exchange_explicit(&busy, 1, memory_order_acquire))
		sched_yield();
}

static void unlock(void)
{
	atomic_store_explicit(&busy, 0, memory_order_release);
}

void graphs_start(const struct guard_recorder *given)
{
	recorder = given;
	/* In a forked child. */
	busy = asking = 0;
	used = 0;
	memset(entries, 0, sizeof(entries));
}

/* Removes the entries of a node; node 0: of all nodes. */
static void remove_uses(uint64_t exec, uint64_t node)
{
	lock();
	for (unsigned i = 0; i < used; i++)
		if (entries[i].exec == exec && (!node || entries[i].node == node))
			entries[i].exec = 0;
	while (used && !entries[used - 1].exec)
		used--;
	unlock();
}

struct adding {
	uint64_t exec, node;
};

static void add_use(void *arg, const struct pending_use *use)
{
	const struct adding *adding = arg;
	unsigned place = 0;

	lock();
	while (place < used && entries[place].exec)
		place++;
	if (place < ENTRIES) {
		entries[place] = (struct node_use){ adding->exec, adding->node, *use };
		if (place == used)
			used++;
	}
	unlock();
	if (place == ENTRIES)
		pages_count(GUARDED_NODES);
}

/* --- asking the driver --- */

static void *find(const char *name)
{
	return recorder->symbol(name);
}

static void add_copy_node(CUgraphNode node, struct adding *adding)
{
	CUresult (*ask)(CUgraphNode, CUDA_MEMCPY3D *);
	uint64_t field[FIELD_KIND_COUNT] = { 0 };
	CUDA_MEMCPY3D copy;

	*(void **)&ask = find("cuGraphMemcpyNodeGetParams");
	if (!ask || ask(node, &copy)) {
		pages_count(GUARDED_NODES);
		return;
	}
	if (copy.dstMemoryType != CU_MEMORYTYPE_ARRAY)
		field[FIELD_dst] =
			(copy.dstMemoryType == CU_MEMORYTYPE_HOST ? (uintptr_t)copy.dstHost
								  : copy.dstDevice) +
			copy.dstXInBytes + copy.dstPitch * (copy.dstY + copy.dstHeight * copy.dstZ);
	if (copy.srcMemoryType != CU_MEMORYTYPE_ARRAY)
		field[FIELD_src] =
			(copy.srcMemoryType == CU_MEMORYTYPE_HOST ? (uintptr_t)copy.srcHost
								  : copy.srcDevice) +
			copy.srcXInBytes + copy.srcPitch * (copy.srcY + copy.srcHeight * copy.srcZ);
	field[FIELD_dst_pitch] = copy.dstPitch;
	field[FIELD_src_pitch] = copy.srcPitch;
	field[FIELD_dst_height] = copy.dstHeight;
	field[FIELD_src_height] = copy.srcHeight;
	field[FIELD_width] = copy.WidthInBytes;
	field[FIELD_height] = copy.Height;
	field[FIELD_depth] = copy.Depth;
	guard_uses_of_copy(field, add_use, adding);
}

static void add_set(const uint64_t *field, struct adding *adding)
{
	struct host_memory memory;
	uint64_t rows = field[FIELD_height] ? field[FIELD_height] : 1;
	struct pending_use use = { .end = { .low = field[FIELD_dst],
					   .high = field[FIELD_dst] + field[FIELD_width],
					   .width = field[FIELD_width],
					   .pitch = field[FIELD_width],
					   .height = rows },
		.use = USE_WRITE };

	if (rows > 1) {
		use.end.pitch = field[FIELD_dst_pitch];
		use.end.high += (rows - 1) * use.end.pitch;
	}
	if (use.end.width && pages_find_memory(use.end.low, &memory))
		add_use(adding, &use);
}

static void add_set_node(CUgraphNode node, struct adding *adding)
{
	CUresult (*ask)(CUgraphNode, CUDA_MEMSET_NODE_PARAMS *);
	uint64_t field[FIELD_KIND_COUNT] = { 0 };
	CUDA_MEMSET_NODE_PARAMS set;

	*(void **)&ask = find("cuGraphMemsetNodeGetParams");
	if (!ask || ask(node, &set)) {
		pages_count(GUARDED_NODES);
		return;
	}
	field[FIELD_dst] = set.dst;
	field[FIELD_dst_pitch] = set.pitch;
	field[FIELD_width] = set.width * set.elementSize;
	field[FIELD_height] = set.height;
	add_set(field, adding);
}

static void add_kernel_node(CUgraphNode node, struct adding *adding)
{
	CUresult (*ask)(CUgraphNode, CUDA_KERNEL_NODE_PARAMS *);
	CUDA_KERNEL_NODE_PARAMS kernel;
	uint64_t function;

	*(void **)&ask = find("cuGraphKernelNodeGetParams_v2");
	if (!ask || ask(node, &kernel)) {
		pages_count(GUARDED_NODES);
		return;
	}
	function = (uint64_t)(uintptr_t)(kernel.func ? (void *)kernel.func : (void *)kernel.kern);
	guard_uses_of_kernel(function, kernel.kernelParams, kernel.extra, add_use, adding);
}

/* Adds the nodes of a graph; those of graphs within it count as the node that contains them. */
static void add_graph(CUgraph graph, struct adding *adding, unsigned depth)
{
	CUresult (*list)(CUgraph, CUgraphNode *, size_t *);
	CUresult (*type_of)(CUgraphNode, CUgraphNodeType *);
	CUresult (*child_of)(CUgraphNode, CUgraph *);
	/* Used with the lock of asking held: a stack may be small. */
	static CUgraphNode nodes[DEPTH][NODES];
	size_t count = NODES;

	*(void **)&list = find("cuGraphGetNodes");
	*(void **)&type_of = find("cuGraphNodeGetType");
	*(void **)&child_of = find("cuGraphChildGraphNodeGetGraph");
	if (depth == DEPTH || !list || !type_of || !child_of || list(graph, nodes[depth], &count)) {
		pages_count(GUARDED_NODES);
		return;
	}
	for (size_t i = 0; i < count && i < NODES; i++) {
		CUgraphNode node = nodes[depth][i];
		CUgraphNodeType type;
		CUgraph child;

		if (!depth)
			adding->node = (uint64_t)(uintptr_t)node;
		if (type_of(node, &type))
			continue;
		if (type == CU_GRAPH_NODE_TYPE_MEMCPY)
			add_copy_node(node, adding);
		else if (type == CU_GRAPH_NODE_TYPE_MEMSET)
			add_set_node(node, adding);
		else if (type == CU_GRAPH_NODE_TYPE_KERNEL)
			add_kernel_node(node, adding);
		else if (type == CU_GRAPH_NODE_TYPE_GRAPH && !child_of(node, &child))
			add_graph(child, adding, depth + 1);
		else if (type == CU_GRAPH_NODE_TYPE_CONDITIONAL)
			pages_count(GUARDED_NODES);
	}
}

static void read_graph(uint64_t graph, struct adding *adding, unsigned depth)
{
	while (atomic_exchange_explicit(&asking, 1, memory_order_acquire))
		sched_yield();
	add_graph((CUgraph)(uintptr_t)graph, adding, depth);
	atomic_store_explicit(&asking, 0, memory_order_release);
}

/* --- calls --- */

/* Nodes of an executable are named by the nodes of the graph that it was made from. */
static void change_node(const struct guard_call *call)
{
	struct adding adding = { call->field[FIELD_exec], call->field[FIELD_node] };

	switch (call->field[FIELD_type]) {
	case CU_GRAPH_NODE_TYPE_KERNEL:
		remove_uses(adding.exec, adding.node);
		if (call->function)
			guard_uses_of_kernel(call->function, call->values, call->extra, add_use,
				&adding);
		return;
	case CU_GRAPH_NODE_TYPE_MEMCPY:
		remove_uses(adding.exec, adding.node);
		guard_uses_of_copy(call->field, add_use, &adding);
		return;
	case CU_GRAPH_NODE_TYPE_MEMSET:
		remove_uses(adding.exec, adding.node);
		add_set(call->field, &adding);
		return;
	case CU_GRAPH_NODE_TYPE_GRAPH:
		remove_uses(adding.exec, adding.node);
		read_graph(call->field[FIELD_handle], &adding, 1);
		return;
	}
}

void graphs_called(const struct guard_call *call)
{
	struct adding adding = { call->field[FIELD_exec], 0 };

	switch (call->kind) {
	case KIND_GRAPH_INSTANTIATE:
		adding.exec = call->field[FIELD_new_exec];
		/* fall through */
	case KIND_EXEC_UPDATE:
		remove_uses(adding.exec, 0);
		read_graph(call->field[FIELD_graph], &adding, 0);
		return;
	case KIND_EXEC_SET:
		change_node(call);
		return;
	case KIND_EXEC_DESTROY:
		remove_uses(adding.exec, 0);
		return;
	default:
		return;
	}
}

void graphs_launch(uint64_t exec, void (*function)(void *arg, const struct pending_use *use),
	void *arg)
{
	struct pending_use use;

	for (unsigned i = 0;; i++) {
		lock();
		while (i < used && entries[i].exec != exec)
			i++;
		if (i < used)
			use = entries[i].use;
		unlock();
		if (i >= used)
			return;
		function(arg, &use);
	}
}
