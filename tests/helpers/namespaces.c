/* SPDX-License-Identifier: Apache-2.0 */
/*
 * namespaces MOST [here [threads]]: CUDA in up to MOST link namespaces, as many as the loader has
 * room for, and in the program's own before and after them; threads: on eight threads, one after
 * the other.  All functions are looked up before the first call.  A line for each: errors, and what
 * was read back.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define NAMESPACES 16

static struct driver {
	int (*init)(unsigned flags);
	int (*retain)(void **context, int device);
	int (*set_current)(void *context);
	int (*allocate)(unsigned long long *address, size_t bytes);
	int (*set)(unsigned long long address, unsigned char value, size_t count);
	int (*read)(void *host, unsigned long long address, size_t bytes);
	int (*release)(unsigned long long address);
} own, other[NAMESPACES];
static int here, count;

static int find(struct driver *driver, void *library)
{
	const struct {
		void *pointer;
		const char *name;
	} calls[] = {
		{ &driver->init, "cuInit" },
		{ &driver->retain, "cuDevicePrimaryCtxRetain" },
		{ &driver->set_current, "cuCtxSetCurrent" },
		{ &driver->allocate, "cuMemAlloc_v2" },
		{ &driver->set, "cuMemsetD8_v2" },
		{ &driver->read, "cuMemcpyDtoH_v2" },
		{ &driver->release, "cuMemFree_v2" },
	};

	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		*(void **)calls[i].pointer = library ? dlsym(library, calls[i].name) : NULL;
		if (!*(void **)calls[i].pointer)
			return -1;
	}
	return 0;
}

static void use(const struct driver *driver, const char *where, int value)
{
	unsigned long long address = 0;
	unsigned char back = 0;
	void *context = NULL;

	printf("%s: %d", where, driver->init(0));
	printf(" %d", driver->retain(&context, 0));
	printf(" %d", driver->set_current(context));
	printf(" %d", driver->allocate(&address, 16));
	printf(" %d", driver->set(address, (unsigned char)value, 16));
	printf(" %d", driver->read(&back, address, 1));
	printf(" %d, %d\n", driver->release(address), back);
}

static void *use_all(void *unused)
{
	if (here)
		use(&own, "here", 100);
	for (int i = 0; i < count; i++)
		use(&other[i], "there", i + 1);
	if (here)
		use(&own, "here", 101);
	return NULL;
}

int main(int argc, char **argv)
{
	int most = argc > 1 ? atoi(argv[1]) : 0;
	pthread_t thread;

	here = argc > 2;
	if (here && find(&own, dlopen("libcuda.so.1", RTLD_NOW)))
		return 2;
	while (count < most && count < NAMESPACES &&
		!find(&other[count], dlmopen(LM_ID_NEWLM, "libcuda.so.1", RTLD_NOW)))
		count++;
	if (argc < 4)
		use_all(NULL);
	for (int i = 0; argc > 3 && i < 8; i++)
		if (pthread_create(&thread, NULL, use_all, NULL) || pthread_join(thread, NULL))
			return 3;
	return 0;
}
