/* SPDX-License-Identifier: Apache-2.0 */
#include "cudart.h"

cudaError_t cudaMalloc(void **ptr, size_t bytes)
{
	if (!ptr)
		return simrt_error(cudaErrorInvalidValue);
	*ptr = NULL;
	if (!bytes)
		return simrt_context();
	CALL(simrt_driver.cuMemAlloc_v2((CUdeviceptr *)ptr, bytes));
}

cudaError_t cudaMallocPitch(void **ptr, size_t *pitch, size_t width, size_t height)
{
	CALL(simrt_driver.cuMemAllocPitch_v2((CUdeviceptr *)ptr, pitch, width, height, 4));
}

/* cudaFree(NULL) only creates the context; programs use it for that. */
cudaError_t cudaFree(void *ptr)
{
	if (!ptr)
		return simrt_context();
	CALL(simrt_driver.cuMemFree_v2((CUdeviceptr)ptr));
}

cudaError_t cudaMallocHost(void **ptr, size_t bytes)
{
	CALL(simrt_driver.cuMemHostAlloc(ptr, bytes, 0));
}

cudaError_t cudaFreeHost(void *ptr)
{
	if (!ptr)
		return simrt_context();
	CALL(simrt_driver.cuMemFreeHost(ptr));
}

cudaError_t cudaPointerGetAttributes(struct cudaPointerAttributes *attributes, const void *ptr)
{
	CUpointer_attribute wanted[] = { CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
		CU_POINTER_ATTRIBUTE_IS_MANAGED, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL };
	unsigned int type = 0, managed = 0;
	int device = -2;
	void *values[] = { &type, &managed, &device };
	cudaError_t error = simrt_context();

	if (!error)
		error = simrt_result(
			simrt_driver.cuPointerGetAttributes(3, wanted, values, (CUdeviceptr)ptr));
	if (error)
		return error;
	*attributes = (struct cudaPointerAttributes){
		.type = managed ? cudaMemoryTypeManaged : (enum cudaMemoryType)type,
		.device = device,
		.devicePointer = type ? (void *)ptr : NULL,
		.hostPointer = type == CU_MEMORYTYPE_DEVICE && !managed ? NULL : (void *)ptr,
	};
	return cudaSuccess;
}
