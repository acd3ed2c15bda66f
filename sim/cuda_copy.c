/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies and memsets.  Which of them make the host wait, by direction, size and kind of memory,
 * is as measured on an H200 (the synchronization matrix of doc/RULES.md).
 */
#include <cupti_activity.h>
#include <string.h>

#include "cuda_calls.h"
#include "cuda_state.h"

/* Pageable host-to-device copies up to this size are staged without waiting, if asynchronous. */
#define STAGED_MAX (1u << 20)

struct copy {
	uintptr_t dst, src;
	size_t bytes;
	struct memory *dst_memory, *src_memory;
	enum memory_place from, to;
	bool from_device, to_device;
	bool async;
};

static enum memory_place place_of(const struct memory *memory)
{
	return memory ? memory->place : PLACE_PAGEABLE;
}

static bool fits(const struct memory *memory, uintptr_t address, size_t bytes)
{
	return !memory || bytes <= memory->start + memory->bytes - address;
}

static void copy_resolve(struct copy *copy)
{
	copy->dst_memory = memory_find(copy->dst);
	copy->src_memory = memory_find(copy->src);
	copy->from = place_of(copy->src_memory);
	copy->to = place_of(copy->dst_memory);
	copy->from_device = copy->src_memory && copy->src_memory->device;
	copy->to_device = copy->dst_memory && copy->dst_memory->device;
}

/* ns, from bytes a ns: pinned 50, pageable to the device 11, from it 18, within it 1000. */
static uint64_t copy_duration(const struct copy *copy)
{
	bool pageable = copy->from == PLACE_PAGEABLE || copy->to == PLACE_PAGEABLE;

	if (copy->from_device && copy->to_device)
		return 1500 + copy->bytes / 1000;
	if (!copy->from_device && !copy->to_device)
		return 1500 + copy->bytes / 9;
	if (!pageable)
		return 1500 + copy->bytes / 50;
	if (copy->from_device)
		return 3000 + copy->bytes / 18;
	return 1500 + copy->bytes / (copy->async && copy->bytes <= STAGED_MAX ? 50 : 11);
}

static struct copy_engine *copy_engine(const struct copy *copy, struct device *device)
{
	if (copy->from_device && copy->to_device)
		return NULL;
	if (copy->to_device)
		return &device->to_device;
	return copy->from_device ? &device->to_host : &device->host;
}

static void copy_effect(struct op *op)
{
	memmove(op->dst, op->staging ? op->staging : op->src, op->bytes);
}

static void set_ids(struct sim_record *record, const struct stream *stream)
{
	record->correlation = thread_self()->correlation;
	record->device = (uint32_t)stream->context->device->ordinal;
	record->context = stream->context->id;
	record->stream = stream->id;
}

static uint8_t copy_kind(const struct copy *copy)
{
	if (copy->from_device && copy->to_device)
		return CUPTI_ACTIVITY_MEMCPY_KIND_DTOD;
	if (copy->from_device)
		return CUPTI_ACTIVITY_MEMCPY_KIND_DTOH;
	return copy->to_device ? CUPTI_ACTIVITY_MEMCPY_KIND_HTOD : CUPTI_ACTIVITY_MEMCPY_KIND_HTOH;
}

static void copy_record(struct op *op, const struct copy *copy, const struct stream *stream)
{
	struct sim_record *record = &op->record;

	set_ids(record, stream);
	record->kind = SIM_COPY;
	record->bytes = copy->bytes;
	record->copy_kind = copy_kind(copy);
	record->src_kind = (uint8_t)copy->from;
	record->dst_kind = (uint8_t)copy->to;
	record->async = copy->async;
	if (copy->from_device && copy->to_device &&
	    copy->src_memory->device != copy->dst_memory->device) {
		record->kind = SIM_PEER;
		record->copy_kind = CUPTI_ACTIVITY_MEMCPY_KIND_PTOP;
		record->src_device = (uint32_t)copy->src_memory->device->ordinal;
		record->dst_device = (uint32_t)copy->dst_memory->device->ordinal;
	}
}

/* The host's part of a staged copy: it reads the source now and returns before the DMA is done. */
static void stage(struct op *op, const struct copy *copy)
{
	if (op->state != OP_DONE) {
		op->staging = must_realloc(NULL, op->bytes);
		memcpy(op->staging, op->src, op->bytes);
	}
	thread_self()->overhead += op->bytes / (copy->async && op->bytes <= STAGED_MAX ? 18 : 11);
}

static void copy_wait(struct op *op, const struct copy *copy)
{
	bool pageable = copy->from == PLACE_PAGEABLE || copy->to == PLACE_PAGEABLE;

	if ((copy->from_device && copy->to_device) || (copy->async && !pageable))
		return;
	if (!copy->to_device || !pageable) {
		op_wait(op);
		return;
	}
	if (!copy->async || copy->bytes > STAGED_MAX)
		op_wait_ready(op);
	stage(op, copy);
}

static CUresult copy_run(struct copy *copy, struct stream *stream)
{
	struct op *op;

	if (!stream)
		return thread_self()->depth ? CUDA_ERROR_INVALID_HANDLE :
			CUDA_ERROR_INVALID_CONTEXT;
	if (!fits(copy->dst_memory, copy->dst, copy->bytes) ||
	    !fits(copy->src_memory, copy->src, copy->bytes))
		return CUDA_ERROR_INVALID_VALUE;
	if (!copy->bytes)
		return CUDA_SUCCESS;
	stream_reserve(stream);
	op = op_new(OP_COPY, stream, copy_duration(copy));
	op->engine = copy_engine(copy, stream->context->device);
	op->dst = (void *)copy->dst;
	op->src = (const void *)copy->src;
	op->bytes = copy->bytes;
	op->effect = copy_effect;
	copy_record(op, copy, stream);
	op_submit(op);
	copy_wait(op, copy);
	op_put(op);
	return CUDA_SUCCESS;
}

enum side {
	ANY,
	HOST,
	DEVICE,
};

/* Is this what the call says it is?  Device code can reach pinned and managed memory too. */
static bool side_valid(enum side side, const struct memory *memory)
{
	if (side == DEVICE)
		return memory;
	return side == ANY || !memory || memory->place != PLACE_DEVICE;
}

static CUresult copy_call(uintptr_t dst, enum side to, uintptr_t src, enum side from, size_t bytes,
	CUstream handle, bool async)
{
	struct copy copy = { .dst = dst, .src = src, .bytes = bytes, .async = async };

	copy_resolve(&copy);
	if (bytes && (!side_valid(to, copy.dst_memory) || !side_valid(from, copy.src_memory)))
		return CUDA_ERROR_INVALID_VALUE;
	return copy_run(&copy, stream_get(handle));
}

CUresult do_cuMemcpy(CUdeviceptr dst, CUdeviceptr src, size_t bytes)
{
	return copy_call(dst, ANY, src, ANY, bytes, NULL, false);
}

CUresult do_cuMemcpyHtoD_v2(CUdeviceptr dst, const void *src, size_t bytes)
{
	return copy_call(dst, DEVICE, (uintptr_t)src, HOST, bytes, NULL, false);
}

CUresult do_cuMemcpyDtoH_v2(void *dst, CUdeviceptr src, size_t bytes)
{
	return copy_call((uintptr_t)dst, HOST, src, DEVICE, bytes, NULL, false);
}

CUresult do_cuMemcpyDtoD_v2(CUdeviceptr dst, CUdeviceptr src, size_t bytes)
{
	return copy_call(dst, DEVICE, src, DEVICE, bytes, NULL, false);
}

CUresult do_cuMemcpyAsync(CUdeviceptr dst, CUdeviceptr src, size_t bytes, CUstream stream)
{
	return copy_call(dst, ANY, src, ANY, bytes, stream, true);
}

CUresult do_cuMemcpyHtoDAsync_v2(CUdeviceptr dst, const void *src, size_t bytes, CUstream stream)
{
	return copy_call(dst, DEVICE, (uintptr_t)src, HOST, bytes, stream, true);
}

CUresult do_cuMemcpyDtoHAsync_v2(void *dst, CUdeviceptr src, size_t bytes, CUstream stream)
{
	return copy_call((uintptr_t)dst, HOST, src, DEVICE, bytes, stream, true);
}

CUresult do_cuMemcpyDtoDAsync_v2(CUdeviceptr dst, CUdeviceptr src, size_t bytes, CUstream stream)
{
	return copy_call(dst, DEVICE, src, DEVICE, bytes, stream, true);
}

static void set_effect(struct op *op)
{
	if (op->element == 1) {
		memset(op->dst, (int)op->value, op->bytes);
		return;
	}
	for (size_t i = 0; i < op->bytes / op->element; i++)
		memcpy((char *)op->dst + i * op->element, &op->value, op->element);
}

/* A memset of device memory does not make the host wait, one of pinned host memory does. */
static CUresult set_call(CUdeviceptr dst, uint32_t value, uint32_t element, size_t count,
	CUstream handle, bool async)
{
	struct memory *memory = memory_find(dst);
	struct stream *stream = stream_get(handle);
	size_t bytes = count * element;
	struct op *op;

	if (!stream)
		return thread_self()->depth ? CUDA_ERROR_INVALID_HANDLE :
			CUDA_ERROR_INVALID_CONTEXT;
	if (!count)
		return CUDA_SUCCESS;
	if (!memory || !fits(memory, dst, bytes) || count > bytes || dst % element)
		return CUDA_ERROR_INVALID_VALUE;
	stream_reserve(stream);
	op = op_new(OP_SET, stream, 1500 + bytes / (memory->device ? 2000 : 40));
	op->dst = (void *)dst;
	op->bytes = bytes;
	op->value = value;
	op->element = element;
	op->effect = set_effect;
	set_ids(&op->record, stream);
	op->record.kind = SIM_SET;
	op->record.bytes = bytes;
	op->record.value = value;
	op->record.dst_kind = (uint8_t)memory->place;
	op->record.async = async;
	op_submit(op);
	if (!async && !memory->device)
		op_wait(op);
	op_put(op);
	return CUDA_SUCCESS;
}

CUresult do_cuMemsetD8_v2(CUdeviceptr dst, unsigned char value, size_t count)
{
	return set_call(dst, value, 1, count, NULL, false);
}

CUresult do_cuMemsetD32_v2(CUdeviceptr dst, unsigned int value, size_t count)
{
	return set_call(dst, value, 4, count, NULL, false);
}

CUresult do_cuMemsetD8Async(CUdeviceptr dst, unsigned char value, size_t count, CUstream stream)
{
	return set_call(dst, value, 1, count, stream, true);
}

CUresult do_cuMemsetD32Async(CUdeviceptr dst, unsigned int value, size_t count, CUstream stream)
{
	return set_call(dst, value, 4, count, stream, true);
}
