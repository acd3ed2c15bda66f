/* SPDX-License-Identifier: Apache-2.0 */
/* Stream capture: what becomes of calls, and the errors that end a capture. */
#include <pthread.h>

#include "sim_driver.h"

static CUstream stream, side, blocking;
static CUevent event;
static CUdeviceptr device;

static int setup(void **state)
{
	sim_setup(state);
	stream = stream_create(CU_STREAM_NON_BLOCKING);
	side = stream_create(CU_STREAM_NON_BLOCKING);
	blocking = stream_create(0);
	drv.cuMemAlloc_v2(&device, 4096);
	return 0;
}

/* Each test has events and streams of its own where a capture left them in some state. */
static int fresh(void **state)
{
	drv.cuEventCreate(&event, 0);
	return sim_quiet(state);
}

static void begin(void)
{
	assert_ok(drv.cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
}

static CUgraph end(CUresult expected)
{
	CUgraph graph = NULL;

	assert_int_equal(drv.cuStreamEndCapture(stream, &graph), expected);
	assert_true(!graph == (expected != CUDA_SUCCESS));
	return graph;
}

static size_t node_count(CUgraph graph)
{
	size_t count = 0;

	assert_ok(drv.cuGraphGetNodes(graph, NULL, &count));
	return count;
}

static void launch(CUgraph graph)
{
	CUgraphExec exec;

	assert_ok(drv.cuGraphInstantiateWithFlags(&exec, graph, 0));
	assert_ok(drv.cuGraphLaunch(exec, stream));
}

TEST_WITH(captured_work_runs_when_the_graph_does, fresh, NULL)
{
	CUgraph graph;

	begin();
	spin(stream, 20 * MS);
	drv.cuMemsetD8Async(device, 1, 4096, stream);
	graph = end(0);
	assert_at_once(drv.cuStreamSynchronize(stream));
	assert_int_equal(node_count(graph), 2);
	launch(graph);
	assert_waited(drv.cuStreamSynchronize(stream), 20);
}

TEST_WITH(streams_join_by_events_and_run_side_by_side, fresh, NULL)
{
	CUgraph graph;

	begin();
	drv.cuEventRecord(event, stream);
	assert_ok(drv.cuStreamWaitEvent(side, event, 0));
	spin(stream, 40 * MS);
	spin(side, 40 * MS);
	drv.cuEventRecord(event, side);
	assert_ok(drv.cuStreamWaitEvent(stream, event, 0));
	spin(stream, 10 * MS);
	graph = end(0);
	launch(graph);
	assert_waited(drv.cuStreamSynchronize(stream), 50);
}

TEST_WITH(unjoined_streams_fail_the_end, fresh, NULL)
{
	begin();
	drv.cuEventRecord(event, stream);
	drv.cuStreamWaitEvent(side, event, 0);
	spin(side, 10);
	end(CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
	spin(side, 10 * MS);
	assert_waited(drv.cuStreamSynchronize(side), 10);
}

static CUstream forked(void)
{
	CUstream other = stream_create(CU_STREAM_NON_BLOCKING);

	begin();
	drv.cuEventRecord(event, stream);
	assert_ok(drv.cuStreamWaitEvent(other, event, 0));
	spin(other, 10);
	return other;
}

TEST_WITH(streams_may_be_destroyed_once_they_joined, fresh, NULL)
{
	CUstream other = forked();

	drv.cuEventRecord(event, other);
	assert_ok(drv.cuStreamWaitEvent(stream, event, 0));
	assert_ok(drv.cuStreamDestroy_v2(other));
	drv.cuGraphDestroy(end(0));
	assert_ok(drv.cuStreamDestroy_v2(forked()));
	end(CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
}

TEST_WITH(waiting_for_captured_work_is_refused, fresh, NULL)
{
	begin();
	spin(stream, 10);
	drv.cuEventRecord(event, stream);
	assert_int_equal(drv.cuStreamSynchronize(stream), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
	end(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
	assert_int_equal(drv.cuEventQuery(event), CUDA_ERROR_CAPTURED_EVENT);
}

TEST_WITH(unsafe_calls_end_the_capture_unless_relaxed, fresh, NULL)
{
	CUDA_ARRAY_DESCRIPTOR shape = { .Width = 4,
		.Format = CU_AD_FORMAT_FLOAT,
		.NumChannels = 1 };
	CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
	CUdeviceptr scratch;
	CUarray array;

	begin();
	assert_int_equal(drv.cuMemAlloc_v2(&scratch, 10), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
	assert_int_equal(spin(stream, 10), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
	end(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
	begin();
	assert_int_equal(drv.cuArrayCreate_v2(&array, &shape),
		CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
	end(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
	begin();
	assert_ok(drv.cuThreadExchangeStreamCaptureMode(&mode));
	assert_int_equal(mode, CU_STREAM_CAPTURE_MODE_GLOBAL);
	assert_ok(drv.cuMemAlloc_v2(&scratch, 10));
	assert_ok(drv.cuThreadExchangeStreamCaptureMode(&mode));
	drv.cuGraphDestroy(end(0));
}

static void *query_in_thread(void *context)
{
	drv.cuCtxSetCurrent(context);
	return (void *)(uintptr_t)drv.cuStreamQuery(side);
}

static CUresult query_elsewhere(void)
{
	CUcontext context;
	pthread_t thread;
	void *result;

	drv.cuCtxGetCurrent(&context);
	pthread_create(&thread, NULL, query_in_thread, context);
	pthread_join(thread, &result);
	return (CUresult)(uintptr_t)result;
}

TEST_WITH(other_threads_matter_to_global_captures_only, fresh, NULL)
{
	assert_ok(drv.cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
	assert_ok(query_elsewhere());
	drv.cuGraphDestroy(end(0));
	begin();
	assert_int_equal(query_elsewhere(), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
	end(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
}

TEST_WITH(legacy_stream_breaks_captures_of_blocking_streams, fresh, NULL)
{
	CUgraph graph;

	assert_ok(drv.cuStreamBeginCapture_v2(blocking, CU_STREAM_CAPTURE_MODE_RELAXED));
	assert_int_equal(spin(NULL, 10), CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
	assert_int_equal(drv.cuStreamEndCapture(blocking, &graph),
		CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
	begin();
	assert_ok(spin(NULL, 10));
	drv.cuGraphDestroy(end(0));
	assert_int_equal(drv.cuStreamBeginCapture_v2(NULL, 0),
		CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
}

TEST_WITH(captures_stay_apart_from_other_work, fresh, NULL)
{
	CUgraph graph;

	spin(side, 10);
	drv.cuEventRecord(event, side);
	begin();
	assert_int_equal(drv.cuStreamWaitEvent(stream, event, 0),
		CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
	end(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
	begin();
	assert_ok(drv.cuStreamBeginCapture_v2(side, CU_STREAM_CAPTURE_MODE_GLOBAL));
	drv.cuEventRecord(event, side);
	assert_int_equal(drv.cuStreamWaitEvent(stream, event, 0), CUDA_ERROR_STREAM_CAPTURE_MERGE);
	end(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
	assert_int_equal(drv.cuStreamEndCapture(side, &graph),
		CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
}

TEST_WITH(external_events_become_nodes, fresh, NULL)
{
	CUgraph graph;

	begin();
	spin(stream, 20 * MS);
	assert_ok(drv.cuEventRecordWithFlags(event, stream, CU_EVENT_RECORD_EXTERNAL));
	spin(stream, 20 * MS);
	graph = end(0);
	assert_int_equal(node_count(graph), 3);
	launch(graph);
	assert_waited(drv.cuEventSynchronize(event), 20);
	assert_waited(drv.cuStreamSynchronize(stream), 20);
}

TEST_WITH(capture_tells_about_itself_and_takes_dependencies, fresh, NULL)
{
	CUstreamCaptureStatus status;
	const CUgraphNode *tips;
	cuuint64_t id;
	CUgraph graph;
	size_t count;

	begin();
	spin(stream, 20 * MS);
	assert_ok(drv.cuStreamGetCaptureInfo_v2(stream, &status, &id, &graph, &tips, &count));
	assert_int_equal(status, CU_STREAM_CAPTURE_STATUS_ACTIVE);
	assert_int_equal(count, 1);
	assert_ok(drv.cuStreamUpdateCaptureDependencies(stream, NULL, 0,
		CU_STREAM_SET_CAPTURE_DEPENDENCIES));
	spin(stream, 20 * MS);
	launch(end(0));
	assert_waited(drv.cuStreamSynchronize(stream), 20);
	assert_ok(drv.cuStreamIsCapturing(stream, &status));
	assert_int_equal(status, CU_STREAM_CAPTURE_STATUS_NONE);
}

TEST_WITH(the_graph_that_was_given_need_not_be_asked_for, fresh, NULL)
{
	CUgraph graph;

	assert_ok(drv.cuGraphCreate(&graph, 0));
	assert_ok(drv.cuStreamBeginCaptureToGraph(stream, graph, NULL, NULL, 0,
		CU_STREAM_CAPTURE_MODE_GLOBAL));
	spin(stream, 20 * MS);
	assert_ok(drv.cuStreamEndCapture(stream, NULL));
	launch(graph);
	assert_waited(drv.cuStreamSynchronize(stream), 20);
	begin();
	assert_int_equal(drv.cuStreamEndCapture(stream, NULL), CUDA_ERROR_INVALID_VALUE);
	drv.cuGraphDestroy(end(0));
}

TEST_WITH(memory_of_a_capture_is_the_graphs, fresh, NULL)
{
	CUdeviceptr ptr;
	CUgraph graph;

	begin();
	assert_ok(drv.cuMemAllocAsync(&ptr, 1024, stream));
	assert_ok(drv.cuMemsetD8Async(ptr, 3, 1024, stream));
	assert_ok(drv.cuMemFreeAsync(ptr, stream));
	graph = end(0);
	assert_int_equal(node_count(graph), 3);
	launch(graph);
	launch(graph);
	assert_ok(drv.cuStreamSynchronize(stream));
}

TEST_WITH(graphs_launched_in_a_capture_become_children, fresh, NULL)
{
	CUgraphNodeType type;
	CUgraphNode node;
	CUgraph inner, outer;
	CUgraphExec exec;
	size_t count = 1;

	begin();
	spin(stream, 20 * MS);
	inner = end(0);
	assert_ok(drv.cuGraphInstantiateWithFlags(&exec, inner, 0));
	begin();
	assert_ok(drv.cuGraphLaunch(exec, stream));
	outer = end(0);
	assert_ok(drv.cuGraphGetNodes(outer, &node, &count));
	assert_ok(drv.cuGraphNodeGetType(node, &type));
	assert_int_equal(type, CU_GRAPH_NODE_TYPE_GRAPH);
	launch(outer);
	assert_waited(drv.cuStreamSynchronize(stream), 20);
}

GROUP(setup, NULL)
