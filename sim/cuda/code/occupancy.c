/* SPDX-License-Identifier: Apache-2.0 */
/* Occupancy by threads and shared memory of an H200; registers are never the limit here. */
#include "cuda_calls.h"
#include "cuda_state.h"

#define THREADS 2048 /* per multiprocessor */
#define SHARED 233472
#define BLOCKS 32
#define RESERVED 1024 /* bytes of shared memory reserved per block */
#define MULTIPROCESSORS 132

static struct function *function_get(const void *handle)
{
	return object_check(handle, OBJECT_FUNCTION) ? (struct function *)handle : NULL;
}

static int blocks_of(const struct function *function, int block_size, size_t dynamic)
{
	size_t shared = function->shared_bytes + dynamic + RESERVED;
	int by_threads = THREADS / ((block_size + 31) / 32 * 32);
	int by_shared = (int)(SHARED / shared);
	int blocks = by_threads < by_shared ? by_threads : by_shared;

	return blocks < BLOCKS ? blocks : BLOCKS;
}

CUresult do_cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, CUfunction handle,
	int block_size, size_t dynamic, unsigned int flags)
{
	struct function *function = function_get(handle);
	struct context *context = context_current();

	if (!function)
		return CUDA_ERROR_INVALID_HANDLE;
	if (!context)
		return CUDA_ERROR_INVALID_CONTEXT;
	if (!blocks || block_size <= 0 || flags > 1)
		return CUDA_ERROR_INVALID_VALUE;
	function_load(function, context);
	*blocks = block_size > 1024 ? 0 : blocks_of(function, block_size, dynamic);
	return CUDA_SUCCESS;
}

CUresult do_cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, CUfunction function,
	int block_size, size_t dynamic)
{
	return do_cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, function, block_size,
		dynamic, 0);
}

CUresult do_cuOccupancyMaxPotentialBlockSizeWithFlags(int *grid, int *block, CUfunction handle,
	CUoccupancyB2DSize dynamic_of, size_t dynamic, int limit, unsigned int flags)
{
	struct function *function = function_get(handle);
	int best = 0;

	if (!function)
		return CUDA_ERROR_INVALID_HANDLE;
	if (!grid || !block)
		return CUDA_ERROR_INVALID_VALUE;
	for (int size = limit > 0 && limit < 1024 ? limit : 1024; size > 0; size -= 32) {
		int blocks = blocks_of(function, size, dynamic_of ? dynamic_of(size) : dynamic);

		if (blocks * size <= best)
			continue;
		best = blocks * size;
		*block = size;
		*grid = blocks * MULTIPROCESSORS;
	}
	return CUDA_SUCCESS;
}

CUresult do_cuOccupancyMaxPotentialBlockSize(int *grid, int *block, CUfunction function,
	CUoccupancyB2DSize dynamic_of, size_t dynamic, int limit)
{
	return do_cuOccupancyMaxPotentialBlockSizeWithFlags(grid, block, function, dynamic_of,
		dynamic, limit, 0);
}

CUresult do_cuOccupancyAvailableDynamicSMemPerBlock(size_t *bytes, CUfunction handle, int blocks,
	int block_size)
{
	struct function *function = function_get(handle);

	if (!function)
		return CUDA_ERROR_INVALID_HANDLE;
	if (!bytes || blocks <= 0 || block_size <= 0)
		return CUDA_ERROR_INVALID_VALUE;
	*bytes = SHARED / (unsigned int)blocks - RESERVED - function->shared_bytes;
	return CUDA_SUCCESS;
}

CUresult do_cuOccupancyMaxPotentialClusterSize(int *size, CUfunction function,
	const CUlaunchConfig *config)
{
	if (!size || !config || !function_get(function))
		return CUDA_ERROR_INVALID_VALUE;
	*size = 8;
	return CUDA_SUCCESS;
}

CUresult do_cuOccupancyMaxActiveClusters(int *clusters, CUfunction function,
	const CUlaunchConfig *config)
{
	if (!clusters || !config || !function_get(function))
		return CUDA_ERROR_INVALID_VALUE;
	*clusters = MULTIPROCESSORS / 8;
	return CUDA_SUCCESS;
}
