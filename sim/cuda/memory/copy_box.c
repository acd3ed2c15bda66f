/* SPDX-License-Identifier: Apache-2.0 */
/* Copies in two and three dimensions, and batches of copies. */
#include <stdlib.h>

#include "cuda_calls.h"
#include "cuda_copy.h"

static CUDA_MEMCPY3D from_2d(const CUDA_MEMCPY2D *p)
{
	return (CUDA_MEMCPY3D){
		.srcXInBytes = p->srcXInBytes,
		.srcY = p->srcY,
		.srcMemoryType = p->srcMemoryType,
		.srcHost = p->srcHost,
		.srcDevice = p->srcDevice,
		.srcArray = p->srcArray,
		.srcPitch = p->srcPitch,
		.dstXInBytes = p->dstXInBytes,
		.dstY = p->dstY,
		.dstMemoryType = p->dstMemoryType,
		.dstHost = p->dstHost,
		.dstDevice = p->dstDevice,
		.dstArray = p->dstArray,
		.dstPitch = p->dstPitch,
		.WidthInBytes = p->WidthInBytes,
		.Height = p->Height,
		.Depth = 1,
	};
}

/* Both structures share the layout of their common members, except for the contexts. */
static CUDA_MEMCPY3D from_peer(const CUDA_MEMCPY3D_PEER *p)
{
	return (CUDA_MEMCPY3D){
		.srcXInBytes = p->srcXInBytes,
		.srcY = p->srcY,
		.srcZ = p->srcZ,
		.srcMemoryType = p->srcMemoryType,
		.srcHost = p->srcHost,
		.srcDevice = p->srcDevice,
		.srcArray = p->srcArray,
		.srcPitch = p->srcPitch,
		.srcHeight = p->srcHeight,
		.dstXInBytes = p->dstXInBytes,
		.dstY = p->dstY,
		.dstZ = p->dstZ,
		.dstMemoryType = p->dstMemoryType,
		.dstHost = p->dstHost,
		.dstDevice = p->dstDevice,
		.dstArray = p->dstArray,
		.dstPitch = p->dstPitch,
		.dstHeight = p->dstHeight,
		.WidthInBytes = p->WidthInBytes,
		.Height = p->Height,
		.Depth = p->Depth,
	};
}

static CUresult copy_2d(const CUDA_MEMCPY2D *p, CUstream stream, bool async)
{
	CUDA_MEMCPY3D shape;

	if (!p)
		return CUDA_ERROR_INVALID_VALUE;
	shape = from_2d(p);
	return copy_call(&shape, stream, async);
}

CUresult do_cuMemcpy2D_v2(const CUDA_MEMCPY2D *p)
{
	return copy_2d(p, NULL, false);
}

CUresult do_cuMemcpy2DUnaligned_v2(const CUDA_MEMCPY2D *p)
{
	return copy_2d(p, NULL, false);
}

CUresult do_cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D *p, CUstream stream)
{
	return copy_2d(p, stream, true);
}

CUresult do_cuMemcpy3D_v2(const CUDA_MEMCPY3D *p)
{
	return p ? copy_call(p, NULL, false) : CUDA_ERROR_INVALID_VALUE;
}

CUresult do_cuMemcpy3DAsync_v2(const CUDA_MEMCPY3D *p, CUstream stream)
{
	return p ? copy_call(p, stream, true) : CUDA_ERROR_INVALID_VALUE;
}

CUresult do_cuMemcpy3DPeer(const CUDA_MEMCPY3D_PEER *p)
{
	CUDA_MEMCPY3D shape;

	if (!p)
		return CUDA_ERROR_INVALID_VALUE;
	shape = from_peer(p);
	return copy_call(&shape, NULL, false);
}

CUresult do_cuMemcpy3DPeerAsync(const CUDA_MEMCPY3D_PEER *p, CUstream stream)
{
	CUDA_MEMCPY3D shape;

	if (!p)
		return CUDA_ERROR_INVALID_VALUE;
	shape = from_peer(p);
	return copy_call(&shape, stream, true);
}

/*
 * A batch: copies unordered among themselves, after earlier and before later work of the stream.
 * Pageable memory may be read until the copies are done.
 */
struct batch {
	struct stream *stream;
	struct op *begin, *end;
};

static CUresult batch_begin(struct batch *batch, CUstream handle)
{
	CUresult result = stream_find(handle, &batch->stream);

	/* The legacy stream is refused (documented for cuMemcpyBatchAsync). */
	if (!result && batch->stream->legacy)
		result = CUDA_ERROR_INVALID_VALUE;
	if (!result && batch->stream->capture)
		result = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	if (result)
		return result;
	batch->begin = op_new(OP_MARKER, batch->stream, 0);
	op_submit(batch->begin);
	batch->end = op_new(OP_MARKER, batch->stream, 0);
	return CUDA_SUCCESS;
}

static CUresult batch_add(const struct batch *batch, const CUDA_MEMCPY3D *shape)
{
	struct work work = { .async = true,
		.params = { .type = CU_GRAPH_NODE_TYPE_MEMCPY,
			.memcpy = { .copyParams = *shape } } };
	CUresult result = work_check(&work, batch->stream->context);
	struct op *op;

	if (result)
		return result;
	op = work_op(&work, batch->stream);
	op->loose = true;
	op_after(op, batch->begin);
	op_submit(op);
	op_after(batch->end, op);
	op_put(op);
	return CUDA_SUCCESS;
}

static CUresult batch_end(struct batch *batch, CUresult result)
{
	op_submit(batch->end);
	op_put(batch->end);
	op_put(batch->begin);
	return result;
}

CUresult do_cuMemcpyBatchAsync_v2(CUdeviceptr *dsts, CUdeviceptr *srcs, size_t *sizes, size_t count,
	CUmemcpyAttributes *attributes, size_t *indices, size_t attribute_count, CUstream stream)
{
	struct batch batch;
	CUresult result;

	if (!dsts || !srcs || !sizes || !count || !attributes || !indices || !attribute_count)
		return CUDA_ERROR_INVALID_VALUE;
	result = batch_begin(&batch, stream);
	if (result)
		return result;
	for (size_t i = 0; i < count && !result; i++) {
		CUDA_MEMCPY3D shape = copy_linear(dsts[i], CU_MEMORYTYPE_UNIFIED, srcs[i],
			CU_MEMORYTYPE_UNIFIED, sizes[i]);

		result = batch_add(&batch, &shape);
	}
	return batch_end(&batch, result);
}

CUresult do_cuMemcpyBatchAsync(CUdeviceptr *dsts, CUdeviceptr *srcs, size_t *sizes, size_t count,
	CUmemcpyAttributes *attributes, size_t *indices, size_t attribute_count, size_t *failed,
	CUstream stream)
{
	CUresult result = do_cuMemcpyBatchAsync_v2(dsts, srcs, sizes, count, attributes, indices,
		attribute_count, stream);

	if (failed)
		*failed = SIZE_MAX;
	return result;
}

static void set_dst(CUDA_MEMCPY3D *shape, const CUmemcpy3DOperand *o)
{
	if (o->type == CU_MEMCPY_OPERAND_TYPE_ARRAY) {
		shape->dstMemoryType = CU_MEMORYTYPE_ARRAY;
		shape->dstArray = o->op.array.array;
		shape->dstXInBytes = o->op.array.offset.x;
		shape->dstY = o->op.array.offset.y;
		shape->dstZ = o->op.array.offset.z;
		return;
	}
	shape->dstMemoryType = CU_MEMORYTYPE_UNIFIED;
	shape->dstDevice = o->op.ptr.ptr;
	shape->dstPitch = o->op.ptr.rowLength;
	shape->dstHeight = o->op.ptr.layerHeight;
}

static void set_src(CUDA_MEMCPY3D *shape, const CUmemcpy3DOperand *o)
{
	if (o->type == CU_MEMCPY_OPERAND_TYPE_ARRAY) {
		shape->srcMemoryType = CU_MEMORYTYPE_ARRAY;
		shape->srcArray = o->op.array.array;
		shape->srcXInBytes = o->op.array.offset.x;
		shape->srcY = o->op.array.offset.y;
		shape->srcZ = o->op.array.offset.z;
		return;
	}
	shape->srcMemoryType = CU_MEMORYTYPE_UNIFIED;
	shape->srcDevice = o->op.ptr.ptr;
	shape->srcPitch = o->op.ptr.rowLength;
	shape->srcHeight = o->op.ptr.layerHeight;
}

CUresult do_cuMemcpy3DBatchAsync_v2(size_t count, CUDA_MEMCPY3D_BATCH_OP *list,
	unsigned long long flags, CUstream stream)
{
	struct batch batch;
	CUresult result;

	if (!count || !list || flags)
		return CUDA_ERROR_INVALID_VALUE;
	result = batch_begin(&batch, stream);
	if (result)
		return result;
	for (size_t i = 0; i < count && !result; i++) {
		CUDA_MEMCPY3D shape = { .WidthInBytes = list[i].extent.width,
			.Height = list[i].extent.height,
			.Depth = list[i].extent.depth };

		set_dst(&shape, &list[i].dst);
		set_src(&shape, &list[i].src);
		result = batch_add(&batch, &shape);
	}
	return batch_end(&batch, result);
}

CUresult do_cuMemcpy3DBatchAsync(size_t count, CUDA_MEMCPY3D_BATCH_OP *list, size_t *failed,
	unsigned long long flags, CUstream stream)
{
	if (failed)
		*failed = SIZE_MAX;
	return do_cuMemcpy3DBatchAsync_v2(count, list, flags, stream);
}
