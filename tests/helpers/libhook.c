/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Another tool: wraps cudaFree, which it exports, and cuMemFree_v2, which its dlsym returns.  Both
 * call the next one.  Prints "N cudaFree, M cuMemFree_v2" to stderr at the end.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

int cudaFree(void *memory);
int cuMemFree_v2(unsigned long long memory);

static void *(*real_dlsym)(void *, const char *);
static int (*real_driver)(unsigned long long);
static int runtime_calls, driver_calls;

EXPORT int cudaFree(void *memory)
{
	int (*real)(void *) = (int (*)(void *))dlsym(RTLD_NEXT, "cudaFree");

	runtime_calls++;
	return real(memory);
}

__attribute__((visibility("hidden"))) int cuMemFree_v2(unsigned long long memory)
{
	driver_calls++;
	return real_driver(memory);
}

EXPORT void *dlsym(void *handle, const char *name)
{
	if (!real_dlsym)
		*(void **)&real_dlsym = dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5");
	if (handle == RTLD_NEXT || strcmp(name, "cuMemFree_v2"))
		return real_dlsym(handle, name);
	*(void **)&real_driver = real_dlsym(handle, name);
	return real_driver ? (void *)cuMemFree_v2 : NULL;
}

__attribute__((destructor)) static void say(void)
{
	if (runtime_calls || driver_calls)
		fprintf(stderr, "%d cudaFree, %d cuMemFree_v2\n", runtime_calls, driver_calls);
}
