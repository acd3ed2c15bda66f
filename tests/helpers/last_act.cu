/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A template kernel, launched by a tail call in a function that is called by its address: the stack
 * does not contain that function or show which one it is.
 */
#include <cstdio>

template <int N> __global__ void fill(int *to)
{
	to[threadIdx.x] = threadIdx.x % N;
}

static void launch(int *to, cudaStream_t stream)
{
	fill<7><<<1, 32, 0, stream>>>(to);
}

int main()
{
	void (*volatile last)(int *, cudaStream_t) = launch;
	int *memory = nullptr, failed;
	cudaStream_t stream;

	failed = cudaMalloc(&memory, 128) | cudaStreamCreate(&stream);
	last(memory, stream);
	failed |= cudaGetLastError() | cudaStreamSynchronize(stream) | cudaFree(memory);
	printf("%d\n", failed);
	return failed;
}
