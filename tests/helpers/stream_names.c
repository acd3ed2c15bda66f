/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Streams with names of their own, by each function of NVTX that gives one.  Two have the same
 * name, and race.
 */
#include <cuda.h>
#include <dlfcn.h>
#include <nvtx3/nvToolsExtCuda.h>
#include <nvtx3/nvToolsExtCudaRt.h>
#include <stdio.h>
#include <string.h>

static int bad;
static void *libcuda;

#define CALL(name, ...) \
	do { \
		__typeof__(&name) function; \
		*(void **)&function = dlsym(libcuda, #name); \
		bad |= function ? (int)function(__VA_ARGS__) : -1; \
	} while (0)

static CUstream make(void)
{
	CUstream stream = NULL;

	CALL(cuStreamCreate, &stream, CU_STREAM_NON_BLOCKING);
	return stream;
}

/* A name of 600 bytes, whose 256th and 257th byte are one character. */
static void name_at_length(CUstream stream)
{
	char name[601] = "";

	memset(name, 'x', 255);
	for (int at = 255; at + 2 < (int)sizeof(name); at += 2)
		memcpy(name + at, "\u00e9", 2);
	nvtxNameCuStreamA(stream, name);
}

/* Later streams get the handle of a destroyed one, but not its name. */
static void name_and_destroy(void)
{
	CUstream stream = make();

	nvtxNameCudaStreamA(stream, "gone");
	CALL(cuStreamDestroy_v2, stream);
}

static void name_and_take_away(CUstream stream)
{
	nvtxNameCuStreamA(stream, "taken away");
	nvtxNameCuStreamA(stream, NULL);
}

static void use(CUstream one, CUstream other, size_t distance)
{
	CUdeviceptr memory = 0;

	CALL(cuMemAlloc_v2, &memory, 2 << 20);
	CALL(cuMemsetD8Async, memory, 1, 1 << 20, one);
	CALL(cuMemsetD8Async, memory + distance, 2, 1 << 20, other);
	CALL(cuCtxSynchronize, );
	CALL(cuMemFree_v2, memory);
}

int main(void)
{
	CUcontext context = NULL;
	CUstream copy, wide, renamed, alike;

	libcuda = dlopen("libcuda.so.1", RTLD_NOW);
	if (!libcuda)
		return 2;
	CALL(cuInit, 0);
	CALL(cuDevicePrimaryCtxRetain, &context, 0);
	CALL(cuCtxSetCurrent, context);
	name_and_destroy();
	make();
	copy = make();
	nvtxNameCudaStreamA(copy, "copy");
	wide = make();
	nvtxNameCuStreamW(wide, L"z\u20acro");
	renamed = make();
	nvtxNameCuStreamA(renamed, "first");
	nvtxNameCudaStreamW(renamed, L"a\n`b`");
	alike = make();
	nvtxNameCuStreamA(alike, "a\n`b`");
	name_at_length(make());
	name_and_take_away(make());
	nvtxNameCudaStreamA(CU_STREAM_LEGACY, "default");
	use(copy, wide, 1 << 20);
	use(renamed, alike, 0);
	printf("%d\n", bad);
	return bad;
}
