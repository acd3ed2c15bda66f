/* SPDX-License-Identifier: Apache-2.0 */
/* A library with CUDA inside, for programs that load it with dlopen (loader.c). */
#include <cuda_runtime.h>

static __global__ void twice(int *p)
{
	p[threadIdx.x] *= 2;
}

extern "C" int plugin_run(int value)
{
	int *device, host = value;

	if (cudaMalloc(&device, sizeof(host)))
		return -1;
	cudaMemcpy(device, &host, sizeof(host), cudaMemcpyHostToDevice);
	for (int i = 0; i < 5; i++)
		twice<<<1, 1>>>(device);
	cudaMemcpy(&host, device, sizeof(host), cudaMemcpyDeviceToHost);
	return cudaFree(device) ? -1 : host;
}
