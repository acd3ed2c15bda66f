/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What invalid use gives, as a table: each row is one call on a fresh state and the error NVIDIA's
 * driver is taken to return.  TEST_LIBCUDA=libcuda.so.1 runs the same table on a real driver.
 */
#include <string.h>

#include "sim_driver.h"

static CUcontext context;
static CUstream stream, capturing;
static CUevent event, untimed, unrecorded;
static CUdeviceptr device;
static char *pinned, pageable[4096];
static CUgraph graph;
static CUgraphExec exec;
static CUgraphNode node;
static CUmemoryPool pool;
static CUarray array;
static CUmodule loaded;

static int setup(void **state)
{
	CUDA_ARRAY_DESCRIPTOR shape = { .Width = 16, .Height = 4, .NumChannels = 1,
		.Format = CU_AD_FORMAT_FLOAT };

	sim_setup(state);
	drv.cuCtxGetCurrent(&context);
	stream = stream_create(CU_STREAM_NON_BLOCKING);
	capturing = stream_create(CU_STREAM_NON_BLOCKING);
	drv.cuEventCreate(&event, 0);
	drv.cuEventCreate(&untimed, CU_EVENT_DISABLE_TIMING);
	drv.cuEventCreate(&unrecorded, 0);
	drv.cuEventRecord(event, stream);
	drv.cuEventRecord(untimed, stream);
	drv.cuMemAlloc_v2(&device, 4096);
	drv.cuMemAllocHost_v2((void **)&pinned, 4096);
	drv.cuGraphCreate(&graph, 0);
	drv.cuGraphAddEmptyNode(&node, graph, NULL, 0);
	drv.cuGraphInstantiateWithFlags(&exec, graph, 0);
	drv.cuDeviceGetDefaultMemPool(&pool, 0);
	drv.cuArrayCreate_v2(&array, &shape);
	drv.cuModuleLoadData(&loaded, sim_ptx);
	return drv.cuCtxSynchronize();
}

/* Scratch for results nobody looks at. */
static CUdeviceptr ptr;
static void *host_ptr;
static CUstream new_stream;
static CUevent new_event;
static CUcontext new_context;
static CUgraph new_graph;
static CUgraphNode new_node;
static CUgraphExec new_exec;
static CUmemoryPool new_pool;
static CUarray new_array;
static CUfunction function;
static CUmodule module;
static float ms;
static int number;
static size_t size;

static CUresult launch(unsigned int grid, unsigned int threads, unsigned int shared)
{
	uint64_t ns = 0;

	return drv.cuLaunchKernel(spin_function, grid, 1, 1, threads, 1, 1, shared, stream,
		(void *[]){ &ns }, NULL);
}

static CUresult copy_2d(size_t pitch, size_t width, size_t height)
{
	CUDA_MEMCPY2D copy = { .srcMemoryType = CU_MEMORYTYPE_DEVICE, .srcDevice = device,
		.srcPitch = pitch, .dstMemoryType = CU_MEMORYTYPE_HOST, .dstHost = pageable,
		.dstPitch = pitch, .WidthInBytes = width, .Height = height };

	return drv.cuMemcpy2D_v2(&copy);
}

static CUmemPoolProps pool_props(CUmemAllocationType type, int id)
{
	return (CUmemPoolProps){ .allocType = type, .location = {
		.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = id } };
}

/* error, call */
#define ROWS(X) \
	X(INVALID_DEVICE, drv.cuDevicePrimaryCtxRetain(&new_context, 99)) \
	X(INVALID_VALUE, drv.cuInit(1)) \
	X(INVALID_CONTEXT, drv.cuCtxSetCurrent((CUcontext)pageable)) \
	X(INVALID_VALUE, drv.cuMemAlloc_v2(&ptr, 0)) \
	X(INVALID_VALUE, drv.cuMemAlloc_v2(NULL, 1)) \
	X(OUT_OF_MEMORY, drv.cuMemAlloc_v2(&ptr, 1ull << 44)) \
	X(SUCCESS, drv.cuMemFree_v2(0)) \
	X(INVALID_VALUE, drv.cuMemFree_v2(device + 8)) \
	X(INVALID_VALUE, drv.cuMemFree_v2((CUdeviceptr)pageable)) \
	X(INVALID_VALUE, drv.cuMemFreeHost(pageable)) \
	X(INVALID_VALUE, drv.cuMemAllocManaged(&ptr, 16, 77)) \
	X(INVALID_VALUE, drv.cuMemHostAlloc(&host_ptr, 16, 0x100)) \
	X(HOST_MEMORY_NOT_REGISTERED, drv.cuMemHostUnregister(pageable)) \
	X(HOST_MEMORY_ALREADY_REGISTERED, drv.cuMemHostRegister_v2(pinned, 4096, 0)) \
	X(INVALID_VALUE, drv.cuMemAllocPitch_v2(&ptr, &size, 64, 4, 3)) \
	X(INVALID_VALUE, drv.cuMemcpyDtoH_v2(pageable, device, 8192)) \
	X(INVALID_VALUE, drv.cuMemcpyHtoD_v2((CUdeviceptr)pageable, pageable, 16)) \
	X(INVALID_VALUE, drv.cuMemcpyDtoD_v2(device, 0, 16)) \
	X(INVALID_HANDLE, drv.cuMemcpyHtoDAsync_v2(device, pinned, 16, (CUstream)pageable)) \
	X(INVALID_VALUE, copy_2d(32, 64, 2)) \
	X(INVALID_VALUE, copy_2d(64, 64, 100)) \
	X(SUCCESS, copy_2d(64, 64, 0)) \
	X(INVALID_VALUE, drv.cuMemsetD32_v2(device + 1, 0, 1)) \
	X(INVALID_VALUE, drv.cuMemsetD8_v2(device, 0, 8192)) \
	X(INVALID_VALUE, drv.cuMemsetD8_v2((CUdeviceptr)pageable, 0, 1)) \
	X(SUCCESS, drv.cuMemsetD8_v2(device, 0, 0)) \
	X(INVALID_VALUE, drv.cuStreamCreate(&new_stream, 4)) \
	X(INVALID_VALUE, drv.cuStreamCreate(NULL, 0)) \
	X(INVALID_HANDLE, drv.cuStreamDestroy_v2(NULL)) \
	X(INVALID_HANDLE, drv.cuStreamSynchronize((CUstream)pageable)) \
	X(INVALID_VALUE, drv.cuEventCreate(&new_event, CU_EVENT_INTERPROCESS)) \
	X(INVALID_VALUE, drv.cuEventCreate(&new_event, 0x80)) \
	X(INVALID_HANDLE, drv.cuEventRecord(NULL, stream)) \
	X(INVALID_HANDLE, drv.cuEventSynchronize(NULL)) \
	X(SUCCESS, drv.cuEventSynchronize(unrecorded)) \
	X(SUCCESS, drv.cuEventQuery(unrecorded)) \
	X(INVALID_HANDLE, drv.cuEventElapsedTime(&ms, event, untimed)) \
	X(INVALID_HANDLE, drv.cuEventElapsedTime(&ms, event, unrecorded)) \
	X(INVALID_VALUE, drv.cuStreamWaitEvent(stream, event, 8)) \
	X(ILLEGAL_STATE, drv.cuStreamWaitEvent(stream, event, CU_EVENT_WAIT_EXTERNAL)) \
	X(ILLEGAL_STATE, drv.cuEventRecordWithFlags(event, stream, CU_EVENT_RECORD_EXTERNAL)) \
	X(INVALID_VALUE, launch(0, 1, 0)) \
	X(INVALID_VALUE, launch(1, 2048, 0)) \
	X(INVALID_VALUE, launch(1, 1, 100000)) \
	X(INVALID_VALUE, drv.cuLaunchHostFunc(stream, NULL, NULL)) \
	X(INVALID_VALUE, drv.cuStreamAddCallback(stream, NULL, NULL, 0)) \
	X(NOT_FOUND, drv.cuModuleGetFunction(&function, loaded, "nothing")) \
	X(INVALID_IMAGE, drv.cuModuleLoadData(&module, "no image at all")) \
	X(FILE_NOT_FOUND, drv.cuModuleLoad(&module, "/nonexistent")) \
	X(INVALID_HANDLE, drv.cuModuleUnload(NULL)) \
	X(INVALID_HANDLE, drv.cuArrayDestroy(NULL)) \
	X(INVALID_VALUE, drv.cuArrayCreate_v2(&new_array, NULL)) \
	X(INVALID_VALUE, drv.cuMemFreeAsync(device + 8, stream)) \
	X(INVALID_VALUE, drv.cuMemPoolDestroy(pool)) \
	X(INVALID_VALUE, drv.cuMemPoolCreate(&new_pool, &(CUmemPoolProps){ 0 })) \
	X(INVALID_DEVICE, drv.cuMemPoolCreate(&new_pool, \
		&(CUmemPoolProps[]){ pool_props(CU_MEM_ALLOCATION_TYPE_PINNED, 99) }[0])) \
	X(INVALID_DEVICE, drv.cuDeviceGetDefaultMemPool(&new_pool, 99)) \
	X(INVALID_VALUE, drv.cuGraphCreate(&new_graph, 1)) \
	X(INVALID_VALUE, drv.cuGraphLaunch(NULL, stream)) \
	X(INVALID_VALUE, drv.cuGraphAddEmptyNode(&new_node, NULL, NULL, 0)) \
	X(INVALID_VALUE, drv.cuGraphAddEmptyNode(&new_node, graph, NULL, 1)) \
	X(INVALID_VALUE, drv.cuGraphAddChildGraphNode(&new_node, graph, NULL, 0, graph)) \
	X(INVALID_VALUE, drv.cuGraphKernelNodeGetParams_v2(node, NULL)) \
	X(INVALID_VALUE, drv.cuGraphNodeSetEnabled(exec, node, 0)) \
	X(INVALID_VALUE, drv.cuGraphInstantiateWithFlags(&new_exec, graph, 1024)) \
	X(ILLEGAL_STATE, drv.cuStreamEndCapture(stream, &new_graph)) \
	X(STREAM_CAPTURE_UNSUPPORTED, drv.cuStreamBeginCapture_v2(NULL, 0)) \
	X(INVALID_VALUE, drv.cuStreamBeginCapture_v2(stream, 7)) \
	X(INVALID_VALUE, drv.cuCtxSetLimit(999, 1)) \
	X(INVALID_DEVICE, drv.cuCtxEnablePeerAccess(context, 0)) \
	X(INVALID_DEVICE, drv.cuDeviceGetP2PAttribute(&number, \
		CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED, 0, 0)) \
	X(INVALID_VALUE, drv.cuMemAdvise(device, 4096, CU_MEM_ADVISE_SET_READ_MOSTLY, 0)) \
	X(INVALID_VALUE, drv.cuMemPrefetchAsync(device, 4096, 0, stream)) \
	X(INVALID_VALUE, drv.cuMemAddressReserve(&ptr, 100, 0, 0, 0)) \
	X(INVALID_VALUE, drv.cuStreamWaitValue32_v2(stream, device + 2, 0, 0))

static void never(CUstream in, CUresult result, void *data)
{
}

/* error of the call, error of the end, mode; the call */
#define CAPTURE_ROWS(X) \
	X(SUCCESS, SUCCESS, GLOBAL, drv.cuEventCreate(&new_event, 0)) \
	X(SUCCESS, SUCCESS, GLOBAL, drv.cuStreamCreate(&new_stream, 0)) \
	X(SUCCESS, SUCCESS, RELAXED, drv.cuMemAlloc_v2(&ptr, 16)) \
	X(STREAM_CAPTURE_UNSUPPORTED, STREAM_CAPTURE_INVALIDATED, GLOBAL, \
		drv.cuMemAlloc_v2(&ptr, 16)) \
	X(STREAM_CAPTURE_UNSUPPORTED, STREAM_CAPTURE_INVALIDATED, THREAD_LOCAL, \
		drv.cuMemAlloc_v2(&ptr, 16)) \
	X(STREAM_CAPTURE_UNSUPPORTED, STREAM_CAPTURE_INVALIDATED, GLOBAL, \
		drv.cuMemHostAlloc(&host_ptr, 16, 0)) \
	X(STREAM_CAPTURE_UNSUPPORTED, STREAM_CAPTURE_INVALIDATED, GLOBAL, drv.cuEventQuery(event)) \
	X(STREAM_CAPTURE_UNSUPPORTED, STREAM_CAPTURE_INVALIDATED, GLOBAL, \
		drv.cuEventSynchronize(event)) \
	X(STREAM_CAPTURE_UNSUPPORTED, STREAM_CAPTURE_INVALIDATED, GLOBAL, \
		drv.cuStreamQuery(stream)) \
	X(STREAM_CAPTURE_UNSUPPORTED, STREAM_CAPTURE_INVALIDATED, GLOBAL, \
		drv.cuStreamSynchronize(stream)) \
	X(SUCCESS, SUCCESS, RELAXED, drv.cuStreamSynchronize(stream)) \
	X(STREAM_CAPTURE_UNSUPPORTED, STREAM_CAPTURE_INVALIDATED, RELAXED, \
		drv.cuStreamSynchronize(capturing)) \
	X(STREAM_CAPTURE_UNSUPPORTED, STREAM_CAPTURE_INVALIDATED, RELAXED, \
		drv.cuStreamQuery(capturing)) \
	X(STREAM_CAPTURE_UNSUPPORTED, STREAM_CAPTURE_INVALIDATED, GLOBAL, \
		drv.cuCtxSynchronize()) \
	X(ILLEGAL_STATE, SUCCESS, GLOBAL, drv.cuStreamBeginCapture_v2(capturing, 0)) \
	X(STREAM_CAPTURE_UNSUPPORTED, STREAM_CAPTURE_INVALIDATED, GLOBAL, \
		drv.cuStreamAddCallback(capturing, never, NULL, 0)) \
	X(STREAM_CAPTURE_ISOLATION, STREAM_CAPTURE_INVALIDATED, GLOBAL, \
		drv.cuStreamWaitEvent(capturing, event, 0)) \
	X(SUCCESS, SUCCESS, GLOBAL, drv.cuStreamWaitEvent(capturing, unrecorded, 0)) \
	X(SUCCESS, SUCCESS, GLOBAL, drv.cuMemcpyHtoDAsync_v2(device, pinned, 16, stream)) \
	X(SUCCESS, SUCCESS, GLOBAL, drv.cuMemcpyHtoDAsync_v2(device, pageable, 16, capturing))

static unsigned int wrong;

static void expect(const char *what, CUresult result, CUresult expected)
{
	if (result == expected)
		return;
	fprintf(stderr, "%s: %d, expected %d\n", what, result, expected);
	wrong++;
}

#define CUDA_ERROR_SUCCESS CUDA_SUCCESS

static void invalid_use_gives_the_drivers_errors(void **state)
{
	wrong = 0;
#define X(error, call) expect(#call, call, CUDA_ERROR_##error);
	ROWS(X)
#undef X
	assert_int_equal(wrong, 0);
}

static void begin(CUstreamCaptureMode mode)
{
	assert_ok(drv.cuStreamBeginCapture_v2(capturing, mode));
}

static CUresult end(void)
{
	CUgraph made = NULL;
	CUresult result = drv.cuStreamEndCapture(capturing, &made);

	if (made)
		drv.cuGraphDestroy(made);
	return result;
}

static void calls_during_a_capture_give_the_drivers_errors(void **state)
{
	wrong = 0;
#define X(error, at_end, mode, call) \
	begin(CU_STREAM_CAPTURE_MODE_##mode); \
	expect(#mode ": " #call, call, CUDA_ERROR_##error); \
	expect("end of capture after " #mode ": " #call, end(), CUDA_ERROR_##at_end);
	CAPTURE_ROWS(X)
#undef X
	assert_int_equal(wrong, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(invalid_use_gives_the_drivers_errors, sim_quiet),
		cmocka_unit_test_setup(calls_during_a_capture_give_the_drivers_errors, sim_quiet),
	};

	return cmocka_run_group_tests(tests, setup, NULL);
}
