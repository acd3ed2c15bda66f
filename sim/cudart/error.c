/* SPDX-License-Identifier: Apache-2.0 */
#include "cudart.h"

static _Thread_local cudaError_t last_error;

static const struct {
	cudaError_t number;
	const char *name, *text;
} errors[] = {
#define ERROR(number, driver, runtime, text) { runtime, #runtime, text },
#include "errors.def"
};

cudaError_t simrt_error(cudaError_t error)
{
	/*
	 * "Not ready" is not an error: the runtime of CUDA 13.0 does not store it as the last
	 * error.
	 */
	if (error && error != cudaErrorNotReady)
		last_error = error;
	return error;
}

/* Both APIs use the same numbers. */
cudaError_t simrt_result(CUresult result)
{
	return simrt_error((cudaError_t)result);
}

cudaError_t cudaGetLastError(void)
{
	cudaError_t error = last_error;

	last_error = cudaSuccess;
	return error;
}

cudaError_t cudaPeekAtLastError(void)
{
	return last_error;
}

const char *cudaGetErrorName(cudaError_t error)
{
	for (size_t i = 0; i < sizeof(errors) / sizeof(*errors); i++) {
		if (errors[i].number == error)
			return errors[i].name;
	}
	return "unrecognized error code";
}

const char *cudaGetErrorString(cudaError_t error)
{
	for (size_t i = 0; i < sizeof(errors) / sizeof(*errors); i++) {
		if (errors[i].number == error)
			return errors[i].text;
	}
	return "unrecognized error code";
}
