/* SPDX-License-Identifier: Apache-2.0 */
/* Stream-ordered allocation and memory pools. */
#include <string.h>

#include "cuda_calls.h"
#include "cuda_graph.h"
#include "cuda_thread.h"

/*
 * A pool takes memory in pieces.  H200: 32 MiB are mapped in 84 us and given back in 54, 512 MiB in
 * 0.7 ms and 0.9.
 */
#define PIECE ((uint64_t)32 << 20)
enum { MAP_TIME = 40000, MAP_PIECE_TIME = 42000, UNMAP_PIECE_TIME = 55000 }; /* ns */

/* Returns the bytes that a pool must hold: those in use, and those whose free has not completed. */
static uint64_t pool_needs(const struct pool *pool)
{
	return (pool->used + memory_pending(pool) + PIECE - 1) / PIECE * PIECE;
}

static struct pool *pool_get(CUmemoryPool handle)
{
	return object_check(handle, OBJECT_POOL) ? (struct pool *)handle : NULL;
}

static struct pool *pool_new(struct device *device)
{
	struct pool *pool = object_new(OBJECT_POOL, sizeof(*pool));

	if (!pool)
		return NULL;
	pool->device = device;
	for (int i = 0; i < 3; i++)
		pool->reuse[i] = 1;
	pool->props.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
	pool->props.location.type =
		device ? CU_MEM_LOCATION_TYPE_DEVICE : CU_MEM_LOCATION_TYPE_HOST;
	pool->props.location.id = device ? device->ordinal : 0;
	return pool;
}

struct pool *pool_default(struct device *device)
{
	if (!device->default_pool) {
		device->default_pool = pool_new(device);
		if (device->default_pool)
			device->default_pool->owned = true;
	}
	return device->default_pool;
}

struct pool *pool_current(struct device *device)
{
	return device->pool ? device->pool : pool_default(device);
}

void pool_use(struct pool *pool, size_t bytes)
{
	uint64_t needed;

	pool->used += bytes;
	needed = pool_needs(pool);
	if (pool->used > pool->used_high)
		pool->used_high = pool->used;
	if (needed > pool->reserved) {
		thread_self()->overhead +=
			MAP_TIME + (needed - pool->reserved) / PIECE * MAP_PIECE_TIME;
		pool->reserved = needed;
	}
	if (pool->reserved > pool->reserved_high)
		pool->reserved_high = pool->reserved;
}

void pool_unuse(struct pool *pool, size_t bytes)
{
	pool->used -= bytes;
	if (pool->destroyed && !pool->used)
		object_free(pool);
}

static void trim(struct pool *pool, uint64_t keep)
{
	uint64_t least = pool_needs(pool), pieces;

	if (least < keep)
		least = keep;
	pieces = pool->reserved > least ? (pool->reserved - least) / PIECE : 0;
	thread_self()->overhead += pieces * UNMAP_PIECE_TIME;
	pool->reserved -= pieces * PIECE;
}

void pools_trim(struct device *device)
{
	if (device->default_pool)
		trim(device->default_pool, device->default_pool->threshold);
	if (device->pool)
		trim(device->pool, device->pool->threshold);
}

/*
 * Allocating and freeing put nothing into the stream: on an H200 they do not serialize blocking
 * streams when called on the legacy stream.
 */
static CUresult alloc(CUdeviceptr *ptr, size_t bytes, struct pool *pool, CUstream handle)
{
	struct stream *stream;
	CUresult result = stream_find(handle, &stream);

	if (result)
		return result;
	if (!ptr)
		return CUDA_ERROR_INVALID_VALUE;
	*ptr = 0;
	if (!bytes)
		return CUDA_SUCCESS;
	if (!pool)
		pool = pool_current(stream->context->device);
	if (stream->capture)
		return graph_memory_capture(stream, bytes, ptr);
	*ptr = memory_reserve_async(pool, bytes, stream);
	return *ptr ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult do_cuMemAllocAsync(CUdeviceptr *ptr, size_t bytes, CUstream stream)
{
	return alloc(ptr, bytes, NULL, stream);
}

CUresult do_cuMemAllocFromPoolAsync(CUdeviceptr *ptr, size_t bytes, CUmemoryPool pool,
	CUstream stream)
{
	if (!pool_get(pool))
		return CUDA_ERROR_INVALID_VALUE;
	return alloc(ptr, bytes, pool_get(pool), stream);
}

CUresult do_cuMemFreeAsync(CUdeviceptr ptr, CUstream handle)
{
	struct work work = { .params = { .type = CU_GRAPH_NODE_TYPE_MEM_FREE, .free = { ptr } } };
	struct memory *memory = memory_exact(ptr);
	struct stream *stream;
	CUresult result = stream_find(handle, &stream);

	if (result || !ptr)
		return result;
	if (stream->capture || (memory && memory->graph))
		return work_submit(&work, handle, NULL);
	if (!memory || !memory->pool)
		return CUDA_ERROR_INVALID_VALUE;
	memory_release_async(memory, stream_end(stream), stream);
	return CUDA_SUCCESS;
}

CUresult do_cuMemPoolCreate(CUmemoryPool *handle, const CUmemPoolProps *props)
{
	struct device *device = NULL;
	struct pool *pool;

	if (!handle || !props || props->allocType != CU_MEM_ALLOCATION_TYPE_PINNED)
		return CUDA_ERROR_INVALID_VALUE;
	if (props->handleTypes != CU_MEM_HANDLE_TYPE_NONE)
		return sim_unsupported("cuMemPoolCreate of a pool for other processes");
	if (props->location.type == CU_MEM_LOCATION_TYPE_DEVICE) {
		device = device_get(props->location.id);
		if (!device)
			return CUDA_ERROR_INVALID_VALUE;
	} else if (props->location.type != CU_MEM_LOCATION_TYPE_HOST &&
		props->location.type != CU_MEM_LOCATION_TYPE_HOST_NUMA) {
		return CUDA_ERROR_INVALID_VALUE;
	}
	pool = pool_new(device);
	if (!pool)
		return CUDA_ERROR_OUT_OF_MEMORY;
	pool->props = *props;
	*handle = (CUmemoryPool)pool;
	return CUDA_SUCCESS;
}

/* Devices that used it return to their default pool. */
CUresult do_cuMemPoolDestroy(CUmemoryPool handle)
{
	struct pool *pool = pool_get(handle);

	if (!pool || pool->owned)
		return CUDA_ERROR_INVALID_VALUE;
	for (int i = 0; i < device_count(); i++) {
		if (device_get(i)->pool == pool)
			device_get(i)->pool = NULL;
	}
	pool->destroyed = true;
	pool_unuse(pool, 0);
	return CUDA_SUCCESS;
}

CUresult do_cuMemPoolTrimTo(CUmemoryPool handle, size_t keep)
{
	struct pool *pool = pool_get(handle);

	if (!pool)
		return CUDA_ERROR_INVALID_VALUE;
	trim(pool, keep);
	return CUDA_SUCCESS;
}

CUresult do_cuMemPoolSetAttribute(CUmemoryPool handle, CUmemPool_attribute attribute, void *value)
{
	struct pool *pool = pool_get(handle);

	if (!pool || !value)
		return CUDA_ERROR_INVALID_VALUE;
	switch (attribute) {
	case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
	case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
	case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
		pool->reuse[attribute - CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES] =
			*(int *)value;
		return CUDA_SUCCESS;
	case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
		memcpy(&pool->threshold, value, sizeof(pool->threshold));
		return CUDA_SUCCESS;
	case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
		pool->reserved_high = pool->reserved;
		return CUDA_SUCCESS;
	case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
		pool->used_high = pool->used;
		return CUDA_SUCCESS;
	default:
		return CUDA_ERROR_INVALID_VALUE;
	}
}

CUresult do_cuMemPoolGetAttribute(CUmemoryPool handle, CUmemPool_attribute attribute, void *value)
{
	struct pool *pool = pool_get(handle);
	uint64_t number;

	if (!pool || !value)
		return CUDA_ERROR_INVALID_VALUE;
	switch (attribute) {
	case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
	case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
	case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
		*(int *)value =
			pool->reuse[attribute - CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES];
		return CUDA_SUCCESS;
	case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
		number = pool->threshold;
		break;
	case CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT:
		number = pool->reserved;
		break;
	case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
		number = pool->reserved_high;
		break;
	case CU_MEMPOOL_ATTR_USED_MEM_CURRENT:
		number = pool->used;
		break;
	case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
		number = pool->used_high;
		break;
	default:
		return CUDA_ERROR_INVALID_VALUE;
	}
	memcpy(value, &number, sizeof(number));
	return CUDA_SUCCESS;
}

/* Access of other devices: pool memory is accessible from all devices here. */
CUresult do_cuMemPoolSetAccess(CUmemoryPool handle, const CUmemAccessDesc *map, size_t count)
{
	return pool_get(handle) && (map || !count) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult do_cuMemPoolGetAccess(CUmemAccess_flags *flags, CUmemoryPool handle,
	CUmemLocation *location)
{
	if (!flags || !pool_get(handle) || !location)
		return CUDA_ERROR_INVALID_VALUE;
	*flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
	return CUDA_SUCCESS;
}

CUresult do_cuDeviceGetDefaultMemPool(CUmemoryPool *handle, CUdevice ordinal)
{
	struct device *device = device_get(ordinal);

	if (!device || !handle)
		return handle ? CUDA_ERROR_INVALID_DEVICE : CUDA_ERROR_INVALID_VALUE;
	*handle = (CUmemoryPool)pool_default(device);
	return CUDA_SUCCESS;
}

CUresult do_cuDeviceGetMemPool(CUmemoryPool *handle, CUdevice ordinal)
{
	struct device *device = device_get(ordinal);

	if (!device || !handle)
		return handle ? CUDA_ERROR_INVALID_DEVICE : CUDA_ERROR_INVALID_VALUE;
	*handle = (CUmemoryPool)pool_current(device);
	return CUDA_SUCCESS;
}

CUresult do_cuDeviceSetMemPool(CUdevice ordinal, CUmemoryPool handle)
{
	struct device *device = device_get(ordinal);
	struct pool *pool = pool_get(handle);

	if (!device)
		return CUDA_ERROR_INVALID_DEVICE;
	if (!pool || pool->device != device)
		return CUDA_ERROR_INVALID_VALUE;
	device->pool = pool;
	return CUDA_SUCCESS;
}

/* Only device locations are valid. */
static CUresult located(CUmemLocation *location, int *ordinal)
{
	if (!location || location->type != CU_MEM_LOCATION_TYPE_DEVICE)
		return CUDA_ERROR_INVALID_VALUE;
	*ordinal = location->id;
	return CUDA_SUCCESS;
}

CUresult do_cuMemGetDefaultMemPool(CUmemoryPool *handle, CUmemLocation *location,
	CUmemAllocationType type)
{
	int ordinal;
	CUresult result = located(location, &ordinal);

	return result ? result : do_cuDeviceGetDefaultMemPool(handle, ordinal);
}

CUresult do_cuMemGetMemPool(CUmemoryPool *handle, CUmemLocation *location, CUmemAllocationType type)
{
	int ordinal;
	CUresult result = located(location, &ordinal);

	return result ? result : do_cuDeviceGetMemPool(handle, ordinal);
}

CUresult do_cuMemSetMemPool(CUmemLocation *location, CUmemAllocationType type, CUmemoryPool handle)
{
	int ordinal;
	CUresult result = located(location, &ordinal);

	return result ? result : do_cuDeviceSetMemPool(ordinal, handle);
}
