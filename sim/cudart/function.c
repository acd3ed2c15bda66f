/* SPDX-License-Identifier: Apache-2.0 */
/* Queries and attributes of kernels, by host function or handle. */
#include "cudart.h"

/* Calls the driver with the kernel of host as `function`. */
#define WITH_KERNEL(host, ...) \
	do { \
		CUfunction function; \
		cudaError_t error_ = simrt_context(); \
		if (!error_) \
			error_ = simrt_kernel(host, &function); \
		return error_ ? error_ : simrt_result(__VA_ARGS__); \
	} while (0)

static int get(CUfunction function, CUfunction_attribute attribute)
{
	int value = 0;

	simrt_driver.cuFuncGetAttribute(&value, attribute, function);
	return value;
}

cudaError_t cudaFuncGetAttributes(struct cudaFuncAttributes *attributes, const void *host)
{
	cudaError_t error = simrt_context();
	CUfunction function;

	if (!error)
		error = simrt_kernel(host, &function);
	if (error)
		return error;
	if (!attributes)
		return simrt_error(cudaErrorInvalidValue);
	*attributes = (struct cudaFuncAttributes){
		.sharedSizeBytes = (size_t)get(function, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES),
		.localSizeBytes = (size_t)get(function, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES),
		.maxThreadsPerBlock = get(function, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK),
		.numRegs = get(function, CU_FUNC_ATTRIBUTE_NUM_REGS),
		.ptxVersion = get(function, CU_FUNC_ATTRIBUTE_PTX_VERSION),
		.binaryVersion = get(function, CU_FUNC_ATTRIBUTE_BINARY_VERSION),
		.maxDynamicSharedSizeBytes =
			get(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES),
	};
	return cudaSuccess;
}

cudaError_t cudaFuncSetAttribute(const void *host, enum cudaFuncAttribute attribute, int value)
{
	WITH_KERNEL(host,
		simrt_driver.cuFuncSetAttribute(function, (CUfunction_attribute)attribute, value));
}

cudaError_t cudaFuncSetCacheConfig(const void *host, enum cudaFuncCache config)
{
	WITH_KERNEL(host, simrt_driver.cuFuncSetCacheConfig(function, (CUfunc_cache)config));
}

cudaError_t cudaFuncSetSharedMemConfig(const void *host, enum cudaSharedMemConfig config)
{
	WITH_KERNEL(host, simrt_driver.cuFuncSetSharedMemConfig(function, (CUsharedconfig)config));
}

cudaError_t cudaFuncGetName(const char **name, const void *host)
{
	WITH_KERNEL(host, simrt_driver.cuFuncGetName(name, function));
}

cudaError_t cudaFuncGetParamInfo(const void *host, size_t index, size_t *offset, size_t *size)
{
	WITH_KERNEL(host, simrt_driver.cuFuncGetParamInfo(function, index, offset, size));
}

cudaError_t cudaGetFuncBySymbol(cudaFunction_t *handle, const void *host)
{
	WITH_KERNEL(host, (*handle = function, CUDA_SUCCESS));
}

cudaError_t cudaGetKernel(cudaKernel_t *handle, const void *host)
{
	WITH_KERNEL(host, (*handle = (cudaKernel_t)function, CUDA_SUCCESS));
}

cudaError_t cudaKernelSetAttributeForDevice(cudaKernel_t kernel, enum cudaFuncAttribute attribute,
	int value, int device)
{
	WITH_KERNEL(kernel,
		simrt_driver.cuKernelSetAttribute((CUfunction_attribute)attribute, value,
			(CUkernel)function, device));
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, const void *host,
	int block_size, size_t dynamic, unsigned int flags)
{
	WITH_KERNEL(host,
		simrt_driver.cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, function,
			block_size, dynamic, flags));
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, const void *host,
	int block_size, size_t dynamic)
{
	return cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, host, block_size,
		dynamic, 0);
}

cudaError_t cudaOccupancyAvailableDynamicSMemPerBlock(size_t *bytes, const void *host, int blocks,
	int block_size)
{
	WITH_KERNEL(host,
		simrt_driver.cuOccupancyAvailableDynamicSMemPerBlock(bytes, function, blocks,
			block_size));
}

static const CUlaunchConfig no_config;

cudaError_t cudaOccupancyMaxPotentialClusterSize(int *size, const void *host,
	const cudaLaunchConfig_t *config)
{
	WITH_KERNEL(host,
		simrt_driver.cuOccupancyMaxPotentialClusterSize(size, function,
			config ? &no_config : NULL));
}

cudaError_t cudaOccupancyMaxActiveClusters(int *clusters, const void *host,
	const cudaLaunchConfig_t *config)
{
	WITH_KERNEL(host,
		simrt_driver.cuOccupancyMaxActiveClusters(clusters, function,
			config ? &no_config : NULL));
}
