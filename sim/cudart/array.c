/* SPDX-License-Identifier: Apache-2.0 */
/* Arrays and their element formats. */
#include "cudart.h"

bool simrt_format(const struct cudaChannelFormatDesc *d, CUarray_format *format,
	unsigned int *channels)
{
	static const CUarray_format formats[3][3] = {
		/* 8, 16, 32 bits */
		{ CU_AD_FORMAT_SIGNED_INT8, CU_AD_FORMAT_SIGNED_INT16, CU_AD_FORMAT_SIGNED_INT32 },
		{ CU_AD_FORMAT_UNSIGNED_INT8, CU_AD_FORMAT_UNSIGNED_INT16,
			CU_AD_FORMAT_UNSIGNED_INT32 },
		{ 0, CU_AD_FORMAT_HALF, CU_AD_FORMAT_FLOAT },
	};
	int width = d->x == 8 ? 0 : d->x == 16 ? 1 : d->x == 32 ? 2 : -1;

	if (width < 0 || (unsigned int)d->f > cudaChannelFormatKindFloat)
		return false;
	*format = formats[d->f][width];
	*channels = d->w ? 4 : d->z ? 3 : d->y ? 2 : 1;
	return *format;
}

static struct cudaChannelFormatDesc describe(const CUDA_ARRAY3D_DESCRIPTOR *shape)
{
	bool real = shape->Format == CU_AD_FORMAT_HALF || shape->Format == CU_AD_FORMAT_FLOAT;
	bool is_signed = shape->Format >= CU_AD_FORMAT_SIGNED_INT8;
	int bits = shape->Format == CU_AD_FORMAT_FLOAT ? 32
		: real                                 ? 16
						       : 8 << ((shape->Format - 1) % 7 % 3);
	unsigned int n = shape->NumChannels;

	return (struct cudaChannelFormatDesc){
		bits,
		n > 1 ? bits : 0,
		n > 2 ? bits : 0,
		n > 2 ? bits : 0,
		real                ? cudaChannelFormatKindFloat
			: is_signed ? cudaChannelFormatKindSigned
				    : cudaChannelFormatKindUnsigned,
	};
}

struct cudaChannelFormatDesc cudaCreateChannelDesc(int x, int y, int z, int w,
	enum cudaChannelFormatKind f)
{
	return (struct cudaChannelFormatDesc){ x, y, z, w, f };
}

static bool shape_of(CUDA_ARRAY3D_DESCRIPTOR *shape, const struct cudaChannelFormatDesc *desc,
	struct cudaExtent extent, unsigned int flags)
{
	*shape = (CUDA_ARRAY3D_DESCRIPTOR){ .Width = extent.width,
		.Height = extent.height,
		.Depth = extent.depth,
		.Flags = flags };
	return desc && simrt_format(desc, &shape->Format, &shape->NumChannels);
}

cudaError_t cudaMalloc3DArray(cudaArray_t *array, const struct cudaChannelFormatDesc *desc,
	struct cudaExtent extent, unsigned int flags)
{
	CUDA_ARRAY3D_DESCRIPTOR shape;

	if (!array || !shape_of(&shape, desc, extent, flags))
		return simrt_error(cudaErrorInvalidValue);
	CALL(simrt_driver.cuArray3DCreate_v2((CUarray *)array, &shape));
}

cudaError_t cudaMallocMipmappedArray(cudaMipmappedArray_t *mipmap,
	const struct cudaChannelFormatDesc *desc, struct cudaExtent extent, unsigned int levels,
	unsigned int flags)
{
	CUDA_ARRAY3D_DESCRIPTOR shape;

	if (!mipmap || !shape_of(&shape, desc, extent, flags))
		return simrt_error(cudaErrorInvalidValue);
	CALL(simrt_driver.cuMipmappedArrayCreate((CUmipmappedArray *)mipmap, &shape, levels));
}

cudaError_t cudaMallocArray(cudaArray_t *array, const struct cudaChannelFormatDesc *desc,
	size_t width, size_t height, unsigned int flags)
{
	return cudaMalloc3DArray(array, desc, (struct cudaExtent){ width, height, 0 }, flags);
}

cudaError_t cudaArrayGetInfo(struct cudaChannelFormatDesc *desc, struct cudaExtent *extent,
	unsigned int *flags, cudaArray_t array)
{
	CUDA_ARRAY3D_DESCRIPTOR shape;
	cudaError_t error = simrt_context();

	if (!error)
		error = simrt_result(
			simrt_driver.cuArray3DGetDescriptor_v2(&shape, (CUarray)array));
	if (error)
		return error;
	if (desc)
		*desc = describe(&shape);
	if (extent)
		*extent = (struct cudaExtent){ shape.Width, shape.Height, shape.Depth };
	if (flags)
		*flags = shape.Flags;
	return cudaSuccess;
}

cudaError_t cudaGetChannelDesc(struct cudaChannelFormatDesc *desc, cudaArray_const_t array)
{
	return cudaArrayGetInfo(desc, NULL, NULL, (cudaArray_t)array);
}
