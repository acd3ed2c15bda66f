/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The simulated CUDA runtime: like NVIDIA's a thin layer over the driver API, which it reaches only
 * through dlopen, dlsym and cuGetProcAddress, so that hooks of these functions see its calls.  It
 * is built as libcudart.so.13 and as an archive for static linking.
 *
 * Each function makes the driver call that NVIDIA's makes.  A _ptds or _ptsz entry point uses the
 * driver's entry point of that kind.
 */
#ifndef CUFENCE_SIM_CUDART_H
#define CUFENCE_SIM_CUDART_H

#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <stdbool.h>

/* Every driver call of the tables, by exported symbol. */
struct simrt_driver {
#define DRIVER(symbol, base, since, params, args, fields, kind, traits) CUresult(*symbol) params;
#define DRIVER_PT(symbol, base, since, suffix, pt_since, params, args, fields, kind, traits) \
	CUresult(*symbol) params; \
	CUresult(*symbol##suffix) params;
#include "calls.def"
#define MORE(symbol, base, since, params, args) CUresult(*symbol) params;
#define MORE_PT(symbol, base, since, suffix, pt_since, params, args) \
	CUresult(*symbol) params; \
	CUresult(*symbol##suffix) params;
#include "cuda_more.def"
	CUresult (*cuDriverGetVersion)(int *version);
	CUresult (*cuGetProcAddress_v2)(const char *symbol, void **function, int version,
		cuuint64_t flags, CUdriverProcAddressQueryResult *status);
};

/* NVIDIA's header declares the per-thread entry points under the plain names only. */
#define DECLARE_11(symbol, params)
#define DECLARE_12(symbol, params)
#define DECLARE_13(symbol, params) cudaError_t symbol params;
#define RUNTIME_PT(symbol, suffix, first, last, params, args) DECLARE_##last(symbol##suffix, params)
#include "calls.def"

/* Valid after simrt_init() succeeded. */
extern struct simrt_driver simrt_driver;

/* Loads and initializes the driver, once. */
cudaError_t simrt_init(void);

/* As simrt_init(), and makes the device's primary context current if the thread has none. */
cudaError_t simrt_context(void);

/* Stores an error for cudaGetLastError(); returns it. */
cudaError_t simrt_error(cudaError_t error);
cudaError_t simrt_result(CUresult result);

/*
 * Returns the CUkernel of a host function registered by nvcc's code; loads its library at first
 * use.
 */
cudaError_t simrt_kernel(const void *host_function, CUfunction *function);

/* Returns address and size of a device variable by its host symbol. */
cudaError_t simrt_variable(const void *symbol, CUdeviceptr *ptr, size_t *bytes);

/* Converts an element format to the driver's; false: there is none. */
bool simrt_format(const struct cudaChannelFormatDesc *d, CUarray_format *format,
	unsigned int *channels);

/* Both APIs have the same structure. */
static inline CUmemLocation simrt_location(struct cudaMemLocation location)
{
	return (CUmemLocation){ .type = (CUmemLocationType)location.type, .id = location.id };
}

/*
 * Returns the primary context of a device, created if needed; NULL, with the error stored, on
 * failure.
 */
CUcontext simrt_primary(int device);

/* The legacy or the per-thread variant of a driver call. */
#define PICK(per_thread, symbol, suffix) \
	((per_thread) ? simrt_driver.symbol##suffix : simrt_driver.symbol)

/* Calls the driver with a current context. */
#define CALL(...) \
	do { \
		cudaError_t error_ = simrt_context(); \
		return error_ ? error_ : simrt_result(__VA_ARGS__); \
	} while (0)

#endif
