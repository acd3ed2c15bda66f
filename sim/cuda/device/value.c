/* SPDX-License-Identifier: Apache-2.0 */
/* Streams wait for a value in memory, or write one. */
#include <stdlib.h>
#include <string.h>

#include "cuda_calls.h"
#include "cuda_work.h"

static bool is_wait(const CUstreamBatchMemOpParams *p)
{
	return p->operation == CU_STREAM_MEM_OP_WAIT_VALUE_32 ||
		p->operation == CU_STREAM_MEM_OP_WAIT_VALUE_64;
}

static bool is_write(const CUstreamBatchMemOpParams *p)
{
	return p->operation == CU_STREAM_MEM_OP_WRITE_VALUE_32 ||
		p->operation == CU_STREAM_MEM_OP_WRITE_VALUE_64;
}

/* Both structures begin with operation, address, value and flags. */
static uint32_t value_bytes(const CUstreamBatchMemOpParams *p)
{
	return p->operation == CU_STREAM_MEM_OP_WAIT_VALUE_64 ||
			p->operation == CU_STREAM_MEM_OP_WRITE_VALUE_64
		? 8
		: 4;
}

bool value_refused(void)
{
	const char *text = getenv("CUFENCE_SIM_NO_WAIT_VALUE");

	return text && *text == '1';
}

CUresult value_check(const struct work *work, struct context *context)
{
	if (value_refused())
		return CUDA_ERROR_NOT_SUPPORTED;
	for (unsigned int i = 0; i < work->params.memOp.count; i++) {
		const CUstreamBatchMemOpParams *p = &work->params.memOp.paramArray[i];
		const struct memory *memory = memory_find(p->waitValue.address);

		if (!is_wait(p) && !is_write(p)) {
			if (p->operation != CU_STREAM_MEM_OP_BARRIER &&
				p->operation != CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES)
				return CUDA_ERROR_INVALID_VALUE;
			continue;
		}
		if (!memory || p->waitValue.address % value_bytes(p) ||
			!memory_fits(memory, p->waitValue.address, value_bytes(p)))
			return CUDA_ERROR_INVALID_VALUE;
	}
	return work->params.memOp.count > 256 ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

static void write_value(struct op *op)
{
	memcpy(op->box.dst, &op->value, op->element);
}

struct op *value_op(const CUstreamBatchMemOpParams *p, struct stream *stream)
{
	struct op *op = op_new(is_wait(p) ? OP_VALUE : OP_MARKER, stream, 0);

	if (!is_wait(p) && !is_write(p))
		return op;
	op->box.dst = (char *)p->waitValue.address;
	op->element = value_bytes(p);
	op->value = op->element == 8 ? p->waitValue.value64 : p->waitValue.value;
	op->flags = p->waitValue.flags;
	if (is_write(p))
		op->effect = write_value;
	return op;
}

CUresult do_cuStreamBatchMemOp_v2(CUstream handle, unsigned int count,
	CUstreamBatchMemOpParams *params, unsigned int flags)
{
	struct work work = { .params = { .type = CU_GRAPH_NODE_TYPE_BATCH_MEM_OP,
				     .memOp = { NULL, count, params, flags } } };
	struct stream *stream;
	CUresult result = stream_find(handle, &stream);

	if (result)
		return result;
	if (flags || (count && !params))
		return CUDA_ERROR_INVALID_VALUE;
	if (stream->capture)
		return work_submit(&work, handle, NULL);
	result = work_check(&work, stream->context);
	if (result)
		return result;
	device_gate(stream->context->device);
	for (unsigned int i = 0; i < count; i++) {
		struct op *op = value_op(&params[i], stream);

		op_submit(op);
		op_put(op);
	}
	return CUDA_SUCCESS;
}

static CUresult one(CUstream stream, CUstreamBatchMemOpType operation, CUdeviceptr address,
	uint64_t value, unsigned int flags)
{
	CUstreamBatchMemOpParams params = { .operation = operation };

	params.waitValue.address = address;
	params.waitValue.value64 = value;
	params.waitValue.flags = flags;
	return do_cuStreamBatchMemOp_v2(stream, 1, &params, 0);
}

CUresult do_cuStreamWaitValue32_v2(CUstream stream, CUdeviceptr address, cuuint32_t value,
	unsigned int flags)
{
	return one(stream, CU_STREAM_MEM_OP_WAIT_VALUE_32, address, value, flags);
}

CUresult do_cuStreamWaitValue64_v2(CUstream stream, CUdeviceptr address, cuuint64_t value,
	unsigned int flags)
{
	return one(stream, CU_STREAM_MEM_OP_WAIT_VALUE_64, address, value, flags);
}

CUresult do_cuStreamWriteValue32_v2(CUstream stream, CUdeviceptr address, cuuint32_t value,
	unsigned int flags)
{
	return one(stream, CU_STREAM_MEM_OP_WRITE_VALUE_32, address, value, flags);
}

CUresult do_cuStreamWriteValue64_v2(CUstream stream, CUdeviceptr address, cuuint64_t value,
	unsigned int flags)
{
	return one(stream, CU_STREAM_MEM_OP_WRITE_VALUE_64, address, value, flags);
}
