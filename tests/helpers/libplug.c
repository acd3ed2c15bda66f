/* SPDX-License-Identifier: Apache-2.0 */
/* A plugin that uses CUDA and loads and unloads its own libcudart: reload.c. */
int cudaMalloc(void **memory, unsigned long bytes);
int cudaFree(void *memory);
int plug(void);

int plug(void)
{
	void *memory = 0;
	int result = cudaMalloc(&memory, 4096);

	return result ? result : cudaFree(memory);
}
