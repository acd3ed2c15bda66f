/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gives pinned allocations pages of their own.  The driver hands out pinned memory in steps of 512
 * bytes (H200, 580.159): other data may lie in the pages of a small allocation, and system calls on
 * protected pages fail.  So more is allocated than the program asked for, and it gets the address
 * of the first whole page in it.  Calls that need the driver's address, or return a range, are
 * translated; without enough memory the program gets what it asked for.
 */
#include <cuda.h>
#include <dlfcn.h>
#include <string.h>

#include "guard_parts.h"

#define EXPORT __attribute__((visibility("default")))

typedef CUresult (*allocate_function)(void **, size_t, unsigned);
typedef CUresult (*allocate_plain_function)(void **, size_t);
typedef CUresult (*release_function)(void *);

/* Functions of the driver that the recorder's wrappers would call. */
static void *real_allocate, *real_allocate_plain, *real_free, *real_unregister;

static CUresult call_allocate(void **ptr, size_t bytes, unsigned flags, int plain)
{
	return plain ? ((allocate_plain_function)real_allocate_plain)(ptr, bytes)
		     : ((allocate_function)real_allocate)(ptr, bytes, flags);
}

static CUresult call_free(void *ptr)
{
	return ((release_function)real_free)(ptr);
}

static CUresult allocate(void **ptr, size_t bytes, unsigned flags, int plain)
{
	size_t room = (bytes + 2 * PAGE - 1) & ~(size_t)(PAGE - 1);
	uintptr_t start;
	void *base;

	if (!ptr || !bytes || room < bytes || !pages_are_guarded() || !real_free ||
		call_allocate(&base, room, flags, plain))
		return call_allocate(ptr, bytes, flags, plain);
	start = ((uintptr_t)base + PAGE - 1) & ~(uintptr_t)(PAGE - 1);
	if (pages_add_memory(start, bytes, (uintptr_t)base)) {
		call_free(base);
		return call_allocate(ptr, bytes, flags, plain);
	}
	*ptr = (void *)start;
	return CUDA_SUCCESS;
}

static CUresult own_allocate(void **ptr, size_t bytes, unsigned flags)
{
	return allocate(ptr, bytes, flags, 0);
}

static CUresult own_allocate_plain(void **ptr, size_t bytes)
{
	return allocate(ptr, bytes, 0, 1);
}

/* The driver's address of memory that begins at ptr; other pointers are returned unchanged. */
static void *base_of(void *ptr)
{
	struct host_memory memory;

	return pages_find_memory((uintptr_t)ptr, &memory) && memory.base &&
			memory.start == (uintptr_t)ptr
		? (void *)memory.base
		: ptr;
}

static CUresult own_free(void *ptr)
{
	struct host_memory memory;
	CUresult result;

	if (!pages_find_memory((uintptr_t)ptr, &memory) || !memory.base ||
		memory.start != (uintptr_t)ptr)
		return call_free(ptr);
	/* Before the call: another thread may get the same memory at once. */
	pages_remove_memory(memory.start);
	result = call_free((void *)memory.base);
	if (result)
		pages_add_memory(memory.start, memory.end - memory.start, memory.base);
	return result;
}

static CUresult own_unregister(void *ptr)
{
	return ((release_function)real_unregister)(base_of(ptr));
}

void *pinned_wrap(enum call_id call, void *real)
{
	static const struct {
		enum call_id call;
		void *wrapper;
		void **real;
	} wrappers[] = {
		{ CALL_cuMemHostAlloc, (void *)own_allocate, &real_allocate },
		{ CALL_cuMemAllocHost_v2, (void *)own_allocate_plain, &real_allocate_plain },
		{ CALL_cuMemFreeHost, (void *)own_free, &real_free },
		{ CALL_cuMemHostUnregister, (void *)own_unregister, &real_unregister },
	};

	for (size_t i = 0; i < sizeof(wrappers) / sizeof(*wrappers); i++)
		if (wrappers[i].call == call) {
			*wrappers[i].real = real;
			return wrappers[i].wrapper;
		}
	return real;
}

/* --- queries --- */

enum query {
	HOST_GET_DEVICE_POINTER,
	HOST_GET_FLAGS,
	GET_ADDRESS_RANGE,
	GET_ATTRIBUTE,
	GET_ATTRIBUTES,
	QUERIES
};
static void *real_query[QUERIES];

/* A program that is linked to libcuda reaches these functions without the recorder. */
static void *real_of(enum query query)
{
	if (!real_query[query])
		real_query[query] = dlsym(RTLD_NEXT, pinned_queries[query].name);
	return real_query[query];
}

/* Allocations with pages of their own. */
static int find_own(CUdeviceptr address, struct host_memory *memory)
{
	return pages_find_memory((uintptr_t)address, memory) && memory->base;
}

EXPORT CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr *device, void *host, unsigned flags)
{
	CUresult (*real)(CUdeviceptr *, void *, unsigned), result;
	void *base = base_of(host);

	*(void **)&real = real_of(HOST_GET_DEVICE_POINTER);
	if (!real)
		return CUDA_ERROR_SHARED_OBJECT_INIT_FAILED;
	result = real(device, base, flags);
	if (result == CUDA_SUCCESS)
		*device += (uintptr_t)host - (uintptr_t)base;
	return result;
}

EXPORT CUresult cuMemHostGetFlags(unsigned *flags, void *host)
{
	CUresult (*real)(unsigned *, void *);

	*(void **)&real = real_of(HOST_GET_FLAGS);
	return real ? real(flags, base_of(host)) : CUDA_ERROR_SHARED_OBJECT_INIT_FAILED;
}

EXPORT CUresult cuMemGetAddressRange_v2(CUdeviceptr *base, size_t *bytes, CUdeviceptr address)
{
	CUresult (*real)(CUdeviceptr *, size_t *, CUdeviceptr), result;
	struct host_memory memory;

	*(void **)&real = real_of(GET_ADDRESS_RANGE);
	if (!real)
		return CUDA_ERROR_SHARED_OBJECT_INIT_FAILED;
	result = real(base, bytes, address);
	if (result != CUDA_SUCCESS || !find_own(address, &memory))
		return result;
	if (base)
		*base = memory.start;
	if (bytes)
		*bytes = memory.end - memory.start;
	return result;
}

/* Both values have eight bytes. */
static void set_range(CUpointer_attribute attribute, void *data, const struct host_memory *memory)
{
	uint64_t start = memory->start, bytes = memory->end - memory->start;

	if (attribute == CU_POINTER_ATTRIBUTE_RANGE_START_ADDR)
		memcpy(data, &start, sizeof(start));
	if (attribute == CU_POINTER_ATTRIBUTE_RANGE_SIZE)
		memcpy(data, &bytes, sizeof(bytes));
}

EXPORT CUresult cuPointerGetAttribute(void *data, CUpointer_attribute attribute, CUdeviceptr ptr)
{
	CUresult (*real)(void *, CUpointer_attribute, CUdeviceptr), result;
	struct host_memory memory;

	*(void **)&real = real_of(GET_ATTRIBUTE);
	if (!real)
		return CUDA_ERROR_SHARED_OBJECT_INIT_FAILED;
	result = real(data, attribute, ptr);
	if (result == CUDA_SUCCESS && find_own(ptr, &memory))
		set_range(attribute, data, &memory);
	return result;
}

EXPORT CUresult cuPointerGetAttributes(unsigned count, CUpointer_attribute *attributes, void **data,
	CUdeviceptr ptr)
{
	CUresult (*real)(unsigned, CUpointer_attribute *, void **, CUdeviceptr), result;
	struct host_memory memory;

	*(void **)&real = real_of(GET_ATTRIBUTES);
	if (!real)
		return CUDA_ERROR_SHARED_OBJECT_INIT_FAILED;
	result = real(count, attributes, data, ptr);
	for (unsigned i = 0; result == CUDA_SUCCESS && i < count && find_own(ptr, &memory); i++)
		set_range(attributes[i], data[i], &memory);
	return result;
}

const struct guard_query pinned_queries[] = {
#define QUERY(index, function) \
	[index] = { #function, (void *)function, &real_query[index] }
	QUERY(HOST_GET_DEVICE_POINTER, cuMemHostGetDevicePointer_v2),
	QUERY(HOST_GET_FLAGS, cuMemHostGetFlags),
	QUERY(GET_ADDRESS_RANGE, cuMemGetAddressRange_v2),
	QUERY(GET_ATTRIBUTE, cuPointerGetAttribute),
	QUERY(GET_ATTRIBUTES, cuPointerGetAttributes),
	[QUERIES] = { NULL, NULL, NULL },
};
