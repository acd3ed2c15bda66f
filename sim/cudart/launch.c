/* SPDX-License-Identifier: Apache-2.0 */
#include "cudart.h"

cudaError_t __cudaLaunchKernel(cudaKernel_t f, dim3 grid, dim3 block, void **args, size_t shared,
	cudaStream_t stream);
unsigned int __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared,
	struct CUstream_st *stream);
cudaError_t __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared, void *stream);

/* Set between <<<>>> and the host stub; launch arguments may launch, so it is a stack. */
struct configuration {
	dim3 grid, block;
	size_t shared;
	cudaStream_t stream;
};

#define NESTING 16

static _Thread_local struct configuration stack[NESTING];
static _Thread_local unsigned int depth;

unsigned int __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared,
	struct CUstream_st *stream)
{
	if (depth == NESTING)
		return 1;
	stack[depth++] = (struct configuration){ grid, block, shared, stream };
	return 0;
}

cudaError_t __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared, void *stream)
{
	if (!depth)
		return cudaErrorMissingConfiguration;
	depth--;
	*grid = stack[depth].grid;
	*block = stack[depth].block;
	*shared = stack[depth].shared;
	*(cudaStream_t *)stream = stack[depth].stream;
	return cudaSuccess;
}

static cudaError_t launch(const void *host, const struct configuration *c, void **args,
	bool per_thread)
{
	cudaError_t error = simrt_context();
	CUfunction function;
	CUresult result;

	if (!error)
		error = simrt_kernel(host, &function);
	if (error)
		return error;
	result = PICK(per_thread, cuLaunchKernel, _ptsz)(function, c->grid.x, c->grid.y, c->grid.z,
		c->block.x, c->block.y, c->block.z, (unsigned int)c->shared, c->stream, args, NULL);
	if (result == CUDA_ERROR_INVALID_VALUE)
		return simrt_error(cudaErrorInvalidConfiguration);
	return simrt_result(result);
}

static cudaError_t launch_ex(const cudaLaunchConfig_t *config, const void *host, void **args,
	bool per_thread)
{
	cudaError_t error = simrt_context();
	CUlaunchConfig driver_config;
	CUfunction function;

	if (!error)
		error = simrt_kernel(host, &function);
	if (error)
		return error;
	if (!config)
		return simrt_error(cudaErrorInvalidValue);
	driver_config = (CUlaunchConfig){
		.gridDimX = config->gridDim.x,
		.gridDimY = config->gridDim.y,
		.gridDimZ = config->gridDim.z,
		.blockDimX = config->blockDim.x,
		.blockDimY = config->blockDim.y,
		.blockDimZ = config->blockDim.z,
		.sharedMemBytes = (unsigned int)config->dynamicSmemBytes,
		.hStream = config->stream,
		.numAttrs = config->numAttrs,
		/* Same structure under another name. */
		.attrs = (CUlaunchAttribute *)config->attrs,
	};
	return simrt_result(
		PICK(per_thread, cuLaunchKernelEx, _ptsz)(&driver_config, function, args, NULL));
}

cudaError_t cudaLaunchKernel(const void *f, dim3 grid, dim3 block, void **args, size_t shared,
	cudaStream_t stream)
{
	return launch(f, &(struct configuration){ grid, block, shared, stream }, args, false);
}

cudaError_t cudaLaunchKernel_ptsz(const void *f, dim3 grid, dim3 block, void **args, size_t shared,
	cudaStream_t stream)
{
	return launch(f, &(struct configuration){ grid, block, shared, stream }, args, true);
}

cudaError_t __cudaLaunchKernel(cudaKernel_t f, dim3 grid, dim3 block, void **args, size_t shared,
	cudaStream_t stream)
{
	return launch(f, &(struct configuration){ grid, block, shared, stream }, args, false);
}

cudaError_t __cudaLaunchKernel_ptsz(cudaKernel_t f, dim3 grid, dim3 block, void **args,
	size_t shared, cudaStream_t stream)
{
	return launch(f, &(struct configuration){ grid, block, shared, stream }, args, true);
}

cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t *config, const void *f, void **args)
{
	return launch_ex(config, f, args, false);
}

cudaError_t cudaLaunchKernelExC_ptsz(const cudaLaunchConfig_t *config, const void *f, void **args)
{
	return launch_ex(config, f, args, true);
}

/* A cooperative launch is a launch with that attribute. */
static cudaError_t launch_cooperative(const void *f, dim3 grid, dim3 block, void **args,
	size_t shared, cudaStream_t stream, bool per_thread)
{
	cudaLaunchAttribute cooperative = { .id = cudaLaunchAttributeCooperative,
		.val = { .cooperative = 1 } };
	const cudaLaunchConfig_t config = { .gridDim = grid,
		.blockDim = block,
		.dynamicSmemBytes = shared,
		.stream = stream,
		.attrs = &cooperative,
		.numAttrs = 1 };

	return launch_ex(&config, f, args, per_thread);
}

cudaError_t cudaLaunchCooperativeKernel(const void *f, dim3 grid, dim3 block, void **args,
	size_t shared, cudaStream_t stream)
{
	return launch_cooperative(f, grid, block, args, shared, stream, false);
}

cudaError_t cudaLaunchCooperativeKernel_ptsz(const void *f, dim3 grid, dim3 block, void **args,
	size_t shared, cudaStream_t stream);
cudaError_t cudaLaunchCooperativeKernel_ptsz(const void *f, dim3 grid, dim3 block, void **args,
	size_t shared, cudaStream_t stream)
{
	return launch_cooperative(f, grid, block, args, shared, stream, true);
}
