/* SPDX-License-Identifier: Apache-2.0 */
#include "resolve.h"

#include <cuda.h>
#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>

#include "shim.h"

/* Runs before anything is initialized, in every program: nothing here may be instrumented. */
#define EARLY __attribute__((no_sanitize("address", "undefined")))
#define EXPORT __attribute__((visibility("default")))

typedef void *(*dlsym_function)(void *, const char *);
typedef CUresult (*get_proc_function)(const char *, void **, int, cuuint64_t);
typedef CUresult (*get_proc_v2_function)(const char *, void **, int, cuuint64_t,
	CUdriverProcAddressQueryResult *);

void *driver_reals[CALL_COUNT][VARIANT_COUNT];
static void *real_get_proc, *real_get_proc_v2;

EXPORT CUresult cuGetProcAddress(const char *, void **, int, cuuint64_t);

EARLY dlsym_function resolve_real_dlsym(void)
{
	static dlsym_function real;
	dlsym_function found = __atomic_load_n(&real, __ATOMIC_RELAXED);

	if (found)
		return found;
	found = (dlsym_function)dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.34");
	if (!found)
		found = (dlsym_function)dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5");
	__atomic_store_n(&real, found, __ATOMIC_RELAXED);
	return found;
}

/* An interposed strcmp may not work yet. */
EARLY static int same(const char *a, const char *b)
{
	while (*a && *a == *b) {
		a++;
		b++;
	}
	return *a == *b;
}

EARLY static void *own_wrapper(const char *name, void ***real)
{
	if (same(name, "cuGetProcAddress")) {
		*real = &real_get_proc;
		return (void *)cuGetProcAddress;
	}
	if (same(name, "cuGetProcAddress_v2")) {
		*real = &real_get_proc_v2;
		return (void *)cuGetProcAddress_v2;
	}
	for (unsigned id = 0; id < CALL_COUNT; id++) {
		for (unsigned variant = 0; variant < VARIANT_COUNT; variant++) {
			const struct driver_entry *entry = &driver_entries[id][variant];
			if (entry->name && same(entry->name, name)) {
				*real = &driver_reals[id][variant];
				return entry->wrapper;
			}
		}
	}
	return NULL;
}

EARLY void *dlsym_answer(void *handle, const char *name)
{
	void *wrapper, *found, **real;

	/* RTLD_NEXT and RTLD_DEFAULT find our exports or what the asker means to skip to. */
	if (handle == RTLD_NEXT || handle == RTLD_DEFAULT || !name || name[0] != 'c' ||
		name[1] != 'u')
		return NULL;
	wrapper = own_wrapper(name, &real);
	if (!wrapper)
		return NULL;
	found = resolve_real_dlsym()(handle, name);
	if (!found || found == wrapper)
		return found;
	__atomic_store_n(real, found, __ATOMIC_RELAXED);
	return wrapper;
}

void *driver_library(void)
{
	static void *library;
	void *found = __atomic_load_n(&library, __ATOMIC_RELAXED);

	if (!found) {
		found = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);
		__atomic_store_n(&library, found, __ATOMIC_RELAXED);
	}
	return found;
}

void *driver_symbol(const char *name)
{
	void *library = driver_library();

	return library ? resolve_real_dlsym()(library, name) : NULL;
}

void *driver_resolve(enum call_id id, int variant)
{
	const struct driver_entry *entry = &driver_entries[id][variant];
	void *real = entry->name ? driver_symbol(entry->name) : NULL;

	if (real != entry->wrapper)
		__atomic_store_n(&driver_reals[id][variant], real, __ATOMIC_RELAXED);
	return real == entry->wrapper ? NULL : real;
}

void *runtime_resolve(int major, const char *name)
{
	static const char *const soname[RUNTIME_COUNT] = {
		"libcudart.so.11.0", "libcudart.so.12", "libcudart.so.13"
	};
	void *library = dlopen(soname[major], RTLD_LAZY | RTLD_NOLOAD);
	void *real = NULL;

	/* RTLD_NEXT alone would miss a libcudart that was loaded RTLD_LOCAL. */
	if (library) {
		real = resolve_real_dlsym()(library, name);
		dlclose(library);
	}
	return real ? real : resolve_real_dlsym()(RTLD_NEXT, name);
}

void *wrapper_of(const void *real)
{
	for (unsigned id = 0; id < CALL_COUNT; id++)
		for (int variant = 0; variant < VARIANT_COUNT; variant++)
			if (driver_entries[id][variant].name &&
				driver_real(id, variant) == real)
				return driver_entries[id][variant].wrapper;
	if (real == real_get_proc)
		return (void *)cuGetProcAddress;
	return real == real_get_proc_v2 ? (void *)cuGetProcAddress_v2 : NULL;
}

/* Most are asked for before the first call opens the trace. */
static _Atomic uint64_t passed_early;

static void passed_through(void)
{
	if (shim.writer.header)
		trace_count(&shim.writer, COUNT_PASSED_THROUGH, 1);
	else
		atomic_fetch_add(&passed_early, 1);
}

void resolve_count_early(void)
{
	trace_count(&shim.writer, COUNT_PASSED_THROUGH, atomic_exchange(&passed_early, 0));
}

static void replace(void **function)
{
	void *wrapper;

	if (!function || !*function)
		return;
	wrapper = wrapper_of(*function);
	if (wrapper)
		*function = wrapper;
	else
		passed_through();
}

static void *get_proc_real(void **real, const char *name)
{
	void *found = __atomic_load_n(real, __ATOMIC_RELAXED);

	if (!found) {
		found = driver_symbol(name);
		__atomic_store_n(real, found, __ATOMIC_RELAXED);
	}
	return found;
}

EXPORT CUresult cuGetProcAddress(const char *symbol, void **function, int version,
	cuuint64_t flags)
{
	get_proc_function real =
		(get_proc_function)get_proc_real(&real_get_proc, "cuGetProcAddress");
	CUresult result = real ? real(symbol, function, version, flags)
			       : CUDA_ERROR_SHARED_OBJECT_INIT_FAILED;

	if (result == CUDA_SUCCESS)
		replace(function);
	return result;
}

EXPORT CUresult cuGetProcAddress_v2(const char *symbol, void **function, int version,
	cuuint64_t flags, CUdriverProcAddressQueryResult *status)
{
	get_proc_v2_function real =
		(get_proc_v2_function)get_proc_real(&real_get_proc_v2, "cuGetProcAddress_v2");
	CUresult result = real ? real(symbol, function, version, flags, status)
			       : CUDA_ERROR_SHARED_OBJECT_INIT_FAILED;

	if (result == CUDA_SUCCESS)
		replace(function);
	return result;
}
