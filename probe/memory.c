/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of the matrix: memory that is allocated, freed, registered, mapped and asked about. */
#include <stdlib.h>

#include "probe.h"
#include "probe_driver.h"

#define STEP(name) static cudaError_t name(struct bench *bench, const struct probe_row *row)

STEP(allocate)
{
	return cudaMalloc(&bench->pointer, row->bytes);
}

STEP(release)
{
	return cudaFree(bench->pointer);
}

STEP(allocate_pitch)
{
	return cudaMallocPitch(&bench->pointer, &bench->size, 1024, row->bytes / 1024);
}

STEP(allocate_host)
{
	return cudaMallocHost(&bench->pointer, row->bytes);
}

STEP(release_host)
{
	return cudaFreeHost(bench->pointer);
}

STEP(allocate_managed)
{
	return cudaMallocManaged(&bench->pointer, row->bytes, cudaMemAttachGlobal);
}

STEP(allocate_pageable)
{
	bench->pointer = aligned_alloc(4 * PROBE_KIB, row->bytes);
	return bench->pointer ? cudaSuccess : cudaErrorMemoryAllocation;
}

STEP(host_register)
{
	return cudaHostRegister(bench->pointer, row->bytes, cudaHostRegisterDefault);
}

STEP(prepare_registered)
{
	cudaError_t error = allocate_pageable(bench, row);

	return error == cudaSuccess ? host_register(bench, row) : error;
}

STEP(unregister)
{
	return cudaHostUnregister(bench->pointer);
}

STEP(free_pageable)
{
	free(bench->pointer);
	return cudaSuccess;
}

STEP(unregister_and_free)
{
	cudaError_t error = unregister(bench, row);

	free(bench->pointer);
	return error;
}

STEP(allocate_async)
{
	return cudaMallocAsync(&bench->pointer, row->bytes, bench->call[row->stream]);
}

STEP(release_async)
{
	return cudaFreeAsync(bench->pointer, bench->call[row->stream]);
}

STEP(allocate_array)
{
	struct cudaChannelFormatDesc format = { 32, 0, 0, 0, cudaChannelFormatKindFloat };

	return cudaMallocArray((cudaArray_t *)&bench->pointer, &format, 256, row->bytes / 1024, 0);
}

STEP(release_array)
{
	return cudaFreeArray(bench->pointer);
}

static CUmemAllocationProp location(void)
{
	CUmemAllocationProp property = { .type = CU_MEM_ALLOCATION_TYPE_PINNED };

	property.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
	return property;
}

/* Virtual memory management: physical memory, mapped at a reserved address. */
STEP(reserve)
{
	CUmemAllocationProp property = location();
	__typeof__(&cuMemGetAllocationGranularity) granularity =
		PROBE_DRIVER(cuMemGetAllocationGranularity);
	__typeof__(&cuMemAddressReserve) address_reserve = PROBE_DRIVER(cuMemAddressReserve);
	CUresult error;

	if (!granularity || !address_reserve)
		return cudaErrorNotSupported;
	error = granularity(&bench->size, &property, CU_MEM_ALLOC_GRANULARITY_MINIMUM);
	if (error == CUDA_SUCCESS)
		error = address_reserve((CUdeviceptr *)&bench->pointer, bench->size, 0, 0, 0);
	return probe_driver_error(error);
}

STEP(map)
{
	CUmemAllocationProp property = location();
	__typeof__(&cuMemCreate) create = PROBE_DRIVER(cuMemCreate);
	__typeof__(&cuMemMap) memory_map = PROBE_DRIVER(cuMemMap);
	CUmemGenericAllocationHandle handle = 0;
	CUresult error;

	if (!create || !memory_map)
		return cudaErrorNotSupported;
	error = create(&handle, bench->size, &property, 0);
	bench->handle = handle;
	if (error == CUDA_SUCCESS)
		error = memory_map((CUdeviceptr)bench->pointer, bench->size, 0, handle, 0);
	return probe_driver_error(error);
}

STEP(unmap)
{
	__typeof__(&cuMemUnmap) memory_unmap = PROBE_DRIVER(cuMemUnmap);

	return memory_unmap
		? probe_driver_error(memory_unmap((CUdeviceptr)bench->pointer, bench->size))
		: cudaErrorNotSupported;
}

STEP(unreserve)
{
	__typeof__(&cuMemRelease) release_memory = PROBE_DRIVER(cuMemRelease);
	__typeof__(&cuMemAddressFree) address_free = PROBE_DRIVER(cuMemAddressFree);
	CUresult error;

	if (!release_memory || !address_free)
		return cudaErrorNotSupported;
	error = release_memory(bench->handle);
	if (error == CUDA_SUCCESS)
		error = address_free((CUdeviceptr)bench->pointer, bench->size);
	return probe_driver_error(error);
}

STEP(reserve_and_map)
{
	cudaError_t error = reserve(bench, row);

	return error == cudaSuccess ? map(bench, row) : error;
}

STEP(unmap_and_unreserve)
{
	cudaError_t error = unmap(bench, row);

	return error == cudaSuccess ? unreserve(bench, row) : error;
}

STEP(trim_pool)
{
	return cudaMemPoolTrimTo((cudaMemPool_t)bench->pointer, 0);
}

STEP(find_pool)
{
	return cudaDeviceGetDefaultMemPool((cudaMemPool_t *)&bench->pointer, 0);
}

STEP(ipc_handle)
{
	cudaIpcMemHandle_t handle;

	return cudaIpcGetMemHandle(&handle, bench->pointer);
}

STEP(memory_info)
{
	size_t available, total;

	return cudaMemGetInfo(&available, &total);
}

STEP(pointer_attributes)
{
	struct cudaPointerAttributes attributes;

	return cudaPointerGetAttributes(&attributes, bench->memory[PROBE_DEVICE][0]);
}

#define SIZED(size, n) \
	{ "cudaMalloc " size, .call = allocate, .cleanup = release, .bytes = n }, \
		{ "cudaFree " size, .prepare = allocate, .call = release, .bytes = n }, \
		{ "cudaMallocManaged " size, .call = allocate_managed, .cleanup = release, \
			.bytes = n }, \
		{ "cudaFree managed " size, .prepare = allocate_managed, .call = release, \
			.bytes = n },

static const struct probe_row rows[] = {
	SIZED("4 KiB", 4 * PROBE_KIB) SIZED("1 MiB", PROBE_MIB)
		SIZED("64 MiB", 64 * PROBE_MIB){ "cudaMallocHost 4 KiB", .call = allocate_host,
			.cleanup = release_host, .bytes = 4 * PROBE_KIB },
	{ "cudaFreeHost 4 KiB", .prepare = allocate_host, .call = release_host,
		.bytes = 4 * PROBE_KIB },
	{ "cudaHostRegister 4 KiB", .prepare = allocate_pageable, .call = host_register,
		.cleanup = unregister_and_free, .bytes = 4 * PROBE_KIB },
	{ "cudaHostUnregister 4 KiB", .prepare = prepare_registered, .call = unregister,
		.cleanup = free_pageable, .bytes = 4 * PROBE_KIB },
	{ "cudaMallocAsync 64 MiB, non-blocking stream", .call = allocate_async,
		.cleanup = release_async, .bytes = 64 * PROBE_MIB, .stream = PROBE_NONBLOCKING },
	{ "cudaFreeAsync 64 MiB, non-blocking stream", .prepare = allocate_async,
		.call = release_async, .bytes = 64 * PROBE_MIB, .stream = PROBE_NONBLOCKING },
	{ "cudaMallocAsync 64 MiB, legacy stream", .call = allocate_async, .cleanup = release_async,
		.bytes = 64 * PROBE_MIB, .stream = PROBE_LEGACY },
	{ "cudaFree of cudaMallocAsync memory", .prepare = allocate_async, .call = release,
		.bytes = 64 * PROBE_MIB, .stream = PROBE_NONBLOCKING },
	{ "cudaMemPoolTrimTo", .prepare = find_pool, .call = trim_pool },
	{ "cudaMallocArray 1 MiB", .call = allocate_array, .cleanup = release_array,
		.bytes = PROBE_MIB },
	{ "cudaFreeArray 1 MiB", .prepare = allocate_array, .call = release_array,
		.bytes = PROBE_MIB },
	{ "cudaMallocPitch 1 MiB", .call = allocate_pitch, .cleanup = release, .bytes = PROBE_MIB },
	{ "cuMemCreate and cuMemMap", .prepare = reserve, .call = map,
		.cleanup = unmap_and_unreserve },
	{ "cuMemUnmap", .prepare = reserve_and_map, .call = unmap, .cleanup = unreserve },
	{ "cudaIpcGetMemHandle", .prepare = allocate, .call = ipc_handle, .cleanup = release,
		.bytes = PROBE_MIB },
	{ "cudaMemGetInfo", .call = memory_info },
	{ "cudaPointerGetAttributes", .call = pointer_attributes },
};

const struct probe_group probe_memory_group = { .name = "memory",
	.rows = rows,
	.count = sizeof(rows) / sizeof(*rows),
	.memory = true };
