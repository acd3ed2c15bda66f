/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A kernel that calls a function in another object file (-rdc=true), and a variable that
 * the device linker resolves.  Compiled twice, once with PART for the other file.
 */
#ifdef PART
__device__ int scale = 2;
__device__ int scaled(int x)
{
	return scale * x;
}
#else
#include <cstdio>

extern __device__ int scale;
__device__ int scaled(int x);

__global__ void fill(int *to)
{
	to[threadIdx.x] = scaled(threadIdx.x);
}

int main()
{
	int three = 3, failed;
	int *memory = nullptr;
	cudaStream_t stream;

	failed = cudaMalloc(&memory, 128);
	failed |= cudaStreamCreate(&stream);
	failed |= cudaMemcpyToSymbol(scale, &three, sizeof(three));
	fill<<<1, 32, 0, stream>>>(memory);
	failed |= cudaGetLastError() | cudaStreamSynchronize(stream) | cudaFree(memory);
	printf("%d\n", failed);
	return failed;
}
#endif
