/* SPDX-License-Identifier: Apache-2.0 */
/* Arrays, copies and memsets in two and three dimensions, and copies between devices. */
#include "cudart_box.h"

/* Memory types of a direction; numbers as in cudaMemcpyKind. */
CUmemorytype simrt_source(enum cudaMemcpyKind kind)
{
	if (kind == cudaMemcpyDefault)
		return CU_MEMORYTYPE_UNIFIED;
	return kind == cudaMemcpyHostToHost || kind == cudaMemcpyHostToDevice
		? CU_MEMORYTYPE_HOST
		: CU_MEMORYTYPE_DEVICE;
}

CUmemorytype simrt_target(enum cudaMemcpyKind kind)
{
	if (kind == cudaMemcpyDefault)
		return CU_MEMORYTYPE_UNIFIED;
	return kind == cudaMemcpyHostToHost || kind == cudaMemcpyDeviceToHost
		? CU_MEMORYTYPE_HOST
		: CU_MEMORYTYPE_DEVICE;
}

CUDA_MEMCPY3D simrt_shape_1d(void *dst, const void *src, size_t bytes, enum cudaMemcpyKind kind)
{
	return (CUDA_MEMCPY3D){
		.dstMemoryType = simrt_target(kind),
		.dstHost = dst,
		.dstDevice = (CUdeviceptr)dst,
		.srcMemoryType = simrt_source(kind),
		.srcHost = src,
		.srcDevice = (CUdeviceptr)src,
		.WidthInBytes = bytes,
		.Height = 1,
		.Depth = 1,
	};
}

static size_t element_bytes(cudaArray_const_t array)
{
	CUDA_ARRAY3D_DESCRIPTOR shape;

	if (simrt_driver.cuArray3DGetDescriptor_v2(&shape, (CUarray)array))
		return 0;
	switch (shape.Format) {
	case CU_AD_FORMAT_UNSIGNED_INT8:
	case CU_AD_FORMAT_SIGNED_INT8:
		return shape.NumChannels;
	case CU_AD_FORMAT_UNSIGNED_INT16:
	case CU_AD_FORMAT_SIGNED_INT16:
	case CU_AD_FORMAT_HALF:
		return 2 * shape.NumChannels;
	default:
		return 4 * shape.NumChannels;
	}
}

static void shape_src(CUDA_MEMCPY3D *shape, const struct cudaMemcpy3DParms *p, size_t element)
{
	shape->srcXInBytes = p->srcPos.x * (p->srcArray ? element : 1);
	shape->srcY = p->srcPos.y;
	shape->srcZ = p->srcPos.z;
	shape->srcMemoryType = p->srcArray ? CU_MEMORYTYPE_ARRAY : simrt_source(p->kind);
	shape->srcArray = (CUarray)p->srcArray;
	shape->srcHost = p->srcPtr.ptr;
	shape->srcDevice = (CUdeviceptr)p->srcPtr.ptr;
	shape->srcPitch = p->srcPtr.pitch;
	shape->srcHeight = p->srcPtr.ysize;
}

static void shape_dst(CUDA_MEMCPY3D *shape, const struct cudaMemcpy3DParms *p, size_t element)
{
	shape->dstXInBytes = p->dstPos.x * (p->dstArray ? element : 1);
	shape->dstY = p->dstPos.y;
	shape->dstZ = p->dstPos.z;
	shape->dstMemoryType = p->dstArray ? CU_MEMORYTYPE_ARRAY : simrt_target(p->kind);
	shape->dstArray = (CUarray)p->dstArray;
	shape->dstHost = p->dstPtr.ptr;
	shape->dstDevice = (CUdeviceptr)p->dstPtr.ptr;
	shape->dstPitch = p->dstPtr.pitch;
	shape->dstHeight = p->dstPtr.ysize;
}

/* With an array the width is in elements, else in bytes (cudaMemcpy3DParms). */
CUDA_MEMCPY3D simrt_shape_3d(const struct cudaMemcpy3DParms *p)
{
	size_t element = p->srcArray ? element_bytes(p->srcArray)
		: p->dstArray        ? element_bytes(p->dstArray)
				     : 1;
	CUDA_MEMCPY3D shape = { .WidthInBytes = p->extent.width * element,
		.Height = p->extent.height,
		.Depth = p->extent.depth };

	shape_src(&shape, p, element);
	shape_dst(&shape, p, element);
	return shape;
}

static cudaError_t copy_3d(const struct cudaMemcpy3DParms *p, cudaStream_t stream, bool async,
	bool per_thread)
{
	cudaError_t error = simrt_context();
	CUDA_MEMCPY3D shape;

	if (error)
		return error;
	if (!p || (unsigned int)p->kind > cudaMemcpyDefault)
		return simrt_error(p ? cudaErrorInvalidMemcpyDirection : cudaErrorInvalidValue);
	shape = simrt_shape_3d(p);
	if (async)
		return simrt_result(PICK(per_thread, cuMemcpy3DAsync_v2, _ptsz)(&shape, stream));
	return simrt_result(PICK(per_thread, cuMemcpy3D_v2, _ptds)(&shape));
}

RUNTIME_ENTRIES(cudaMemcpy3D, (const struct cudaMemcpy3DParms *p), copy_3d, (p, NULL, false))
RUNTIME_ENTRIES_ASYNC(cudaMemcpy3DAsync, (const struct cudaMemcpy3DParms *p, cudaStream_t stream),
	copy_3d, (p, stream, true))

/* A 2D copy; an array on either side replaces the pointer, at an offset in bytes and rows. */
struct plane {
	const void *ptr;
	cudaArray_const_t array;
	size_t x, y, pitch;
};

static cudaError_t copy_2d(struct plane dst, struct plane src, size_t width, size_t height,
	enum cudaMemcpyKind kind, cudaStream_t stream, bool async, bool per_thread)
{
	cudaError_t error = simrt_context();
	CUDA_MEMCPY2D shape = {
		.dstXInBytes = dst.x,
		.dstY = dst.y,
		.dstHost = (void *)dst.ptr,
		.dstDevice = (CUdeviceptr)dst.ptr,
		.dstArray = (CUarray)dst.array,
		.dstPitch = dst.pitch,
		.srcXInBytes = src.x,
		.srcY = src.y,
		.srcHost = src.ptr,
		.srcDevice = (CUdeviceptr)src.ptr,
		.srcArray = (CUarray)src.array,
		.srcPitch = src.pitch,
		.WidthInBytes = width,
		.Height = height,
	};

	if (error)
		return error;
	if ((unsigned int)kind > cudaMemcpyDefault)
		return simrt_error(cudaErrorInvalidMemcpyDirection);
	if ((!dst.array && dst.pitch < width) || (!src.array && src.pitch < width))
		return simrt_error(cudaErrorInvalidPitchValue);
	shape.dstMemoryType = dst.array ? CU_MEMORYTYPE_ARRAY : simrt_target(kind);
	shape.srcMemoryType = src.array ? CU_MEMORYTYPE_ARRAY : simrt_source(kind);
	if (async)
		return simrt_result(PICK(per_thread, cuMemcpy2DAsync_v2, _ptsz)(&shape, stream));
	return simrt_result(PICK(per_thread, cuMemcpy2DUnaligned_v2, _ptds)(&shape));
}

#define PLANE(pointer, stride) \
	(struct plane) \
	{ \
		.ptr = pointer, .pitch = stride \
	}
#define ARRAY(handle, column, row) \
	(struct plane) \
	{ \
		.array = handle, .x = column, .y = row \
	}

RUNTIME_ENTRIES(cudaMemcpy2D,
	(void *dst, size_t dst_pitch, const void *src, size_t src_pitch, size_t width,
		size_t height, enum cudaMemcpyKind kind),
	copy_2d, (PLANE(dst, dst_pitch), PLANE(src, src_pitch), width, height, kind, NULL, false))
RUNTIME_ENTRIES_ASYNC(cudaMemcpy2DAsync,
	(void *dst, size_t dst_pitch, const void *src, size_t src_pitch, size_t width,
		size_t height, enum cudaMemcpyKind kind, cudaStream_t stream),
	copy_2d, (PLANE(dst, dst_pitch), PLANE(src, src_pitch), width, height, kind, stream, true))
RUNTIME_ENTRIES(cudaMemcpy2DToArray,
	(cudaArray_t dst, size_t x, size_t y, const void *src, size_t src_pitch, size_t width,
		size_t height, enum cudaMemcpyKind kind),
	copy_2d, (ARRAY(dst, x, y), PLANE(src, src_pitch), width, height, kind, NULL, false))
RUNTIME_ENTRIES_ASYNC(cudaMemcpy2DToArrayAsync,
	(cudaArray_t dst, size_t x, size_t y, const void *src, size_t src_pitch, size_t width,
		size_t height, enum cudaMemcpyKind kind, cudaStream_t stream),
	copy_2d, (ARRAY(dst, x, y), PLANE(src, src_pitch), width, height, kind, stream, true))
RUNTIME_ENTRIES(cudaMemcpy2DFromArray,
	(void *dst, size_t dst_pitch, cudaArray_const_t src, size_t x, size_t y, size_t width,
		size_t height, enum cudaMemcpyKind kind),
	copy_2d, (PLANE(dst, dst_pitch), ARRAY(src, x, y), width, height, kind, NULL, false))
RUNTIME_ENTRIES_ASYNC(cudaMemcpy2DFromArrayAsync,
	(void *dst, size_t dst_pitch, cudaArray_const_t src, size_t x, size_t y, size_t width,
		size_t height, enum cudaMemcpyKind kind, cudaStream_t stream),
	copy_2d, (PLANE(dst, dst_pitch), ARRAY(src, x, y), width, height, kind, stream, true))
RUNTIME_ENTRIES(cudaMemcpy2DArrayToArray,
	(cudaArray_t dst, size_t dst_x, size_t dst_y, cudaArray_const_t src, size_t src_x,
		size_t src_y, size_t width, size_t height, enum cudaMemcpyKind kind),
	copy_2d,
	(ARRAY(dst, dst_x, dst_y), ARRAY(src, src_x, src_y), width, height, kind, NULL, false))

/* Only for one-row arrays, or whole rows, as programs use them. */
RUNTIME_ENTRIES(cudaMemcpyToArray,
	(cudaArray_t dst, size_t x, size_t y, const void *src, size_t bytes,
		enum cudaMemcpyKind kind),
	copy_2d, (ARRAY(dst, x, y), PLANE(src, bytes), bytes, 1, kind, NULL, false))
RUNTIME_ENTRIES(cudaMemcpyFromArray,
	(void *dst, cudaArray_const_t src, size_t x, size_t y, size_t bytes,
		enum cudaMemcpyKind kind),
	copy_2d, (PLANE(dst, bytes), ARRAY(src, x, y), bytes, 1, kind, NULL, false))
RUNTIME_ENTRIES(cudaMemcpyArrayToArray,
	(cudaArray_t dst, size_t dst_x, size_t dst_y, cudaArray_const_t src, size_t src_x,
		size_t src_y, size_t bytes, enum cudaMemcpyKind kind),
	copy_2d, (ARRAY(dst, dst_x, dst_y), ARRAY(src, src_x, src_y), bytes, 1, kind, NULL, false))
RUNTIME_ENTRIES_ASYNC(cudaMemcpyToArrayAsync,
	(cudaArray_t dst, size_t x, size_t y, const void *src, size_t bytes,
		enum cudaMemcpyKind kind, cudaStream_t stream),
	copy_2d, (ARRAY(dst, x, y), PLANE(src, bytes), bytes, 1, kind, stream, true))
RUNTIME_ENTRIES_ASYNC(cudaMemcpyFromArrayAsync,
	(void *dst, cudaArray_const_t src, size_t x, size_t y, size_t bytes,
		enum cudaMemcpyKind kind, cudaStream_t stream),
	copy_2d, (PLANE(dst, bytes), ARRAY(src, x, y), bytes, 1, kind, stream, true))

static cudaError_t set_2d(void *dst, size_t pitch, int value, size_t width, size_t height,
	cudaStream_t stream, bool async, bool per_thread)
{
	CUdeviceptr ptr = (CUdeviceptr)dst;
	unsigned char byte = (unsigned char)value;
	cudaError_t error = simrt_context();

	if (error)
		return error;
	if (async)
		return simrt_result(PICK(per_thread, cuMemsetD2D8Async, _ptsz)(ptr, pitch, byte,
			width, height, stream));
	return simrt_result(
		PICK(per_thread, cuMemsetD2D8_v2, _ptds)(ptr, pitch, byte, width, height));
}

/* Contiguous slices are rows of one plane; NVIDIA's runtime makes it one memset. */
static cudaError_t set_3d(struct cudaPitchedPtr p, int value, struct cudaExtent extent,
	cudaStream_t stream, bool async, bool per_thread)
{
	cudaError_t error = cudaSuccess;

	if (extent.height == p.ysize)
		return set_2d(p.ptr, p.pitch, value, extent.width, extent.height * extent.depth,
			stream, async, per_thread);
	for (size_t z = 0; z < extent.depth && !error; z++)
		error = set_2d((char *)p.ptr + z * p.pitch * p.ysize, p.pitch, value, extent.width,
			extent.height, stream, async, per_thread);
	return error;
}

RUNTIME_ENTRIES(cudaMemset2D, (void *dst, size_t pitch, int value, size_t width, size_t height),
	set_2d, (dst, pitch, value, width, height, NULL, false))
RUNTIME_ENTRIES_ASYNC(cudaMemset2DAsync,
	(void *dst, size_t pitch, int value, size_t width, size_t height, cudaStream_t stream),
	set_2d, (dst, pitch, value, width, height, stream, true))
RUNTIME_ENTRIES(cudaMemset3D, (struct cudaPitchedPtr p, int value, struct cudaExtent extent),
	set_3d, (p, value, extent, NULL, false))
RUNTIME_ENTRIES_ASYNC(cudaMemset3DAsync,
	(struct cudaPitchedPtr p, int value, struct cudaExtent extent, cudaStream_t stream), set_3d,
	(p, value, extent, stream, true))

cudaError_t cudaMalloc3D(struct cudaPitchedPtr *p, struct cudaExtent extent)
{
	size_t height = extent.height ? extent.height : 1, depth = extent.depth ? extent.depth : 1;
	void *ptr = NULL;
	size_t pitch = 0;
	cudaError_t error;

	if (!p)
		return simrt_error(cudaErrorInvalidValue);
	error = cudaMallocPitch(&ptr, &pitch, extent.width, height * depth);
	*p = (struct cudaPitchedPtr){ ptr, pitch, extent.width, height };
	return error;
}

cudaError_t cudaMemcpyPeer(void *dst, int dst_device, const void *src, int src_device, size_t bytes)
{
	CUcontext to = simrt_primary(dst_device), from = simrt_primary(src_device);

	if (!to || !from)
		return cudaPeekAtLastError();
	CALL(simrt_driver.cuMemcpyPeer((CUdeviceptr)dst, to, (CUdeviceptr)src, from, bytes));
}

/* NVIDIA's runtime has no per-thread variants of these two. */
cudaError_t cudaMemcpyPeerAsync(void *dst, int dst_device, const void *src, int src_device,
	size_t bytes, cudaStream_t stream)
{
	CUcontext to = simrt_primary(dst_device), from = simrt_primary(src_device);

	if (!to || !from)
		return cudaPeekAtLastError();
	CALL(simrt_driver.cuMemcpyPeerAsync((CUdeviceptr)dst, to, (CUdeviceptr)src, from, bytes,
		stream));
}

/* Adds the contexts of both devices; the pointers determine the direction. */
static bool shape_peer(CUDA_MEMCPY3D_PEER *out, const struct cudaMemcpy3DPeerParms *p)
{
	const struct cudaMemcpy3DParms parms = {
		.srcArray = p->srcArray,
		.srcPos = p->srcPos,
		.srcPtr = p->srcPtr,
		.dstArray = p->dstArray,
		.dstPos = p->dstPos,
		.dstPtr = p->dstPtr,
		.extent = p->extent,
		.kind = cudaMemcpyDefault,
	};
	CUcontext to = simrt_primary(p->dstDevice), from = simrt_primary(p->srcDevice);
	CUDA_MEMCPY3D s;

	if (!to || !from)
		return false;
	s = simrt_shape_3d(&parms);
	*out = (CUDA_MEMCPY3D_PEER){
		.srcXInBytes = s.srcXInBytes,
		.srcY = s.srcY,
		.srcZ = s.srcZ,
		.srcMemoryType = s.srcMemoryType,
		.srcDevice = s.srcDevice,
		.srcArray = s.srcArray,
		.srcContext = from,
		.srcPitch = s.srcPitch,
		.srcHeight = s.srcHeight,
		.dstXInBytes = s.dstXInBytes,
		.dstY = s.dstY,
		.dstZ = s.dstZ,
		.dstMemoryType = s.dstMemoryType,
		.dstDevice = s.dstDevice,
		.dstArray = s.dstArray,
		.dstContext = to,
		.dstPitch = s.dstPitch,
		.dstHeight = s.dstHeight,
		.WidthInBytes = s.WidthInBytes,
		.Height = s.Height,
		.Depth = s.Depth,
	};
	return true;
}

static cudaError_t peer_3d(const struct cudaMemcpy3DPeerParms *p, cudaStream_t stream, bool async,
	bool per_thread)
{
	CUDA_MEMCPY3D_PEER shape;

	if (!p)
		return simrt_error(cudaErrorInvalidValue);
	if (!shape_peer(&shape, p))
		return cudaPeekAtLastError();
	if (async)
		return simrt_result(PICK(per_thread, cuMemcpy3DPeerAsync, _ptsz)(&shape, stream));
	return simrt_result(PICK(per_thread, cuMemcpy3DPeer, _ptds)(&shape));
}

RUNTIME_ENTRIES(cudaMemcpy3DPeer, (const struct cudaMemcpy3DPeerParms *p), peer_3d,
	(p, NULL, false))
RUNTIME_ENTRIES_ASYNC(cudaMemcpy3DPeerAsync,
	(const struct cudaMemcpy3DPeerParms *p, cudaStream_t stream), peer_3d, (p, stream, true))
