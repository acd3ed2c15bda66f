/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cuBLAS on two streams; the library is opened at run time, so that nothing here needs it.
 * cublas STEPS [race]: a handle for each stream; both use the weights, which one of them then
 * changes, once the other has used them, or, with "race", without waiting for that.
 */
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>
#include <dlfcn.h>

typedef void *handle;
typedef int (*create_function)(handle *);
typedef int (*stream_function)(handle, cudaStream_t);
typedef int (*gemm_function)(handle, int, int, int, int, int, const float *, const float *, int,
	const float *, int, const float *, float *, int);
typedef int (*scale_function)(handle, int, const float *, float *, int);

enum { SIZE = 256, ROUNDS = 20 };

struct blas {
	create_function create;
	stream_function use;
	gemm_function gemm;
	scale_function scale;
};

static int share_weights(const blas &blas, int steps, bool race, float *weights, float *in,
	float *out)
{
	const float one = 1, none = 0, less = 0.999f;
	handle each[2];
	cudaStream_t stream[2];
	cudaEvent_t used, changed;

	cudaEventCreateWithFlags(&used, cudaEventDisableTiming);
	cudaEventCreateWithFlags(&changed, cudaEventDisableTiming);
	for (int i = 0; i < 2; i++) {
		cudaStreamCreateWithFlags(&stream[i], cudaStreamNonBlocking);
		if (blas.create(&each[i]) || blas.use(each[i], stream[i]))
			return 1;
	}
	/* Copies of pageable memory return before they have ended. */
	cudaDeviceSynchronize();
	for (int step = 0; step < steps; step++) {
		for (int i = 0; i < 2; i++)
			if (blas.gemm(each[i], 0, 0, SIZE, SIZE, SIZE, &one, weights, SIZE, in,
				    SIZE, &none, out + i * SIZE * SIZE, SIZE))
				return 1;
		cudaEventRecord(used, stream[1]);
		if (!race)
			cudaStreamWaitEvent(stream[0], used, 0);
		if (blas.scale(each[0], SIZE * SIZE, &less, weights, 1))
			return 1;
		cudaEventRecord(changed, stream[0]);
		cudaStreamWaitEvent(stream[1], changed, 0);
	}
	return cudaDeviceSynchronize();
}

int main(int count, char **words)
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
	auto scale = (scale_function)dlsym(library, "cublasSscal_v2");
	for (auto &each : stream)
		cudaStreamCreateWithFlags(&each, cudaStreamNonBlocking);
	for (int i = 0; i < SIZE * SIZE; i++)
		host[i] = (float)(i % 7);
	cudaMalloc(&a, SIZE * SIZE * sizeof(float));
	cudaMalloc(&b, SIZE * SIZE * sizeof(float));
	cudaMalloc(&c, 2 * SIZE * SIZE * sizeof(float));
	cudaMemcpy(a, host, SIZE * SIZE * sizeof(float), cudaMemcpyHostToDevice);
	cudaMemcpy(b, host, SIZE * SIZE * sizeof(float), cudaMemcpyHostToDevice);
	if (count > 1)
		return share_weights({ create, use, gemm, scale }, atoi(words[1]), count > 2, a, b,
			c);
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
