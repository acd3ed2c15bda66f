/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda_work.h"

#include "cuda_graph.h"

CUresult work_check(const struct work *work, struct context *context)
{
	switch (work->params.type) {
	case CU_GRAPH_NODE_TYPE_KERNEL:
		return kernel_check(work, context);
	case CU_GRAPH_NODE_TYPE_MEMCPY:
		return copy_check(work, context);
	case CU_GRAPH_NODE_TYPE_MEMSET:
		return set_check(work, context);
	case CU_GRAPH_NODE_TYPE_HOST:
		return work->params.host.fn ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
	case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
	case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
		return event_check(work, context);
	case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP:
		return value_check(work, context);
	case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
	case CU_GRAPH_NODE_TYPE_MEM_FREE:
		return graph_memory_check(work, context);
	case CU_GRAPH_NODE_TYPE_EMPTY:
	case CU_GRAPH_NODE_TYPE_GRAPH:
	case CU_GRAPH_NODE_TYPE_CONDITIONAL:
		return CUDA_SUCCESS;
	default:
		return CUDA_ERROR_NOT_SUPPORTED;
	}
}

static struct op *host_op(const struct work *work, struct stream *stream)
{
	struct op *op = op_new(OP_HOST, stream, 0);

	op->function = work->params.host.fn;
	op->data = work->params.host.userData;
	return op;
}

struct op *work_op(const struct work *work, struct stream *stream)
{
	switch (work->params.type) {
	case CU_GRAPH_NODE_TYPE_KERNEL:
		return kernel_op(work, stream);
	case CU_GRAPH_NODE_TYPE_MEMCPY:
		return copy_op(work, stream);
	case CU_GRAPH_NODE_TYPE_MEMSET:
		return set_op(work, stream);
	case CU_GRAPH_NODE_TYPE_HOST:
		return host_op(work, stream);
	case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
	case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
		return event_op(work, stream);
	case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
	case CU_GRAPH_NODE_TYPE_MEM_FREE:
		return graph_memory_op(work, stream);
	default:
		return op_new(OP_MARKER, stream, 0);
	}
}

static bool takes_entry(const struct work *work)
{
	return work->params.type <= CU_GRAPH_NODE_TYPE_MEMSET;
}

CUresult work_submit(const struct work *work, CUstream handle, struct op **made)
{
	struct stream *stream;
	CUresult result = stream_find(handle, &stream);
	struct op *op;

	if (made)
		*made = NULL;
	if (!result)
		result = work_check(work, stream->context);
	if (result)
		return result;
	if (stream->capture)
		return capture_add(stream, work);
	if (takes_entry(work))
		stream_reserve(stream);
	else if (work->params.type != CU_GRAPH_NODE_TYPE_EVENT_RECORD)
		device_gate(stream->context->device);
	op = work_op(work, stream);
	op_submit(op);
	if (made)
		*made = op;
	else
		op_put(op);
	return CUDA_SUCCESS;
}

void record_origin(struct op *op, const struct stream *stream)
{
	op->record.correlation = thread_self()->correlation;
	op->record.device = (uint32_t)stream->context->device->ordinal;
	op->record.context = stream->context->id;
	op->record.stream = stream->id;
}
