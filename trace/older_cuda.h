/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What calls.def names and headers before CUDA 13.2 do not declare, so that a recorder that was
 * built with those of 12.4 or later records the calls of newer drivers, too.  Only layouts that
 * fields are read from are complete.  Rows are compared with NVIDIA's prototypes where the headers
 * have all but 13.2's (preload/check_calls.c).
 *
 * Included after cuda.h, and after cuda_runtime_api.h and cupti.h where these are.
 */
#ifndef CUFENCE_OLDER_CUDA_H
#define CUFENCE_OLDER_CUDA_H

#include <stddef.h>

#if defined(CUDA_VERSION) && CUDA_VERSION < 12040
#error "the recorder needs the headers of CUDA 12.4 or later"
#endif

#if CUDA_VERSION < 12050
typedef struct CUctxCreateParams_st CUctxCreateParams;
#endif

#if CUDA_VERSION < 12060
typedef struct {
	size_t srcNumBytes, dstNumBytes;
	cuuint32_t *dstActBytes;
	const void *src;
	void *dst;
	int algo;
	unsigned char padding[20];
} CUmemDecompressParams;
#endif

#if CUDA_VERSION < 12080
typedef enum {
	CU_MEMCPY_SRC_ACCESS_ORDER_STREAM = 1,
	CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL = 2,
	CU_MEMCPY_SRC_ACCESS_ORDER_ANY = 3,
} CUmemcpySrcAccessOrder;

typedef struct {
	CUmemcpySrcAccessOrder srcAccessOrder;
	CUmemLocation srcLocHint, dstLocHint;
	unsigned int flags;
} CUmemcpyAttributes;

typedef enum {
	CU_MEMCPY_OPERAND_TYPE_POINTER = 1,
	CU_MEMCPY_OPERAND_TYPE_ARRAY = 2,
} CUmemcpy3DOperandType;

typedef struct {
	CUmemcpy3DOperandType type;
	union {
		struct {
			CUdeviceptr ptr;
			size_t rowLength, layerHeight;
			CUmemLocation locHint;
		} ptr;
		struct {
			CUarray array;
			struct {
				size_t x, y, z;
			} offset;
		} array;
	} op;
} CUmemcpy3DOperand;

typedef struct {
	CUmemcpy3DOperand src, dst;
	struct {
		size_t width, height, depth;
	} extent;
	CUmemcpySrcAccessOrder srcAccessOrder;
	unsigned int flags;
} CUDA_MEMCPY3D_BATCH_OP;
#endif

#if defined(CUDART_VERSION) && CUDART_VERSION < 12080
typedef struct CUlib_st *cudaLibrary_t;
struct cudaMemcpyAttributes;
struct cudaMemcpy3DBatchOp;
enum cudaJitOption { CUFENCE_NO_JIT_OPTION };
enum cudaLibraryOption { CUFENCE_NO_LIBRARY_OPTION };
#endif

#if defined(CUPTI_API_VERSION) && CUDA_VERSION < 12080
/* Their first members, which are read (cupti/decode.c), are those of the versions before. */
typedef CUpti_ActivityKernel9 CUpti_ActivityKernel10;
typedef CUpti_ActivityMemcpy5 CUpti_ActivityMemcpy6;
#endif

/*
 * ownership, which headers before 12.9 do not declare: it lies in what was reserved and zero.
 * params: a CUDA_CHILD_GRAPH_NODE_PARAMS in a CUgraphNodeParams.
 */
static inline unsigned older_ownership(const CUDA_CHILD_GRAPH_NODE_PARAMS *params)
{
	return *(const unsigned *)(const void *)((const CUgraph *)(const void *)params + 1);
}
#if CUDA_VERSION >= 13000
_Static_assert(offsetof(CUDA_CHILD_GRAPH_NODE_PARAMS, ownership) == sizeof(CUgraph), "ownership");
#endif

/*
 * CUPTI's numbers of calls: macros, as those that the headers have are constants of an enumeration.
 * It has none yet for the newest.
 */
#if CUDA_VERSION < 12050
#define CUPTI_DRIVER_TRACE_CBID_cuCtxCreate_v4 757
#define CUPTI_DRIVER_TRACE_CBID_cuCtxRecordEvent 755
#define CUPTI_DRIVER_TRACE_CBID_cuCtxWaitEvent 756
#define CUPTI_DRIVER_TRACE_CBID_cuGreenCtxStreamCreate 758
#endif
#if CUDA_VERSION < 12060
#define CUPTI_DRIVER_TRACE_CBID_cuMemBatchDecompressAsync 761
#define CUPTI_DRIVER_TRACE_CBID_cuMemBatchDecompressAsync_ptsz 762
#endif
#if CUDA_VERSION < 12080
#define CUPTI_DRIVER_TRACE_CBID_cuMemcpyBatchAsync 776
#define CUPTI_DRIVER_TRACE_CBID_cuMemcpyBatchAsync_ptsz 777
#define CUPTI_DRIVER_TRACE_CBID_cuMemcpy3DBatchAsync 778
#define CUPTI_DRIVER_TRACE_CBID_cuMemcpy3DBatchAsync_ptsz 779
#define CUPTI_DRIVER_TRACE_CBID_cuEventElapsedTime_v2 780
#endif
#if CUDA_VERSION < 13000
#define CUPTI_DRIVER_TRACE_CBID_cuCtxSynchronize_v2 800
#define CUPTI_DRIVER_TRACE_CBID_cuMemSetMemPool 803
#define CUPTI_DRIVER_TRACE_CBID_cuMemcpyBatchAsync_v2 796
#define CUPTI_DRIVER_TRACE_CBID_cuMemcpyBatchAsync_v2_ptsz 797
#define CUPTI_DRIVER_TRACE_CBID_cuMemcpy3DBatchAsync_v2 798
#define CUPTI_DRIVER_TRACE_CBID_cuMemcpy3DBatchAsync_v2_ptsz 799
#define CUPTI_DRIVER_TRACE_CBID_cuMemPrefetchBatchAsync 784
#define CUPTI_DRIVER_TRACE_CBID_cuMemPrefetchBatchAsync_ptsz 785
#define CUPTI_DRIVER_TRACE_CBID_cuMemDiscardBatchAsync 789
#define CUPTI_DRIVER_TRACE_CBID_cuMemDiscardBatchAsync_ptsz 790
#define CUPTI_DRIVER_TRACE_CBID_cuMemDiscardAndPrefetchBatchAsync 791
#define CUPTI_DRIVER_TRACE_CBID_cuMemDiscardAndPrefetchBatchAsync_ptsz 792
#endif
#if CUDA_VERSION < 13020
#define CUPTI_DRIVER_TRACE_CBID_cuGraphNodeGetParams CUPTI_DRIVER_TRACE_CBID_INVALID
CUresult cuGraphNodeGetParams(CUgraphNode node, CUgraphNodeParams *params);
#endif

#endif
