/* SPDX-License-Identifier: Apache-2.0 */
#include "cudart.h"

#include <cuda_profiler_api.h>
#include <string.h>

cudaError_t cudaGetDeviceCount(int *count)
{
	cudaError_t error = simrt_init();

	return error ? error : simrt_result(simrt_driver.cuDeviceGetCount(count));
}

/* Both APIs use the same attribute numbers. */
cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attribute, int device)
{
	cudaError_t error = simrt_init();

	return error ? error
		     : simrt_result(simrt_driver.cuDeviceGetAttribute(value,
			       (CUdevice_attribute)attribute, device));
}

static int get(CUdevice_attribute attribute, int device)
{
	int value = 0;

	simrt_driver.cuDeviceGetAttribute(&value, attribute, device);
	return value;
}

#define GET(name) get(CU_DEVICE_ATTRIBUTE_##name, device)

static void get_limits(struct cudaDeviceProp *p, int device)
{
	p->sharedMemPerBlock = (size_t)GET(MAX_SHARED_MEMORY_PER_BLOCK);
	p->sharedMemPerBlockOptin = (size_t)GET(MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
	p->sharedMemPerMultiprocessor = (size_t)GET(MAX_SHARED_MEMORY_PER_MULTIPROCESSOR);
	p->reservedSharedMemPerBlock = (size_t)GET(RESERVED_SHARED_MEMORY_PER_BLOCK);
	p->regsPerBlock = GET(MAX_REGISTERS_PER_BLOCK);
	p->regsPerMultiprocessor = GET(MAX_REGISTERS_PER_MULTIPROCESSOR);
	p->memPitch = (size_t)GET(MAX_PITCH);
	p->maxThreadsPerBlock = GET(MAX_THREADS_PER_BLOCK);
	p->maxThreadsPerMultiProcessor = GET(MAX_THREADS_PER_MULTIPROCESSOR);
	p->maxBlocksPerMultiProcessor = GET(MAX_BLOCKS_PER_MULTIPROCESSOR);
	p->maxThreadsDim[0] = GET(MAX_BLOCK_DIM_X);
	p->maxThreadsDim[1] = GET(MAX_BLOCK_DIM_Y);
	p->maxThreadsDim[2] = GET(MAX_BLOCK_DIM_Z);
	p->maxGridSize[0] = GET(MAX_GRID_DIM_X);
	p->maxGridSize[1] = GET(MAX_GRID_DIM_Y);
	p->maxGridSize[2] = GET(MAX_GRID_DIM_Z);
	p->totalConstMem = (size_t)GET(TOTAL_CONSTANT_MEMORY);
	p->l2CacheSize = GET(L2_CACHE_SIZE);
	p->memoryBusWidth = GET(GLOBAL_MEMORY_BUS_WIDTH);
	p->persistingL2CacheMaxSize = GET(MAX_PERSISTING_L2_CACHE_SIZE);
	p->accessPolicyMaxWindowSize = GET(MAX_ACCESS_POLICY_WINDOW_SIZE);
	p->textureAlignment = (size_t)GET(TEXTURE_ALIGNMENT);
	p->texturePitchAlignment = (size_t)GET(TEXTURE_PITCH_ALIGNMENT);
	p->surfaceAlignment = (size_t)GET(SURFACE_ALIGNMENT);
	p->maxTexture1D = GET(MAXIMUM_TEXTURE1D_WIDTH);
	p->maxTexture2D[0] = GET(MAXIMUM_TEXTURE2D_WIDTH);
	p->maxTexture2D[1] = GET(MAXIMUM_TEXTURE2D_HEIGHT);
}

static void get_abilities(struct cudaDeviceProp *p, int device)
{
	p->warpSize = GET(WARP_SIZE);
	p->major = GET(COMPUTE_CAPABILITY_MAJOR);
	p->minor = GET(COMPUTE_CAPABILITY_MINOR);
	p->multiProcessorCount = GET(MULTIPROCESSOR_COUNT);
	p->canMapHostMemory = GET(CAN_MAP_HOST_MEMORY);
	p->concurrentKernels = GET(CONCURRENT_KERNELS);
	p->ECCEnabled = GET(ECC_ENABLED);
	p->pciBusID = GET(PCI_BUS_ID);
	p->asyncEngineCount = GET(ASYNC_ENGINE_COUNT);
	p->unifiedAddressing = GET(UNIFIED_ADDRESSING);
	p->streamPrioritiesSupported = GET(STREAM_PRIORITIES_SUPPORTED);
	p->managedMemory = GET(MANAGED_MEMORY);
	p->concurrentManagedAccess = GET(CONCURRENT_MANAGED_ACCESS);
	p->computePreemptionSupported = GET(COMPUTE_PREEMPTION_SUPPORTED);
	p->cooperativeLaunch = GET(COOPERATIVE_LAUNCH);
	p->hostRegisterSupported = GET(HOST_REGISTER_SUPPORTED);
	p->memoryPoolsSupported = GET(MEMORY_POOLS_SUPPORTED);
	p->globalL1CacheSupported = GET(GLOBAL_L1_CACHE_SUPPORTED);
	p->localL1CacheSupported = GET(LOCAL_L1_CACHE_SUPPORTED);
	p->canUseHostPointerForRegisteredMem = GET(CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM);
	p->clusterLaunch = GET(CLUSTER_LAUNCH);
}

cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *properties, int device)
{
	cudaError_t error = simrt_init();

	if (error)
		return error;
	if (!properties)
		return simrt_error(cudaErrorInvalidValue);
	memset(properties, 0, sizeof(*properties));
	error = simrt_result(
		simrt_driver.cuDeviceGetName(properties->name, sizeof(properties->name), device));
	if (error)
		return error;
	simrt_driver.cuDeviceGetUuid_v2((CUuuid *)&properties->uuid, device);
	simrt_driver.cuDeviceTotalMem_v2(&properties->totalGlobalMem, device);
	get_limits(properties, device);
	get_abilities(properties, device);
	return cudaSuccess;
}

cudaError_t cudaDeviceCanAccessPeer(int *can, int device, int peer)
{
	cudaError_t error = simrt_init();

	return error ? error : simrt_result(simrt_driver.cuDeviceCanAccessPeer(can, device, peer));
}

cudaError_t cudaDeviceSynchronize(void)
{
	CALL(simrt_driver.cuCtxSynchronize());
}

cudaError_t cudaSetDeviceFlags(unsigned int flags)
{
	int device;
	cudaError_t error = cudaGetDevice(&device);

	return error ? error
		     : simrt_result(simrt_driver.cuDevicePrimaryCtxSetFlags_v2(device, flags));
}

cudaError_t cudaRuntimeGetVersion(int *version)
{
	if (!version)
		return simrt_error(cudaErrorInvalidValue);
	*version = CUDART_VERSION;
	return cudaSuccess;
}

cudaError_t cudaDriverGetVersion(int *version)
{
	if (!version)
		return simrt_error(cudaErrorInvalidValue);
	*version = 0;
	/* Without a driver the version is 0, without an error. */
	if (simrt_init())
		return cudaSuccess;
	return simrt_result(simrt_driver.cuDriverGetVersion(version));
}

/* Hints, and profiler control: no effect. */
cudaError_t cudaDeviceSetCacheConfig(enum cudaFuncCache config)
{
	return simrt_context();
}

cudaError_t cudaProfilerStart(void)
{
	CALL(simrt_driver.cuProfilerStart());
}

cudaError_t cudaProfilerStop(void)
{
	CALL(simrt_driver.cuProfilerStop());
}
