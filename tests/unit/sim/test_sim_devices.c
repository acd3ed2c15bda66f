/* SPDX-License-Identifier: Apache-2.0 */
#include "sim_text.h"

static CUstream stream;

static int setup(void **state)
{
	setenv("CUFENCE_SIM_DEVICES", "2", 1);
	sim_text_setup(state);
	sim_text_quiet();
	stream = stream_create(CU_STREAM_NON_BLOCKING);
	return 0;
}

SIM_TEST(contexts_are_pushed_and_destroyed)
{
	CUcontext made, current;
	CUdeviceptr ptr;

	assert_ok(drv.cuCtxCreate_v2(&made, 0, 0));
	assert_ok(drv.cuCtxGetCurrent(&current));
	assert_ptr_equal(current, made);
	spin(stream_create(0), 40 * MS);
	assert_waited(drv.cuCtxDestroy_v2(made), 40);
	assert_ok(drv.cuCtxGetCurrent(&current));
	assert_ptr_equal(current, sim.context[0]);
	assert_int_equal(drv.cuCtxSetCurrent(made), CUDA_ERROR_INVALID_CONTEXT);
	assert_ok(drv.cuCtxPushCurrent_v2(sim.context[1]));
	assert_ok(drv.cuCtxPopCurrent_v2(&current));
	assert_ok(drv.cuCtxPopCurrent_v2(&current));
	assert_int_equal(drv.cuMemAlloc_v2(&ptr, 1), CUDA_ERROR_INVALID_CONTEXT);
	drv.cuCtxSetCurrent(sim.context[0]);
}

static void callback(CUstream in, CUresult result, void *data)
{
	*(_Atomic int *)data = result == CUDA_SUCCESS && in == stream;
}

SIM_TEST(callbacks_get_their_stream_and_hold_it)
{
	static _Atomic int called;

	spin(stream, 20 * MS);
	assert_at_once(drv.cuStreamAddCallback(stream, callback, (void *)&called, 0));
	assert_waited(drv.cuStreamSynchronize(stream), 20);
	assert_true(called);
}

GROUP(setup, NULL)
