/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A libcuda.so.1 (and with CUDART defined a libcudart.so.13) whose calls do nothing for STUB_NS
 * nanoseconds: the additional time under the recorder is the recorder's.  With STUB_COLD=N calls
 * go through N lines of code, with a branch in each, and as many of data.  Like a real driver,
 * this removes the recorder's code and data from the first level's caches and the branch
 * predictors.  For bench/micro.
 */
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#ifndef CUDART

#define LINES 8192 /* as in the .rept below */

static int context, words = 16;
static long pace; /* ns */
static int cold;  /* lines */

__attribute__((constructor)) static void start(void)
{
	const char *text = getenv("STUB_NS");

	pace = text ? atol(text) : 0;
	text = getenv("STUB_COLD");
	cold = text ? atoi(text) : 0;
	if (cold < 0 || cold > LINES)
		cold = LINES;
}

/* One branch in each line. */
extern char stub_walk_code[];
__asm__(".text\n.globl stub_walk_code\n.p2align 6\nstub_walk_code:\n"
	".rept 8192\njmp 1f\n.p2align 6\n1:\n.endr\nret\n");

static void walk(void)
{
	static volatile char data[LINES][64];

	((void (*)(void))(stub_walk_code + (LINES - cold) * 64))();
	for (int i = 0; i < cold; i++)
		data[i][0]++;
}

static long long now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000ll + now.tv_nsec;
}

static CUresult done(CUresult result)
{
	long long start = pace ? now_ns() : 0;

	if (cold)
		walk();
	while (pace && now_ns() - start < pace)
		;
	return result;
}

CUresult cuInit(unsigned int flags)
{
	return CUDA_SUCCESS;
}
CUresult cuLaunchHostFunc(CUstream stream, CUhostFn function, void *data)
{
	function(data);
	return done(CUDA_SUCCESS);
}
CUresult cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus *status)
{
	*status = CU_STREAM_CAPTURE_STATUS_NONE;
	return CUDA_SUCCESS;
}
CUresult cuDriverGetVersion(int *version)
{
	*version = 13000;
	return CUDA_SUCCESS;
}
CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute attribute, CUdevice device)
{
	*value = 1;
	return CUDA_SUCCESS;
}
CUresult cuDeviceGetName(char *name, int length, CUdevice device)
{
	strncpy(name, "stub", (size_t)length);
	return CUDA_SUCCESS;
}
CUresult cuDeviceTotalMem(size_t *bytes, CUdevice device)
{
	*bytes = 1 << 30;
	return CUDA_SUCCESS;
}
CUresult cuCtxGetCurrent(CUcontext *current)
{
	*current = (CUcontext)&context;
	return CUDA_SUCCESS;
}
CUresult cuCtxGetDevice(CUdevice *device)
{
	*device = 0;
	return CUDA_SUCCESS;
}
CUresult cuCtxGetFlags(unsigned int *flags)
{
	*flags = 0;
	return CUDA_SUCCESS;
}
CUresult cuKernelGetName(const char **name, CUkernel kernel)
{
	*name = "stub";
	return CUDA_SUCCESS;
}
CUresult cuKernelGetParamInfo(CUkernel kernel, size_t index, size_t *offset, size_t *size)
{
	if (index >= (size_t)words)
		return CUDA_ERROR_INVALID_VALUE;
	*offset = index * 8;
	*size = 8;
	return CUDA_SUCCESS;
}
CUresult cuMemAlloc(CUdeviceptr *address, size_t bytes)
{
	*address = 0x7f0000000000ull;
	return CUDA_SUCCESS;
}
CUresult cuMemFree(CUdeviceptr address)
{
	return CUDA_SUCCESS;
}
CUresult cuMemcpyDtoHAsync(void *dst, CUdeviceptr src, size_t bytes, CUstream stream)
{
	return done(CUDA_SUCCESS);
}
CUresult cuEventRecord(CUevent event, CUstream stream)
{
	return done(CUDA_SUCCESS);
}
CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned int flags)
{
	return done(CUDA_SUCCESS);
}
/* Stream 16 is always busy. */
CUresult cuStreamQuery(CUstream stream)
{
	return done(stream == (CUstream)16 ? CUDA_ERROR_NOT_READY : CUDA_SUCCESS);
}
CUresult cuKernelGetAttribute(int *value, CUfunction_attribute attribute, CUkernel kernel,
	CUdevice device)
{
	*value = 1;
	return done(CUDA_SUCCESS);
}
CUresult cuStreamSynchronize(CUstream stream)
{
	return CUDA_SUCCESS;
}
CUresult cuLaunchKernel(CUfunction function, unsigned int gx, unsigned int gy, unsigned int gz,
	unsigned int bx, unsigned int by, unsigned int bz, unsigned int shared, CUstream stream,
	void **values, void **extra)
{
	return done(CUDA_SUCCESS);
}

#else /* the runtime above it */

#include <dlfcn.h>

static __typeof__(&cuMemcpyDtoHAsync) copy;
static __typeof__(&cuEventRecord) record;
static __typeof__(&cuStreamWaitEvent) wait;
static __typeof__(&cuStreamQuery) query;
static __typeof__(&cuLaunchKernel) launch;

__attribute__((constructor)) static void start(void)
{
	void *driver = dlopen("libcuda.so.1", RTLD_NOW);

	*(void **)&copy = dlsym(driver, "cuMemcpyDtoHAsync_v2");
	*(void **)&record = dlsym(driver, "cuEventRecord");
	*(void **)&wait = dlsym(driver, "cuStreamWaitEvent");
	*(void **)&query = dlsym(driver, "cuStreamQuery");
	*(void **)&launch = dlsym(driver, "cuLaunchKernel");
}

cudaError_t cudaMemcpyAsync(void *dst, const void *src, size_t bytes, enum cudaMemcpyKind kind,
	cudaStream_t stream)
{
	return (cudaError_t)copy(dst, (CUdeviceptr)src, bytes, stream);
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
	return (cudaError_t)record(event, stream);
}
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned int flags)
{
	return (cudaError_t)wait(stream, event, flags);
}
cudaError_t cudaStreamQuery(cudaStream_t stream)
{
	return (cudaError_t)query(stream);
}
cudaError_t cudaLaunchKernel(const void *function, dim3 grid, dim3 block, void **arguments,
	size_t shared, cudaStream_t stream)
{
	return (cudaError_t)launch((CUfunction)function, grid.x, grid.y, grid.z, block.x, block.y,
		block.z, (unsigned int)shared, stream, arguments, NULL);
}

#endif
