/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Changes its current context in each way, and sets memory after each: prints the current context
 * at each of these calls, or 0.  The recorder is told by CUFENCE_* what it leaves out.
 */
#include "driver_calls.h"

#include <pthread.h>

static struct {
	int (*create)(void **context, unsigned flags, int device);
	int (*destroy)(void *context);
	int (*push)(void *context);
	int (*pop)(void **context);
	int (*current)(void **context);
	int (*reset)(int device);
	int (*start)(void);
	int (*stop)(void);
} more;

static unsigned long long memory;

/* Twice: the second call may rely on the first one's answer. */
static void work(void)
{
	void *current = NULL;

	for (int i = 0; i < 2; i++) {
		if (more.current(&current))
			current = NULL;
		printf("0x%llx\n", (unsigned long long)(size_t)current);
		cuda.set(memory, 0, 4096, NULL);
	}
}

static void *destroy(void *context)
{
	more.destroy(context);
	return NULL;
}

static void *use(void *context)
{
	cuda.set_current(context);
	work();
	return NULL;
}

static void on_thread(void *(*function)(void *), void *context)
{
	pthread_t thread;

	pthread_create(&thread, NULL, function, context);
	pthread_join(thread, NULL);
}

int main(void)
{
	void *library = dlopen("libcuda.so.1", RTLD_NOW), *first, *second, *third, *popped;

	cuda_find();
	*(void **)&more.create = dlsym(library, "cuCtxCreate_v2");
	*(void **)&more.destroy = dlsym(library, "cuCtxDestroy_v2");
	*(void **)&more.push = dlsym(library, "cuCtxPushCurrent_v2");
	*(void **)&more.pop = dlsym(library, "cuCtxPopCurrent_v2");
	*(void **)&more.current = dlsym(library, "cuCtxGetCurrent");
	*(void **)&more.reset = dlsym(library, "cuDevicePrimaryCtxReset_v2");
	*(void **)&more.start = dlsym(library, "cuProfilerStart");
	*(void **)&more.stop = dlsym(library, "cuProfilerStop");
	if (cuda_begin() || more.current(&first) || cuda.allocate(&memory, 4096))
		return 1;
	more.start();
	work();
	more.create(&second, 0, 0);
	work();
	more.pop(&popped);
	work();
	more.push(second);
	work();
	cuda.set_current(first);
	work();
	cuda.set_current(NULL);
	work();
	cuda.set_current(first);
	on_thread(use, second);
	work();
	/* Not recorded, where only this part is left out. */
	more.stop();
	cuda.set_current(second);
	more.start();
	work();
	more.destroy(second);
	work();
	more.create(&third, 0, 0);
	work();
	on_thread(destroy, third);
	work();
	cuda.set_current(first);
	work();
	more.reset(0);
	work();
	return 0;
}
