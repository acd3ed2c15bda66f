/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Advice, prefetching and attaching of managed memory: operations in their stream that move
 * nothing, as managed memory is host memory here.
 */
#include <string.h>

#include "cuda_calls.h"
#include "cuda_work.h"

static bool managed(CUdeviceptr ptr, size_t bytes)
{
	const struct memory *memory = memory_find(ptr);

	return memory && memory->place == PLACE_MANAGED && memory_fits(memory, ptr, bytes);
}

static bool location_valid(CUmemLocation location)
{
	if (location.type == CU_MEM_LOCATION_TYPE_DEVICE)
		return device_get(location.id);
	return location.type >= CU_MEM_LOCATION_TYPE_HOST &&
		location.type <= CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT;
}

/* Location parameter of the older calls: a device, or CU_DEVICE_CPU. */
static CUmemLocation location_of(CUdevice device)
{
	return (CUmemLocation){ .type = device == CU_DEVICE_CPU ? CU_MEM_LOCATION_TYPE_HOST
								: CU_MEM_LOCATION_TYPE_DEVICE,
		.id = device };
}

CUresult do_cuMemAdvise_v2(CUdeviceptr ptr, size_t bytes, CUmem_advise advice,
	CUmemLocation location)
{
	if (!managed(ptr, bytes) || advice < CU_MEM_ADVISE_SET_READ_MOSTLY ||
		advice > CU_MEM_ADVISE_UNSET_ACCESSED_BY)
		return CUDA_ERROR_INVALID_VALUE;
	return CUDA_SUCCESS;
}

CUresult do_cuMemAdvise(CUdeviceptr ptr, size_t bytes, CUmem_advise advice, CUdevice device)
{
	return do_cuMemAdvise_v2(ptr, bytes, advice, location_of(device));
}

static CUresult prefetch(size_t bytes, CUstream handle)
{
	struct stream *stream;
	CUresult result = stream_find(handle, &stream);
	struct op *op;

	if (result)
		return result;
	if (stream->capture)
		return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	device_gate(stream->context->device);
	op = op_new(OP_SET, stream, 2000 + bytes / 50);
	op_submit(op);
	op_put(op);
	return CUDA_SUCCESS;
}

CUresult do_cuMemPrefetchAsync_v2(CUdeviceptr ptr, size_t bytes, CUmemLocation location,
	unsigned int flags, CUstream stream)
{
	if (!managed(ptr, bytes) || flags)
		return CUDA_ERROR_INVALID_VALUE;
	if (!location_valid(location))
		return CUDA_ERROR_INVALID_DEVICE;
	return prefetch(bytes, stream);
}

CUresult do_cuMemPrefetchAsync(CUdeviceptr ptr, size_t bytes, CUdevice device, CUstream stream)
{
	return do_cuMemPrefetchAsync_v2(ptr, bytes, location_of(device), 0, stream);
}

CUresult do_cuMemPrefetchBatchAsync(CUdeviceptr *ptrs, size_t *sizes, size_t count,
	CUmemLocation *locations, size_t *indices, size_t location_count, unsigned long long flags,
	CUstream stream)
{
	size_t bytes = 0;

	if (!ptrs || !sizes || !count || !locations || !indices || !location_count || flags)
		return CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < count; i++) {
		if (!managed(ptrs[i], sizes[i]))
			return CUDA_ERROR_INVALID_VALUE;
		bytes += sizes[i];
	}
	return prefetch(bytes, stream);
}

CUresult do_cuMemDiscardBatchAsync(CUdeviceptr *ptrs, size_t *sizes, size_t count,
	unsigned long long flags, CUstream stream)
{
	if (!ptrs || !sizes || !count || flags)
		return CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < count; i++) {
		if (!managed(ptrs[i], sizes[i]))
			return CUDA_ERROR_INVALID_VALUE;
	}
	return prefetch(0, stream);
}

CUresult do_cuMemDiscardAndPrefetchBatchAsync(CUdeviceptr *ptrs, size_t *sizes, size_t count,
	CUmemLocation *locations, size_t *indices, size_t location_count, unsigned long long flags,
	CUstream stream)
{
	return do_cuMemPrefetchBatchAsync(ptrs, sizes, count, locations, indices, location_count,
		flags, stream);
}

CUresult do_cuStreamAttachMemAsync(CUstream stream, CUdeviceptr ptr, size_t bytes,
	unsigned int flags)
{
	struct work work = { .params = { .type = CU_GRAPH_NODE_TYPE_EMPTY } };

	if (!managed(ptr, bytes) ||
		(flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST &&
			flags != CU_MEM_ATTACH_SINGLE))
		return CUDA_ERROR_INVALID_VALUE;
	return work_submit(&work, stream, NULL);
}

/* Advice and prefetches are not stored. */
CUresult do_cuMemRangeGetAttribute(void *data, size_t size, CUmem_range_attribute attribute,
	CUdeviceptr ptr, size_t bytes)
{
	if (!data || !size || !managed(ptr, bytes))
		return CUDA_ERROR_INVALID_VALUE;
	memset(data, 0, size);
	return CUDA_SUCCESS;
}

CUresult do_cuMemRangeGetAttributes(void **data, size_t *sizes, CUmem_range_attribute *attributes,
	size_t count, CUdeviceptr ptr, size_t bytes)
{
	CUresult result = CUDA_SUCCESS;

	if (!data || !sizes || !attributes)
		return CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < count && !result; i++)
		result = do_cuMemRangeGetAttribute(data[i], sizes[i], attributes[i], ptr, bytes);
	return result;
}
