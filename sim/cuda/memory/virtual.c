/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Virtual memory management: address ranges and physical memory are separate.  Physical memory is
 * an unlinked file, so that several mappings show the same bytes.
 */
#include <sys/mman.h>
#include <unistd.h>

#include "cuda_calls.h"
#include "cuda_state.h"

#define GRANULARITY (2ull << 20)
#define BASE 0x530000000000ull

struct physical {
	CUmemAllocationProp props;
	size_t bytes;
	int file;
	unsigned int references; /* handle and mappings */
};

static uintptr_t next_address = BASE;

static struct physical *physical_get(CUmemGenericAllocationHandle handle)
{
	return object_check((const void *)(uintptr_t)handle, OBJECT_PHYSICAL)
		? (struct physical *)(uintptr_t)handle
		: NULL;
}

static void physical_put(struct physical *physical)
{
	if (--physical->references)
		return;
	close(physical->file);
	object_free(physical);
}

CUresult do_cuMemGetAllocationGranularity(size_t *granularity, const CUmemAllocationProp *props,
	CUmemAllocationGranularity_flags option)
{
	if (!granularity || !props || (unsigned int)option > CU_MEM_ALLOC_GRANULARITY_RECOMMENDED)
		return CUDA_ERROR_INVALID_VALUE;
	*granularity = GRANULARITY;
	return CUDA_SUCCESS;
}

CUresult do_cuMemAddressReserve(CUdeviceptr *ptr, size_t bytes, size_t alignment,
	CUdeviceptr address, unsigned long long flags)
{
	void *map;

	if (!ptr || !bytes || bytes % GRANULARITY || flags)
		return CUDA_ERROR_INVALID_VALUE;
	if (alignment > GRANULARITY)
		next_address = (next_address + alignment - 1) / alignment * alignment;
	map = sim_reserve(next_address, bytes, PROT_NONE);
	if (!map)
		return CUDA_ERROR_OUT_OF_MEMORY;
	next_address = (uintptr_t)map;
	next_address += bytes;
	*ptr = (uintptr_t)map;
	return CUDA_SUCCESS;
}

CUresult do_cuMemAddressFree(CUdeviceptr ptr, size_t bytes)
{
	if (ptr < BASE || ptr >= next_address || memory_find(ptr))
		return CUDA_ERROR_INVALID_VALUE;
	munmap((void *)ptr, bytes);
	return CUDA_SUCCESS;
}

CUresult do_cuMemCreate(CUmemGenericAllocationHandle *handle, size_t bytes,
	const CUmemAllocationProp *props, unsigned long long flags)
{
	struct physical *physical;

	if (!handle || !props || !bytes || bytes % GRANULARITY || flags)
		return CUDA_ERROR_INVALID_VALUE;
	if (props->location.type == CU_MEM_LOCATION_TYPE_DEVICE && !device_get(props->location.id))
		return CUDA_ERROR_INVALID_DEVICE;
	physical = object_new(OBJECT_PHYSICAL, sizeof(*physical));
	if (!physical)
		return CUDA_ERROR_OUT_OF_MEMORY;
	*physical = (struct physical){ .props = *props, .bytes = bytes, .references = 1 };
	physical->file = memfd_create("cufence-sim", MFD_CLOEXEC);
	if (physical->file < 0 || ftruncate(physical->file, (off_t)bytes)) {
		object_free(physical);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	*handle = (uintptr_t)physical;
	return CUDA_SUCCESS;
}

CUresult do_cuMemRelease(CUmemGenericAllocationHandle handle)
{
	struct physical *physical = physical_get(handle);

	if (!physical)
		return CUDA_ERROR_INVALID_VALUE;
	physical_put(physical);
	return CUDA_SUCCESS;
}

CUresult do_cuMemMap(CUdeviceptr ptr, size_t bytes, size_t offset,
	CUmemGenericAllocationHandle handle, unsigned long long flags)
{
	struct physical *physical = physical_get(handle);
	struct memory *memory;

	if (!physical || ptr < BASE || ptr >= next_address || memory_find(ptr) || flags || offset ||
		bytes != physical->bytes)
		return CUDA_ERROR_INVALID_VALUE;
	if (mmap((void *)ptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, physical->file,
		    0) == MAP_FAILED)
		return CUDA_ERROR_OUT_OF_MEMORY;
	memory = memory_describe(ptr, bytes, PLACE_DEVICE);
	memory->device = device_get(physical->props.location.id);
	memory->physical = physical;
	memory->reserved = true;
	physical->references++;
	return CUDA_SUCCESS;
}

/* Does not wait, as measured: unmapping memory in use is an error of the program. */
CUresult do_cuMemUnmap(CUdeviceptr ptr, size_t bytes)
{
	struct memory *memory = memory_exact(ptr);

	if (!memory || !memory->physical || memory->bytes != bytes)
		return CUDA_ERROR_INVALID_VALUE;
	mmap((void *)ptr, bytes, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
	physical_put(memory->physical);
	memory_forget(memory);
	return CUDA_SUCCESS;
}

CUresult do_cuMemSetAccess(CUdeviceptr ptr, size_t bytes, const CUmemAccessDesc *access,
	size_t count)
{
	if (!memory_find(ptr) || !access || !count)
		return CUDA_ERROR_INVALID_VALUE;
	return CUDA_SUCCESS;
}

CUresult do_cuMemGetAccess(unsigned long long *flags, const CUmemLocation *location,
	CUdeviceptr ptr)
{
	if (!flags || !location || !memory_find(ptr))
		return CUDA_ERROR_INVALID_VALUE;
	*flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
	return CUDA_SUCCESS;
}

CUresult do_cuMemGetAllocationPropertiesFromHandle(CUmemAllocationProp *props,
	CUmemGenericAllocationHandle handle)
{
	struct physical *physical = physical_get(handle);

	if (!physical || !props)
		return CUDA_ERROR_INVALID_VALUE;
	*props = physical->props;
	return CUDA_SUCCESS;
}

CUresult do_cuMemRetainAllocationHandle(CUmemGenericAllocationHandle *handle, void *address)
{
	struct memory *memory = memory_find((uintptr_t)address);

	if (!handle || !memory || !memory->physical)
		return CUDA_ERROR_INVALID_VALUE;
	memory->physical->references++;
	*handle = (uintptr_t)memory->physical;
	return CUDA_SUCCESS;
}
