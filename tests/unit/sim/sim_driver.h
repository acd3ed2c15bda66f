/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The simulated driver, reached as programs reach it: dlopen, dlsym, cuGetProcAddress.
 */
#ifndef CUFENCE_TEST_SIM_DRIVER_H
#define CUFENCE_TEST_SIM_DRIVER_H

#include "unit.h"

#include <dlfcn.h>
#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>
#include <cuda_runtime_api.h>

#define MS 1000000ull

/* Two kernels of namespace cufence that last their first parameter, and one that does not say. */
static const char sim_ptx[] =
	".version 8.0\n.target sm_90\n.address_size 64\n"
	".visible .entry _ZN7cufence4spinEy(.param .u64 a) { ret; }\n"
	".visible .entry _ZN7cufence5touchEyPfm(.param .u64 a, .param .u64 b) { ret; }\n"
	".visible .entry _Z5plainPf(.param .u64 a) { ret; }\n";

static struct sim_driver {
#define DRIVER(symbol, base, since, params, args, fields, kind, traits) CUresult(*symbol) params;
#define DRIVER_PT(symbol, base, since, suffix, pt_since, params, args, fields, kind, traits) \
	CUresult(*symbol) params; \
	CUresult(*symbol##suffix) params;
#include "calls.def"
#define MORE(symbol, base, since, params, args) CUresult(*symbol) params;
#define MORE_PT(symbol, base, since, suffix, pt_since, params, args) \
	CUresult(*symbol) params; \
	CUresult(*symbol##suffix) params;
#include "../../../sim/cuda_more.def"
	CUresult (*cuGetProcAddress_v2)(const char *name, void **function, int version,
		cuuint64_t flags, CUdriverProcAddressQueryResult *status);
	uint64_t (*cufence_sim_clock)(void);
} drv;

static CUfunction spin_function;

static inline void *sim_open(const char *name)
{
	const char *build = getenv("TEST_BUILD");
	char path[4096];
	void *library;

	snprintf(path, sizeof(path), "%s/sim/%s", build ? build : "build", name);
	library = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
	if (!library)
		fprintf(stderr, "%s\n", dlerror());
	return library;
}

static inline void *sim_symbol(void *library, const char *name)
{
	void *symbol = dlsym(library, name);

	if (!symbol)
		fprintf(stderr, "no %s\n", name);
	assert_non_null(symbol);
	return symbol;
}

/* Opens the library and creates a context; a cmocka group setup. */
static inline int sim_setup(void **state)
{
	void *library = sim_open("libcuda.so.1");
	CUcontext context;
	CUmodule module;

	assert_non_null(library);
#define DRIVER(symbol, base, since, params, args, fields, kind, traits) \
	*(void **)&drv.symbol = sim_symbol(library, #symbol);
#define DRIVER_PT(symbol, base, since, suffix, pt_since, params, args, fields, kind, traits) \
	*(void **)&drv.symbol = sim_symbol(library, #symbol); \
	*(void **)&drv.symbol##suffix = sim_symbol(library, #symbol #suffix);
#include "calls.def"
#define MORE(symbol, base, since, params, args) \
	*(void **)&drv.symbol = sim_symbol(library, #symbol);
#define MORE_PT(symbol, base, since, suffix, pt_since, params, args) \
	*(void **)&drv.symbol = sim_symbol(library, #symbol); \
	*(void **)&drv.symbol##suffix = sim_symbol(library, #symbol #suffix);
#include "../../../sim/cuda_more.def"
	*(void **)&drv.cuGetProcAddress_v2 = sim_symbol(library, "cuGetProcAddress_v2");
	*(void **)&drv.cufence_sim_clock = sim_symbol(library, "cufence_sim_clock");
	assert_int_equal(drv.cuInit(0), 0);
	assert_int_equal(drv.cuDevicePrimaryCtxRetain(&context, 0), 0);
	assert_int_equal(drv.cuCtxSetCurrent(context), 0);
	assert_int_equal(drv.cuModuleLoadData(&module, sim_ptx), 0);
	assert_int_equal(drv.cuModuleGetFunction(&spin_function, module, "_ZN7cufence4spinEy"), 0);
	return 0;
}

static inline CUresult spin(CUstream stream, uint64_t ns)
{
	void *values[] = { &ns };

	return drv.cuLaunchKernel(spin_function, 1, 1, 1, 32, 1, 1, 0, stream, values, NULL);
}

static inline CUstream stream_create(unsigned int flags)
{
	CUstream stream;

	assert_int_equal(drv.cuStreamCreate(&stream, flags), 0);
	return stream;
}

/* Everything before is done, and the kernel is loaded: no test sees another's work. */
static inline int sim_quiet(void **state)
{
	assert_int_equal(spin(NULL, 1000), 0);
	return drv.cuCtxSynchronize();
}

#define SIM_TEST(name) TEST_WITH(name, sim_quiet, NULL)

/* Virtual ms that a call took; it must succeed. */
#define TOOK(call) \
	({ \
		uint64_t took_from_ = drv.cufence_sim_clock(); \
		assert_int_equal(call, 0); \
		(double)(drv.cufence_sim_clock() - took_from_) / 1e6; \
	})

#define assert_ok(call) assert_int_equal(call, CUDA_SUCCESS)
#define assert_waited(call, ms) assert_in_range((unsigned long)TOOK(call), (ms)-1, (ms) + 1)
#define assert_at_once(call) assert_true(TOOK(call) < 0.2)

#endif
