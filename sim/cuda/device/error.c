/* SPDX-License-Identifier: Apache-2.0 */
#include <cuda.h>
#include <stddef.h>

struct error {
	unsigned int number;
	const char *name, *text;
};

static const struct error errors[] = {
#define ERROR(number, driver, runtime, text) { number, #driver, text },
#include "errors.def"
};

static const struct error *find(CUresult result)
{
	for (size_t i = 0; i < sizeof(errors) / sizeof(*errors); i++) {
		if (errors[i].number == (unsigned int)result && errors[i].name[0])
			return &errors[i];
	}
	return NULL;
}

CUresult cuGetErrorName(CUresult result, const char **name)
{
	const struct error *error = find(result);

	if (!name)
		return CUDA_ERROR_INVALID_VALUE;
	*name = error ? error->name : NULL;
	return error ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuGetErrorString(CUresult result, const char **text)
{
	const struct error *error = find(result);

	if (!text)
		return CUDA_ERROR_INVALID_VALUE;
	*text = error ? error->text : NULL;
	return error ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
