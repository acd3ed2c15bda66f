/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Uploads from pageable memory, for which the driver waits, are copied into pinned memory of the
 * library's and uploaded from there.  The source may be used again at return, as before.  A block
 * is used again once the upload from it is complete; while there is none the driver does as it did.
 */
#include "fix_internal.h"
#include "machine.h"

enum { BLOCKS = 16 };
static const uint64_t most_bytes = UINT64_C(1) << 30; /* of all blocks together */

struct block {
	_Atomic int taken;
	void *memory;
	uint64_t bytes;
	CUcontext context; /* of the event */
	CUevent uploaded;
};
static struct block blocks[BLOCKS];
static _Atomic uint64_t all_bytes;

/* Returns 1 if it is idle, and large enough or can be made so.  The caller has taken it. */
static int is_usable(struct block *block, uint64_t bytes)
{
	CUcontext context = NULL;

	if (fix.driver.current_context(&context) || !context)
		return 0;
	if (block->memory)
		return block->context == context && block->bytes >= bytes &&
			!fix.driver.query(block->uploaded);
	block->bytes = (bytes + 0xffff) & ~UINT64_C(0xffff);
	if (atomic_fetch_add(&all_bytes, block->bytes) + block->bytes > most_bytes ||
		fix.driver.host_alloc(&block->memory, block->bytes, CU_MEMHOSTALLOC_PORTABLE)) {
		atomic_fetch_sub(&all_bytes, block->bytes);
		block->memory = NULL;
		return 0;
	}
	block->context = context;
	block->uploaded = NULL; /* asking for that fails: the block is not used */
	/* Never recorded: that is complete. */
	return !fix.driver.new_event(&block->uploaded, CU_EVENT_DISABLE_TIMING);
}

static struct block *take_block(uint64_t bytes)
{
	for (unsigned i = 0; i < BLOCKS; i++) {
		if (atomic_exchange_explicit(&blocks[i].taken, 1, memory_order_acquire))
			continue;
		if (is_usable(&blocks[i], bytes))
			return &blocks[i];
		atomic_store_explicit(&blocks[i].taken, 0, memory_order_release);
	}
	return NULL;
}

/* The driver knows no address of pageable memory. */
static int is_pageable(uint64_t src)
{
	unsigned type;

	return fix.driver.attribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, src) != CUDA_SUCCESS;
}

static int upload(const struct fixed_call *call, struct block *block)
{
	CUstream stream = fixed_stream(call);

	memcpy(block->memory, (const void *)(uintptr_t)call->src, call->bytes);
	if (fix.driver.upload(call->dst, block->memory, call->bytes, stream))
		return 0;
	/* Without the event the block is not known to be idle: it stays taken. */
	if (fix.driver.record(block->uploaded, stream))
		return 1;
	atomic_store_explicit(&block->taken, 0, memory_order_release);
	return 1;
}

int staged_copy(const struct fixed_call *call, struct fix_finding *finding)
{
	struct block *block = NULL;
	int done = 0;

	if (call->id != CALL_cuMemcpyHtoDAsync_v2 || !call->bytes || call->bytes > most_bytes)
		return 0;
	fix.recorder->own_begin();
	if (is_pageable(call->src))
		block = take_block(call->bytes);
	if (block)
		done = upload(call, block);
	fix.recorder->own_end();
	if (block && !done)
		fix_turn_off(finding, FIX_SURPRISE_OWN_CALL, call->id, 0);
	return done;
}

/* Before the call that ends it, so that nothing leaks if others still use it. */
void staged_forget(void)
{
	fix.recorder->own_begin();
	for (unsigned i = 0; i < BLOCKS; i++) {
		if (atomic_exchange_explicit(&blocks[i].taken, 1, memory_order_acquire))
			continue; /* another thread copies into it */
		if (blocks[i].memory) {
			fix.driver.end_event(blocks[i].uploaded);
			fix.driver.host_free(blocks[i].memory);
			atomic_fetch_sub(&all_bytes, blocks[i].bytes);
		}
		blocks[i].memory = NULL;
		atomic_store_explicit(&blocks[i].taken, 0, memory_order_release);
	}
	fix.recorder->own_end();
}

void staged_child(void)
{
	memset(blocks, 0, sizeof(blocks));
	all_bytes = 0;
}
