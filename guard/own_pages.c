/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gives pinned and managed allocations pages of their own.  The driver hands out such memory in
 * steps of 512 bytes (H200, 580.159): other data may lie in the pages of a small allocation, and
 * system calls on protected pages fail.  So more is allocated than the program asked for, and it
 * gets the address of the first whole page in it.  Calls that need the driver's address, or return
 * a range, are translated; without enough memory the program gets what it asked for.
 */
#include <cuda.h>
#include <dlfcn.h>
#include <string.h>

#include "guard_internal.h"

#define EXPORT __attribute__((visibility("default")))

/* Functions of the driver that the recorder's wrappers would call. */
static CUresult (*real_pinned)(void **, size_t, unsigned);
static CUresult (*real_plain)(void **, size_t);
static CUresult (*real_managed)(CUdeviceptr *, size_t, unsigned);
static CUresult (*real_free_host)(void *);
static CUresult (*real_free)(CUdeviceptr);
static CUresult (*real_unregister)(void *);
static CUresult (*real_attach)(CUstream, CUdeviceptr, size_t, unsigned);
static CUresult (*real_attach_per_thread)(CUstream, CUdeviceptr, size_t, unsigned);

enum allocator { PINNED, PLAIN, MANAGED };

static CUresult call_allocate(enum allocator allocator, void **ptr, size_t bytes, unsigned flags)
{
	if (allocator == PINNED)
		return real_pinned(ptr, bytes, flags);
	return allocator == PLAIN ? real_plain(ptr, bytes)
				  : real_managed((CUdeviceptr *)ptr, bytes, flags);
}

static CUresult call_free(const struct host_memory *memory)
{
	return memory->managed ? real_free(memory->base) : real_free_host((void *)memory->base);
}

static CUresult allocate(enum allocator allocator, void **ptr, size_t bytes, unsigned flags)
{
	size_t room = (bytes + 2 * PAGE - 1) & ~(size_t)(PAGE - 1);
	struct host_memory memory = { .managed = allocator == MANAGED };
	void *base = NULL;

	if (!ptr || !bytes || room < bytes || !pages_are_guarded() ||
		call_allocate(allocator, &base, room, flags))
		return call_allocate(allocator, ptr, bytes, flags);
	memory.base = (uintptr_t)base;
	memory.start = (memory.base + PAGE - 1) & ~(uintptr_t)(PAGE - 1);
	memory.end = memory.start + bytes;
	if (pages_add_memory(&memory)) {
		call_free(&memory);
		return call_allocate(allocator, ptr, bytes, flags);
	}
	*ptr = (void *)memory.start;
	return CUDA_SUCCESS;
}

static CUresult own_pinned(void **ptr, size_t bytes, unsigned flags)
{
	return allocate(PINNED, ptr, bytes, flags);
}

static CUresult own_plain(void **ptr, size_t bytes)
{
	return allocate(PLAIN, ptr, bytes, 0);
}

static CUresult own_managed(CUdeviceptr *ptr, size_t bytes, unsigned flags)
{
	return allocate(MANAGED, (void **)ptr, bytes, flags);
}

/* Finds an allocation with pages of its own that begins at ptr. */
static int find_at(uintptr_t ptr, struct host_memory *memory)
{
	return pages_find_memory(ptr, memory) && memory->base && memory->start == ptr;
}

/* The driver's address of memory that begins at ptr; other pointers are returned unchanged. */
static uintptr_t base_of(uintptr_t ptr)
{
	struct host_memory memory;

	return find_at(ptr, &memory) ? memory.base : ptr;
}

static CUresult free_own(const struct host_memory *memory)
{
	CUresult result;

	/* Before the call: another thread may get the same memory at once. */
	pages_remove_memory(memory->start);
	result = call_free(memory);
	if (result)
		pages_add_memory(memory);
	return result;
}

static CUresult own_free_host(void *ptr)
{
	struct host_memory memory;

	return find_at((uintptr_t)ptr, &memory) && !memory.managed ? free_own(&memory)
								   : real_free_host(ptr);
}

static CUresult own_free(CUdeviceptr ptr)
{
	struct host_memory memory;

	if (find_at(ptr, &memory) && memory.managed)
		return free_own(&memory);
	/* Managed memory for which the table had no room for its base. */
	pages_remove_memory(ptr);
	return real_free(ptr);
}

static CUresult own_unregister(void *ptr)
{
	return real_unregister((void *)base_of((uintptr_t)ptr));
}

/* "length must be zero or the entire allocation's size" (CUDA driver API). */
static CUresult attach(CUresult (*real)(CUstream, CUdeviceptr, size_t, unsigned), CUstream stream,
	CUdeviceptr ptr, size_t bytes, unsigned flags)
{
	struct host_memory memory;

	if (find_at(ptr, &memory) && (!bytes || bytes == memory.end - memory.start))
		return real(stream, memory.base, 0, flags);
	return real(stream, ptr, bytes, flags);
}

static CUresult own_attach(CUstream stream, CUdeviceptr ptr, size_t bytes, unsigned flags)
{
	return attach(real_attach, stream, ptr, bytes, flags);
}

static CUresult own_attach_per_thread(CUstream stream, CUdeviceptr ptr, size_t bytes,
	unsigned flags)
{
	return attach(real_attach_per_thread, stream, ptr, bytes, flags);
}

void *own_pages_wrap(enum call_id call, int variant, void *real)
{
	static const struct {
		enum call_id call;
		int variant;
		void *wrapper;
		void *real; /* where the driver's function is stored */
	} wrappers[] = {
		{ CALL_cuMemHostAlloc, 0, (void *)own_pinned, &real_pinned },
		{ CALL_cuMemAllocHost_v2, 0, (void *)own_plain, &real_plain },
		{ CALL_cuMemAllocManaged, 0, (void *)own_managed, &real_managed },
		{ CALL_cuMemFreeHost, 0, (void *)own_free_host, &real_free_host },
		{ CALL_cuMemFree_v2, 0, (void *)own_free, &real_free },
		{ CALL_cuMemHostUnregister, 0, (void *)own_unregister, &real_unregister },
		{ CALL_cuStreamAttachMemAsync, 0, (void *)own_attach, &real_attach },
		{ CALL_cuStreamAttachMemAsync, 1, (void *)own_attach_per_thread,
			&real_attach_per_thread },
	};

	for (size_t i = 0; i < sizeof(wrappers) / sizeof(*wrappers); i++)
		if (wrappers[i].call == call && wrappers[i].variant == variant) {
			memcpy(wrappers[i].real, &real, sizeof(real));
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
		real_query[query] = dlsym(RTLD_NEXT, own_pages_queries[query].name);
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
	uintptr_t base = base_of((uintptr_t)host);

	*(void **)&real = real_of(HOST_GET_DEVICE_POINTER);
	if (!real)
		return CUDA_ERROR_SHARED_OBJECT_INIT_FAILED;
	result = real(device, (void *)base, flags);
	if (result == CUDA_SUCCESS)
		*device += (uintptr_t)host - base;
	return result;
}

EXPORT CUresult cuMemHostGetFlags(unsigned *flags, void *host)
{
	CUresult (*real)(unsigned *, void *);

	*(void **)&real = real_of(HOST_GET_FLAGS);
	return real ? real(flags, (void *)base_of((uintptr_t)host))
		    : CUDA_ERROR_SHARED_OBJECT_INIT_FAILED;
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

const struct guard_query own_pages_queries[] = {
#define QUERY(index, function) [index] = { #function, (void *)function, &real_query[index] }
	QUERY(HOST_GET_DEVICE_POINTER, cuMemHostGetDevicePointer_v2),
	QUERY(HOST_GET_FLAGS, cuMemHostGetFlags),
	QUERY(GET_ADDRESS_RANGE, cuMemGetAddressRange_v2),
	QUERY(GET_ATTRIBUTE, cuPointerGetAttribute),
	QUERY(GET_ATTRIBUTES, cuPointerGetAttributes),
	[QUERIES] = { NULL, NULL, NULL },
};
