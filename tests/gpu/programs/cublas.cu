/* SPDX-License-Identifier: Apache-2.0 */
/* cuBLAS on two streams; the library is opened at run time, so that nothing here needs it. */
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>
#include <dlfcn.h>

typedef void *handle;
typedef int (*create_function)(handle *);
typedef int (*stream_function)(handle, cudaStream_t);
typedef int (*gemm_function)(handle, int, int, int, int, int, const float *, const float *, int,
	const float *, int, const float *, float *, int);

enum { SIZE = 256, ROUNDS = 20 };

int main()
{
	void *library = dlopen("libcublas.so.13", RTLD_NOW);
	const float one = 1, none = 0;
	float *a, *b, *c, *host = (float *)malloc(SIZE * SIZE * sizeof(float));
	cudaStream_t stream[2];
	handle blas;

	if (!library)
		return 77;
	auto create = (create_function)dlsym(library, "cublasCreate_v2");
	auto use = (stream_function)dlsym(library, "cublasSetStream_v2");
	auto gemm = (gemm_function)dlsym(library, "cublasSgemm_v2");
	for (auto &each : stream)
		cudaStreamCreateWithFlags(&each, cudaStreamNonBlocking);
	for (int i = 0; i < SIZE * SIZE; i++)
		host[i] = (float)(i % 7);
	cudaMalloc(&a, SIZE * SIZE * sizeof(float));
	cudaMalloc(&b, SIZE * SIZE * sizeof(float));
	cudaMalloc(&c, 2 * SIZE * SIZE * sizeof(float));
	cudaMemcpy(a, host, SIZE * SIZE * sizeof(float), cudaMemcpyHostToDevice);
	cudaMemcpy(b, host, SIZE * SIZE * sizeof(float), cudaMemcpyHostToDevice);
	if (create(&blas))
		return 1;
	for (int i = 0; i < ROUNDS; i++) {
		use(blas, stream[i % 2]);
		if (gemm(blas, 0, 0, SIZE, SIZE, SIZE, &one, a, SIZE, b, SIZE, &none,
			    c + i % 2 * SIZE * SIZE, SIZE))
			return 1;
	}
	cudaDeviceSynchronize();
	cudaMemcpy(host, c + SIZE * SIZE, SIZE * SIZE * sizeof(float), cudaMemcpyDeviceToHost);
	printf("%.1f %.1f\n", host[0], host[SIZE * SIZE - 1]);
	return 0;
}
