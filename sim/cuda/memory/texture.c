/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Mipmapped arrays, textures and surfaces.  Kernels compute nothing, so the objects are only
 * handles, of resources that were valid at creation.
 */
#include "cuda_calls.h"
#include "cuda_state.h"

#define MAX_LEVELS 18
#define TEXTURE_ALIGNMENT 512

struct mipmap {
	unsigned int count;
	CUarray levels[MAX_LEVELS];
};

static struct mipmap *mipmap_get(CUmipmappedArray handle)
{
	return object_check(handle, OBJECT_MIPMAP) ? (struct mipmap *)handle : NULL;
}

static size_t halved(size_t extent, unsigned int level)
{
	return extent && !(extent >> level) ? 1 : extent >> level;
}

/* Layers are not halved: each level has all of them. */
static CUDA_ARRAY3D_DESCRIPTOR level_shape(const CUDA_ARRAY3D_DESCRIPTOR *shape, unsigned int level)
{
	CUDA_ARRAY3D_DESCRIPTOR result = *shape;

	result.Width = halved(shape->Width, level);
	result.Height = halved(shape->Height, level);
	if (!(shape->Flags & (CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_CUBEMAP)))
		result.Depth = halved(shape->Depth, level);
	return result;
}

/* Number of halvings until every extent is one, plus the first level. */
static unsigned int most_levels(const CUDA_ARRAY3D_DESCRIPTOR *shape)
{
	unsigned int count = 1;

	for (size_t extent = shape->Width | shape->Height | shape->Depth; extent > 1; extent >>= 1)
		count++;
	return count > MAX_LEVELS ? MAX_LEVELS : count;
}

static void levels_destroy(struct mipmap *mipmap)
{
	while (mipmap->count)
		array_free(mipmap->levels[--mipmap->count]);
	object_free(mipmap);
}

CUresult do_cuMipmappedArrayCreate(CUmipmappedArray *handle, const CUDA_ARRAY3D_DESCRIPTOR *shape,
	unsigned int levels)
{
	struct mipmap *mipmap;

	if (!context_current())
		return CUDA_ERROR_INVALID_CONTEXT;
	if (!handle || !shape || !levels)
		return CUDA_ERROR_INVALID_VALUE;
	mipmap = object_new(OBJECT_MIPMAP, sizeof(*mipmap));
	if (!mipmap)
		return CUDA_ERROR_OUT_OF_MEMORY;
	if (levels > most_levels(shape))
		levels = most_levels(shape);
	for (; mipmap->count < levels; mipmap->count++) {
		CUDA_ARRAY3D_DESCRIPTOR level = level_shape(shape, mipmap->count);
		CUresult result = do_cuArray3DCreate_v2(&mipmap->levels[mipmap->count], &level);

		if (result) {
			levels_destroy(mipmap);
			return result;
		}
		array_get(mipmap->levels[mipmap->count])->is_level = true;
	}
	*handle = (CUmipmappedArray)mipmap;
	return CUDA_SUCCESS;
}

CUresult do_cuMipmappedArrayGetLevel(CUarray *array, CUmipmappedArray handle, unsigned int level)
{
	struct mipmap *mipmap = mipmap_get(handle);

	if (!mipmap)
		return CUDA_ERROR_INVALID_HANDLE;
	if (!array || level >= mipmap->count)
		return CUDA_ERROR_INVALID_VALUE;
	*array = mipmap->levels[level];
	return CUDA_SUCCESS;
}

/* Waits for all work of the device, like freeing an array. */
CUresult do_cuMipmappedArrayDestroy(CUmipmappedArray handle)
{
	struct mipmap *mipmap = mipmap_get(handle);

	if (!mipmap)
		return CUDA_ERROR_INVALID_HANDLE;
	device_drain(array_device(mipmap->levels[0]), true);
	mipmap = mipmap_get(handle);
	if (!mipmap)
		return CUDA_ERROR_INVALID_HANDLE;
	levels_destroy(mipmap);
	return CUDA_SUCCESS;
}

static CUresult linear_check(CUdeviceptr ptr, CUarray_format format, unsigned int channels,
	size_t bytes)
{
	const struct memory *memory = memory_find(ptr);

	if (!memory || memory->start + memory->bytes - ptr < bytes || ptr % TEXTURE_ALIGNMENT)
		return CUDA_ERROR_INVALID_VALUE;
	if (!bytes || !element_bytes(format) || !channels || channels == 3 || channels > 4)
		return CUDA_ERROR_INVALID_VALUE;
	return CUDA_SUCCESS;
}

/* The last row has no padding. */
static size_t pitch_bytes(const CUDA_RESOURCE_DESC *r)
{
	size_t row = r->res.pitch2D.width * r->res.pitch2D.numChannels *
		element_bytes(r->res.pitch2D.format);

	if (!r->res.pitch2D.height || row > r->res.pitch2D.pitchInBytes)
		return 0;
	return r->res.pitch2D.pitchInBytes * (r->res.pitch2D.height - 1) + row;
}

static CUresult resource_check(const CUDA_RESOURCE_DESC *r)
{
	if (r->flags)
		return CUDA_ERROR_INVALID_VALUE;
	switch (r->resType) {
	case CU_RESOURCE_TYPE_ARRAY:
		return array_get(r->res.array.hArray) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
	case CU_RESOURCE_TYPE_MIPMAPPED_ARRAY:
		return mipmap_get(r->res.mipmap.hMipmappedArray) ? CUDA_SUCCESS
								 : CUDA_ERROR_INVALID_HANDLE;
	case CU_RESOURCE_TYPE_LINEAR:
		return linear_check(r->res.linear.devPtr, r->res.linear.format,
			r->res.linear.numChannels, r->res.linear.sizeInBytes);
	case CU_RESOURCE_TYPE_PITCH2D:
		return linear_check(r->res.pitch2D.devPtr, r->res.pitch2D.format,
			r->res.pitch2D.numChannels, pitch_bytes(r));
	default:
		return CUDA_ERROR_INVALID_VALUE;
	}
}

static CUresult texture_new(unsigned long long *handle, enum object_kind kind)
{
	*handle = (uintptr_t)object_new(kind, 1);
	return *handle ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

static CUresult texture_free(unsigned long long handle, enum object_kind kind)
{
	if (!context_current())
		return CUDA_ERROR_INVALID_CONTEXT;
	if (!object_check((void *)(uintptr_t)handle, kind))
		return CUDA_ERROR_INVALID_VALUE;
	object_free((void *)(uintptr_t)handle);
	return CUDA_SUCCESS;
}

CUresult do_cuTexObjectCreate(CUtexObject *texture, const CUDA_RESOURCE_DESC *resource,
	const CUDA_TEXTURE_DESC *sampling, const CUDA_RESOURCE_VIEW_DESC *view)
{
	CUresult result;

	if (!context_current())
		return CUDA_ERROR_INVALID_CONTEXT;
	if (!texture || !resource || !sampling)
		return CUDA_ERROR_INVALID_VALUE;
	/* Only arrays support a view with another format. */
	if (view && resource->resType != CU_RESOURCE_TYPE_ARRAY &&
		resource->resType != CU_RESOURCE_TYPE_MIPMAPPED_ARRAY)
		return CUDA_ERROR_INVALID_VALUE;
	result = resource_check(resource);
	return result ? result : texture_new(texture, OBJECT_TEXTURE);
}

CUresult do_cuTexObjectDestroy(CUtexObject texture)
{
	return texture_free(texture, OBJECT_TEXTURE);
}

CUresult do_cuSurfObjectCreate(CUsurfObject *surface, const CUDA_RESOURCE_DESC *resource)
{
	const struct array *array;

	if (!context_current())
		return CUDA_ERROR_INVALID_CONTEXT;
	if (!surface || !resource || resource->flags || resource->resType != CU_RESOURCE_TYPE_ARRAY)
		return CUDA_ERROR_INVALID_VALUE;
	array = array_get(resource->res.array.hArray);
	if (!array)
		return CUDA_ERROR_INVALID_HANDLE;
	if (!(array->shape.Flags & CUDA_ARRAY3D_SURFACE_LDST))
		return CUDA_ERROR_INVALID_VALUE;
	return texture_new(surface, OBJECT_SURFACE);
}

CUresult do_cuSurfObjectDestroy(CUsurfObject surface)
{
	return texture_free(surface, OBJECT_SURFACE);
}
