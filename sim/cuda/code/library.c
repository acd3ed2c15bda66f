/* SPDX-License-Identifier: Apache-2.0 */
/* Queries of modules, and loading them from files. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda_calls.h"
#include "cuda_module.h"

static struct module *module_get(const void *handle)
{
	return object_check(handle, OBJECT_MODULE) ? (struct module *)handle : NULL;
}

static struct function *function_get(const void *handle)
{
	return object_check(handle, OBJECT_FUNCTION) ? (struct function *)handle : NULL;
}

/* Returns the whole file and a NUL, for the caller to free; NULL if it cannot be read. */
static char *read_whole(const char *path)
{
	FILE *file = fopen(path, "re");
	char *text = NULL;
	size_t used = 0, size = 0, got = 1;

	for (; file && got; used += got) {
		if (used + 4096 > size) {
			size = 2 * size + 8192;
			text = must_realloc(text, size);
		}
		got = fread(text + used, 1, size - used - 1, file);
	}
	if (file)
		fclose(file);
	if (text)
		text[used] = 0;
	return text;
}

CUresult do_cuModuleLoad(CUmodule *module, const char *path)
{
	char *text = path ? read_whole(path) : NULL;
	CUresult result;

	if (!module || !path)
		return CUDA_ERROR_INVALID_VALUE;
	if (!text)
		return CUDA_ERROR_FILE_NOT_FOUND;
	result = do_cuModuleLoadData(module, text);
	free(text);
	return result;
}

CUresult do_cuModuleLoadFatBinary(CUmodule *module, const void *binary)
{
	return do_cuModuleLoadData(module, binary);
}

CUresult do_cuLibraryLoadFromFile(CUlibrary *library, const char *path, CUjit_option *jit,
	void **jit_values, unsigned int jit_count, CUlibraryOption *options, void **values,
	unsigned int count)
{
	char *text = path ? read_whole(path) : NULL;
	CUresult result;

	if (!library || !path)
		return CUDA_ERROR_INVALID_VALUE;
	if (!text)
		return CUDA_ERROR_FILE_NOT_FOUND;
	result = do_cuLibraryLoadData(library, text, jit, jit_values, jit_count, options, values,
		count);
	free(text);
	return result;
}

static CUresult enumerate(const struct module *module, void **functions, unsigned int room,
	unsigned int *count)
{
	unsigned int number = 0;

	if (!module)
		return CUDA_ERROR_INVALID_HANDLE;
	for (struct function *f = module->functions; f; f = f->next, number++) {
		if (functions && number < room)
			functions[number] = f;
	}
	if (count)
		*count = number;
	return CUDA_SUCCESS;
}

CUresult do_cuModuleGetFunctionCount(unsigned int *count, CUmodule module)
{
	return count ? enumerate(module_get(module), NULL, 0, count) : CUDA_ERROR_INVALID_VALUE;
}

CUresult do_cuModuleEnumerateFunctions(CUfunction *functions, unsigned int room, CUmodule module)
{
	return enumerate(module_get(module), (void **)functions, room, NULL);
}

CUresult do_cuLibraryGetKernelCount(unsigned int *count, CUlibrary library)
{
	return count ? enumerate(module_get(library), NULL, 0, count) : CUDA_ERROR_INVALID_VALUE;
}

CUresult do_cuLibraryEnumerateKernels(CUkernel *kernels, unsigned int room, CUlibrary library)
{
	return enumerate(module_get(library), (void **)kernels, room, NULL);
}

CUresult do_cuLibraryGetManaged(CUdeviceptr *ptr, size_t *bytes, CUlibrary library,
	const char *name)
{
	const struct module *module = module_get(library);
	struct context *context = context_current();

	if (!module)
		return CUDA_ERROR_INVALID_HANDLE;
	if (!context)
		return CUDA_ERROR_INVALID_CONTEXT;
	if (!name)
		return CUDA_ERROR_INVALID_VALUE;
	return variable_find(module->variables, context->device, PLACE_MANAGED, name, ptr, bytes);
}

CUresult do_cuKernelGetLibrary(CUlibrary *library, CUkernel kernel)
{
	const struct function *function = function_get(kernel);

	if (!function)
		return CUDA_ERROR_INVALID_HANDLE;
	*library = (CUlibrary)function->module;
	return CUDA_SUCCESS;
}

CUresult do_cuFuncIsLoaded(CUfunctionLoadingState *state, CUfunction handle)
{
	const struct function *function = function_get(handle);
	const struct context *context = context_current();

	if (!function)
		return CUDA_ERROR_INVALID_HANDLE;
	if (!state)
		return CUDA_ERROR_INVALID_VALUE;
	*state = function->loaded >> (context ? context->device->ordinal : 0) & 1
		? CU_FUNCTION_LOADING_STATE_LOADED
		: CU_FUNCTION_LOADING_STATE_UNLOADED;
	return CUDA_SUCCESS;
}

/* Hints without effect. */
CUresult do_cuFuncSetCacheConfig(CUfunction function, CUfunc_cache config)
{
	return function_get(function) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult do_cuFuncSetSharedMemConfig(CUfunction function, CUsharedconfig config)
{
	return function_get(function) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult do_cuKernelSetCacheConfig(CUkernel kernel, CUfunc_cache config, CUdevice device)
{
	return function_get(kernel) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult do_cuKernelGetAttribute(int *value, CUfunction_attribute attribute, CUkernel kernel,
	CUdevice device)
{
	return do_cuFuncGetAttribute(value, attribute, (CUfunction)kernel);
}

CUresult do_cuKernelSetAttribute(CUfunction_attribute attribute, int value, CUkernel kernel,
	CUdevice device)
{
	return do_cuFuncSetAttribute((CUfunction)kernel, attribute, value);
}

/* For profilers; no effect. */
CUresult do_cuProfilerStart(void)
{
	return context_current() ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

CUresult do_cuProfilerStop(void)
{
	return context_current() ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}
