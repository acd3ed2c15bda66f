/* SPDX-License-Identifier: Apache-2.0 */
/* Arrays: device memory with a shape, which programs access by handle only. */
#include "cuda_calls.h"
#include "cuda_state.h"

#define PITCH 512

size_t element_bytes(CUarray_format format)
{
	switch (format) {
	case CU_AD_FORMAT_UNSIGNED_INT8:
	case CU_AD_FORMAT_SIGNED_INT8:
		return 1;
	case CU_AD_FORMAT_UNSIGNED_INT16:
	case CU_AD_FORMAT_SIGNED_INT16:
	case CU_AD_FORMAT_HALF:
		return 2;
	case CU_AD_FORMAT_UNSIGNED_INT32:
	case CU_AD_FORMAT_SIGNED_INT32:
	case CU_AD_FORMAT_FLOAT:
		return 4;
	default:
		return 0;
	}
}

struct array *array_get(CUarray handle)
{
	return object_check(handle, OBJECT_ARRAY) ? (struct array *)handle : NULL;
}

CUresult do_cuArray3DCreate_v2(CUarray *handle, const CUDA_ARRAY3D_DESCRIPTOR *shape)
{
	struct context *context = context_current();
	struct array *array;
	size_t element, depth;

	if (!context)
		return CUDA_ERROR_INVALID_CONTEXT;
	if (!handle || !shape || !shape->Width)
		return CUDA_ERROR_INVALID_VALUE;
	element = element_bytes(shape->Format) * shape->NumChannels;
	if (!element || shape->NumChannels == 3 || shape->NumChannels > 4)
		return CUDA_ERROR_INVALID_VALUE;
	array = object_new(OBJECT_ARRAY, sizeof(*array));
	if (!array)
		return CUDA_ERROR_OUT_OF_MEMORY;
	array->shape = *shape;
	array->pitch = (shape->Width * element + PITCH - 1) / PITCH * PITCH;
	array->rows = shape->Height ? shape->Height : 1;
	depth = shape->Depth ? shape->Depth : 1;
	array->start =
		memory_reserve(context->device, PLACE_ARRAY, array->pitch * array->rows * depth);
	if (!array->start) {
		object_free(array);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	thread_self()->overhead += 40000;
	*handle = (CUarray)array;
	return CUDA_SUCCESS;
}

CUresult do_cuArrayCreate_v2(CUarray *handle, const CUDA_ARRAY_DESCRIPTOR *p)
{
	CUDA_ARRAY3D_DESCRIPTOR shape;

	if (!p)
		return CUDA_ERROR_INVALID_VALUE;
	shape = (CUDA_ARRAY3D_DESCRIPTOR){ .Width = p->Width,
		.Height = p->Height,
		.Format = p->Format,
		.NumChannels = p->NumChannels };
	return do_cuArray3DCreate_v2(handle, &shape);
}

struct device *array_device(CUarray handle)
{
	return memory_exact(array_get(handle)->start)->device;
}

void array_free(CUarray handle)
{
	struct array *array = array_get(handle);

	memory_release(memory_exact(array->start));
	object_free(array);
}

/* Waits for all work of the device, like cuMemFree. */
CUresult do_cuArrayDestroy(CUarray handle)
{
	struct array *array = array_get(handle);

	if (!array || array->is_level)
		return CUDA_ERROR_INVALID_HANDLE;
	device_drain(array_device(handle), true);
	if (!array_get(handle))
		return CUDA_ERROR_INVALID_HANDLE;
	array_free(handle);
	return CUDA_SUCCESS;
}

CUresult do_cuArray3DGetDescriptor_v2(CUDA_ARRAY3D_DESCRIPTOR *shape, CUarray handle)
{
	struct array *array = array_get(handle);

	if (!array)
		return CUDA_ERROR_INVALID_HANDLE;
	if (!shape)
		return CUDA_ERROR_INVALID_VALUE;
	*shape = array->shape;
	return CUDA_SUCCESS;
}

CUresult do_cuArrayGetDescriptor_v2(CUDA_ARRAY_DESCRIPTOR *p, CUarray handle)
{
	struct array *array = array_get(handle);

	if (!array)
		return CUDA_ERROR_INVALID_HANDLE;
	if (!p)
		return CUDA_ERROR_INVALID_VALUE;
	*p = (CUDA_ARRAY_DESCRIPTOR){ array->shape.Width, array->shape.Height, array->shape.Format,
		array->shape.NumChannels };
	return CUDA_SUCCESS;
}
