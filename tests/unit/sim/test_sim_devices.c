/* SPDX-License-Identifier: Apache-2.0 */
/* Two simulated devices, contexts, and launches with attributes. */
#include "sim_driver.h"

static CUcontext context[2];
static CUstream stream[2], blocking[2]; /* the former are non-blocking */
static CUdeviceptr memory[2];

static int setup(void **state)
{
	setenv("CUFENCE_SIM_DEVICES", "2", 1);
	sim_setup(state);
	for (int i = 0; i < 2; i++) {
		assert_ok(drv.cuDevicePrimaryCtxRetain(&context[i], i));
		drv.cuCtxSetCurrent(context[i]);
		stream[i] = stream_create(CU_STREAM_NON_BLOCKING);
		blocking[i] = stream_create(CU_STREAM_DEFAULT);
		drv.cuMemAlloc_v2(&memory[i], 1 << 20);
	}
	return drv.cuCtxSetCurrent(context[0]);
}

static int quiet(void **state)
{
	drv.cuCtxSetCurrent(context[1]);
	sim_quiet(state);
	drv.cuCtxSetCurrent(context[0]);
	return sim_quiet(state);
}

TEST_WITH(freeing_waits_for_the_device_that_owns_the_memory, quiet, NULL)
{
	CUdeviceptr mine, theirs;

	drv.cuMemAlloc_v2(&mine, 10);
	drv.cuCtxSetCurrent(context[1]);
	drv.cuMemAlloc_v2(&theirs, 10);
	drv.cuCtxSetCurrent(context[0]);
	spin(stream[1], 40 * MS);
	assert_at_once(drv.cuMemFree_v2(mine));
	assert_at_once(drv.cuCtxSynchronize());
	assert_waited(drv.cuMemFree_v2(theirs), 40);
}

TEST_WITH(freeing_host_memory_waits_for_both, quiet, NULL)
{
	void *host;

	drv.cuMemAllocHost_v2(&host, 10);
	spin(stream[1], 40 * MS);
	assert_waited(drv.cuMemFreeHost(host), 40);
}

TEST_WITH(streams_run_on_their_own_device, quiet, NULL)
{
	CUdevice device;

	spin(stream[1], 40 * MS);
	assert_at_once(drv.cuCtxSynchronize());
	assert_ok(drv.cuStreamGetDevice(stream[1], &device));
	assert_int_equal(device, 1);
	assert_waited(drv.cuStreamSynchronize(stream[1]), 40);
}

TEST_WITH(events_are_recorded_on_their_own_device_and_waited_for_anywhere, quiet, NULL)
{
	CUevent event;

	drv.cuEventCreate(&event, 0);
	assert_int_equal(drv.cuEventRecord(event, stream[1]), CUDA_ERROR_INVALID_HANDLE);
	spin(stream[0], 40 * MS);
	drv.cuEventRecord(event, stream[0]);
	assert_ok(drv.cuStreamWaitEvent(stream[1], event, 0));
	assert_waited(drv.cuStreamSynchronize(stream[1]), 40);
}

static void copy_in_the_legacy_stream(int async)
{
	CUdeviceptr to = memory[1], from = memory[0];

	assert_at_once(async ? drv.cuMemcpyAsync(to, from, 4096, NULL)
			     : drv.cuMemcpyPeer(to, context[1], from, context[0], 4096));
}

TEST_WITH(copy_between_devices_is_legacy_work_of_both_and_does_not_wait, quiet, NULL)
{
	CUstream late;

	for (int async = 0; async < 2; async++) {
		spin(stream[0], 100 * MS);
		spin(blocking[0], 20 * MS);
		spin(blocking[1], 40 * MS);
		copy_in_the_legacy_stream(async);
		spin(blocking[0], 10 * MS);
		assert_waited(drv.cuStreamSynchronize(blocking[0]), 50);
		quiet(state);
		spin(blocking[0], 40 * MS);
		copy_in_the_legacy_stream(async);
		spin(blocking[1], 10 * MS);
		spin(stream[1], 5 * MS);
		assert_waited(drv.cuStreamSynchronize(stream[1]), 5);
		assert_waited(drv.cuStreamSynchronize(blocking[1]), 45);
		/* One that is made later is a blocking stream like any other. */
		spin(blocking[0], 40 * MS);
		copy_in_the_legacy_stream(async);
		drv.cuCtxSetCurrent(context[1]);
		late = stream_create(CU_STREAM_DEFAULT);
		spin(late, 5 * MS);
		assert_waited(drv.cuStreamSynchronize(late), 45);
		drv.cuCtxSetCurrent(context[0]);
	}
	spin(stream[1], 40 * MS);
	assert_at_once(drv.cuMemcpyPeerAsync(memory[1], context[1], memory[0], context[0], 4096,
		stream[0]));
	assert_at_once(drv.cuStreamSynchronize(stream[0]));
}

TEST_WITH(other_devices_memory_needs_peer_access, quiet, NULL)
{
	assert_int_equal(drv.cuMemsetD8_v2(memory[1], 0, 16), CUDA_ERROR_INVALID_VALUE);
	assert_int_equal(drv.cuCtxDisablePeerAccess(context[1]),
		CUDA_ERROR_PEER_ACCESS_NOT_ENABLED);
	assert_ok(drv.cuCtxEnablePeerAccess(context[1], 0));
	assert_int_equal(drv.cuCtxEnablePeerAccess(context[1], 0),
		CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED);
	assert_ok(drv.cuMemsetD8_v2(memory[1], 0, 16));
	assert_ok(drv.cuCtxDisablePeerAccess(context[1]));
}

TEST_WITH(contexts_are_pushed_and_destroyed, quiet, NULL)
{
	CUcontext made, current;
	CUdeviceptr ptr;

	assert_ok(drv.cuCtxCreate_v2(&made, 0, 0));
	assert_ok(drv.cuCtxGetCurrent(&current));
	assert_ptr_equal(current, made);
	spin(stream_create(0), 40 * MS);
	assert_waited(drv.cuCtxDestroy_v2(made), 40);
	assert_ok(drv.cuCtxGetCurrent(&current));
	assert_ptr_equal(current, context[0]);
	assert_int_equal(drv.cuCtxSetCurrent(made), CUDA_ERROR_INVALID_CONTEXT);
	assert_ok(drv.cuCtxPushCurrent_v2(context[1]));
	assert_ok(drv.cuCtxPopCurrent_v2(&current));
	assert_ok(drv.cuCtxPopCurrent_v2(&current));
	assert_int_equal(drv.cuMemAlloc_v2(&ptr, 1), CUDA_ERROR_INVALID_CONTEXT);
	drv.cuCtxSetCurrent(context[0]);
}

TEST_WITH(stack_limit_waits_for_everything, quiet, NULL)
{
	size_t bytes;

	spin(stream[0], 40 * MS);
	assert_waited(drv.cuCtxSetLimit(CU_LIMIT_STACK_SIZE, 4096), 40);
	assert_ok(drv.cuCtxGetLimit(&bytes, CU_LIMIT_STACK_SIZE));
	assert_int_equal(bytes, 4096);
}

static CUresult launch_with(CUlaunchAttribute attribute, uint64_t ns)
{
	CUlaunchConfig config = { .gridDimX = 1,
		.gridDimY = 1,
		.gridDimZ = 1,
		.blockDimX = 1,
		.blockDimY = 1,
		.blockDimZ = 1,
		.hStream = stream[0],
		.attrs = &attribute,
		.numAttrs = 1 };

	return drv.cuLaunchKernelEx(&config, spin_function, (void *[]){ &ns }, NULL);
}

TEST_WITH(programmatic_launches_overlap_and_what_follows_waits_for_both, quiet, NULL)
{
	CUlaunchAttribute attribute = { .id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION,
		.value = { .programmaticStreamSerializationAllowed = 1 } };

	spin(stream[0], 40 * MS);
	assert_ok(launch_with(attribute, 20 * MS));
	spin(stream[0], 10 * MS);
	assert_waited(drv.cuStreamSynchronize(stream[0]), 50);
}

TEST_WITH(launch_completion_event_comes_when_the_kernel_starts, quiet, NULL)
{
	CUlaunchAttribute attribute = { .id = CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT };
	CUevent event;

	drv.cuEventCreate(&event, CU_EVENT_DISABLE_TIMING);
	attribute.value.launchCompletionEvent.event = event;
	spin(stream[0], 20 * MS);
	assert_ok(launch_with(attribute, 40 * MS));
	assert_waited(drv.cuEventSynchronize(event), 20);
	assert_waited(drv.cuStreamSynchronize(stream[0]), 40);
}

static void callback(CUstream in, CUresult result, void *data)
{
	*(_Atomic int *)data = result == CUDA_SUCCESS && in == stream[0];
}

/* On the other device the memory would be out of reach. */
static void launch_with_memory(CUfunction touch, int device)
{
	void *values[] = { &(uint64_t){ 20 * MS }, &memory[device], &(uint64_t){ 1 } };

	assert_ok(drv.cuLaunchKernel(touch, 1, 1, 1, 32, 1, 1, 0, stream[device], values, NULL));
}

static CUfunction new_touch(void)
{
	CUmodule module;
	CUfunction touch;

	assert_ok(drv.cuModuleLoadData(&module, sim_ptx));
	assert_ok(drv.cuModuleGetFunction(&touch, module, "_ZN7cufence5touchEyPfm"));
	return touch;
}

TEST_WITH(each_device_loads_a_kernel_at_its_first_use, quiet, NULL)
{
	CUfunction touch = new_touch();

	launch_with_memory(touch, 0);
	spin(blocking[1], 40 * MS);
	launch_with_memory(touch, 1);
	assert_waited(drv.cuStreamSynchronize(stream[1]), 60);
	spin(blocking[1], 40 * MS);
	launch_with_memory(touch, 1);
	assert_waited(drv.cuStreamSynchronize(stream[1]), 20);
}

TEST_WITH(captured_work_runs_on_its_own_device, quiet, NULL)
{
	CUevent fork, join;
	CUgraph graph;
	CUgraphExec exec;
	CUfunction touch = new_touch();

	drv.cuEventCreate(&fork, 0);
	assert_ok(drv.cuStreamBeginCapture_v2(stream[0], CU_STREAM_CAPTURE_MODE_RELAXED));
	drv.cuEventRecord(fork, stream[0]);
	drv.cuStreamWaitEvent(stream[1], fork, 0);
	drv.cuCtxSetCurrent(context[1]);
	drv.cuEventCreate(&join, 0);
	launch_with_memory(touch, 1);
	drv.cuEventRecord(join, stream[1]);
	drv.cuCtxSetCurrent(context[0]);
	launch_with_memory(touch, 0);
	assert_ok(drv.cuStreamWaitEvent(stream[0], join, 0));
	assert_ok(drv.cuStreamEndCapture(stream[0], &graph));
	assert_ok(drv.cuGraphInstantiateWithFlags(&exec, graph, 0));
	assert_ok(drv.cuGraphLaunch(exec, stream[0]));
	assert_waited(drv.cuStreamSynchronize(stream[0]), 20);
	assert_ok(drv.cuGraphExecDestroy(exec));
	assert_ok(drv.cuGraphDestroy(graph));
}

TEST_WITH(callbacks_get_their_stream_and_hold_it, quiet, NULL)
{
	static _Atomic int called;

	spin(stream[0], 20 * MS);
	assert_at_once(drv.cuStreamAddCallback(stream[0], callback, (void *)&called, 0));
	assert_waited(drv.cuStreamSynchronize(stream[0]), 20);
	assert_true(called);
}

GROUP(setup, NULL)
