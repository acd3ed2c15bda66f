/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The few driver calls of the test programs, looked up at run time as by a program that is not
 * linked with CUDA. For helpers: one file each, C without CUDA's headers.
 */
#ifndef CUFENCE_DRIVER_CALLS_H
#define CUFENCE_DRIVER_CALLS_H

#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

static struct {
	int (*init)(unsigned flags);
	int (*retain)(void **context, int device);
	int (*set_current)(void *context);
	int (*allocate)(unsigned long long *address, size_t bytes);
	int (*release)(unsigned long long address);
	int (*set)(unsigned long long address, unsigned char value, size_t count, void *stream);
	int (*new_stream)(void **stream, unsigned flags);
	int (*query)(void *stream);
	int (*wait)(void *stream);
	int (*call_host)(void *stream, void (*function)(void *), void *argument);
} cuda;

static inline void cuda_find(void)
{
	void *library = dlopen("libcuda.so.1", RTLD_NOW);
	const struct {
		void *pointer;
		const char *name;
	} calls[] = {
		{ &cuda.init, "cuInit" },
		{ &cuda.retain, "cuDevicePrimaryCtxRetain" },
		{ &cuda.set_current, "cuCtxSetCurrent" },
		{ &cuda.allocate, "cuMemAlloc_v2" },
		{ &cuda.release, "cuMemFree_v2" },
		{ &cuda.set, "cuMemsetD8Async" },
		{ &cuda.new_stream, "cuStreamCreate" },
		{ &cuda.query, "cuStreamQuery" },
		{ &cuda.wait, "cuStreamSynchronize" },
		{ &cuda.call_host, "cuLaunchHostFunc" },
	};

	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		*(void **)calls[i].pointer = library ? dlsym(library, calls[i].name) : NULL;
		if (!*(void **)calls[i].pointer) {
			fprintf(stderr, "%s\n", dlerror());
			exit(2);
		}
	}
}

/* Makes the primary context of device 0 current on this thread.  Returns 0 or a CUDA error. */
static inline int cuda_begin(void)
{
	void *context = NULL;
	int result = cuda.init(0) | cuda.retain(&context, 0);

	return result | cuda.set_current(context);
}

#endif
