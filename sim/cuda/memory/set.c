/* SPDX-License-Identifier: Apache-2.0 */
/* Memsets.  The host waits for a memset of pinned host memory, not for one of device memory. */
#include <string.h>

#include "cuda_calls.h"
#include "cuda_copy.h"
#include "cuda_work.h"

static void set_effect(struct op *op)
{
	const struct box *box = &op->box;
	char piece[4096];
	size_t part;

	for (size_t x = 0; x < sizeof(piece); x += op->element)
		memcpy(piece + x, &op->value, op->element);
	for (size_t y = 0; y < box->height; y++)
		for (size_t x = 0; x < box->width; x += part) {
			part = box->width - x < sizeof(piece) ? box->width - x : sizeof(piece);
			copy_move(box->dst + y * box->dst_pitch + x, piece, part);
		}
}

CUresult set_check(const struct work *work, struct context *context)
{
	const CUDA_MEMSET_NODE_PARAMS_v2 *p = &work->params.memset;
	struct memory *memory = memory_find(p->dst);
	size_t width = p->width * p->elementSize;
	size_t bytes = p->height ? (p->height - 1) * p->pitch + width : 0;

	if (p->elementSize != 1 && p->elementSize != 2 && p->elementSize != 4)
		return CUDA_ERROR_INVALID_VALUE;
	if (!width || !p->height)
		return CUDA_SUCCESS;
	if (!memory || !memory_fits(memory, p->dst, bytes) || width < p->width ||
		p->dst % p->elementSize || (p->height > 1 && p->pitch < width))
		return CUDA_ERROR_INVALID_VALUE;
	if (memory->device && memory->place != PLACE_MANAGED &&
		!context_reaches(context, memory->device))
		return CUDA_ERROR_INVALID_VALUE;
	return CUDA_SUCCESS;
}

struct op *set_op(const struct work *work, struct stream *stream)
{
	const CUDA_MEMSET_NODE_PARAMS_v2 *p = &work->params.memset;
	struct memory *memory = memory_find(p->dst);
	size_t width = p->width * p->elementSize, bytes = width * p->height;
	struct op *op;

	if (!bytes || !memory)
		return op_new(OP_MARKER, stream, 0);
	op = op_new(OP_SET, stream, 1500 + bytes / (memory->device ? 2000 : 40));
	op->box = (struct box){ .dst = (char *)p->dst,
		.dst_pitch = p->pitch,
		.width = width,
		.height = p->height };
	op->value = p->value;
	op->element = p->elementSize;
	op->effect = set_effect;
	record_origin(op, stream);
	op->record.kind = SIM_SET;
	op->record.bytes = bytes;
	op->record.value = p->value;
	op->record.dst_kind = (uint8_t)memory->place;
	op->record.async = work->async;
	return op;
}

static CUresult set(CUDA_MEMSET_NODE_PARAMS_v2 params, CUstream handle, bool async)
{
	struct work work = { .async = async,
		.params = { .type = CU_GRAPH_NODE_TYPE_MEMSET, .memset = params } };
	struct memory *memory = memory_find(params.dst);
	struct op *op;
	CUresult result;

	if (!params.width || !params.height)
		return stream_get(handle) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
	result = work_submit(&work, handle, &op);
	if (op && !async && !memory->device)
		op_wait(op);
	op_put(op);
	return result;
}

/* dst, pitch, value, element size, elements per row, rows; stream, asynchronous. */
#define SET(dst, pitch, value, element, width, height, stream, async) \
	set((CUDA_MEMSET_NODE_PARAMS_v2){ dst, pitch, value, element, width, height, NULL }, \
		stream, async)

CUresult do_cuMemsetD8_v2(CUdeviceptr dst, unsigned char value, size_t count)
{
	return SET(dst, 0, value, 1, count, 1, NULL, false);
}

CUresult do_cuMemsetD16_v2(CUdeviceptr dst, unsigned short value, size_t count)
{
	return SET(dst, 0, value, 2, count, 1, NULL, false);
}

CUresult do_cuMemsetD32_v2(CUdeviceptr dst, unsigned int value, size_t count)
{
	return SET(dst, 0, value, 4, count, 1, NULL, false);
}

CUresult do_cuMemsetD2D8_v2(CUdeviceptr dst, size_t pitch, unsigned char value, size_t width,
	size_t height)
{
	return SET(dst, pitch, value, 1, width, height, NULL, false);
}

CUresult do_cuMemsetD2D16_v2(CUdeviceptr dst, size_t pitch, unsigned short value, size_t width,
	size_t height)
{
	return SET(dst, pitch, value, 2, width, height, NULL, false);
}

CUresult do_cuMemsetD2D32_v2(CUdeviceptr dst, size_t pitch, unsigned int value, size_t width,
	size_t height)
{
	return SET(dst, pitch, value, 4, width, height, NULL, false);
}

CUresult do_cuMemsetD8Async(CUdeviceptr dst, unsigned char value, size_t count, CUstream stream)
{
	return SET(dst, 0, value, 1, count, 1, stream, true);
}

CUresult do_cuMemsetD16Async(CUdeviceptr dst, unsigned short value, size_t count, CUstream stream)
{
	return SET(dst, 0, value, 2, count, 1, stream, true);
}

CUresult do_cuMemsetD32Async(CUdeviceptr dst, unsigned int value, size_t count, CUstream stream)
{
	return SET(dst, 0, value, 4, count, 1, stream, true);
}

CUresult do_cuMemsetD2D8Async(CUdeviceptr dst, size_t pitch, unsigned char value, size_t width,
	size_t height, CUstream stream)
{
	return SET(dst, pitch, value, 1, width, height, stream, true);
}

CUresult do_cuMemsetD2D16Async(CUdeviceptr dst, size_t pitch, unsigned short value, size_t width,
	size_t height, CUstream stream)
{
	return SET(dst, pitch, value, 2, width, height, stream, true);
}

CUresult do_cuMemsetD2D32Async(CUdeviceptr dst, size_t pitch, unsigned int value, size_t width,
	size_t height, CUstream stream)
{
	return SET(dst, pitch, value, 4, width, height, stream, true);
}
