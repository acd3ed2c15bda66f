/* SPDX-License-Identifier: Apache-2.0 */
/* Graph nodes whose parameters differ between the runtime and driver API. */
#include <string.h>

#include "cudart_box.h"

static CUcontext current(void)
{
	CUcontext context = NULL;

	simrt_driver.cuCtxGetCurrent(&context);
	return context;
}

static cudaError_t kernel_params(CUDA_KERNEL_NODE_PARAMS_v2 *out,
	const struct cudaKernelNodeParams *p)
{
	cudaError_t error = simrt_context();
	CUfunction function;

	if (!error && !p)
		error = simrt_error(cudaErrorInvalidValue);
	if (!error)
		error = simrt_kernel(p->func, &function);
	if (error)
		return error;
	*out = (CUDA_KERNEL_NODE_PARAMS_v2){
		.func = function,
		.gridDimX = p->gridDim.x,
		.gridDimY = p->gridDim.y,
		.gridDimZ = p->gridDim.z,
		.blockDimX = p->blockDim.x,
		.blockDimY = p->blockDim.y,
		.blockDimZ = p->blockDim.z,
		.sharedMemBytes = p->sharedMemBytes,
		.kernelParams = p->kernelParams,
		.extra = p->extra,
	};
	return cudaSuccess;
}

cudaError_t cudaGraphAddKernelNode(cudaGraphNode_t *node, cudaGraph_t graph,
	const cudaGraphNode_t *after, size_t count, const struct cudaKernelNodeParams *p)
{
	CUDA_KERNEL_NODE_PARAMS_v2 params;
	cudaError_t error = kernel_params(&params, p);

	return error ? error
		     : simrt_result(simrt_driver.cuGraphAddKernelNode_v2(node, graph, after, count,
			       &params));
}

cudaError_t cudaGraphKernelNodeSetParams(cudaGraphNode_t node, const struct cudaKernelNodeParams *p)
{
	CUDA_KERNEL_NODE_PARAMS_v2 params;
	cudaError_t error = kernel_params(&params, p);

	return error ? error
		     : simrt_result(simrt_driver.cuGraphKernelNodeSetParams_v2(node, &params));
}

cudaError_t cudaGraphExecKernelNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
	const struct cudaKernelNodeParams *p)
{
	CUDA_KERNEL_NODE_PARAMS_v2 params;
	cudaError_t error = kernel_params(&params, p);

	return error
		? error
		: simrt_result(simrt_driver.cuGraphExecKernelNodeSetParams_v2(exec, node, &params));
}

/* The function is returned as a handle, which all calls with a kernel parameter accept. */
cudaError_t cudaGraphKernelNodeGetParams(cudaGraphNode_t node, struct cudaKernelNodeParams *p)
{
	CUDA_KERNEL_NODE_PARAMS_v2 k;
	cudaError_t error = simrt_context();

	if (!error)
		error = simrt_result(simrt_driver.cuGraphKernelNodeGetParams_v2(node, &k));
	if (error)
		return error;
	*p = (struct cudaKernelNodeParams){
		.func = k.func,
		.gridDim = { k.gridDimX, k.gridDimY, k.gridDimZ },
		.blockDim = { k.blockDimX, k.blockDimY, k.blockDimZ },
		.sharedMemBytes = k.sharedMemBytes,
		.kernelParams = k.kernelParams,
		.extra = k.extra,
	};
	return cudaSuccess;
}

static cudaError_t add_copy(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *after,
	size_t count, const CUDA_MEMCPY3D *shape)
{
	CALL(simrt_driver.cuGraphAddMemcpyNode(node, graph, after, count, shape, current()));
}

static cudaError_t exec_copy(cudaGraphExec_t exec, cudaGraphNode_t node, const CUDA_MEMCPY3D *shape)
{
	CALL(simrt_driver.cuGraphExecMemcpyNodeSetParams(exec, node, shape, current()));
}

static cudaError_t set_copy(cudaGraphNode_t node, const CUDA_MEMCPY3D *shape)
{
	CALL(simrt_driver.cuGraphMemcpyNodeSetParams(node, shape));
}

/*
 * Each description of a copy has three calls: add a node, change it, change it in an executable
 * graph.
 */
#define COPY_NODES(name, params, args, shape) \
	cudaError_t cudaGraphAddMemcpyNode##name(cudaGraphNode_t *node, cudaGraph_t graph, \
		const cudaGraphNode_t *after, size_t count, SIMRT_UNWRAP params) \
	{ \
		CUDA_MEMCPY3D shape_; \
		cudaError_t error_ = shape args; \
		return error_ ? error_ : add_copy(node, graph, after, count, &shape_); \
	} \
	cudaError_t cudaGraphMemcpyNodeSetParams##name(cudaGraphNode_t node, SIMRT_UNWRAP params) \
	{ \
		CUDA_MEMCPY3D shape_; \
		cudaError_t error_ = shape args; \
		return error_ ? error_ : set_copy(node, &shape_); \
	} \
	cudaError_t cudaGraphExecMemcpyNodeSetParams##name(cudaGraphExec_t exec, \
		cudaGraphNode_t node, SIMRT_UNWRAP params) \
	{ \
		CUDA_MEMCPY3D shape_; \
		cudaError_t error_ = shape args; \
		return error_ ? error_ : exec_copy(exec, node, &shape_); \
	}

static cudaError_t shape_3d(CUDA_MEMCPY3D *shape, const struct cudaMemcpy3DParms *p)
{
	cudaError_t error = simrt_context();

	if (!error && !p)
		error = simrt_error(cudaErrorInvalidValue);
	if (!error)
		*shape = simrt_shape_3d(p);
	return error;
}

static cudaError_t shape_1d(CUDA_MEMCPY3D *shape, void *dst, const void *src, size_t bytes,
	enum cudaMemcpyKind kind)
{
	*shape = simrt_shape_1d(dst, src, bytes, kind);
	return simrt_context();
}

/* Address of bytes at an offset in a variable. */
static cudaError_t shape_symbol(CUDA_MEMCPY3D *shape, const void *symbol, bool to,
	const void *other, size_t bytes, size_t offset, enum cudaMemcpyKind kind)
{
	CUdeviceptr start;
	size_t size;
	cudaError_t error = simrt_variable(symbol, &start, &size);
	void *ptr;

	if (error)
		return error;
	if (offset > size || bytes > size - offset)
		return simrt_error(cudaErrorInvalidValue);
	ptr = (void *)(start + offset);
	*shape = to ? simrt_shape_1d(ptr, other, bytes, kind)
		    : simrt_shape_1d((void *)other, ptr, bytes, kind);
	return cudaSuccess;
}

COPY_NODES(, (const struct cudaMemcpy3DParms *p), (&shape_, p), shape_3d)
COPY_NODES(1D, (void *dst, const void *src, size_t bytes, enum cudaMemcpyKind kind),
	(&shape_, dst, src, bytes, kind), shape_1d)
COPY_NODES(ToSymbol,
	(const void *symbol, const void *src, size_t bytes, size_t offset,
		enum cudaMemcpyKind kind),
	(&shape_, symbol, true, src, bytes, offset, kind), shape_symbol)
COPY_NODES(FromSymbol,
	(void *dst, const void *symbol, size_t bytes, size_t offset, enum cudaMemcpyKind kind),
	(&shape_, symbol, false, dst, bytes, offset, kind), shape_symbol)

static CUDA_MEMSET_NODE_PARAMS set_params(const struct cudaMemsetParams *p)
{
	return (CUDA_MEMSET_NODE_PARAMS){ (CUdeviceptr)p->dst, p->pitch, p->value, p->elementSize,
		p->width, p->height };
}

cudaError_t cudaGraphAddMemsetNode(cudaGraphNode_t *node, cudaGraph_t graph,
	const cudaGraphNode_t *after, size_t count, const struct cudaMemsetParams *p)
{
	CUDA_MEMSET_NODE_PARAMS params = set_params(p);

	CALL(simrt_driver.cuGraphAddMemsetNode(node, graph, after, count, &params, current()));
}

cudaError_t cudaGraphMemsetNodeSetParams(cudaGraphNode_t node, const struct cudaMemsetParams *p)
{
	CUDA_MEMSET_NODE_PARAMS params = set_params(p);

	CALL(simrt_driver.cuGraphMemsetNodeSetParams(node, &params));
}

cudaError_t cudaGraphExecMemsetNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
	const struct cudaMemsetParams *p)
{
	CUDA_MEMSET_NODE_PARAMS params = set_params(p);

	CALL(simrt_driver.cuGraphExecMemsetNodeSetParams(exec, node, &params, current()));
}

cudaError_t cudaGraphMemsetNodeGetParams(cudaGraphNode_t node, struct cudaMemsetParams *p)
{
	CUDA_MEMSET_NODE_PARAMS m;
	cudaError_t error = simrt_context();

	if (!error)
		error = simrt_result(simrt_driver.cuGraphMemsetNodeGetParams(node, &m));
	if (error)
		return error;
	*p = (struct cudaMemsetParams){ (void *)m.dst, m.pitch, m.value, m.elementSize, m.width,
		m.height };
	return cudaSuccess;
}

/* For a copy between linear memory; pointers are zero for arrays. */
cudaError_t cudaGraphMemcpyNodeGetParams(cudaGraphNode_t node, struct cudaMemcpy3DParms *p)
{
	CUDA_MEMCPY3D s;
	cudaError_t error = simrt_context();
	void *src, *dst;

	if (!error)
		error = simrt_result(simrt_driver.cuGraphMemcpyNodeGetParams(node, &s));
	if (error)
		return error;
	src = s.srcMemoryType == CU_MEMORYTYPE_HOST ? (void *)s.srcHost : (void *)s.srcDevice;
	dst = s.dstMemoryType == CU_MEMORYTYPE_HOST ? s.dstHost : (void *)s.dstDevice;
	*p = (struct cudaMemcpy3DParms){
		.srcArray = (cudaArray_t)s.srcArray,
		.dstArray = (cudaArray_t)s.dstArray,
		.srcPtr = { src, s.srcPitch, s.WidthInBytes, s.srcHeight },
		.dstPtr = { dst, s.dstPitch, s.WidthInBytes, s.dstHeight },
		.extent = { s.WidthInBytes, s.Height, s.Depth },
		.kind = cudaMemcpyDefault,
	};
	return cudaSuccess;
}

/* Structures with the same layout in both APIs are copied. */
static cudaError_t node_params(CUgraphNodeParams *out, const struct cudaGraphNodeParams *p)
{
	cudaError_t error = simrt_context();
	CUfunction function = NULL;

	if (!error && !p)
		error = simrt_error(cudaErrorInvalidValue);
	if (!error && p->type == cudaGraphNodeTypeKernel)
		error = simrt_kernel(p->kernel.func, &function);
	if (error)
		return error;
	_Static_assert(sizeof(*out) == sizeof(*p), "same structure");
	memcpy(out, p, sizeof(*out));
	if (p->type == cudaGraphNodeTypeKernel) {
		out->kernel.func = function;
		out->kernel.kern = NULL;
		out->kernel.ctx = NULL;
	} else if (p->type == cudaGraphNodeTypeMemcpy) {
		memset(&out->memcpy, 0, sizeof(out->memcpy));
		out->memcpy.copyCtx = current();
		out->memcpy.copyParams = simrt_shape_3d(&p->memcpy.copyParams);
	} else if (p->type == cudaGraphNodeTypeMemset) {
		out->memset.ctx = current();
	}
	return cudaSuccess;
}

cudaError_t cudaGraphAddNode(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *after,
	const cudaGraphEdgeData *data, size_t count, struct cudaGraphNodeParams *p)
{
	CUgraphNodeParams params;
	cudaError_t error = node_params(&params, p);

	if (!error)
		error = simrt_result(simrt_driver.cuGraphAddNode_v2(node, graph, after,
			(const CUgraphEdgeData *)data, count, &params));
	if (!error && p->type == cudaGraphNodeTypeMemAlloc)
		p->alloc.dptr = (void *)params.alloc.dptr;
	if (!error && p->type == cudaGraphNodeTypeConditional)
		p->conditional.phGraph_out = params.conditional.phGraph_out;
	return error;
}

cudaError_t cudaGraphNodeSetParams(cudaGraphNode_t node, struct cudaGraphNodeParams *p)
{
	CUgraphNodeParams params;
	cudaError_t error = node_params(&params, p);

	return error ? error : simrt_result(simrt_driver.cuGraphNodeSetParams(node, &params));
}

cudaError_t cudaGraphExecNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
	struct cudaGraphNodeParams *p)
{
	CUgraphNodeParams params;
	cudaError_t error = node_params(&params, p);

	return error ? error
		     : simrt_result(simrt_driver.cuGraphExecNodeSetParams(exec, node, &params));
}

cudaError_t cudaGraphConditionalHandleCreate(cudaGraphConditionalHandle *handle, cudaGraph_t graph,
	unsigned int value, unsigned int flags)
{
	CALL(simrt_driver.cuGraphConditionalHandleCreate((CUgraphConditionalHandle *)handle, graph,
		current(), value, flags));
}
