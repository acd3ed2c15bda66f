/* SPDX-License-Identifier: Apache-2.0 */
/* Access to memory of other devices, and limits of a device. */
#include <stdio.h>
#include <string.h>

#include "cuda_calls.h"
#include "cuda_state.h"

CUresult do_cuDeviceCanAccessPeer(int *can, CUdevice device, CUdevice peer)
{
	if (!can)
		return CUDA_ERROR_INVALID_VALUE;
	if (!device_get(device) || !device_get(peer))
		return CUDA_ERROR_INVALID_DEVICE;
	*can = device != peer;
	return CUDA_SUCCESS;
}

CUresult do_cuDeviceGetP2PAttribute(int *value, CUdevice_P2PAttribute attribute, CUdevice device,
	CUdevice peer)
{
	if (!value || attribute < CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK ||
		attribute > CU_DEVICE_P2P_ATTRIBUTE_CUDA_ARRAY_ACCESS_SUPPORTED)
		return CUDA_ERROR_INVALID_VALUE;
	if (!device_get(device) || !device_get(peer) || device == peer)
		return CUDA_ERROR_INVALID_DEVICE;
	*value = attribute != CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK;
	return CUDA_SUCCESS;
}

CUresult do_cuCtxEnablePeerAccess(CUcontext handle, unsigned int flags)
{
	struct context *context = context_current(), *peer = context_check(handle);

	if (!context || !peer)
		return CUDA_ERROR_INVALID_CONTEXT;
	if (flags)
		return CUDA_ERROR_INVALID_VALUE;
	if (context->device == peer->device)
		return CUDA_ERROR_PEER_ACCESS_UNSUPPORTED;
	if (context_reaches(context, peer->device))
		return CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED;
	context->peers |= 1u << peer->device->ordinal;
	return CUDA_SUCCESS;
}

CUresult do_cuCtxDisablePeerAccess(CUcontext handle)
{
	struct context *context = context_current(), *peer = context_check(handle);

	if (!context || !peer)
		return CUDA_ERROR_INVALID_CONTEXT;
	if (context->device == peer->device || !context_reaches(context, peer->device))
		return CUDA_ERROR_PEER_ACCESS_NOT_ENABLED;
	context->peers &= ~(1u << peer->device->ordinal);
	return CUDA_SUCCESS;
}

/*
 * Changing the stack size waits for all work of the device, as measured; other limits are assumed
 * to.
 */
CUresult do_cuCtxSetLimit(CUlimit limit, size_t value)
{
	struct context *context = context_current();

	if (!context)
		return CUDA_ERROR_INVALID_CONTEXT;
	if ((unsigned int)limit >= CU_LIMIT_MAX)
		return CUDA_ERROR_INVALID_VALUE;
	if (limit == CU_LIMIT_STACK_SIZE) {
		device_drain(context->device, true);
		if (value > context->device->local_bytes)
			context->device->local_bytes = (uint32_t)value;
	}
	context->device->limits[limit] = value;
	return CUDA_SUCCESS;
}

CUresult do_cuCtxGetLimit(size_t *value, CUlimit limit)
{
	struct context *context = context_current();

	if (!context)
		return CUDA_ERROR_INVALID_CONTEXT;
	if (!value || (unsigned int)limit >= CU_LIMIT_MAX)
		return CUDA_ERROR_INVALID_VALUE;
	*value = context->device->limits[limit];
	return CUDA_SUCCESS;
}

/* Hints without effect. */
CUresult do_cuCtxSetCacheConfig(CUfunc_cache config)
{
	return context_current() ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

CUresult do_cuCtxGetCacheConfig(CUfunc_cache *config)
{
	if (!config)
		return CUDA_ERROR_INVALID_VALUE;
	*config = CU_FUNC_CACHE_PREFER_NONE;
	return context_current() ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

CUresult do_cuCtxSetSharedMemConfig(CUsharedconfig config)
{
	return context_current() ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

CUresult do_cuCtxGetSharedMemConfig(CUsharedconfig *config)
{
	if (!config)
		return CUDA_ERROR_INVALID_VALUE;
	*config = CU_SHARED_MEM_CONFIG_FOUR_BYTE_BANK_SIZE;
	return context_current() ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

CUresult do_cuCtxResetPersistingL2Cache(void)
{
	return context_current() ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

CUresult do_cuDeviceGetByPCIBusId(CUdevice *device, const char *id)
{
	unsigned int domain = 0, bus = 0, slot = 0;

	if (!device || !id)
		return CUDA_ERROR_INVALID_VALUE;
	if (sscanf(id, "%x:%x:%x", &domain, &bus, &slot) < 2)
		return CUDA_ERROR_INVALID_VALUE;
	if (!bus || !device_get((int)bus - 1))
		return CUDA_ERROR_INVALID_DEVICE;
	*device = (int)bus - 1;
	return CUDA_SUCCESS;
}
