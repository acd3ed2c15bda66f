/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The few driver calls that have no counterpart in the runtime.  Found at run time, so that the
 * program starts without a driver and can say so; without one, calls fail.
 */
#ifndef CUFENCE_PROBE_DRIVER_H
#define CUFENCE_PROBE_DRIVER_H

#include <cuda.h>
#include <dlfcn.h>

/* The driver's function, with the type of the prototype that cuda.h gives it; or NULL. */
#define PROBE_DRIVER(name) ((__typeof__(&(name)))probe_driver_symbol(PROBE_TEXT(name)))
#define PROBE_TEXT(name) PROBE_TEXT_(name)
#define PROBE_TEXT_(name) #name

static inline void *probe_driver_symbol(const char *name)
{
	void *library = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);

	return library ? dlsym(library, name) : NULL;
}

/* The same error in the runtime's terms: their numbers agree. */
static inline cudaError_t probe_driver_error(CUresult error)
{
	return (cudaError_t)error;
}

#endif
