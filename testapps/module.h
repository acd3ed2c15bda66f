/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Code that a program makes at run time, as NVRTC, Triton and the like do: PTX, loaded by the
 * driver's calls, which are found through the runtime.
 */
#ifndef CUFENCE_MODULE_H
#define CUFENCE_MODULE_H

#include <cuda.h>

#include "app.h"

#define CHECK_DRIVER(call) \
	do { \
		CUresult result_ = (call); \
		if (result_ != CUDA_SUCCESS) { \
			fprintf(stderr, "%s:%d: %s: error %d\n", __FILE__, __LINE__, #call, \
				result_); \
			exit(1); \
		} \
	} while (0)

struct driver {
	CUresult (*load)(CUmodule *module, const void *image);
	CUresult (*unload)(CUmodule module);
	CUresult (*get)(CUfunction *function, CUmodule module, const char *name);
	CUresult (*load_function)(CUfunction function);
	CUresult (*launch)(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
		unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,
		CUstream stream, void **parameters, void **extra);
};

static inline void find_driver_call(const char *name, void *call)
{
	cudaDriverEntryPointQueryResult found;

	CHECK(cudaGetDriverEntryPointByVersion(name, (void **)call, 12040, cudaEnableDefault,
		&found));
}

static inline struct driver find_driver()
{
	struct driver driver;

	find_driver_call("cuModuleLoadData", &driver.load);
	find_driver_call("cuModuleUnload", &driver.unload);
	find_driver_call("cuModuleGetFunction", &driver.get);
	find_driver_call("cuFuncLoad", &driver.load_function);
	find_driver_call("cuLaunchKernel", &driver.launch);
	return driver;
}

/* cufence::add_one(unsigned long long spin_ns, float *data), for one block of any size. */
static const char ADD_ONE_NAME[] = "_ZN7cufence7add_oneEyPf";
static const char ADD_ONE[] = R"(
.version 6.4
.target sm_75
.address_size 64
.visible .entry _ZN7cufence7add_oneEyPf(.param .u64 spin_ns, .param .u64 data)
{
	.reg .b64 %spin, %data, %start, %now, %at;
	.reg .b32 %thread;
	.reg .f32 %value;
	.reg .pred %early;
	ld.param.u64 %spin, [spin_ns];
	ld.param.u64 %data, [data];
	cvta.to.global.u64 %data, %data;
	mov.u64 %start, %globaltimer;
	mov.u32 %thread, %tid.x;
	mul.wide.u32 %at, %thread, 4;
	add.u64 %at, %data, %at;
	ld.global.f32 %value, [%at];
	add.f32 %value, %value, 0f3F800000;
	st.global.f32 [%at], %value;
again:
	mov.u64 %now, %globaltimer;
	sub.u64 %now, %now, %start;
	setp.lt.u64 %early, %now, %spin;
	@%early bra again;
	ret;
}
)";

#endif
