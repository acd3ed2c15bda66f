/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The exported driver calls.  Each one wraps do_<symbol>(): it reports the call to the tool, takes
 * the lock, and advances time by the cost of the call.
 */
#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>
#include <cudaProfiler.h>
#include <cuda_runtime_api.h> /* the generated headers need its types */
#include <generated_cuda_meta.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda_calls.h"
#include "cuda_graph.h"

/* Host time of a call that does not wait, ns; CALL_TIME if not listed. */
static const uint16_t call_time[KIND_COUNT] = {
	[KIND_LAUNCH] = 2000,
	[KIND_COPY] = 3500,
	[KIND_COPY_ASYNC] = 2000,
	[KIND_SET] = 2500,
	[KIND_SET_ASYNC] = 2000,
	[KIND_HOST_FUNC] = 2000,
	[KIND_EVENT_RECORD] = 1000,
	[KIND_STREAM_WAIT] = 800,
	[KIND_STREAM_QUERY] = 300,
	[KIND_EVENT_QUERY] = 300,
	[KIND_STREAM_SYNC] = 700,
	[KIND_EVENT_SYNC] = 700,
	[KIND_CONTEXT_SYNC] = 1000,
	[KIND_ALLOC_DEVICE] = 40000,
	[KIND_ALLOC_HOST] = 20000,
	[KIND_ALLOC_MANAGED] = 20000,
	[KIND_FREE_DEVICE] = 10000,
	[KIND_FREE_HOST] = 20000,
	[KIND_STREAM_CREATE] = 8000,
	[KIND_STREAM_DESTROY] = 4000,
	[KIND_MODULE_LOAD] = 60000,
	[KIND_MODULE_UNLOAD] = 20000,
};
enum {
	CALL_TIME = 1000,
	EXTRA_CALL_TIME = 20, /* such as cuCtxGetCurrent; the recorder calls it often */
	WAKE_UP = 2000,       /* from the end of a wait to the return of the call */
};

static const struct sim_tool *tool;
static _Atomic uint32_t correlations;
static _Atomic unsigned in_progress; /* calls of calls.def */

void sim_tool_install(const struct sim_tool *installed)
{
	__atomic_store_n(&tool, installed, __ATOMIC_RELEASE);
}

unsigned sim_tool_finalize(void)
{
	correlations = 0;
	return in_progress;
}

void tool_record(const struct sim_record *record)
{
	const struct sim_tool *current = __atomic_load_n(&tool, __ATOMIC_ACQUIRE);

	if (current)
		current->record(record);
}

CUresult sim_unsupported(const char *what)
{
	static char named[64][48];

	for (size_t i = 0; i < 64; i++) {
		if (!strncmp(named[i], what, sizeof(named[i]) - 1))
			break;
		if (named[i][0])
			continue;
		memccpy(named[i], what, 0, sizeof(named[i]) - 1);
		fprintf(stderr, "cufence simulator: %s is not supported\n", what);
		break;
	}
	return CUDA_ERROR_NOT_SUPPORTED;
}

/* Cost of a call: its own time, requested overhead, and the wake-up if it waited. */
static uint64_t cost(const struct sim_call *call, struct thread *thread)
{
	uint64_t ns = EXTRA_CALL_TIME;

	if (call->number >= 0)
		ns = call_time[call_types[call->number].kind];
	if (!ns)
		ns = CALL_TIME;
	if (thread->waited)
		ns = WAKE_UP;
	ns += thread->overhead;
	return ns;
}

/*
 * Calls that may wait for the device or query it, without a captured stream as argument: not
 * allowed during a capture that forbids them (cuThreadExchangeStreamCaptureMode).
 */
static bool unsafe_in_capture(const struct sim_call *call)
{
	enum call_kind kind;

	if (call->number < 0)
		return false;
	kind = call_types[call->number].kind;
	switch (kind_family(kind)) {
	case FAMILY_allocation:
	case FAMILY_free:
	case FAMILY_host_memory:
	case FAMILY_wait:
		return true;
	default:
		return kind_has(kind, K_POLLS);
	}
}

/* As NVIDIA's driver: the first cuInit loads the tool named by CUDA_INJECTION64_PATH. */
static void inject(void)
{
	static _Atomic int done;
	const char *path = getenv("CUDA_INJECTION64_PATH");
	void *library = path && !done++ ? dlopen(path, RTLD_LAZY) : NULL;
	int (*initialize)(void);

	*(void **)&initialize = library ? dlsym(library, "InitializeInjection") : NULL;
	if (initialize)
		initialize();
}

static struct thread *call_begin(struct sim_call *call)
{
	const struct sim_tool *current = __atomic_load_n(&tool, __ATOMIC_ACQUIRE);
	struct thread *thread = thread_self();
	struct context *context = thread->depth ? thread->context[thread->depth - 1] : NULL;

	if (call->number == CALL_cuInit)
		inject();
	in_progress += call->number >= 0;
	call->correlation = ++correlations;
	call->context = (CUcontext)context;
	call->context_id = context ? context->id : 0;
	if (current && call->number >= 0)
		current->enter(call);
	thread_enter_call(thread);
	sim_lock();
	thread->per_thread = call->per_thread;
	thread->correlation = call->correlation;
	thread->waited = false;
	thread->overhead = 0;
	if (driver_unloaded())
		call->result = CUDA_ERROR_DEINITIALIZED;
	else if (!driver_ready() && call->number != CALL_cuInit)
		call->result = CUDA_ERROR_NOT_INITIALIZED;
	else if (host_is_self())
		call->result = CUDA_ERROR_NOT_PERMITTED;
	else if (unsafe_in_capture(call) && capture_forbids(thread))
		call->result = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	else if (call->number >= 0 && context && context->broken)
		call->result = context->broken;
	return thread;
}

static CUresult call_end(struct sim_call *call, struct thread *thread)
{
	const struct sim_tool *current = __atomic_load_n(&tool, __ATOMIC_ACQUIRE);

	if (!host_is_self())
		time_advance(cost(call, thread));
	sim_unlock();
	thread_leave_call(thread);
	if (current && call->number >= 0)
		current->leave(call);
	in_progress -= call->number >= 0;
	return call->result;
}

/* NVIDIA's header has no structure for calls without parameters. */
typedef struct {
	char none[0];
} cuCtxSynchronize_params, cuCtxResetPersistingL2Cache_params, cuProfilerStart_params,
	cuProfilerStop_params;

#define UNWRAP(...) __VA_ARGS__
#define ENTRY(entry, symbol, row, pt, pointer, arguments) \
	{ \
		struct sim_call call = { .number = row, \
			.per_thread = pt, \
			.name = #entry, \
			.params = pointer }; \
		struct thread *thread; \
		if (driver_forked()) \
			return CUDA_ERROR_NOT_INITIALIZED; \
		thread = call_begin(&call); \
		if (!call.result) \
			call.result = \
				do_##symbol ? do_##symbol arguments : sim_unsupported(#symbol); \
		return call_end(&call, thread); \
	}
#define ROW(entry, symbol, pt, parameters, arguments) \
	CUresult entry parameters \
	{ \
		entry##_params packed = { UNWRAP arguments }; \
		ENTRY(entry, symbol, CALL_##symbol, pt, &packed, arguments) \
	}
#define EXTRA_ROW(entry, symbol, pt, parameters, arguments) \
	CUresult entry parameters ENTRY(entry, symbol, -1, pt, NULL, arguments)

#define DRIVER(symbol, base, since, parameters, arguments, fields, kind, traits) \
	ROW(symbol, symbol, false, parameters, arguments)
#define DRIVER_PT(symbol, base, since, suffix, pt_since, parameters, arguments, fields, kind, \
	traits) \
	ROW(symbol, symbol, false, parameters, arguments) \
	ROW(symbol##suffix, symbol, true, parameters, arguments)
#include "calls.def"

#define MORE(symbol, base, since, parameters, arguments) \
	EXTRA_ROW(symbol, symbol, false, parameters, arguments)
#define MORE_PT(symbol, base, since, suffix, pt_since, parameters, arguments) \
	EXTRA_ROW(symbol, symbol, false, parameters, arguments) \
	EXTRA_ROW(symbol##suffix, symbol, true, parameters, arguments)
#include "cuda_more.def"
