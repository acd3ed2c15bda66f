/* SPDX-License-Identifier: Apache-2.0 */
/* Queries and attributes of functions. */
#include "cuda_calls.h"
#include "cuda_module.h"
#include "cuda_state.h"

#define SHARED_MAX 232448 /* bytes a block can opt in to */

static struct function *function_get(const void *handle)
{
	return object_check(handle, OBJECT_FUNCTION) ? (struct function *)handle : NULL;
}

CUresult do_cuKernelGetFunction(CUfunction *function, CUkernel kernel)
{
	if (!function_get(kernel))
		return CUDA_ERROR_INVALID_HANDLE;
	*function = (CUfunction)kernel;
	return CUDA_SUCCESS;
}

static CUresult get_name(const char **name, const void *handle)
{
	const struct function *function = function_get(handle);

	if (!function)
		return CUDA_ERROR_INVALID_HANDLE;
	*name = function->name;
	return CUDA_SUCCESS;
}

CUresult do_cuKernelGetName(const char **name, CUkernel kernel)
{
	return get_name(name, kernel);
}

CUresult do_cuFuncGetName(const char **name, CUfunction function)
{
	return get_name(name, function);
}

static CUresult get_parameter(const void *handle, size_t index, size_t *offset, size_t *size)
{
	const struct function *function = function_get(handle);

	if (!function)
		return CUDA_ERROR_INVALID_HANDLE;
	if (!offset || index >= function->parameter_count)
		return CUDA_ERROR_INVALID_VALUE;
	*offset = function->parameters[index].offset;
	if (size)
		*size = function->parameters[index].size;
	return CUDA_SUCCESS;
}

CUresult do_cuKernelGetParamInfo(CUkernel kernel, size_t index, size_t *offset, size_t *size)
{
	return get_parameter(kernel, index, offset, size);
}

CUresult do_cuFuncGetParamInfo(CUfunction function, size_t index, size_t *offset, size_t *size)
{
	return get_parameter(function, index, offset, size);
}

/* Querying attributes loads the function, like its first launch. */
CUresult do_cuFuncGetAttribute(int *value, CUfunction_attribute attribute, CUfunction handle)
{
	static const int values[CU_FUNC_ATTRIBUTE_MAX] = {
		[CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK] = 1024,
		[CU_FUNC_ATTRIBUTE_NUM_REGS] = 32,
		[CU_FUNC_ATTRIBUTE_BINARY_VERSION] = SIM_ARCH,
	};
	struct function *function = function_get(handle);
	struct context *context = context_current();

	if (!function)
		return CUDA_ERROR_INVALID_HANDLE;
	if (!context)
		return CUDA_ERROR_INVALID_CONTEXT;
	if (!value || (unsigned int)attribute >= CU_FUNC_ATTRIBUTE_MAX)
		return CUDA_ERROR_INVALID_VALUE;
	function_load(function, context);
	*value = values[attribute];
	if (attribute == CU_FUNC_ATTRIBUTE_PTX_VERSION)
		*value = (int)function->module->arch;
	if (attribute == CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES)
		*value = (int)function->local_bytes;
	if (attribute == CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES)
		*value = (int)function->shared_bytes;
	if (attribute == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES)
		*value = function->shared_limit;
	return CUDA_SUCCESS;
}

CUresult do_cuFuncSetAttribute(CUfunction handle, CUfunction_attribute attribute, int value)
{
	struct function *function = function_get(handle);

	if (!function)
		return CUDA_ERROR_INVALID_HANDLE;
	if (attribute < CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES ||
		attribute >= CU_FUNC_ATTRIBUTE_MAX)
		return CUDA_ERROR_INVALID_VALUE;
	if (attribute != CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES)
		return CUDA_SUCCESS;
	if (value < 0 || value > SHARED_MAX - (int)function->shared_bytes)
		return CUDA_ERROR_INVALID_VALUE;
	function->shared_limit = value;
	return CUDA_SUCCESS;
}

CUresult do_cuFuncGetModule(CUmodule *module, CUfunction handle)
{
	const struct function *function = function_get(handle);

	if (!function)
		return CUDA_ERROR_INVALID_HANDLE;
	*module = (CUmodule)function->module;
	return CUDA_SUCCESS;
}

CUresult do_cuFuncLoad(CUfunction handle)
{
	struct function *function = function_get(handle);
	struct context *context = context_current();

	if (!function)
		return CUDA_ERROR_INVALID_HANDLE;
	if (!context)
		return CUDA_ERROR_INVALID_CONTEXT;
	function_load(function, context);
	return CUDA_SUCCESS;
}
