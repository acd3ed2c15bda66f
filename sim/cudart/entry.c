/* SPDX-License-Identifier: Apache-2.0 */
/* Driver functions by name, for programs that do not link to libcuda. */
#include "cudart.h"

/* An unknown name is no error: the status reports it (documented for cudaGetDriverEntryPoint). */
static cudaError_t find(const char *symbol, void **function, int version, unsigned long long flags,
	enum cudaDriverEntryPointQueryResult *status)
{
	CUdriverProcAddressQueryResult found = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
	cudaError_t error = simrt_init();
	CUresult result;

	if (error)
		return error;
	if (!symbol || !function || flags > cudaEnablePerThreadDefaultStream)
		return simrt_error(cudaErrorInvalidValue);
	result = simrt_driver.cuGetProcAddress_v2(symbol, function, version, flags, &found);
	if (status)
		*status = (enum cudaDriverEntryPointQueryResult)found;
	return simrt_result(result == CUDA_ERROR_NOT_FOUND ? CUDA_SUCCESS : result);
}

/* Flags 0 selects the variant of the caller's default stream compilation. */
static unsigned long long per_thread(unsigned long long flags)
{
	return flags ? flags : cudaEnablePerThreadDefaultStream;
}

cudaError_t cudaGetDriverEntryPointByVersion(const char *symbol, void **function,
	unsigned int version, unsigned long long flags,
	enum cudaDriverEntryPointQueryResult *status)
{
	return find(symbol, function, (int)version, flags, status);
}

cudaError_t cudaGetDriverEntryPointByVersion_ptsz(const char *symbol, void **function,
	unsigned int version, unsigned long long flags,
	enum cudaDriverEntryPointQueryResult *status);
cudaError_t cudaGetDriverEntryPointByVersion_ptsz(const char *symbol, void **function,
	unsigned int version, unsigned long long flags,
	enum cudaDriverEntryPointQueryResult *status)
{
	return find(symbol, function, (int)version, per_thread(flags), status);
}

cudaError_t cudaGetDriverEntryPoint(const char *symbol, void **function, unsigned long long flags,
	enum cudaDriverEntryPointQueryResult *status)
{
	return find(symbol, function, CUDART_VERSION, flags, status);
}

cudaError_t cudaGetDriverEntryPoint_ptsz(const char *symbol, void **function,
	unsigned long long flags, enum cudaDriverEntryPointQueryResult *status);
cudaError_t cudaGetDriverEntryPoint_ptsz(const char *symbol, void **function,
	unsigned long long flags, enum cudaDriverEntryPointQueryResult *status)
{
	return find(symbol, function, CUDART_VERSION, per_thread(flags), status);
}
