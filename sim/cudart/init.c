/* SPDX-License-Identifier: Apache-2.0 */
/* Connection to the driver, and contexts of devices and threads. */
#include "cudart.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>

#define DEVICES 16

typedef CUresult (*get_proc_address)(const char *symbol, void **function, int version,
	cuuint64_t flags, CUdriverProcAddressQueryResult *status);

struct simrt_driver simrt_driver;

struct entry {
	void *pointer; /* to a member of simrt_driver */
	const char *base;
	int version;
	cuuint64_t flags;
};

static const struct entry entries[] = {
#define DRIVER(symbol, base, since, params, args, fields, kind, traits) \
	{ &simrt_driver.symbol, #base, since, 0 },
#define DRIVER_PT(symbol, base, since, suffix, pt_since, params, args, fields, kind, traits) \
	{ &simrt_driver.symbol, #base, since, 0 }, \
		{ &simrt_driver.symbol##suffix, #base, pt_since, 2 },
#include "calls.def"
#define MORE(symbol, base, since, params, args) { &simrt_driver.symbol, #base, since, 0 },
#define MORE_PT(symbol, base, since, suffix, pt_since, params, args) \
	{ &simrt_driver.symbol, #base, since, 0 }, \
		{ &simrt_driver.symbol##suffix, #base, pt_since, 2 },
#include "cuda_more.def"
	{ &simrt_driver.cuDriverGetVersion, "cuDriverGetVersion", 2020, 0 },
	{ &simrt_driver.cuGetProcAddress_v2, "cuGetProcAddress", 12000, 0 },
};

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static cudaError_t init_error;
static CUcontext (*primary_context)(int device);
static CUcontext primary[DEVICES];
static _Thread_local bool bound;  /* a context is current */
static _Thread_local int current; /* device */

static cudaError_t load_driver(void)
{
	void *library = dlopen("libcuda.so.1", RTLD_NOW);
	get_proc_address get;
	void *probe;

	if (!library)
		return cudaErrorInsufficientDriver;
	*(void **)&get = dlsym(library, "cuGetProcAddress_v2");
	*(void **)&primary_context = dlsym(library, "sim_primary_context");
	if (!get || !primary_context)
		return cudaErrorInsufficientDriver;
	get("", &probe, 0, 0, NULL); /* NVIDIA's runtime probes it, too */
	for (size_t i = 0; i < sizeof(entries) / sizeof(*entries); i++) {
		const struct entry *e = &entries[i];

		if (get(e->base, e->pointer, e->version, e->flags, NULL)) {
			fprintf(stderr, "cufence simulator: the driver has no %s\n", e->base);
			return cudaErrorInsufficientDriver;
		}
	}
	return cudaSuccess;
}

static void init_once(void)
{
	init_error = load_driver();
	if (!init_error)
		init_error = (cudaError_t)simrt_driver.cuInit(0);
}

cudaError_t simrt_init(void)
{
	pthread_once(&once, init_once);
	return simrt_error(init_error);
}

static CUresult retain(int device)
{
	CUresult result = CUDA_SUCCESS;

	pthread_mutex_lock(&lock);
	if (!primary[device])
		result = simrt_driver.cuDevicePrimaryCtxRetain(&primary[device], device);
	pthread_mutex_unlock(&lock);
	return result;
}

/* NVIDIA's runtime does this after the driver has shut down. */
__attribute__((destructor)) static void release(void)
{
	for (int device = 0; device < DEVICES; device++) {
		if (primary[device])
			simrt_driver.cuDevicePrimaryCtxRelease(device);
	}
}

CUcontext simrt_primary(int device)
{
	cudaError_t error = simrt_context();

	if (!error)
		error = device >= 0 && device < DEVICES ? simrt_result(retain(device))
							: simrt_error(cudaErrorInvalidDevice);
	return error ? NULL : primary[device];
}

/* NVIDIA's runtime makes the context current before it retains it. */
static CUresult bind_device(int device)
{
	CUresult result = simrt_driver.cuCtxSetCurrent(primary_context(device));

	if (!result)
		result = retain(device);
	bound = !result;
	if (!result)
		current = device;
	return result;
}

cudaError_t simrt_context(void)
{
	cudaError_t error = bound ? cudaSuccess : simrt_init();
	CUcontext context;

	if (bound || error)
		return error;
	/* The program may have made a context current through the driver API. */
	if (!simrt_driver.cuCtxGetCurrent(&context) && context) {
		bound = true;
		return simrt_result(simrt_driver.cuCtxGetDevice(&current));
	}
	return simrt_result(bind_device(current));
}

cudaError_t cudaSetDevice(int device)
{
	cudaError_t error = simrt_init();
	int count = 0;

	if (error)
		return error;
	simrt_driver.cuDeviceGetCount(&count);
	if (device < 0 || device >= count || device >= DEVICES)
		return simrt_error(cudaErrorInvalidDevice);
	return simrt_result(bind_device(device));
}

/* Creates the device's context without making the device current. */
cudaError_t cudaInitDevice(int device, unsigned int device_flags, unsigned int flags)
{
	return simrt_primary(device) ? cudaSuccess : cudaPeekAtLastError();
}

cudaError_t cudaGetDeviceFlags(unsigned int *flags)
{
	CALL(simrt_driver.cuCtxGetFlags(flags));
}

cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned int flags)
{
	CUcontext context = simrt_primary(peer);

	if (!context)
		return cudaPeekAtLastError();
	return simrt_result(simrt_driver.cuCtxEnablePeerAccess(context, flags));
}

cudaError_t cudaDeviceDisablePeerAccess(int peer)
{
	CUcontext context = simrt_primary(peer);

	if (!context)
		return cudaPeekAtLastError();
	return simrt_result(simrt_driver.cuCtxDisablePeerAccess(context));
}

cudaError_t cudaGetDevice(int *device)
{
	cudaError_t error = simrt_init();

	if (error)
		return error;
	if (!device)
		return simrt_error(cudaErrorInvalidValue);
	*device = current;
	return cudaSuccess;
}

cudaError_t cudaDeviceReset(void)
{
	cudaError_t error = simrt_context();

	if (error)
		return error;
	bound = false;
	return simrt_result(simrt_driver.cuDevicePrimaryCtxReset_v2(current));
}
