/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory: ranges of host memory at fixed addresses, reserved once per device and place and
 * allocated from the bottom.  A freed block is reused for the next allocation of its size.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "cuda_calls.h"
#include "cuda_state.h"

#define GRAIN 512ull
#define PAGE 4096ull
#define DEVICE_BASE 0x500000000000ull
#define HOST_BASE 0x540000000000ull
#define RANGE_STEP (1ull << 38) /* distance of the ranges of two devices */
#define HOST_BYTES (64ull << 30)

struct block {
	struct block *next;
	uintptr_t start;
	size_t room;
	struct device *device;
	enum memory_place place;
	struct pool *pool;
	struct op *freed;              /* pool memory: usable in other streams once done */
	const struct context *context; /* of the freeing stream, NULL: none */
	uint32_t stream_id; /* of the freeing stream; ids are not reused, addresses are */
};

/*
 * Only what is used can be accessed: checkers like valgrind's search all accessible memory, and
 * that of a device is more than they can.
 */
#define OPEN_STEP (2ull << 20)
struct range {
	uintptr_t base;
	size_t used, open, size;
};

static struct range ranges[DEVICE_MAX + 1]; /* the last one is host memory */
static struct memory **table;               /* sorted by start */
static size_t table_count, table_capacity;
static struct block *free_blocks;

/* Index of the first allocation that starts after address. */
static size_t position(uintptr_t address)
{
	size_t low = 0, high = table_count;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (table[middle]->start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

struct memory *memory_find(uintptr_t address)
{
	size_t i = position(address);

	if (!i || address - table[i - 1]->start >= table[i - 1]->bytes)
		return NULL;
	return table[i - 1];
}

bool memory_fits(const struct memory *memory, uintptr_t address, size_t bytes)
{
	return !memory || bytes <= memory->start + memory->bytes - address;
}

struct memory *memory_exact(uintptr_t address)
{
	struct memory *memory = memory_find(address);

	return memory && memory->start == address ? memory : NULL;
}

static struct memory *table_add(uintptr_t start, size_t bytes, size_t room)
{
	struct memory *memory = must_realloc(NULL, sizeof(*memory));
	size_t i = position(start);

	if (table_count == table_capacity) {
		table_capacity = table_capacity ? table_capacity * 2 : 64;
		table = must_realloc(table, table_capacity * sizeof(*table));
	}
	memmove(table + i + 1, table + i, (table_count - i) * sizeof(*table));
	table[i] = memory;
	table_count++;
	*memory = (struct memory){ .start = start, .bytes = bytes, .room = room };
	return memory;
}

static void table_remove(struct memory *memory)
{
	size_t i = position(memory->start) - 1;

	memmove(table + i, table + i + 1, (--table_count - i) * sizeof(*table));
	free(memory);
}

static bool range_map(struct range *range, uintptr_t base, size_t size)
{
	void *map = sim_reserve(base, size, PROT_NONE);

	if (!map)
		return false;
	range->base = (uintptr_t)map;
	range->size = size;
	return true;
}

static struct range *range_of(struct device *device)
{
	struct range *range = &ranges[device ? device->ordinal : DEVICE_MAX];
	uintptr_t base = device ? DEVICE_BASE + RANGE_STEP * (uintptr_t)device->ordinal : HOST_BASE;

	if (!range->base && !range_map(range, base, device ? SIM_MEMORY_BYTES : HOST_BYTES))
		return NULL;
	return range;
}

/*
 * May this freed block be reused in stream? Before the free has completed: only in the same stream,
 * or, if the pool allows it, in one that already waits for the free.
 */
static bool reusable(const struct block *block, const struct stream *stream)
{
	bool same = stream && block->context == stream->context && block->stream_id == stream->id;

	if (!block->pool || same)
		return true;
	if (!op_pending(block->freed))
		return block->pool->reuse[1];
	return block->pool->reuse[0] && op_reaches(block->freed, stream->tail);
}

static uintptr_t take_free(const struct memory *wanted, const struct stream *stream)
{
	for (struct block **link = &free_blocks; *link; link = &(*link)->next) {
		struct block *block = *link;
		uintptr_t start = block->start;

		if (block->device != wanted->device || block->place != wanted->place ||
			block->room != wanted->room || block->pool != wanted->pool ||
			!reusable(block, stream))
			continue;
		*link = block->next;
		op_put(block->freed);
		free(block);
		return start;
	}
	return 0;
}

/* Makes the first bytes of a range accessible. */
static bool range_open(struct range *range, size_t bytes)
{
	size_t open = (bytes + OPEN_STEP - 1) / OPEN_STEP * OPEN_STEP;

	open = open < range->size ? open : range->size;
	if (open > range->open &&
		mprotect((void *)(range->base + range->open), open - range->open,
			PROT_READ | PROT_WRITE))
		return false;
	range->open = open > range->open ? open : range->open;
	return true;
}

static uintptr_t take_new(struct device *device, size_t room)
{
	struct range *range = range_of(device);
	uintptr_t start;

	if (!range || room > range->size - range->used || !range_open(range, range->used + room))
		return 0;
	start = range->base + range->used;
	range->used += room;
	return start;
}

static struct memory *allocate(struct device *device, enum memory_place place, size_t bytes,
	struct pool *pool, const struct stream *stream)
{
	size_t grain = pool ? PAGE : GRAIN;
	struct memory *memory, wanted = { .device = device, .place = place, .pool = pool };
	uintptr_t start;

	if (bytes > SIM_MEMORY_BYTES)
		return NULL;
	wanted.room = (bytes + grain - 1) / grain * grain;
	if (device && wanted.room > SIM_MEMORY_BYTES - device->used)
		return NULL;
	start = take_free(&wanted, stream);
	if (!start)
		start = take_new(device, wanted.room);
	if (!start)
		return NULL;
	memory = table_add(start, bytes, wanted.room);
	memory->place = place;
	memory->device = device;
	memory->pool = pool;
	if (device)
		device->used += wanted.room;
	return memory;
}

uintptr_t memory_reserve(struct device *device, enum memory_place place, size_t bytes)
{
	struct memory *memory = allocate(device, place, bytes, NULL, NULL);

	return memory ? memory->start : 0;
}

uintptr_t memory_reserve_async(struct pool *pool, size_t bytes, struct stream *stream)
{
	enum memory_place place = pool->device ? PLACE_DEVICE : PLACE_PINNED;
	struct memory *memory = allocate(pool->device, place, bytes, pool, stream);

	if (!memory)
		return 0;
	pool_use(pool, memory->room);
	return memory->start;
}

/* Returns the block; freed: the op after which pool memory is free (reference taken over). */
static void give_back(struct memory *memory, struct op *freed, const struct stream *stream)
{
	struct block *block = must_realloc(NULL, sizeof(*block));

	*block = (struct block){ .next = free_blocks,
		.start = memory->start,
		.room = memory->room,
		.device = memory->device,
		.place = memory->place,
		.pool = memory->pool,
		.freed = freed,
		.context = stream ? stream->context : NULL,
		.stream_id = stream ? stream->id : 0 };
	free_blocks = block;
	if (memory->device)
		memory->device->used -= memory->room;
	table_remove(memory);
}

void memory_release_async(struct memory *memory, struct op *freed, struct stream *stream)
{
	struct pool *pool = memory->pool;
	size_t room = memory->room;

	give_back(memory, freed, stream);
	pool_unuse(pool, room);
}

size_t memory_pending(const struct pool *pool)
{
	size_t bytes = 0;

	for (const struct block *block = free_blocks; block; block = block->next)
		if (block->pool == pool && op_pending(block->freed))
			bytes += block->room;
	return bytes;
}

struct memory *memory_describe(uintptr_t start, size_t bytes, enum memory_place place)
{
	struct memory *memory = table_add(start, bytes, 0);

	memory->place = place;
	return memory;
}

void memory_forget(struct memory *memory)
{
	table_remove(memory);
}

void memory_release(struct memory *memory)
{
	/* Large blocks are returned to the system; their contents are no longer accessible. */
	if (memory->room >= 1 << 20)
		madvise((void *)(memory->start + (-memory->start & (PAGE - 1))),
			memory->room / PAGE * PAGE - PAGE, MADV_DONTNEED);
	give_back(memory, NULL, NULL);
}

static uintptr_t reserve_in(struct context *context, enum memory_place place, size_t bytes)
{
	uintptr_t start = memory_reserve(context->device, place, bytes);

	if (start)
		memory_exact(start)->context = context;
	return start;
}

static void end_memory(struct memory *memory)
{
	if (memory->registered)
		table_remove(memory);
	else if (memory->pool)
		memory_release_async(memory, NULL, NULL);
	else
		memory_release(memory);
}

void memory_end(struct context *context)
{
	for (size_t i = table_count; i-- > 0;)
		if (table[i]->context == context)
			end_memory(table[i]);
}

CUresult do_cuMemAlloc_v2(CUdeviceptr *ptr, size_t bytes)
{
	struct context *context = context_current();

	if (!context)
		return CUDA_ERROR_INVALID_CONTEXT;
	if (!ptr || !bytes)
		return CUDA_ERROR_INVALID_VALUE;
	device_gate(context->device);
	*ptr = reserve_in(context, PLACE_DEVICE, bytes);
	return *ptr ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult do_cuMemAllocPitch_v2(CUdeviceptr *ptr, size_t *pitch, size_t width, size_t height,
	unsigned int element)
{
	if (!ptr || !pitch || !width || !height || (element != 4 && element != 8 && element != 16))
		return CUDA_ERROR_INVALID_VALUE;
	*pitch = (width + GRAIN - 1) / GRAIN * GRAIN;
	if (height > SIM_MEMORY_BYTES / *pitch)
		return CUDA_ERROR_OUT_OF_MEMORY;
	return do_cuMemAlloc_v2(ptr, *pitch * height);
}

CUresult do_cuMemAllocManaged(CUdeviceptr *ptr, size_t bytes, unsigned int flags)
{
	struct context *context = context_current();

	if (!context)
		return CUDA_ERROR_INVALID_CONTEXT;
	if (!ptr || !bytes || (flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST))
		return CUDA_ERROR_INVALID_VALUE;
	*ptr = reserve_in(context, PLACE_MANAGED, bytes);
	return *ptr ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

/* A synchronous free of pool memory does not wait; the block stays reserved until it is unused. */
static CUresult free_pool(struct memory *memory)
{
	struct op *join = join_new();

	join_device(join, memory->pool->device);
	op_submit(join);
	memory_release_async(memory, join, NULL);
	return CUDA_SUCCESS;
}

CUresult do_cuMemFree_v2(CUdeviceptr ptr)
{
	struct memory *memory = memory_exact(ptr);

	if (!ptr)
		return CUDA_SUCCESS;
	if (!memory || !memory->device || memory->place == PLACE_ARRAY || memory->reserved)
		return CUDA_ERROR_INVALID_VALUE;
	if (memory->graph)
		return graph_memory_free(memory);
	if (memory->pool)
		return free_pool(memory);
	device_drain(memory->device, true);
	memory = memory_exact(ptr);
	if (memory)
		memory_release(memory);
	return memory ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/*
 * H200: cudaHostRegister takes 62 us per MiB of existing pages.  Creating pages costs as much as
 * the first access to pageable memory, which takes no virtual time.
 */
static uint64_t pinning_ns(size_t bytes)
{
	return bytes * 6 / 100;
}

CUresult do_cuMemHostAlloc(void **ptr, size_t bytes, unsigned int flags)
{
	struct memory *memory;

	if (!context_current())
		return CUDA_ERROR_INVALID_CONTEXT;
	if (!ptr || flags & ~7u)
		return CUDA_ERROR_INVALID_VALUE;
	*ptr = NULL;
	if (!bytes)
		return CUDA_SUCCESS;
	memory = allocate(NULL, PLACE_PINNED, bytes, NULL, NULL);
	if (!memory)
		return CUDA_ERROR_OUT_OF_MEMORY;
	memory->flags = flags;
	memory->context = context_current();
	*ptr = (void *)memory->start;
	thread_self()->overhead += 20000 + pinning_ns(bytes);
	return CUDA_SUCCESS;
}

CUresult do_cuMemAllocHost_v2(void **ptr, size_t bytes)
{
	return do_cuMemHostAlloc(ptr, bytes, 0);
}

CUresult do_cuMemFreeHost(void *ptr)
{
	struct memory *memory = memory_exact((uintptr_t)ptr);

	if (!ptr)
		return CUDA_SUCCESS;
	if (!memory || memory->place != PLACE_PINNED || memory->registered || memory->pool)
		return CUDA_ERROR_INVALID_VALUE;
	device_drain_all(true);
	memory = memory_exact((uintptr_t)ptr);
	if (memory)
		memory_release(memory);
	return memory ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult do_cuMemHostRegister_v2(void *ptr, size_t bytes, unsigned int flags)
{
	uintptr_t start = (uintptr_t)ptr;
	struct memory *memory;
	size_t i;

	if (!context_current())
		return CUDA_ERROR_INVALID_CONTEXT;
	if (!ptr || !bytes || flags & ~15u)
		return CUDA_ERROR_INVALID_VALUE;
	i = position(start);
	memory = memory_find(start);
	if (memory && !memory->registered)
		return CUDA_ERROR_INVALID_VALUE;
	if (memory || (i < table_count && table[i]->start < start + bytes))
		return CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
	memory = memory_describe(start, bytes, PLACE_PINNED);
	memory->flags = flags;
	memory->context = context_current();
	memory->registered = true;
	thread_self()->overhead += 15000 + pinning_ns(bytes);
	return CUDA_SUCCESS;
}

CUresult do_cuMemHostUnregister(void *ptr)
{
	struct memory *memory = memory_exact((uintptr_t)ptr);

	if (!ptr)
		return CUDA_ERROR_INVALID_VALUE;
	if (!memory || !memory->registered)
		return CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
	device_drain_all(true);
	memory = memory_exact((uintptr_t)ptr);
	if (memory)
		table_remove(memory);
	return memory ? CUDA_SUCCESS : CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
}
