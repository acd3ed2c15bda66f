/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A table of invalid uses: each row is one call and the error that NVIDIA's driver is expected to
 * return.  Prints a line per row, "ok" or "not ok" with the error that came instead, then
 * "N passed, N failed"; exits 1 if any did.  It needs libcuda alone: tests/cli/errors.sh runs it on
 * the simulated driver, with "gpu" on a real one.
 *
 * A child makes the calls and reports what each returned.  If a driver crashes, hangs or breaks
 * the context, the next child continues after that row.
 */
#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const char ptx[] =
	".version 8.0\n.target sm_75\n.address_size 64\n"
	".visible .entry spin(.param .u64 a) { ret; }\n";

static CUcontext context;
static CUstream stream, capturing;
static CUevent event, untimed, unrecorded;
static CUdeviceptr device;
/* Larger than what rows copy: a driver may take what ought to be refused. */
static char *pinned, pageable[65536];
static CUgraph graph;
static CUgraphExec exec;
static CUgraphNode node;
static CUmemoryPool pool;
static CUarray array;
static CUmodule loaded;
static CUfunction kernel;
static int reads_pageable;

static CUresult set_up(void)
{
	CUDA_ARRAY_DESCRIPTOR shape = { .Width = 16,
		.Height = 4,
		.NumChannels = 1,
		.Format = CU_AD_FORMAT_FLOAT };
	CUresult bad = 0;

	bad |= cuInit(0);
	bad |= cuDevicePrimaryCtxRetain(&context, 0);
	bad |= cuCtxSetCurrent(context);
	bad |= cuDeviceGetAttribute(&reads_pageable, CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS, 0);
	bad |= cuModuleLoadData(&loaded, ptx);
	bad |= cuModuleGetFunction(&kernel, loaded, "spin");
	bad |= cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING);
	bad |= cuStreamCreate(&capturing, CU_STREAM_NON_BLOCKING);
	bad |= cuEventCreate(&event, 0);
	bad |= cuEventCreate(&untimed, CU_EVENT_DISABLE_TIMING);
	bad |= cuEventCreate(&unrecorded, 0);
	bad |= cuEventRecord(event, stream);
	bad |= cuEventRecord(untimed, stream);
	bad |= cuMemAlloc_v2(&device, 4096);
	bad |= cuMemAllocHost_v2((void **)&pinned, 4096);
	bad |= cuGraphCreate(&graph, 0);
	bad |= cuGraphAddEmptyNode(&node, graph, NULL, 0);
	bad |= cuGraphInstantiateWithFlags(&exec, graph, 0);
	bad |= cuDeviceGetDefaultMemPool(&pool, 0);
	bad |= cuArrayCreate_v2(&array, &shape);
	return bad | cuCtxSynchronize();
}

/* Scratch for unused results. */
static CUdeviceptr ptr;
static void *host_ptr;
static CUstream new_stream;
static CUevent new_event;
static CUcontext new_context;
static CUgraph new_graph;
static CUgraphNode new_node;
static CUgraphExec new_exec;
static CUmemoryPool new_pool;
static CUarray new_array;
static CUfunction function;
static CUmodule module;
static float ms;
static int number;
static size_t size;

static CUresult launch(unsigned int grid, unsigned int threads, unsigned int shared)
{
	uint64_t ns = 0;

	return cuLaunchKernel(kernel, grid, 1, 1, threads, 1, 1, shared, stream, (void *[]){ &ns },
		NULL);
}

static CUresult copy_2d(size_t pitch, size_t width, size_t height)
{
	CUDA_MEMCPY2D copy = { .srcMemoryType = CU_MEMORYTYPE_DEVICE,
		.srcDevice = device,
		.srcPitch = pitch,
		.dstMemoryType = CU_MEMORYTYPE_HOST,
		.dstHost = pageable,
		.dstPitch = pitch,
		.WidthInBytes = width,
		.Height = height };

	return cuMemcpy2D_v2(&copy);
}

static CUmemPoolProps pool_props(CUmemAllocationType type, int id)
{
	return (CUmemPoolProps){ .allocType = type,
		.location = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = id } };
}

/*
 * error, call.  M: with a handle that never was one, or a graph in itself: a driver may crash.
 * H: of pageable memory, only where the device cannot reach that by itself.
 */
/* clang-format off */
#define ROWS(X, M, H) \
	X(INVALID_DEVICE, cuDevicePrimaryCtxRetain(&new_context, 99)) \
	X(INVALID_VALUE, cuInit(1)) \
	X(INVALID_VALUE, cuMemAlloc_v2(&ptr, 0)) \
	X(INVALID_VALUE, cuMemAlloc_v2(NULL, 1)) \
	X(OUT_OF_MEMORY, cuMemAlloc_v2(&ptr, 1ull << 44)) \
	X(SUCCESS, cuMemFree_v2(0)) \
	X(INVALID_VALUE, cuMemFree_v2(device + 8)) \
	X(INVALID_VALUE, cuMemFree_v2((CUdeviceptr)pageable)) \
	X(INVALID_VALUE, cuMemFreeHost(pageable)) \
	X(INVALID_VALUE, cuMemAllocManaged(&ptr, 16, 77)) \
	X(INVALID_VALUE, cuMemHostAlloc(&host_ptr, 16, 0x100)) \
	X(HOST_MEMORY_NOT_REGISTERED, cuMemHostUnregister(pageable)) \
	X(INVALID_VALUE, cuMemHostRegister_v2(pinned, 4096, 0)) \
	X(INVALID_VALUE, cuMemAllocPitch_v2(&ptr, &size, 64, 4, 3)) \
	X(INVALID_VALUE, cuMemcpyDtoH_v2(pageable, device, 8192)) \
	H(INVALID_VALUE, cuMemcpyHtoD_v2((CUdeviceptr)pageable, pageable, 16)) \
	X(INVALID_VALUE, cuMemcpyDtoD_v2(device, 0, 16)) \
	M(INVALID_HANDLE, cuMemcpyHtoDAsync_v2(device, pinned, 16, (CUstream)pageable)) \
	X(INVALID_VALUE, copy_2d(32, 64, 2)) \
	X(INVALID_VALUE, copy_2d(64, 64, 100)) \
	X(SUCCESS, copy_2d(64, 64, 0)) \
	X(INVALID_VALUE, cuMemsetD32_v2(device + 1, 0, 1)) \
	X(INVALID_VALUE, cuMemsetD8_v2(device, 0, 8192)) \
	H(INVALID_VALUE, cuMemsetD8_v2((CUdeviceptr)pageable, 0, 1)) \
	X(SUCCESS, cuMemsetD8_v2(device, 0, 0)) \
	X(INVALID_VALUE, cuStreamCreate(&new_stream, 4)) \
	X(INVALID_VALUE, cuStreamCreate(NULL, 0)) \
	X(INVALID_HANDLE, cuStreamDestroy_v2(NULL)) \
	M(INVALID_HANDLE, cuStreamSynchronize((CUstream)pageable)) \
	X(INVALID_VALUE, cuEventCreate(&new_event, CU_EVENT_INTERPROCESS)) \
	X(INVALID_VALUE, cuEventCreate(&new_event, 0x80)) \
	X(INVALID_HANDLE, cuEventRecord(NULL, stream)) \
	X(INVALID_HANDLE, cuEventSynchronize(NULL)) \
	X(SUCCESS, cuEventSynchronize(unrecorded)) \
	X(SUCCESS, cuEventQuery(unrecorded)) \
	X(INVALID_HANDLE, cuEventElapsedTime(&ms, event, untimed)) \
	X(INVALID_HANDLE, cuEventElapsedTime(&ms, event, unrecorded)) \
	X(INVALID_VALUE, cuStreamWaitEvent(stream, event, 8)) \
	X(ILLEGAL_STATE, cuStreamWaitEvent(stream, event, CU_EVENT_WAIT_EXTERNAL)) \
	X(ILLEGAL_STATE, cuEventRecordWithFlags(event, stream, CU_EVENT_RECORD_EXTERNAL)) \
	X(INVALID_VALUE, launch(0, 1, 0)) \
	X(INVALID_VALUE, launch(1, 2048, 0)) \
	X(INVALID_VALUE, launch(1, 1, 100000)) \
	X(INVALID_VALUE, cuLaunchHostFunc(stream, NULL, NULL)) \
	X(INVALID_VALUE, cuStreamAddCallback(stream, NULL, NULL, 0)) \
	X(NOT_FOUND, cuModuleGetFunction(&function, loaded, "nothing")) \
	X(INVALID_IMAGE, cuModuleLoadData(&module, "no image at all")) \
	X(FILE_NOT_FOUND, cuModuleLoad(&module, "/nonexistent")) \
	X(INVALID_HANDLE, cuModuleUnload(NULL)) \
	X(INVALID_HANDLE, cuArrayDestroy(NULL)) \
	X(INVALID_VALUE, cuArrayCreate_v2(&new_array, NULL)) \
	X(INVALID_VALUE, cuMemFreeAsync(device + 8, stream)) \
	X(INVALID_VALUE, cuMemPoolDestroy(pool)) \
	X(INVALID_VALUE, cuMemPoolCreate(&new_pool, &(CUmemPoolProps){ 0 })) \
	X(INVALID_VALUE, cuMemPoolCreate(&new_pool, \
		&(CUmemPoolProps[]){ pool_props(CU_MEM_ALLOCATION_TYPE_PINNED, 99) }[0])) \
	X(INVALID_DEVICE, cuDeviceGetDefaultMemPool(&new_pool, 99)) \
	X(INVALID_VALUE, cuGraphCreate(&new_graph, 1)) \
	X(INVALID_VALUE, cuGraphLaunch(NULL, stream)) \
	X(INVALID_VALUE, cuGraphAddEmptyNode(&new_node, NULL, NULL, 0)) \
	X(INVALID_VALUE, cuGraphAddEmptyNode(&new_node, graph, NULL, 1)) \
	M(INVALID_VALUE, cuGraphAddChildGraphNode(&new_node, graph, NULL, 0, graph)) \
	X(INVALID_VALUE, cuGraphKernelNodeGetParams_v2(node, NULL)) \
	X(INVALID_VALUE, cuGraphNodeSetEnabled(exec, node, 0)) \
	X(INVALID_VALUE, cuGraphInstantiateWithFlags(&new_exec, graph, 1024)) \
	X(ILLEGAL_STATE, cuStreamEndCapture(stream, &new_graph)) \
	X(STREAM_CAPTURE_UNSUPPORTED, cuStreamBeginCapture_v2(NULL, 0)) \
	X(INVALID_VALUE, cuStreamBeginCapture_v2(stream, 7)) \
	X(INVALID_VALUE, cuCtxSetLimit(999, 1)) \
	X(PEER_ACCESS_UNSUPPORTED, cuCtxEnablePeerAccess(context, 0)) \
	X(INVALID_DEVICE, cuDeviceGetP2PAttribute(&number, \
		CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED, 0, 0)) \
	X(INVALID_VALUE, cuMemAdvise(device, 4096, CU_MEM_ADVISE_SET_READ_MOSTLY, 0)) \
	X(INVALID_VALUE, cuMemPrefetchAsync(device, 4096, 0, stream)) \
	X(INVALID_VALUE, cuMemAddressReserve(&ptr, 100, 0, 0, 0)) \
	X(INVALID_VALUE, cuStreamWaitValue32_v2(stream, device + 2, 0, 0))
/* clang-format on */

static void never(CUstream in, CUresult result, void *data)
{
}

/* error of the call, error of the end, mode; the call */
/* clang-format off */
#define CAPTURE_ROWS(X) \
	X(SUCCESS, SUCCESS, GLOBAL, cuEventCreate(&new_event, 0)) \
	X(SUCCESS, SUCCESS, GLOBAL, cuStreamCreate(&new_stream, 0)) \
	X(SUCCESS, SUCCESS, RELAXED, cuMemAlloc_v2(&ptr, 16)) \
	X(STREAM_CAPTURE_UNSUPPORTED, STREAM_CAPTURE_INVALIDATED, GLOBAL, \
		cuMemAlloc_v2(&ptr, 16)) \
	X(STREAM_CAPTURE_UNSUPPORTED, STREAM_CAPTURE_INVALIDATED, THREAD_LOCAL, \
		cuMemAlloc_v2(&ptr, 16)) \
	X(STREAM_CAPTURE_UNSUPPORTED, STREAM_CAPTURE_INVALIDATED, GLOBAL, \
		cuMemHostAlloc(&host_ptr, 16, 0)) \
	X(STREAM_CAPTURE_UNSUPPORTED, STREAM_CAPTURE_INVALIDATED, GLOBAL, cuEventQuery(event)) \
	X(STREAM_CAPTURE_UNSUPPORTED, STREAM_CAPTURE_INVALIDATED, GLOBAL, \
		cuEventSynchronize(event)) \
	X(STREAM_CAPTURE_UNSUPPORTED, STREAM_CAPTURE_INVALIDATED, GLOBAL, \
		cuStreamQuery(stream)) \
	X(STREAM_CAPTURE_UNSUPPORTED, STREAM_CAPTURE_INVALIDATED, GLOBAL, \
		cuStreamSynchronize(stream)) \
	X(SUCCESS, SUCCESS, RELAXED, cuStreamSynchronize(stream)) \
	X(STREAM_CAPTURE_UNSUPPORTED, STREAM_CAPTURE_INVALIDATED, RELAXED, \
		cuStreamSynchronize(capturing)) \
	X(STREAM_CAPTURE_UNSUPPORTED, STREAM_CAPTURE_INVALIDATED, RELAXED, \
		cuStreamQuery(capturing)) \
	X(STREAM_CAPTURE_UNSUPPORTED, STREAM_CAPTURE_INVALIDATED, GLOBAL, \
		cuCtxSynchronize()) \
	X(ILLEGAL_STATE, SUCCESS, GLOBAL, cuStreamBeginCapture_v2(capturing, 0)) \
	X(STREAM_CAPTURE_UNSUPPORTED, STREAM_CAPTURE_INVALIDATED, GLOBAL, \
		cuStreamAddCallback(capturing, never, NULL, 0)) \
	X(STREAM_CAPTURE_ISOLATION, STREAM_CAPTURE_INVALIDATED, GLOBAL, \
		cuStreamWaitEvent(capturing, event, 0)) \
	X(SUCCESS, SUCCESS, GLOBAL, cuStreamWaitEvent(capturing, unrecorded, 0)) \
	X(SUCCESS, SUCCESS, GLOBAL, cuMemcpyHtoDAsync_v2(device, pinned, 16, stream)) \
	X(SUCCESS, SUCCESS, GLOBAL, cuMemcpyHtoDAsync_v2(device, pageable, 16, capturing))
/* clang-format on */

enum { NO_CAPTURE = -1 };
enum { PLAIN, MAY_CRASH, UNREACHABLE };
#define CUDA_ERROR_SUCCESS CUDA_SUCCESS

static const struct row {
	const char *call;
	CUresult error, at_end; /* of the call, of the capture that it was made in */
	int mode, special;
} rows[] = {
#define ROW(error, call, special) { #call, CUDA_ERROR_##error, 0, NO_CAPTURE, special },
#define X(error, call) ROW(error, call, PLAIN)
#define M(error, call) ROW(error, call, MAY_CRASH)
#define H(error, call) ROW(error, call, UNREACHABLE)
	ROWS(X, M, H)
#undef X
#define X(error, at_end, mode, call) \
	{ #call, CUDA_ERROR_##error, CUDA_ERROR_##at_end, CU_STREAM_CAPTURE_MODE_##mode, PLAIN },
		CAPTURE_ROWS(X)
#undef X
#undef M
#undef H
};
#define ROW_COUNT (sizeof(rows) / sizeof(rows[0]))

static CUresult make_call(size_t row)
{
	size_t at = 0;

#define X(error, call) \
	if (row == at++) \
		return call;
	ROWS(X, X, X)
#undef X
#define X(error, at_end, mode, call) \
	if (row == at++) \
		return call;
	CAPTURE_ROWS(X)
#undef X
	return CUDA_ERROR_UNKNOWN;
}

/* The child's answer for a row; row ROW_COUNT: the child could not begin. */
struct answer {
	size_t row;
	CUresult got, at_end, after; /* after: of a wait for all work */
	int skipped;
};

static CUresult end_capture(void)
{
	CUgraph made = NULL;
	CUresult result = cuStreamEndCapture(capturing, &made);

	if (made)
		cuGraphDestroy(made);
	return result;
}

static struct answer ask(size_t row)
{
	struct answer answer = { .row = row };

	if (rows[row].special == UNREACHABLE && reads_pageable) {
		answer.skipped = 1;
		return answer;
	}
	if (rows[row].mode != NO_CAPTURE)
		cuStreamBeginCapture_v2(capturing, (CUstreamCaptureMode)rows[row].mode);
	answer.got = make_call(row);
	if (rows[row].mode != NO_CAPTURE)
		answer.at_end = end_capture();
	answer.after = cuCtxSynchronize();
	return answer;
}

/* A child: rows from FIRST on, to OUT, as long as the context stays whole. */
static void ask_from(size_t first, int out)
{
	struct answer answer = { .row = ROW_COUNT, .got = set_up() };

	if (answer.got && write(out, &answer, sizeof(answer)))
		_exit(1);
	for (size_t row = first; row < ROW_COUNT; row++) {
		answer = ask(row);
		if (write(out, &answer, sizeof(answer)) != sizeof(answer) || answer.after)
			_exit(1);
	}
	_exit(0);
}

static unsigned int passed, failed;

static void judge(size_t row, int bad, const char *what)
{
	static const char *const modes[] = { "", "GLOBAL: ", "THREAD_LOCAL: ", "RELAXED: " };

	passed += !bad;
	failed += !!bad;
	printf("%s: %s%s%s\n", bad ? "not ok" : "ok", modes[rows[row].mode + 1], rows[row].call,
		what);
}

static void judge_answer(const struct answer *answer)
{
	const struct row *row = &rows[answer->row];
	char what[128] = "";
	int bad = answer->got != row->error || answer->at_end != row->at_end || answer->after;

	if (bad)
		snprintf(what, sizeof(what),
			": %d, expected %d; end of capture %d, expected %d; then %d", answer->got,
			row->error, answer->at_end, row->at_end, answer->after);
	if (answer->skipped)
		printf("not asked: %s: the device reaches pageable memory\n", row->call);
	else
		judge(answer->row, bad, what);
}

/* The row after the last that the child answered, or ROW_COUNT + 1 if it could not begin. */
static size_t hear(int in, size_t next)
{
	struct pollfd ready = { .fd = in, .events = POLLIN };
	struct answer answer;

	while (poll(&ready, 1, 20000) > 0 && read(in, &answer, sizeof(answer)) == sizeof(answer)) {
		if (answer.row == ROW_COUNT) {
			printf("not ok: cannot begin: error bits %d\n", answer.got);
			failed++;
			return ROW_COUNT + 1;
		}
		judge_answer(&answer);
		next = answer.row + 1;
	}
	return next;
}

int main(void)
{
	size_t next = 0, first;
	int ends[2], status;
	pid_t child;

	setvbuf(stdout, NULL, _IOLBF, 0);
	while (next < ROW_COUNT) {
		first = next;
		if (pipe(ends) || (child = fork()) < 0)
			return 2;
		if (!child)
			ask_from(first, ends[1]);
		close(ends[1]);
		next = hear(ends[0], first);
		close(ends[0]);
		kill(child, SIGKILL);
		waitpid(child, &status, 0);
		/* A context that a row broke is no child's fault. */
		if (next < ROW_COUNT && !(WIFEXITED(status) && WEXITSTATUS(status) == 1)) {
			judge(next, rows[next].special != MAY_CRASH, ": crashed or hung");
			next++;
		}
	}
	printf("%u passed, %u failed\n", passed, failed);
	return failed > 0;
}
