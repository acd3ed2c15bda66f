/* SPDX-License-Identifier: Apache-2.0 */
/* Texture and surface objects: conversion of the runtime's descriptions. */
#include "cudart.h"

static bool linear_of(const struct cudaResourceDesc *from, CUDA_RESOURCE_DESC *to)
{
	to->res.linear.devPtr = (CUdeviceptr)from->res.linear.devPtr;
	to->res.linear.sizeInBytes = from->res.linear.sizeInBytes;
	return simrt_format(&from->res.linear.desc, &to->res.linear.format,
		&to->res.linear.numChannels);
}

static bool pitch_of(const struct cudaResourceDesc *from, CUDA_RESOURCE_DESC *to)
{
	to->res.pitch2D.devPtr = (CUdeviceptr)from->res.pitch2D.devPtr;
	to->res.pitch2D.width = from->res.pitch2D.width;
	to->res.pitch2D.height = from->res.pitch2D.height;
	to->res.pitch2D.pitchInBytes = from->res.pitch2D.pitchInBytes;
	return simrt_format(&from->res.pitch2D.desc, &to->res.pitch2D.format,
		&to->res.pitch2D.numChannels);
}

/* Both APIs use the same type numbers. */
static bool resource_of(const struct cudaResourceDesc *from, CUDA_RESOURCE_DESC *to)
{
	if (!from)
		return false;
	*to = (CUDA_RESOURCE_DESC){ .resType = (CUresourcetype)from->resType,
		.flags = from->flags };
	switch (from->resType) {
	case cudaResourceTypeArray:
		to->res.array.hArray = (CUarray)from->res.array.array;
		return true;
	case cudaResourceTypeMipmappedArray:
		to->res.mipmap.hMipmappedArray = (CUmipmappedArray)from->res.mipmap.mipmap;
		return true;
	case cudaResourceTypeLinear:
		return linear_of(from, to);
	case cudaResourceTypePitch2D:
		return pitch_of(from, to);
	default:
		return false;
	}
}

static CUDA_TEXTURE_DESC sampling_of(const struct cudaTextureDesc *from)
{
	CUDA_TEXTURE_DESC to = { .filterMode = (CUfilter_mode)from->filterMode,
		.maxAnisotropy = from->maxAnisotropy,
		.mipmapFilterMode = (CUfilter_mode)from->mipmapFilterMode,
		.mipmapLevelBias = from->mipmapLevelBias,
		.minMipmapLevelClamp = from->minMipmapLevelClamp,
		.maxMipmapLevelClamp = from->maxMipmapLevelClamp };

	for (int i = 0; i < 3; i++)
		to.addressMode[i] = (CUaddress_mode)from->addressMode[i];
	for (int i = 0; i < 4; i++)
		to.borderColor[i] = from->borderColor[i];
	if (from->readMode == cudaReadModeElementType)
		to.flags |= CU_TRSF_READ_AS_INTEGER;
	if (from->normalizedCoords)
		to.flags |= CU_TRSF_NORMALIZED_COORDINATES;
	if (from->sRGB)
		to.flags |= CU_TRSF_SRGB;
	if (from->disableTrilinearOptimization)
		to.flags |= CU_TRSF_DISABLE_TRILINEAR_OPTIMIZATION;
	if (from->seamlessCubemap)
		to.flags |= CU_TRSF_SEAMLESS_CUBEMAP;
	return to;
}

static CUDA_RESOURCE_VIEW_DESC view_of(const struct cudaResourceViewDesc *from)
{
	return (CUDA_RESOURCE_VIEW_DESC){ .format = (CUresourceViewFormat)from->format,
		.width = from->width,
		.height = from->height,
		.depth = from->depth,
		.firstMipmapLevel = from->firstMipmapLevel,
		.lastMipmapLevel = from->lastMipmapLevel,
		.firstLayer = from->firstLayer,
		.lastLayer = from->lastLayer };
}

cudaError_t cudaCreateTextureObject(cudaTextureObject_t *texture,
	const struct cudaResourceDesc *resource, const struct cudaTextureDesc *sampling,
	const struct cudaResourceViewDesc *view)
{
	CUDA_RESOURCE_DESC driver_resource;
	CUDA_TEXTURE_DESC driver_sampling;
	CUDA_RESOURCE_VIEW_DESC driver_view;

	if (!sampling || !resource_of(resource, &driver_resource))
		return simrt_error(cudaErrorInvalidValue);
	driver_sampling = sampling_of(sampling);
	if (view)
		driver_view = view_of(view);
	CALL(simrt_driver.cuTexObjectCreate(texture, &driver_resource, &driver_sampling,
		view ? &driver_view : NULL));
}

cudaError_t cudaCreateSurfaceObject(cudaSurfaceObject_t *surface,
	const struct cudaResourceDesc *resource)
{
	CUDA_RESOURCE_DESC driver_resource;

	if (!resource_of(resource, &driver_resource))
		return simrt_error(cudaErrorInvalidValue);
	CALL(simrt_driver.cuSurfObjectCreate(surface, &driver_resource));
}
