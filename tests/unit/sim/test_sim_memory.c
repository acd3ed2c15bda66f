/* SPDX-License-Identifier: Apache-2.0 */
/* Pools, boxes, arrays, virtual memory and values in memory, on the simulated device. */

#include "sim_driver.h"

static CUstream stream, other;
static unsigned char *host;

static int setup(void **state)
{
	sim_setup(state);
	stream = stream_create(CU_STREAM_NON_BLOCKING);
	other = stream_create(CU_STREAM_NON_BLOCKING);
	return drv.cuMemAllocHost_v2((void **)&host, 1 << 20);
}

static CUdeviceptr alloc(CUstream in)
{
	CUdeviceptr ptr;

	assert_ok(drv.cuMemAllocAsync(&ptr, 12345, in));
	return ptr;
}

SIM_TEST(freed_memory_is_used_again_in_its_stream_at_once)
{
	CUdeviceptr first = alloc(stream);

	spin(stream, 40 * MS);
	assert_at_once(drv.cuMemFreeAsync(first, stream));
	assert_int_not_equal(alloc(other), first);
	assert_int_equal(alloc(stream), first);
}

SIM_TEST(other_streams_use_it_once_it_is_free_or_they_wait_for_that)
{
	CUdeviceptr first = alloc(stream), second = alloc(stream);
	CUevent event;

	drv.cuEventCreate(&event, 0);
	spin(stream, 40 * MS);
	drv.cuMemFreeAsync(first, stream);
	drv.cuEventRecord(event, stream);
	assert_int_not_equal(alloc(other), first);
	drv.cuStreamWaitEvent(other, event, 0);
	assert_int_equal(alloc(other), first);
	drv.cuMemFreeAsync(second, stream);
	drv.cuStreamSynchronize(stream);
	assert_int_equal(alloc(other), second);
}

SIM_TEST(own_pools_are_apart_and_counted)
{
	CUmemPoolProps props = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
		.location = { .type = CU_MEM_LOCATION_TYPE_DEVICE } };
	uint64_t used = 0, keep = 1 << 20;
	CUmemoryPool pool, current;
	CUdeviceptr ptr;

	assert_ok(drv.cuMemPoolCreate(&pool, &props));
	assert_ok(drv.cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &keep));
	assert_ok(drv.cuMemAllocFromPoolAsync(&ptr, 8192, pool, stream));
	assert_ok(drv.cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &used));
	assert_int_equal(used, 8192);
	assert_ok(drv.cuMemFreeAsync(ptr, stream));
	assert_ok(drv.cuDeviceSetMemPool(0, pool));
	assert_ok(drv.cuDeviceGetMemPool(&current, 0));
	assert_ptr_equal(current, pool);
	assert_ok(drv.cuMemPoolDestroy(pool));
	assert_ok(drv.cuDeviceGetMemPool(&current, 0));
	assert_ok(drv.cuDeviceGetDefaultMemPool(&pool, 0));
	assert_ptr_equal(current, pool);
	assert_int_equal(drv.cuMemPoolDestroy(pool), CUDA_ERROR_INVALID_VALUE);
}

/* In pieces of 32 MiB; not before the free has completed. */
SIM_TEST(pools_give_memory_back_in_waits)
{
	uint64_t keep = UINT64_MAX;
	CUmemoryPool pool;
	CUdeviceptr ptr;

	assert_ok(drv.cuDeviceGetDefaultMemPool(&pool, 0));
	for (int kept = 0; kept < 2; kept++) {
		double mapping = TOOK(drv.cuMemAllocAsync(&ptr, 64 << 20, stream));
		double in_use = TOOK(drv.cuStreamSynchronize(stream)), idle;

		drv.cuMemFreeAsync(ptr, stream);
		idle = TOOK(drv.cuStreamSynchronize(stream));
		assert_true(mapping > 0.1 && mapping < 0.2);
		assert_true(in_use < 0.01);
		assert_true(kept ? idle < 0.01 : idle > 0.1 && idle < 0.2);
		drv.cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &keep);
	}
	assert_true(TOOK(drv.cuMemAllocAsync(&ptr, 64 << 20, stream)) < 0.01);
	drv.cuMemFreeAsync(ptr, stream);
}

SIM_TEST(boxes_leave_what_is_beside_them)
{
	CUDA_MEMCPY2D out = { .srcMemoryType = CU_MEMORYTYPE_HOST,
		.srcPitch = 10,
		.srcHost = host,
		.dstMemoryType = CU_MEMORYTYPE_DEVICE,
		.dstXInBytes = 2,
		.dstY = 1,
		.WidthInBytes = 10,
		.Height = 4 };
	CUdeviceptr device;

	assert_ok(drv.cuMemAllocPitch_v2(&device, &out.dstPitch, 64, 8, 4));
	out.dstDevice = device;
	memset(host, 7, 4096);
	assert_ok(drv.cuMemsetD2D8_v2(device, out.dstPitch, 1, 64, 8));
	assert_ok(drv.cuMemcpy2DUnaligned_v2(&out));
	assert_ok(drv.cuMemcpyDtoH_v2(host, device, 8 * out.dstPitch));
	assert_int_equal(host[4 * out.dstPitch + 11], 7);
	assert_int_equal(host[4 * out.dstPitch + 12], 1);
	assert_int_equal(host[5 * out.dstPitch + 2], 1);
	out.Height = 8;
	assert_int_equal(drv.cuMemcpy2DUnaligned_v2(&out), CUDA_ERROR_INVALID_VALUE);
}

SIM_TEST(box_copies_wait_as_plain_ones_do)
{
	CUDA_MEMCPY2D copy = { .srcMemoryType = CU_MEMORYTYPE_DEVICE,
		.srcPitch = 512,
		.dstMemoryType = CU_MEMORYTYPE_HOST,
		.dstHost = host,
		.dstPitch = 512,
		.WidthInBytes = 100,
		.Height = 4 };
	unsigned char pageable[4 * 512];

	assert_ok(drv.cuMemAlloc_v2(&copy.srcDevice, 4096));
	spin(stream, 40 * MS);
	assert_at_once(drv.cuMemcpy2DAsync_v2(&copy, stream));
	copy.dstHost = pageable;
	assert_waited(drv.cuMemcpy2DAsync_v2(&copy, stream), 40);
	spin(NULL, 40 * MS);
	copy.dstHost = host;
	assert_waited(drv.cuMemcpy2D_v2(&copy), 40);
}

SIM_TEST(arrays_hold_what_was_copied_and_wait_when_they_go)
{
	CUDA_ARRAY_DESCRIPTOR shape = { .Width = 16,
		.Height = 4,
		.NumChannels = 1,
		.Format = CU_AD_FORMAT_FLOAT };
	CUDA_MEMCPY2D copy = { .srcMemoryType = CU_MEMORYTYPE_HOST,
		.srcHost = host,
		.srcPitch = 64,
		.dstMemoryType = CU_MEMORYTYPE_ARRAY,
		.WidthInBytes = 64,
		.Height = 4 };
	unsigned char back[256];

	assert_ok(drv.cuArrayCreate_v2(&copy.dstArray, &shape));
	for (int i = 0; i < 256; i++)
		host[i] = (unsigned char)i;
	assert_ok(drv.cuMemcpy2D_v2(&copy));
	copy.srcMemoryType = CU_MEMORYTYPE_ARRAY;
	copy.srcArray = copy.dstArray;
	copy.dstMemoryType = CU_MEMORYTYPE_HOST;
	copy.dstHost = back;
	copy.dstPitch = 64;
	assert_ok(drv.cuMemcpy2D_v2(&copy));
	assert_memory_equal(back, host, 256);
	spin(stream, 40 * MS);
	assert_waited(drv.cuArrayDestroy(copy.srcArray), 40);
	assert_int_equal(drv.cuArrayDestroy(copy.srcArray), CUDA_ERROR_INVALID_HANDLE);
}

SIM_TEST(batches_are_unordered_inside_and_ordered_outside)
{
	CUmemcpyAttributes attributes = { .srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM };
	CUdeviceptr device, dsts[2], srcs[2];
	size_t sizes[2] = { 100, 100 }, first = 0;

	drv.cuMemAlloc_v2(&device, 4096);
	for (int i = 0; i < 2; i++) {
		dsts[i] = device + 100 * (unsigned int)i;
		srcs[i] = (CUdeviceptr)host;
	}
	memset(host, 5, 100);
	spin(stream, 40 * MS);
	assert_at_once(
		drv.cuMemcpyBatchAsync_v2(dsts, srcs, sizes, 2, &attributes, &first, 1, stream));
	drv.cuMemcpyDtoHAsync_v2(host + 1000, device, 200, stream);
	assert_waited(drv.cuStreamSynchronize(stream), 40);
	assert_int_equal(host[1199], 5);
	assert_int_equal(drv.cuMemcpyBatchAsync_v2(dsts, srcs, sizes, 2, &attributes, &first, 1,
				 NULL),
		CUDA_ERROR_INVALID_VALUE);
}

SIM_TEST(memory_mapped_twice_is_the_same)
{
	size_t bytes = 2 << 20;
	CUmemAllocationProp props = { .type = CU_MEM_ALLOCATION_TYPE_PINNED,
		.location = { .type = CU_MEM_LOCATION_TYPE_DEVICE } };
	CUmemGenericAllocationHandle handle;
	CUdeviceptr range;

	assert_ok(drv.cuMemAddressReserve(&range, 2 * bytes, 0, 0, 0));
	assert_ok(drv.cuMemCreate(&handle, bytes, &props, 0));
	assert_ok(drv.cuMemMap(range, bytes, 0, handle, 0));
	assert_ok(drv.cuMemMap(range + bytes, bytes, 0, handle, 0));
	assert_ok(drv.cuMemRelease(handle));
	assert_ok(drv.cuMemsetD8_v2(range, 9, 16));
	assert_ok(drv.cuMemcpyDtoH_v2(host, range + bytes, 16));
	assert_int_equal(host[15], 9);
	spin(stream, 40 * MS);
	assert_at_once(drv.cuMemUnmap(range, bytes));
	assert_ok(drv.cuMemUnmap(range + bytes, bytes));
	assert_ok(drv.cuMemAddressFree(range, 2 * bytes));
	assert_int_equal(drv.cuMemsetD8_v2(range, 9, 16), CUDA_ERROR_INVALID_VALUE);
}

SIM_TEST(streams_wait_for_values_of_streams_and_of_the_program)
{
	CUdeviceptr flag = (CUdeviceptr)host;

	memset(host, 0, 8);
	assert_ok(drv.cuStreamWaitValue32_v2(other, flag, 3, CU_STREAM_WAIT_VALUE_GEQ));
	spin(other, 10 * MS);
	spin(stream, 40 * MS);
	assert_ok(drv.cuStreamWriteValue32_v2(stream, flag, 3, 0));
	assert_waited(drv.cuStreamSynchronize(other), 50);
	assert_ok(drv.cuStreamWaitValue64_v2(other, flag, 8, CU_STREAM_WAIT_VALUE_EQ));
	assert_int_equal(drv.cuStreamQuery(other), CUDA_ERROR_NOT_READY);
	*(volatile uint64_t *)host = 8;
	assert_ok(drv.cuStreamSynchronize(other));
	assert_int_equal(drv.cuStreamWaitValue32_v2(other, flag + 2, 3, 0),
		CUDA_ERROR_INVALID_VALUE);
	setenv("CUFENCE_SIM_NO_WAIT_VALUE", "1", 1);
	assert_int_equal(drv.cuStreamWaitValue32_v2(other, flag, 3, CU_STREAM_WAIT_VALUE_GEQ),
		CUDA_ERROR_NOT_SUPPORTED);
	unsetenv("CUFENCE_SIM_NO_WAIT_VALUE");
}

GROUP(setup, NULL)
