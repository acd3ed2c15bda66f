/* SPDX-License-Identifier: Apache-2.0 */
/* deepbind LIBCUDART local|deepbind: memsets and copies with a cudart loaded in that mode. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
	int deep = argc > 2 && !strcmp(argv[2], "deepbind");
	void *cudart = argc > 2 ? dlopen(argv[1], RTLD_NOW | (deep ? RTLD_DEEPBIND : 0)) : NULL;
	int (*allocate)(void **, size_t), (*set)(void *, int, size_t);
	int (*copy)(void *, const void *, size_t, int), (*release)(void *);
	unsigned char host[4];
	void *device;

	if (!cudart)
		return 2;
	*(void **)&allocate = dlsym(cudart, "cudaMalloc");
	*(void **)&set = dlsym(cudart, "cudaMemset");
	*(void **)&copy = dlsym(cudart, "cudaMemcpy");
	*(void **)&release = dlsym(cudart, "cudaFree");
	if (allocate(&device, sizeof(host)) || set(device, 6, sizeof(host)) ||
		copy(host, device, sizeof(host), 2) || release(device))
		return 3;
	printf("%d\n", host[0] + host[1] + host[2] + host[3]);
	return 0;
}
