/* SPDX-License-Identifier: Apache-2.0 */
/* Graphs on the simulated device: what their nodes do, and in which order. */

#include "sim_driver.h"

static CUcontext context;
static CUstream stream, other;

static int setup(void **state)
{
	sim_setup(state);
	stream = stream_create(CU_STREAM_NON_BLOCKING);
	other = stream_create(CU_STREAM_NON_BLOCKING);
	return drv.cuCtxGetCurrent(&context);
}

static CUgraph graph_new(void)
{
	CUgraph graph;

	assert_ok(drv.cuGraphCreate(&graph, 0));
	return graph;
}

static CUgraphNode add_spin(CUgraph graph, const CUgraphNode *after, size_t count, uint64_t ns)
{
	CUDA_KERNEL_NODE_PARAMS_v2 params = { .func = spin_function,
		.gridDimX = 1,
		.gridDimY = 1,
		.gridDimZ = 1,
		.blockDimX = 1,
		.blockDimY = 1,
		.blockDimZ = 1,
		.kernelParams = (void *[]){ &ns } };
	CUgraphNode node;

	assert_ok(drv.cuGraphAddKernelNode_v2(&node, graph, after, count, &params));
	return node;
}

static CUgraphExec instantiate(CUgraph graph)
{
	CUgraphExec exec;

	assert_ok(drv.cuGraphInstantiateWithFlags(&exec, graph, 0));
	return exec;
}

SIM_TEST(branches_overlap_and_joins_wait)
{
	CUgraph graph = graph_new();
	CUgraphNode branch[2];
	CUgraphExec exec;

	branch[0] = add_spin(graph, NULL, 0, 20 * MS);
	branch[1] = add_spin(graph, NULL, 0, 40 * MS);
	add_spin(graph, branch, 2, 10 * MS);
	exec = instantiate(graph);
	assert_at_once(drv.cuGraphLaunch(exec, stream));
	spin(stream, 5 * MS);
	assert_waited(drv.cuStreamSynchronize(stream), 55);
	assert_ok(drv.cuGraphExecDestroy(exec));
	assert_ok(drv.cuGraphDestroy(graph));
}

SIM_TEST(one_executable_runs_one_launch_after_the_other_two_overlap)
{
	CUgraph graph = graph_new();
	CUgraphExec a, b;

	add_spin(graph, NULL, 0, 40 * MS);
	a = instantiate(graph);
	b = instantiate(graph);
	drv.cuGraphLaunch(a, stream);
	drv.cuGraphLaunch(a, other);
	assert_waited(drv.cuCtxSynchronize(), 80);
	drv.cuGraphLaunch(a, stream);
	drv.cuGraphLaunch(b, other);
	assert_waited(drv.cuCtxSynchronize(), 40);
}

SIM_TEST(executables_may_go_while_they_run)
{
	CUgraph graph = graph_new();
	CUgraphExec exec;

	add_spin(graph, NULL, 0, 40 * MS);
	exec = instantiate(graph);
	drv.cuGraphLaunch(exec, stream);
	assert_at_once(drv.cuGraphDestroy(graph));
	assert_at_once(drv.cuGraphExecDestroy(exec));
	assert_waited(drv.cuStreamSynchronize(stream), 40);
	assert_int_equal(drv.cuGraphLaunch(exec, stream), CUDA_ERROR_INVALID_VALUE);
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
	assert_ok(drv.cuGraphAddMemsetNode(&node, graph, NULL, 0, &set, context));
	assert_ok(drv.cuGraphAddMemcpyNode(&node, graph, &node, 1, &copy, context));
	assert_ok(drv.cuGraphLaunch(instantiate(graph), stream));
	assert_ok(drv.cuStreamSynchronize(stream));
	assert_int_equal(host[63], 7);
}

static void count(void *number)
{
	++*(int *)number;
}

SIM_TEST(host_and_event_nodes_act_in_the_middle)
{
	CUgraph graph = graph_new();
	CUgraphNode kernel, node;
	static int calls;
	CUDA_HOST_NODE_PARAMS host = { count, &calls };
	CUevent event;

	drv.cuEventCreate(&event, 0);
	kernel = add_spin(graph, NULL, 0, 20 * MS);
	assert_ok(drv.cuGraphAddEventRecordNode(&node, graph, &kernel, 1, event));
	assert_ok(drv.cuGraphAddHostNode(&node, graph, &node, 1, &host));
	add_spin(graph, &node, 1, 40 * MS);
	drv.cuGraphLaunch(instantiate(graph), stream);
	assert_waited(drv.cuEventSynchronize(event), 20);
	assert_waited(drv.cuStreamSynchronize(stream), 40);
	assert_int_equal(calls, 1);
}

SIM_TEST(event_wait_nodes_wait_for_the_record_before_the_launch)
{
	CUgraph graph = graph_new();
	CUgraphNode node;
	CUgraphExec exec;
	CUevent event;

	drv.cuEventCreate(&event, 0);
	assert_ok(drv.cuGraphAddEventWaitNode(&node, graph, NULL, 0, event));
	add_spin(graph, &node, 1, 10 * MS);
	exec = instantiate(graph);
	spin(other, 30 * MS);
	drv.cuEventRecord(event, other);
	drv.cuGraphLaunch(exec, stream);
	assert_waited(drv.cuStreamSynchronize(stream), 40);
}

SIM_TEST(child_graphs_run_in_their_place)
{
	CUgraph child = graph_new(), graph = graph_new(), embedded;
	CUgraphNode node;

	add_spin(child, NULL, 0, 20 * MS);
	node = add_spin(graph, NULL, 0, 10 * MS);
	assert_ok(drv.cuGraphAddChildGraphNode(&node, graph, &node, 1, child));
	assert_ok(drv.cuGraphChildGraphNodeGetGraph(node, &embedded));
	assert_ptr_not_equal(embedded, child);
	add_spin(graph, &node, 1, 10 * MS);
	assert_ok(drv.cuGraphDestroy(child));
	drv.cuGraphLaunch(instantiate(graph), stream);
	assert_waited(drv.cuStreamSynchronize(stream), 40);
}

SIM_TEST(allocations_keep_their_address_and_must_be_freed)
{
	CUDA_MEM_ALLOC_NODE_PARAMS alloc = { .bytesize = 4096,
		.poolProps = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
			.location = { .type = CU_MEM_LOCATION_TYPE_DEVICE } } };
	CUgraph graph = graph_new();
	CUgraphNode node;
	CUgraphExec exec;

	assert_ok(drv.cuGraphAddMemAllocNode(&node, graph, NULL, 0, &alloc));
	assert_non_null((void *)alloc.dptr);
	exec = instantiate(graph);
	assert_ok(drv.cuGraphLaunch(exec, stream));
	assert_int_equal(drv.cuGraphLaunch(exec, stream), CUDA_ERROR_INVALID_VALUE);
	assert_ok(drv.cuMemFreeAsync(alloc.dptr, stream));
	assert_ok(drv.cuGraphLaunch(exec, stream));
	assert_ok(drv.cuMemFreeAsync(alloc.dptr, stream));
}

SIM_TEST(parameters_are_copied_and_can_be_changed)
{
	uint64_t ns = 30 * MS;
	CUDA_KERNEL_NODE_PARAMS_v2 params;
	CUgraph graph = graph_new();
	CUgraphNode node = add_spin(graph, NULL, 0, 10 * MS);
	CUgraphExec exec = instantiate(graph);

	drv.cuGraphLaunch(exec, stream);
	assert_waited(drv.cuStreamSynchronize(stream), 10);
	assert_ok(drv.cuGraphKernelNodeGetParams_v2(node, &params));
	assert_ptr_equal(params.func, spin_function);
	params.kernelParams = (void *[]){ &ns };
	assert_ok(drv.cuGraphExecKernelNodeSetParams_v2(exec, node, &params));
	drv.cuGraphLaunch(exec, stream);
	assert_waited(drv.cuStreamSynchronize(stream), 30);
	assert_ok(drv.cuGraphNodeSetEnabled(exec, node, 0));
	drv.cuGraphLaunch(exec, stream);
	assert_at_once(drv.cuStreamSynchronize(stream));
}

SIM_TEST(update_takes_parameters_and_refuses_another_shape)
{
	CUgraphExecUpdateResultInfo info;
	CUgraph graph = graph_new(), same = graph_new(), longer = graph_new();
	CUgraphNode node;
	CUgraphExec exec;

	add_spin(graph, NULL, 0, 10 * MS);
	add_spin(same, NULL, 0, 30 * MS);
	node = add_spin(longer, NULL, 0, 10 * MS);
	add_spin(longer, &node, 1, 10 * MS);
	exec = instantiate(graph);
	assert_ok(drv.cuGraphExecUpdate_v2(exec, same, &info));
	drv.cuGraphLaunch(exec, stream);
	assert_waited(drv.cuStreamSynchronize(stream), 30);
	assert_int_equal(drv.cuGraphExecUpdate_v2(exec, longer, &info),
		CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
	assert_int_equal(info.result, CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED);
}

SIM_TEST(clones_know_the_nodes_they_were_made_of)
{
	CUgraph graph = graph_new(), clone;
	CUgraphNode a = add_spin(graph, NULL, 0, 10), b = add_spin(graph, &a, 1, 10), found;
	CUgraphNode from[2], to[2];
	size_t count = 2;

	assert_ok(drv.cuGraphClone(&clone, graph));
	assert_ok(drv.cuGraphNodeFindInClone(&found, b, clone));
	assert_ptr_not_equal(found, b);
	assert_ok(drv.cuGraphGetEdges(clone, from, to, &count));
	assert_int_equal(count, 1);
	assert_ptr_equal(to[0], found);
	assert_null(from[1]);
}

SIM_TEST(edges_form_no_circle)
{
	CUgraph graph = graph_new();
	CUgraphNode a = add_spin(graph, NULL, 0, 10), b = add_spin(graph, &a, 1, 10);
	size_t count = 0;

	assert_int_equal(drv.cuGraphAddDependencies(graph, &b, &a, 1), CUDA_ERROR_INVALID_VALUE);
	assert_int_equal(drv.cuGraphAddDependencies(graph, &a, &b, 1), CUDA_ERROR_INVALID_VALUE);
	assert_ok(drv.cuGraphRemoveDependencies(graph, &a, &b, 1));
	assert_ok(drv.cuGraphGetRootNodes(graph, NULL, &count));
	assert_int_equal(count, 2);
	assert_ok(drv.cuGraphDestroyNode(a));
	assert_ok(drv.cuGraphGetNodes(graph, NULL, &count));
	assert_int_equal(count, 1);
}

SIM_TEST(programmatic_edges_need_only_the_start)
{
	CUgraphEdgeData port = { .from_port = CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC,
		.type = CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC };
	CUgraph graph = graph_new();
	CUgraphNode a = add_spin(graph, NULL, 0, 40 * MS), b = add_spin(graph, NULL, 0, 40 * MS);

	assert_ok(drv.cuGraphAddDependencies_v2(graph, &a, &b, &port, 1));
	drv.cuGraphLaunch(instantiate(graph), stream);
	assert_waited(drv.cuStreamSynchronize(stream), 40);
}

SIM_TEST(conditional_bodies_run_by_the_default_value)
{
	CUgraphNodeParams params = { .type = CU_GRAPH_NODE_TYPE_CONDITIONAL };
	CUgraph graph = graph_new();
	CUgraphNode node;

	for (unsigned int value = 0; value < 2; value++) {
		params.conditional.type = CU_GRAPH_COND_TYPE_IF;
		params.conditional.size = 1;
		assert_ok(drv.cuGraphConditionalHandleCreate(&params.conditional.handle, graph,
			context, value, CU_GRAPH_COND_ASSIGN_DEFAULT));
		assert_ok(drv.cuGraphAddNode_v2(&node, graph, NULL, NULL, 0, &params));
		add_spin(params.conditional.phGraph_out[0], NULL, 0, 10 * MS + 20 * MS * value);
	}
	drv.cuGraphLaunch(instantiate(graph), stream);
	assert_waited(drv.cuStreamSynchronize(stream), 30);
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
	spin(stream, 1 * MS);
	drv.cuCtxSynchronize();
	assert_true(gone);
}

GROUP(setup, NULL)
