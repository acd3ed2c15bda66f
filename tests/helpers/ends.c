/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Contexts and code that end: ends destroy|reset|release|leaks|unloads.  Objects that are never
 * freed end with them, and their addresses and handles are reused.  Prints the results of the
 * calls.
 */
#include <string.h>

#include "driver_calls.h"

static struct {
	int (*create)(void **context, unsigned flags, int device);
	int (*destroy)(void *context);
	int (*reset)(int device);
	int (*let_go)(int device);
	int (*host)(void **address, size_t bytes, unsigned flags);
	int (*load)(void **module, const void *image);
	int (*unload)(void *module);
	int (*find)(void **function, void *module, const char *name);
	int (*launch)(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
		unsigned by, unsigned bz, unsigned shared, void *stream, void **values,
		void **extra);
	int (*new_event)(void **event, unsigned flags);
	int (*record)(void *event, void *stream);
	int (*follow)(void *stream, void *event, unsigned flags);
} more;

static void find_more(void)
{
	void *library = dlopen("libcuda.so.1", RTLD_NOW);
	const struct {
		void *pointer;
		const char *name;
	} calls[] = {
		{ &more.create, "cuCtxCreate_v2" },
		{ &more.destroy, "cuCtxDestroy_v2" },
		{ &more.reset, "cuDevicePrimaryCtxReset_v2" },
		{ &more.let_go, "cuDevicePrimaryCtxRelease_v2" },
		{ &more.host, "cuMemHostAlloc" },
		{ &more.load, "cuModuleLoadData" },
		{ &more.unload, "cuModuleUnload" },
		{ &more.find, "cuModuleGetFunction" },
		{ &more.launch, "cuLaunchKernel" },
		{ &more.new_event, "cuEventCreate" },
		{ &more.record, "cuEventRecord" },
		{ &more.follow, "cuStreamWaitEvent" },
	};

	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		*(void **)calls[i].pointer = dlsym(library, calls[i].name);
}

static const char wide[] =
	".version 8.0\n.target sm_80\n.address_size 64\n"
	".visible .entry wide(.param .u64 a, .param .u64 b, .param .u64 c)\n{\n\tret;\n}\n";
static const char narrow[] =
	".version 8.0\n.target sm_80\n.address_size 64\n"
	".visible .entry narrow(.param .u64 a)\n{\n\tret;\n}\n";

/* Returns the function of a new module; with the handle `like`, if possible. */
static int load(const char *image, const char *name, void **function, const void *like)
{
	void *module = NULL;
	int result = more.load(&module, image) | more.find(function, module, name);

	/* The last freed block is allocated first, to the next context: so free several. */
	if (!like)
		return result | more.load(&module, image);
	for (int tries = 0; tries < 20 && !result && *function != like; tries++)
		result = more.load(&module, image) | more.find(function, module, name);
	printf("%s\n", *function == like ? "the handle came again" : "another handle");
	return result;
}

/* Nothing in it is freed. */
static int work(const char *image, const char *name, void **function, const void *like)
{
	void *stream = NULL, *event = NULL, *host = NULL;
	unsigned long long memory = 0;
	/* Reading more parameters than the kernel has crashes at the last one. */
	void *values[] = { &memory, image == wide ? &memory : NULL,
		image == wide ? &memory : NULL };
	int result = load(image, name, function, like);

	result |= cuda.new_stream(&stream, 1) | more.new_event(&event, 2);
	result |= cuda.allocate(&memory, 4096) | more.host(&host, 4096, 0);
	result |= more.launch(*function, 1, 1, 1, 32, 1, 1, 0, stream, values, NULL);
	return result | more.record(event, stream) | cuda.wait(stream);
}

static int destroy(void)
{
	void *context = NULL, *first = NULL, *second = NULL;
	int result = cuda.init(0) | more.create(&context, 0, 0) | work(wide, "wide", &first, NULL);

	result |= more.destroy(context);
	result |= more.create(&context, 0, 0) | work(narrow, "narrow", &second, first);
	result |= more.destroy(context);
	return result;
}

/* Objects of another device stay. */
static int reset(void)
{
	void *primary = NULL, *other = NULL, *first = NULL, *second = NULL;
	unsigned long long there = 0;
	int result = cuda.init(0) | cuda.retain(&other, 1) | cuda.set_current(other);

	result |= cuda.allocate(&there, 4096);
	result |= cuda.retain(&primary, 0) | cuda.set_current(primary);
	result |= work(wide, "wide", &first, NULL) | more.reset(0);
	result |= cuda.set_current(primary) | work(narrow, "narrow", &second, first);
	return result;
}

/* It has another user: nothing ends, and stream order still holds. */
static int release(void)
{
	void *first = NULL, *second = NULL, *event = NULL, *again = NULL;
	unsigned long long memory = 0;
	int result = cuda_begin() | cuda.retain(&again, 0);

	result |= cuda.new_stream(&first, 1) | cuda.new_stream(&second, 1);
	result |= more.new_event(&event, 2) | cuda.allocate(&memory, 1 << 20);
	result |= cuda.set(memory, 1, 1 << 20, first) | more.record(event, first);
	result |= more.follow(second, event, 0) | more.let_go(0);
	result |= cuda.set(memory, 2, 1 << 20, second) | cuda.set(memory, 3, 1 << 20, first);
	return result | cuda.wait(second) | cuda.wait(first) | more.let_go(0);
}

/* Like a test suite whose tests leave their memory to a reset: more in sum than fits at once. */
static int leaks(void)
{
	int result = cuda_begin();

	for (int i = 0; i < 1000; i++) {
		for (int j = 0; j < 100; j++) {
			unsigned long long memory = 0;

			result |= cuda.allocate(&memory, 512 * (size_t)(i % 10 + 1));
		}
		result |= more.reset(0);
	}
	return result;
}

/* Kernels are loaded and unloaded while one stays loaded. */
static int unloads(void)
{
	unsigned long long memory = 0;
	void *values[] = { &memory, &memory, &memory }, *kept = NULL, *function = NULL;
	void *module = NULL;
	int result = cuda_begin() | cuda.allocate(&memory, 4096);

	result |= more.load(&module, wide) | more.find(&kept, module, "wide");
	for (int i = 0; i < 50; i++) {
		result |= more.load(&module, i % 10 ? narrow : wide);
		result |= more.find(&function, module, i % 10 ? "narrow" : "wide");
		result |= more.launch(function, 1, 1, 1, 32, 1, 1, 0, NULL, values, NULL);
		result |= more.launch(kept, 1, 1, 1, 32, 1, 1, 0, NULL, values, NULL);
		result |= more.unload(module);
	}
	return result;
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";
	int (*const modes[])(void) = { destroy, reset, release, leaks, unloads };
	const char *const names[] = { "destroy", "reset", "release", "leaks", "unloads" };

	cuda_find();
	find_more();
	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++)
		if (!strcmp(mode, names[i]))
			printf("%d\n", modes[i]());
	return 0;
}
