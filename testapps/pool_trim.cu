// SPDX-License-Identifier: Apache-2.0
// Each query takes a workspace from the device's pool and gives it back in stream order. The pool's
// release threshold is 0: the wait for the result also unmaps the workspace, after the device has
// finished, and the next cudaMallocAsync maps it again. The wait itself is needed.
// The fix raises the threshold once: the pool keeps the memory.
#include "pool.h"

static const int QUERIES = 24;
static const size_t WORKSPACE = size_t(256) << 20, SIZE = 1 << 14;

static NOINLINE float query(float *sum, float *result, cudaStream_t stream)
{
	float *workspace;

	CHECK(cudaMallocAsync(&workspace, WORKSPACE, stream));
	cufence::fill<<<4, 256, 0, stream>>>(MILLISECOND, workspace, SIZE, 1);
	CHECK(cudaGetLastError());
	cufence::accumulate<<<4, 256, 0, stream>>>(MILLISECOND, workspace, sum, SIZE);
	CHECK(cudaGetLastError());
	CHECK(cudaFreeAsync(workspace, stream));
	CHECK(cudaMemcpyAsync(result, sum, sizeof(*result), cudaMemcpyDeviceToHost, stream));
	CHECK(cudaStreamSynchronize(stream));
	return *result;
}

int main()
{
	load_kernels();
	cudaStream_t stream = new_stream();
	float *sum = device_floats(SIZE, 0), *result = pinned_floats(1), last = 0;

#ifdef FIXED
	keep_pool_memory();
#endif
	CHECK(cudaDeviceSynchronize());
	for (int i = 0; i < QUERIES; i++)
		last = query(sum, result, stream);
	printf("last: %.1f\n", last);
	print_device("sum", sum, SIZE);
	return 0;
}
