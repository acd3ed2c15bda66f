/* SPDX-License-Identifier: Apache-2.0 */
/* What programs can ask about the device: the attributes of an H200. */
#include <stdio.h>
#include <string.h>

#include "cuda_calls.h"
#include "cuda_state.h"

static const int attributes[CU_DEVICE_ATTRIBUTE_MAX] = {
	[CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK] = 1024,
	[CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X] = 1024,
	[CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y] = 1024,
	[CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z] = 64,
	[CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X] = 2147483647,
	[CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y] = 65535,
	[CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z] = 65535,
	[CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK] = 49152,
	[CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN] = 232448,
	[CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR] = 233472,
	[CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK] = 1024,
	[CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY] = 65536,
	[CU_DEVICE_ATTRIBUTE_WARP_SIZE] = 32,
	[CU_DEVICE_ATTRIBUTE_MAX_PITCH] = 2147483647,
	[CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK] = 65536,
	[CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR] = 65536,
	[CU_DEVICE_ATTRIBUTE_CLOCK_RATE] = 1980000,
	[CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE] = 3201000,
	[CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH] = 6144,
	[CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE] = 62914560,
	[CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT] = 512,
	[CU_DEVICE_ATTRIBUTE_TEXTURE_PITCH_ALIGNMENT] = 32,
	[CU_DEVICE_ATTRIBUTE_GPU_OVERLAP] = 1,
	[CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT] = 3,
	[CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT] = 132,
	[CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR] = 2048,
	[CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR] = 32,
	[CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY] = 1,
	[CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS] = 1,
	[CU_DEVICE_ATTRIBUTE_ECC_ENABLED] = 1,
	[CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING] = 1,
	[CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR] = 9,
	[CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR] = 0,
	[CU_DEVICE_ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED] = 1,
	[CU_DEVICE_ATTRIBUTE_GLOBAL_L1_CACHE_SUPPORTED] = 1,
	[CU_DEVICE_ATTRIBUTE_LOCAL_L1_CACHE_SUPPORTED] = 1,
	[CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY] = 1,
	[CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS] = 1,
	[CU_DEVICE_ATTRIBUTE_COMPUTE_PREEMPTION_SUPPORTED] = 1,
	[CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM] = 1,
	[CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH] = 1,
	[CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED] = 1,
	[CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED] = 1,
};

CUresult do_cuDeviceGet(CUdevice *device, int ordinal)
{
	if (!device)
		return CUDA_ERROR_INVALID_VALUE;
	if (!device_get(ordinal))
		return CUDA_ERROR_INVALID_DEVICE;
	*device = ordinal;
	return CUDA_SUCCESS;
}

CUresult do_cuDeviceGetCount(int *count)
{
	if (!count)
		return CUDA_ERROR_INVALID_VALUE;
	*count = device_count();
	return CUDA_SUCCESS;
}

CUresult do_cuDeviceGetName(char *name, int length, CUdevice device)
{
	if (!name || length <= 0)
		return CUDA_ERROR_INVALID_VALUE;
	if (!device_get(device))
		return CUDA_ERROR_INVALID_DEVICE;
	snprintf(name, (size_t)length, "NVIDIA H200 (simulated)");
	return CUDA_SUCCESS;
}

CUresult do_cuDeviceGetUuid_v2(CUuuid *uuid, CUdevice device)
{
	if (!uuid)
		return CUDA_ERROR_INVALID_VALUE;
	if (!device_get(device))
		return CUDA_ERROR_INVALID_DEVICE;
	memset(uuid, 0, sizeof(*uuid));
	uuid->bytes[15] = (char)(device + 1);
	return CUDA_SUCCESS;
}

CUresult do_cuDeviceGetPCIBusId(char *id, int length, CUdevice device)
{
	if (!id || length <= 0)
		return CUDA_ERROR_INVALID_VALUE;
	if (!device_get(device))
		return CUDA_ERROR_INVALID_DEVICE;
	snprintf(id, (size_t)length, "0000:%02X:00.0", device + 1);
	return CUDA_SUCCESS;
}

CUresult do_cuDeviceGetAttribute(int *value, CUdevice_attribute attribute, CUdevice device)
{
	if (!value || (unsigned int)attribute >= CU_DEVICE_ATTRIBUTE_MAX)
		return CUDA_ERROR_INVALID_VALUE;
	if (!device_get(device))
		return CUDA_ERROR_INVALID_DEVICE;
	*value = attributes[attribute];
	if (attribute == CU_DEVICE_ATTRIBUTE_PCI_BUS_ID)
		*value = device + 1;
	return CUDA_SUCCESS;
}

CUresult do_cuDeviceTotalMem_v2(size_t *bytes, CUdevice device)
{
	if (!bytes)
		return CUDA_ERROR_INVALID_VALUE;
	if (!device_get(device))
		return CUDA_ERROR_INVALID_DEVICE;
	*bytes = SIM_MEMORY_BYTES;
	return CUDA_SUCCESS;
}

CUresult do_cuDeviceCanAccessPeer(int *can, CUdevice device, CUdevice peer)
{
	if (!can)
		return CUDA_ERROR_INVALID_VALUE;
	if (!device_get(device) || !device_get(peer))
		return CUDA_ERROR_INVALID_DEVICE;
	*can = device != peer;
	return CUDA_SUCCESS;
}

CUresult do_cuMemGetInfo_v2(size_t *unused, size_t *total)
{
	struct context *context = context_current();

	if (!context)
		return CUDA_ERROR_INVALID_CONTEXT;
	if (unused)
		*unused = SIM_MEMORY_BYTES - context->device->used;
	if (total)
		*total = SIM_MEMORY_BYTES;
	return CUDA_SUCCESS;
}
