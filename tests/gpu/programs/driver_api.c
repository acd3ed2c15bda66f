/* SPDX-License-Identifier: Apache-2.0 */
/* The driver API alone, linked to libcuda: PTX from memory, parameters in both forms. */
#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>

#define CHECK(call) \
	do { \
		CUresult result_ = (call); \
		if (result_ != CUDA_SUCCESS) { \
			fprintf(stderr, "%s: %d\n", #call, (int)result_); \
			exit(1); \
		} \
	} while (0)

static const char ptx[] =
	".version 7.0\n.target sm_75\n.address_size 64\n"
	".visible .entry add_to(.param .u64 p, .param .u32 n, .param .f32 value)\n{\n"
	".reg .pred %q; .reg .b32 %r<6>; .reg .f32 %f<3>; .reg .b64 %d<4>;\n"
	"ld.param.u64 %d1, [p]; ld.param.u32 %r1, [n]; ld.param.f32 %f1, [value];\n"
	"mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mov.u32 %r4, %tid.x;\n"
	"mad.lo.s32 %r5, %r2, %r3, %r4; setp.ge.u32 %q, %r5, %r1; @%q bra DONE;\n"
	"cvta.to.global.u64 %d1, %d1; mul.wide.u32 %d2, %r5, 4; add.u64 %d3, %d1, %d2;\n"
	"ld.global.f32 %f2, [%d3]; add.f32 %f2, %f2, %f1; st.global.f32 [%d3], %f2;\n"
	"DONE: ret;\n}\n";

enum { COUNT = 4096, ROUNDS = 50 };

int main(void)
{
	CUdevice device;
	CUcontext context;
	CUmodule module;
	CUfunction add_to;
	CUstream stream;
	CUdeviceptr memory;
	static float host[COUNT];
	unsigned count = COUNT;
	float value = 0.5f, sum = 0;
	void *values[] = { &memory, &count, &value };
	struct {
		CUdeviceptr p;
		unsigned n;
		float value;
	} packed;
	size_t size = sizeof(packed);
	void *extra[] = { CU_LAUNCH_PARAM_BUFFER_POINTER, &packed, CU_LAUNCH_PARAM_BUFFER_SIZE,
		&size, CU_LAUNCH_PARAM_END };

	CHECK(cuInit(0));
	CHECK(cuDeviceGet(&device, 0));
	CHECK(cuDevicePrimaryCtxRetain(&context, device));
	CHECK(cuCtxSetCurrent(context));
	CHECK(cuModuleLoadData(&module, ptx));
	CHECK(cuModuleGetFunction(&add_to, module, "add_to"));
	CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	CHECK(cuMemAlloc(&memory, sizeof(host)));
	CHECK(cuMemsetD32Async(memory, 0, COUNT, stream));
	packed.p = memory;
	packed.n = COUNT;
	packed.value = value;
	for (int i = 0; i < ROUNDS; i++)
		CHECK(cuLaunchKernel(add_to, COUNT / 256, 1, 1, 256, 1, 1, 0, stream,
			i % 2 ? values : NULL, i % 2 ? NULL : extra));
	CHECK(cuMemcpyDtoHAsync(host, memory, sizeof(host), stream));
	CHECK(cuStreamSynchronize(stream));
	for (int i = 0; i < COUNT; i++)
		sum += host[i];
	printf("%.1f\n", (double)sum);
	CHECK(cuMemFree(memory));
	CHECK(cuStreamDestroy(stream));
	CHECK(cuModuleUnload(module));
	return sum != COUNT * ROUNDS * 0.5f;
}
