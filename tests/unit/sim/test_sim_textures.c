/* SPDX-License-Identifier: Apache-2.0 */
/* Mipmapped arrays, textures and surfaces of the simulator, in both APIs. */
#include "sim_driver.h"

static struct runtime {
	cudaError_t (*malloc_array)(cudaArray_t *array, const struct cudaChannelFormatDesc *desc,
		size_t width, size_t height, unsigned int flags);
	cudaError_t (*malloc_mipmap)(cudaMipmappedArray_t *mipmap,
		const struct cudaChannelFormatDesc *desc, struct cudaExtent extent,
		unsigned int levels, unsigned int flags);
	cudaError_t (
		*level)(cudaArray_t *array, cudaMipmappedArray_const_t mipmap, unsigned int level);
	cudaError_t (*info)(struct cudaChannelFormatDesc *desc, struct cudaExtent *extent,
		unsigned int *flags, cudaArray_t array);
	cudaError_t (*texture)(cudaTextureObject_t *texture,
		const struct cudaResourceDesc *resource, const struct cudaTextureDesc *sampling,
		const struct cudaResourceViewDesc *view);
	cudaError_t (
		*surface)(cudaSurfaceObject_t *surface, const struct cudaResourceDesc *resource);
	cudaError_t (*end_texture)(cudaTextureObject_t texture);
	cudaError_t (*end_surface)(cudaSurfaceObject_t surface);
} rt;

static int setup(void **state)
{
	int failed = sim_setup(state);
	void *library = sim_open("libcudart.so.13");

	if (failed || !library)
		return -1;
	*(void **)&rt.malloc_array = sim_symbol(library, "cudaMallocArray");
	*(void **)&rt.malloc_mipmap = sim_symbol(library, "cudaMallocMipmappedArray");
	*(void **)&rt.level = sim_symbol(library, "cudaGetMipmappedArrayLevel");
	*(void **)&rt.info = sim_symbol(library, "cudaArrayGetInfo");
	*(void **)&rt.texture = sim_symbol(library, "cudaCreateTextureObject");
	*(void **)&rt.surface = sim_symbol(library, "cudaCreateSurfaceObject");
	*(void **)&rt.end_texture = sim_symbol(library, "cudaDestroyTextureObject");
	*(void **)&rt.end_surface = sim_symbol(library, "cudaDestroySurfaceObject");
	return 0;
}

SIM_TEST(levels_are_arrays_of_half_the_size_that_go_with_the_whole)
{
	CUDA_ARRAY3D_DESCRIPTOR shape = { .Width = 64,
		.Height = 4,
		.NumChannels = 1,
		.Format = CU_AD_FORMAT_FLOAT };
	CUDA_ARRAY3D_DESCRIPTOR level;
	CUmipmappedArray mipmap;
	CUarray array;
	CUstream stream;

	assert_ok(drv.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	assert_ok(drv.cuMipmappedArrayCreate(&mipmap, &shape, 99));
	assert_ok(drv.cuMipmappedArrayGetLevel(&array, mipmap, 6));
	assert_ok(drv.cuArray3DGetDescriptor_v2(&level, array));
	assert_int_equal(level.Width, 1);
	assert_int_equal(level.Height, 1);
	assert_int_equal(level.Depth, 0);
	assert_int_equal(drv.cuMipmappedArrayGetLevel(&array, mipmap, 7), CUDA_ERROR_INVALID_VALUE);
	assert_int_equal(drv.cuArrayDestroy(array), CUDA_ERROR_INVALID_HANDLE);
	spin(stream, 40 * MS);
	assert_waited(drv.cuMipmappedArrayDestroy(mipmap), 40);
	assert_int_equal(drv.cuMipmappedArrayDestroy(mipmap), CUDA_ERROR_INVALID_HANDLE);
	assert_int_equal(drv.cuArray3DGetDescriptor_v2(&level, array), CUDA_ERROR_INVALID_HANDLE);
}

SIM_TEST(layers_are_not_halved)
{
	CUDA_ARRAY3D_DESCRIPTOR shape = { .Width = 64,
		.Height = 64,
		.Depth = 5,
		.NumChannels = 4,
		.Format = CU_AD_FORMAT_UNSIGNED_INT8,
		.Flags = CUDA_ARRAY3D_LAYERED };
	CUDA_ARRAY3D_DESCRIPTOR level;
	CUmipmappedArray mipmap;
	CUarray array;

	assert_ok(drv.cuMipmappedArrayCreate(&mipmap, &shape, 2));
	assert_ok(drv.cuMipmappedArrayGetLevel(&array, mipmap, 1));
	assert_ok(drv.cuArray3DGetDescriptor_v2(&level, array));
	assert_int_equal(level.Width, 32);
	assert_int_equal(level.Depth, 5);
	assert_ok(drv.cuMipmappedArrayDestroy(mipmap));
}

SIM_TEST(textures_of_memory_must_lie_in_it)
{
	CUDA_RESOURCE_DESC resource = { .resType = CU_RESOURCE_TYPE_PITCH2D,
		.res.pitch2D = { .format = CU_AD_FORMAT_FLOAT,
			.numChannels = 1,
			.width = 100,
			.height = 4,
			.pitchInBytes = 512 } };
	CUDA_TEXTURE_DESC sampling = { 0 };
	CUdeviceptr device;
	CUtexObject texture;

	assert_ok(drv.cuMemAlloc_v2(&device, 3 * 512 + 400));
	resource.res.pitch2D.devPtr = device;
	assert_ok(drv.cuTexObjectCreate(&texture, &resource, &sampling, NULL));
	assert_ok(drv.cuTexObjectDestroy(texture));
	assert_int_equal(drv.cuTexObjectDestroy(texture), CUDA_ERROR_INVALID_VALUE);
	resource.res.pitch2D.width = 101;
	assert_int_equal(drv.cuTexObjectCreate(&texture, &resource, &sampling, NULL),
		CUDA_ERROR_INVALID_VALUE);
	resource.res.pitch2D.width = 99;
	resource.res.pitch2D.devPtr = device + 4;
	assert_int_equal(drv.cuTexObjectCreate(&texture, &resource, &sampling, NULL),
		CUDA_ERROR_INVALID_VALUE);
	assert_ok(drv.cuMemFree_v2(device));
}

SIM_TEST(surfaces_are_of_arrays_made_for_them)
{
	struct cudaChannelFormatDesc desc = { 8, 8, 8, 8, cudaChannelFormatKindUnsigned };
	struct cudaResourceDesc resource = { .resType = cudaResourceTypeArray };
	cudaSurfaceObject_t surface;

	assert_int_equal(rt.malloc_array(&resource.res.array.array, &desc, 64, 64, 0), 0);
	assert_int_equal(rt.surface(&surface, &resource), cudaErrorInvalidValue);
	assert_int_equal(rt.malloc_array(&resource.res.array.array, &desc, 64, 64,
				 cudaArraySurfaceLoadStore),
		0);
	assert_int_equal(rt.surface(&surface, &resource), 0);
	assert_int_equal(rt.end_texture(surface), cudaErrorInvalidValue);
	assert_int_equal(rt.end_surface(surface), 0);
}

SIM_TEST(the_runtime_describes_resources_to_the_driver)
{
	struct cudaChannelFormatDesc desc = { 16, 16, 0, 0, cudaChannelFormatKindSigned }, same;
	struct cudaResourceDesc resource = { .resType = cudaResourceTypeMipmappedArray };
	struct cudaTextureDesc sampling = { .normalizedCoords = 1 };
	struct cudaResourceViewDesc view = { .width = 64, .height = 64 };
	struct cudaExtent extent = { 64, 64, 0 };
	cudaTextureObject_t texture;
	cudaArray_t array;
	CUdeviceptr device;

	assert_int_equal(rt.malloc_mipmap(&resource.res.mipmap.mipmap, &desc, extent, 3, 0), 0);
	assert_int_equal(rt.level(&array, resource.res.mipmap.mipmap, 2), 0);
	assert_int_equal(rt.info(&same, &extent, NULL, array), 0);
	assert_int_equal(extent.width, 16);
	assert_memory_equal(&same, &desc, sizeof(desc));
	assert_int_equal(rt.texture(&texture, &resource, &sampling, &view), 0);
	assert_int_equal(rt.end_texture(texture), 0);
	assert_ok(drv.cuMemAlloc_v2(&device, 4096));
	resource = (struct cudaResourceDesc){ .resType = cudaResourceTypeLinear,
		.res.linear = { (void *)device, desc, 4096 } };
	assert_int_equal(rt.texture(&texture, &resource, &sampling, &view), cudaErrorInvalidValue);
	assert_int_equal(rt.texture(&texture, &resource, &sampling, NULL), 0);
	resource.res.linear.sizeInBytes = 4097;
	assert_int_equal(rt.texture(&texture, &resource, &sampling, NULL), cudaErrorInvalidValue);
}

GROUP(setup, NULL)
