/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Modules and libraries (the same here), and their functions.  A CUkernel handle is the function
 * itself, as programs cast it to CUfunction.
 */
#include <stdlib.h>
#include <string.h>

#include "cuda_calls.h"
#include "cuda_module.h"
#include "cuda_state.h"

#define LOAD_TIME 50000 /* ns, first use of a function */

/* Names are used in traces and CUPTI records: each is stored once and never freed. */
static const char *keep_name(const char *name, size_t length)
{
	static struct name {
		struct name *next;
		size_t length;
		char text[];
	} * names;
	struct name *n;

	for (n = names; n; n = n->next) {
		if (n->length == length && !memcmp(n->text, name, length))
			return n->text;
	}
	n = must_realloc(NULL, sizeof(*n) + length + 1);
	n->length = length;
	n->next = names;
	names = n;
	memcpy(n->text, name, length);
	n->text[length] = 0;
	return n->text;
}

/*
 * Kernels of kernels/ are in namespace cufence; if the first parameter is a 64-bit integer, it is
 * their duration in ns.  The mangled name shows this: _ZN7cufence4spinEy...; that of the stand-in
 * for NCCL's kernel, which is in none, _Z23ncclDevKernel_Generic_4y...
 */
static bool name_spins(const char *name)
{
	static const char collective[] = "_Z23ncclDevKernel_Generic_4y";
	const char *p = name + 3;

	if (!strncmp(name, collective, sizeof(collective) - 1))
		return true;
	if (strncmp(name, "_ZN7cufence", 11))
		return false;
	while (*p >= '1' && *p <= '9') {
		char *rest;
		unsigned long length = strtoul(p, &rest, 10);

		if (length > strlen(rest))
			return false;
		p = rest + length;
	}
	return *p == 'E' && p[1] && strchr("ymxl", p[1]);
}

static struct function *add_function(struct module *module, const char *name, size_t length)
{
	struct function *function = object_new(OBJECT_FUNCTION, sizeof(*function));

	if (!function)
		return NULL;
	function->name = keep_name(name, length);
	function->module = module;
	function->spins = name_spins(function->name);
	function->next = module->functions;
	module->functions = function;
	return function;
}

void module_add_kernel(struct module *module, const struct image_kernel *kernel, const char *name,
	size_t length)
{
	struct function *function = add_function(module, name, length);

	if (!function)
		return;
	function->local_bytes = kernel->local_bytes;
	function->shared_bytes = kernel->shared_bytes;
	function->prints = kernel->prints > 0;
	function->parameter_bytes = kernel->parameter_bytes;
	if (!kernel->described || !kernel->parameter_count)
		return;
	function->parameters =
		must_realloc(NULL, kernel->parameter_count * sizeof(*function->parameters));
	function->parameter_count = kernel->parameter_count;
	for (uint32_t i = 0; i < kernel->parameter_count; i++) {
		function->parameters[i].offset = (uint16_t)kernel->parameter[i].offset;
		function->parameters[i].size = (uint16_t)kernel->parameter[i].size;
	}
}

/* Selects the code that the device would use: its best cubin, else PTX. */
static const struct image_code *choose_code(const struct image *image)
{
	const struct image_code *best = NULL;

	for (size_t i = 0; i < image->count; i++) {
		const struct image_code *code = &image->code[i];
		bool runs = code->kind == IMAGE_PTX || code->arch / 10 == SIM_ARCH / 10;

		/* Fall back to any code: a program built for another GPU runs, too. */
		if (!best || (runs && (code->kind > best->kind || code->arch > best->arch)))
			best = code;
	}
	return best;
}

static void module_delete(struct module *module)
{
	struct function *next;

	for (struct function *f = module->functions; f; f = next) {
		next = f->next;
		free(f->parameters);
		object_free(f);
	}
	variables_free(module->variables);
	object_free(module);
}

static struct module *module_load(const void *data)
{
	char error[IMAGE_ERROR_SIZE];
	const struct image_code *code;
	struct module *module;
	struct image image;

	if (image_read_loaded(data, &image, error))
		return NULL;
	module = object_new(OBJECT_MODULE, sizeof(*module));
	code = module ? choose_code(&image) : NULL;
	if (code && code->kind == IMAGE_CUBIN) {
		module->arch = code->arch;
		for (size_t i = code->kernel_count; i-- > 0;)
			module_add_kernel(module, &code->kernel[i], code->kernel[i].name,
				strlen(code->kernel[i].name));
		module->variables = cubin_variables(code->data, code->size);
	} else if (code) {
		module->arch = ptx_arch(code->data, code->size);
		ptx_functions(module, code->data, code->size);
	}
	image_release(&image);
	return module;
}

static struct module *module_get(const void *handle)
{
	return object_check(handle, OBJECT_MODULE) ? (struct module *)handle : NULL;
}

static bool loads_eagerly(void)
{
	const char *mode = getenv("CUDA_MODULE_LOADING");

	return mode && !strcmp(mode, "EAGER");
}

/* All device work must end before later work starts; the host does not wait. */
static void serialize_kernels(struct context *context)
{
	struct op *join = context_join(context);

	context_barrier(context, BARRIER_KERNELS, join);
	op_put(join);
}

void function_load(struct function *function, struct context *context)
{
	struct thread *thread = thread_self();
	struct sim_record record = {
		.kind = SIM_LAZY_LOADING,
		.correlation = thread->correlation,
		.start = time_now(),
		.thread = (uint32_t)thread->tid,
		.device = (uint32_t)context->device->ordinal,
		.context = context->id,
	};
	uint32_t device = 1u << context->device->ordinal;

	if (function->loaded & device)
		return;
	function->loaded |= device;
	if (loads_eagerly())
		return;
	serialize_kernels(context);
	time_advance(LOAD_TIME);
	record.end = time_now();
	tool_record(&record);
}

void function_prepare(struct function *function, struct context *context)
{
	struct device *device = context->device;

	function_load(function, context);
	/*
	 * A kernel with more local memory than any before, or the first that prints: the driver
	 * drains the device to allocate it.
	 */
	if (function->local_bytes <= device->local_bytes && (!function->prints || device->prints))
		return;
	if (function->local_bytes > device->local_bytes)
		device->local_bytes = function->local_bytes;
	device->prints |= function->prints;
	device_drain(device, true);
}

static CUresult load_call(void *handle, const void *image)
{
	struct module *module;

	if (!handle || !image)
		return CUDA_ERROR_INVALID_VALUE;
	module = module_load(image);
	if (!module)
		return CUDA_ERROR_INVALID_IMAGE;
	memcpy(handle, &module, sizeof(module));
	return CUDA_SUCCESS;
}

CUresult do_cuModuleLoadDataEx(CUmodule *module, const void *image, unsigned int count,
	CUjit_option *options, void **values)
{
	struct context *context = context_current();
	CUresult result;

	if (!context)
		return CUDA_ERROR_INVALID_CONTEXT;
	device_drain(context->device, true);
	result = load_call(module, image);
	if (!result)
		((struct module *)*module)->context = context;
	return result;
}

CUresult do_cuModuleLoadData(CUmodule *module, const void *image)
{
	return do_cuModuleLoadDataEx(module, image, 0, NULL, NULL);
}

/* Libraries are loaded lazily, without waiting. */
CUresult do_cuLibraryLoadData(CUlibrary *library, const void *code, CUjit_option *jit,
	void **jit_values, unsigned int jit_count, CUlibraryOption *options, void **values,
	unsigned int count)
{
	return load_call(library, code);
}

static CUresult unload_call(const void *handle)
{
	if (!module_get(handle))
		return CUDA_ERROR_INVALID_HANDLE;
	device_drain_all(true);
	if (!module_get(handle))
		return CUDA_ERROR_INVALID_HANDLE;
	module_delete(module_get(handle));
	return CUDA_SUCCESS;
}

static void end_module(void *module, void *context)
{
	if (((struct module *)module)->context == context)
		module_delete(module);
}

void modules_end(struct context *context)
{
	object_each(OBJECT_MODULE, end_module, context);
}

CUresult do_cuModuleUnload(CUmodule handle)
{
	return unload_call(handle);
}

CUresult do_cuLibraryUnload(CUlibrary handle)
{
	return unload_call(handle);
}

CUresult do_cuModuleGetLoadingMode(CUmoduleLoadingMode *mode)
{
	if (!mode)
		return CUDA_ERROR_INVALID_VALUE;
	*mode = loads_eagerly() ? CU_MODULE_EAGER_LOADING : CU_MODULE_LAZY_LOADING;
	return CUDA_SUCCESS;
}

static CUresult find_function(void *handle, const void *module_handle, const char *name)
{
	const struct module *module = module_get(module_handle);
	struct function *function;

	if (!module)
		return CUDA_ERROR_INVALID_HANDLE;
	if (!handle || !name)
		return CUDA_ERROR_INVALID_VALUE;
	for (function = module->functions; function; function = function->next) {
		if (!strcmp(function->name, name))
			break;
	}
	memcpy(handle, &function, sizeof(function));
	return function ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

CUresult do_cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name)
{
	return find_function(function, module, name);
}

CUresult do_cuLibraryGetKernel(CUkernel *kernel, CUlibrary library, const char *name)
{
	return find_function(kernel, library, name);
}

CUresult do_cuLibraryGetModule(CUmodule *module, CUlibrary library)
{
	if (!module_get(library))
		return CUDA_ERROR_INVALID_HANDLE;
	*module = (CUmodule)library;
	return CUDA_SUCCESS;
}

static CUresult find_variable(CUdeviceptr *ptr, size_t *bytes, const void *handle, const char *name)
{
	const struct module *module = module_get(handle);
	struct context *context = context_current();

	if (!module)
		return CUDA_ERROR_INVALID_HANDLE;
	if (!context)
		return CUDA_ERROR_INVALID_CONTEXT;
	if (!name)
		return CUDA_ERROR_INVALID_VALUE;
	return variable_find(module->variables, context->device, PLACE_DEVICE, name, ptr, bytes);
}

CUresult do_cuModuleGetGlobal_v2(CUdeviceptr *ptr, size_t *bytes, CUmodule module, const char *name)
{
	return find_variable(ptr, bytes, module, name);
}

CUresult do_cuLibraryGetGlobal(CUdeviceptr *ptr, size_t *bytes, CUlibrary library, const char *name)
{
	return find_variable(ptr, bytes, library, name);
}
