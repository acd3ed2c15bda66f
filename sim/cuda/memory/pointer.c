/* SPDX-License-Identifier: Apache-2.0 */
/* Pointer queries. */
#include <string.h>

#include "cuda_calls.h"
#include "cuda_state.h"

CUresult do_cuMemGetAddressRange_v2(CUdeviceptr *base, size_t *bytes, CUdeviceptr ptr)
{
	const struct memory *memory = memory_find(ptr);

	if (!memory)
		return CUDA_ERROR_NOT_FOUND;
	if (base)
		*base = memory->start;
	if (bytes)
		*bytes = memory->bytes;
	return CUDA_SUCCESS;
}

/* No other process can open it: each has simulated devices of its own. */
CUresult do_cuIpcGetMemHandle(CUipcMemHandle *handle, CUdeviceptr ptr)
{
	const struct memory *memory = memory_find(ptr);

	if (!handle || !memory || memory->place != PLACE_DEVICE)
		return CUDA_ERROR_INVALID_VALUE;
	*handle = (CUipcMemHandle){ { 0 } };
	memcpy(handle->reserved, &memory->start, sizeof(memory->start));
	return CUDA_SUCCESS;
}

CUresult do_cuMemHostGetDevicePointer_v2(CUdeviceptr *ptr, void *host, unsigned int flags)
{
	const struct memory *memory = memory_find((uintptr_t)host);

	if (!ptr || flags || !memory || memory->place != PLACE_PINNED)
		return CUDA_ERROR_INVALID_VALUE;
	*ptr = (uintptr_t)host;
	return CUDA_SUCCESS;
}

CUresult do_cuMemHostGetFlags(unsigned int *flags, void *ptr)
{
	const struct memory *memory = memory_find((uintptr_t)ptr);

	if (!flags || !memory || memory->place != PLACE_PINNED)
		return CUDA_ERROR_INVALID_VALUE;
	*flags = memory->flags;
	return CUDA_SUCCESS;
}

static CUresult known_attribute(void *data, CUpointer_attribute attribute, CUdeviceptr ptr,
	const struct memory *memory)
{
	int ordinal = memory->device ? memory->device->ordinal : 0;

	switch (attribute) {
	case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
		*(unsigned int *)data =
			memory->place == PLACE_PINNED ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
	case CU_POINTER_ATTRIBUTE_HOST_POINTER:
		*(CUdeviceptr *)data = ptr;
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_IS_MANAGED:
		*(int *)data = memory->place == PLACE_MANAGED;
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
		*(int *)data = ordinal;
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_CONTEXT:
		*(CUcontext *)data = (CUcontext)device_get(ordinal)->primary;
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
		*(CUdeviceptr *)data = memory->start;
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
		*(size_t *)data = memory->bytes;
		return CUDA_SUCCESS;
	default:
		return sim_unsupported("cuPointerGetAttribute of that attribute");
	}
}

CUresult do_cuPointerGetAttribute(void *data, CUpointer_attribute attribute, CUdeviceptr ptr)
{
	const struct memory *memory = memory_find(ptr);

	if (!data || !memory)
		return CUDA_ERROR_INVALID_VALUE;
	return known_attribute(data, attribute, ptr, memory);
}

/* Unknown pointers are no error here: their attributes are zero. */
CUresult do_cuPointerGetAttributes(unsigned int count, CUpointer_attribute *attributes, void **data,
	CUdeviceptr ptr)
{
	const struct memory *memory = memory_find(ptr);

	for (unsigned int i = 0; i < count; i++) {
		CUresult result = CUDA_SUCCESS;

		if (memory)
			result = known_attribute(data[i], attributes[i], ptr, memory);
		else if (attributes[i] == CU_POINTER_ATTRIBUTE_CONTEXT ||
			attributes[i] == CU_POINTER_ATTRIBUTE_DEVICE_POINTER ||
			attributes[i] == CU_POINTER_ATTRIBUTE_HOST_POINTER)
			*(void **)data[i] = NULL;
		else if (attributes[i] == CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL)
			*(int *)data[i] = -2;
		else
			*(unsigned int *)data[i] = 0;
		if (result)
			return result;
	}
	return CUDA_SUCCESS;
}
