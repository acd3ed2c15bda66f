/* SPDX-License-Identifier: Apache-2.0 */
#include "sim_text.h"

static CUgraph graph_new(void)
{
	CUgraph graph;

	assert_ok(drv.cuGraphCreate(&graph, 0));
	return graph;
}

SIM_TEST(copies_and_sets_move_data)
{
	CUDA_MEMSET_NODE_PARAMS set = { .value = 7, .elementSize = 1, .width = 64, .height = 1 };
	CUDA_MEMCPY3D copy = { .srcMemoryType = CU_MEMORYTYPE_DEVICE,
		.WidthInBytes = 64,
		.dstMemoryType = CU_MEMORYTYPE_HOST,
		.Height = 1,
		.Depth = 1 };
	CUgraph graph = graph_new();
	CUgraphNode node;
	unsigned char *host;

	assert_ok(drv.cuMemAlloc_v2(&set.dst, 64));
	assert_ok(drv.cuMemAllocHost_v2((void **)&host, 64));
	copy.srcDevice = set.dst;
	copy.dstHost = host;
	assert_ok(drv.cuGraphAddMemsetNode(&node, graph, NULL, 0, &set, sim.context[0]));
	assert_ok(drv.cuGraphAddMemcpyNode(&node, graph, &node, 1, &copy, sim.context[0]));
	assert_ok(sim_launch_graph(graph, NULL));
	assert_ok(drv.cuStreamSynchronize(NULL));
	assert_int_equal(host[63], 7);
}

SIM_TEST(clones_know_the_nodes_they_were_made_of)
{
	CUgraph graph = graph_new(), clone;
	CUgraphNode a, b, found, from[2], to[2];
	size_t count = 2;

	assert_ok(sim_add(&a, graph, 10, NULL, 0));
	assert_ok(sim_add(&b, graph, 10, &a, 1));
	assert_ok(drv.cuGraphClone(&clone, graph));
	assert_ok(drv.cuGraphNodeFindInClone(&found, b, clone));
	assert_ptr_not_equal(found, b);
	assert_ok(drv.cuGraphGetEdges(clone, from, to, &count));
	assert_int_equal(count, 1);
	assert_ptr_equal(to[0], found);
	assert_null(from[1]);
}

static void destroyed(void *flag)
{
	*(_Atomic int *)flag = 1;
}

SIM_TEST(user_objects_go_with_the_last_graph)
{
	static _Atomic int gone;
	CUuserObject object;
	CUgraph graph = graph_new(), clone;

	assert_ok(drv.cuUserObjectCreate(&object, &gone, destroyed, 1,
		CU_USER_OBJECT_NO_DESTRUCTOR_SYNC));
	assert_ok(drv.cuGraphRetainUserObject(graph, object, 1, CU_GRAPH_USER_OBJECT_MOVE));
	assert_ok(drv.cuGraphClone(&clone, graph));
	assert_ok(drv.cuGraphDestroy(graph));
	drv.cuCtxSynchronize();
	assert_false(gone);
	assert_ok(drv.cuGraphDestroy(clone));
	spin(NULL, 1 * MS);
	drv.cuCtxSynchronize();
	assert_true(gone);
}

GROUP(sim_text_setup, NULL)
