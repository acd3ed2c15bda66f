/* SPDX-License-Identifier: Apache-2.0 */
/* Initialization, state of devices, and contexts. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "cuda_calls.h"
#include "cuda_state.h"
#include "cuda_work.h"
#include "settings.h"

static struct device devices[DEVICE_MAX];
static int devices_present;
static uint32_t last_context_id;

/* The driver's exit handler runs before handlers registered earlier. */
static _Atomic int gone;

bool driver_ready(void)
{
	return devices_present;
}

int device_count(void)
{
	return devices_present;
}

struct device *device_get(int ordinal)
{
	return ordinal >= 0 && ordinal < devices_present ? &devices[ordinal] : NULL;
}

static void device_init(struct device *device, int ordinal)
{
	device->ordinal = ordinal;
	device->limits[CU_LIMIT_STACK_SIZE] = 1024;
	device->limits[CU_LIMIT_PRINTF_FIFO_SIZE] = 1 << 20;
	device->limits[CU_LIMIT_MALLOC_HEAP_SIZE] = 8 << 20;
	device->limits[CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT] = 2048;
	device->limits[CU_LIMIT_MAX_L2_FETCH_GRANULARITY] = 128;
	/* The default stack is allocated from the start. */
	device->local_bytes = 1024;
}

static void driver_leaves(void)
{
	atomic_store(&gone, 1);
}

bool driver_unloaded(void)
{
	return atomic_load(&gone);
}

/* In a child process forked after cuInit. */
static bool forked;

static void driver_stays_behind(void)
{
	forked = true;
}

bool driver_forked(void)
{
	return forked;
}

CUresult do_cuInit(unsigned int flags)
{
	const char *text = getenv("CUFENCE_SIM_DEVICES");
	uint64_t number;
	int count = text && setting_number(text, &number) ? (int)number : 1;

	if (flags)
		return CUDA_ERROR_INVALID_VALUE;
	if (devices_present)
		return CUDA_SUCCESS;
	if (count < 1)
		return CUDA_ERROR_NO_DEVICE;
	devices_present = count < DEVICE_MAX ? count : DEVICE_MAX;
	for (int i = 0; i < devices_present; i++)
		device_init(&devices[i], i);
	kernel_time_init();
	atexit(driver_leaves);
	pthread_atfork(NULL, NULL, driver_stays_behind);
	/* The real driver takes some 100 ms; this is visible without dominating a short run. */
	thread_self()->overhead = 1000000;
	return CUDA_SUCCESS;
}

static struct context *context_new(struct device *device, unsigned int flags)
{
	struct context *context = object_new(OBJECT_CONTEXT, sizeof(*context));

	if (!context)
		return NULL;
	context->device = device;
	context->id = ++last_context_id;
	context->flags = flags;
	context->next_stream_id = 13; /* CUPTI's numbering: 7 is the legacy stream */
	context->next = device->contexts;
	device->contexts = context;
	context->legacy = stream_new(context, CU_STREAM_DEFAULT, 0);
	context->legacy->legacy = true;
	context->legacy->id = 7;
	context->next_stream_id = 13;
	return context;
}

struct context *context_current(void)
{
	const struct thread *thread = thread_self();

	return thread->depth ? thread->context[thread->depth - 1] : NULL;
}

struct context *context_check(CUcontext handle)
{
	struct context *context = (struct context *)handle;

	return object_check(handle, OBJECT_CONTEXT) && !context->destroyed ? context : NULL;
}

bool context_reaches(const struct context *context, const struct device *device)
{
	return context->device == device || context->peers >> device->ordinal & 1;
}

uint32_t sim_context_id(CUcontext handle)
{
	struct context *context;
	uint32_t id;

	sim_lock();
	context = context_check(handle);
	id = context ? context->id : 0;
	sim_unlock();
	return id;
}

static struct context *primary_context(struct device *device)
{
	if (!device->primary)
		device->primary = context_new(device, device->primary_flags);
	return device->primary;
}

CUcontext sim_primary_context(int ordinal)
{
	struct device *device;
	struct context *context;

	sim_lock();
	device = device_get(ordinal);
	context = device ? primary_context(device) : NULL;
	sim_unlock();
	return (CUcontext)context;
}

CUresult do_cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice ordinal)
{
	struct device *device = device_get(ordinal);

	if (!device)
		return CUDA_ERROR_INVALID_DEVICE;
	if (!context)
		return CUDA_ERROR_INVALID_VALUE;
	if (!primary_context(device))
		return CUDA_ERROR_OUT_OF_MEMORY;
	if (!device->primary_references++)
		thread_self()->overhead = 1000000;
	*context = (CUcontext)device->primary;
	return CUDA_SUCCESS;
}

static void end_context(struct context *context)
{
	device_drain(context->device, true);
	streams_end(context);
	events_end(context);
	modules_end(context);
	memory_end(context);
}

/* The context object remains: handles in other threads must stay valid in a simulation. */
CUresult do_cuDevicePrimaryCtxRelease_v2(CUdevice ordinal)
{
	struct device *device = device_get(ordinal);

	if (!device)
		return CUDA_ERROR_INVALID_DEVICE;
	if (!device->primary_references)
		return CUDA_ERROR_INVALID_CONTEXT;
	if (!--device->primary_references)
		end_context(device->primary);
	return CUDA_SUCCESS;
}

CUresult do_cuDevicePrimaryCtxReset_v2(CUdevice ordinal)
{
	struct device *device = device_get(ordinal);

	if (!device)
		return CUDA_ERROR_INVALID_DEVICE;
	if (device->primary)
		end_context(device->primary);
	return CUDA_SUCCESS;
}

CUresult do_cuDevicePrimaryCtxRelease(CUdevice ordinal)
{
	return do_cuDevicePrimaryCtxRelease_v2(ordinal);
}

CUresult do_cuDevicePrimaryCtxReset(CUdevice ordinal)
{
	return do_cuDevicePrimaryCtxReset_v2(ordinal);
}

CUresult do_cuDevicePrimaryCtxGetState(CUdevice ordinal, unsigned int *flags, int *active)
{
	struct device *device = device_get(ordinal);

	if (!device)
		return CUDA_ERROR_INVALID_DEVICE;
	*flags = device->primary_flags;
	*active = device->primary_references > 0;
	return CUDA_SUCCESS;
}

CUresult do_cuDevicePrimaryCtxSetFlags_v2(CUdevice ordinal, unsigned int flags)
{
	struct device *device = device_get(ordinal);

	if (!device)
		return CUDA_ERROR_INVALID_DEVICE;
	device->primary_flags = flags;
	if (device->primary)
		device->primary->flags = flags;
	return CUDA_SUCCESS;
}

static CUresult create(CUcontext *handle, unsigned int flags, CUdevice ordinal)
{
	struct device *device = device_get(ordinal);
	struct thread *thread = thread_self();
	struct context *context;

	if (!device)
		return CUDA_ERROR_INVALID_DEVICE;
	if (!handle || flags & ~0x7fu)
		return CUDA_ERROR_INVALID_VALUE;
	if (thread->depth == sizeof(thread->context) / sizeof(*thread->context))
		return CUDA_ERROR_OUT_OF_MEMORY;
	context = context_new(device, flags);
	if (!context)
		return CUDA_ERROR_OUT_OF_MEMORY;
	thread->overhead = 1000000;
	thread->context[thread->depth++] = context;
	*handle = (CUcontext)context;
	return CUDA_SUCCESS;
}

CUresult do_cuCtxCreate_v2(CUcontext *context, unsigned int flags, CUdevice device)
{
	return create(context, flags, device);
}

CUresult do_cuCtxCreate_v3(CUcontext *context, CUexecAffinityParam *affinity, int count,
	unsigned int flags, CUdevice device)
{
	return create(context, flags, device);
}

CUresult do_cuCtxCreate_v4(CUcontext *context, CUctxCreateParams *params, unsigned int flags,
	CUdevice device)
{
	return create(context, flags, device);
}

/* The object remains, marked, as for primary contexts: its streams still finish their work. */
CUresult do_cuCtxDestroy_v2(CUcontext handle)
{
	struct context *context = context_check(handle);
	struct thread *thread = thread_self();

	if (!context || context == context->device->primary)
		return CUDA_ERROR_INVALID_CONTEXT;
	end_context(context);
	context->destroyed = true;
	if (thread->depth && thread->context[thread->depth - 1] == context)
		thread->depth--;
	return CUDA_SUCCESS;
}

CUresult do_cuCtxSetCurrent(CUcontext handle)
{
	struct thread *thread = thread_self();

	if (handle && !context_check(handle))
		return CUDA_ERROR_INVALID_CONTEXT;
	if (!handle) {
		thread->depth -= thread->depth > 0;
		return CUDA_SUCCESS;
	}
	thread->depth += !thread->depth;
	thread->context[thread->depth - 1] = (struct context *)handle;
	return CUDA_SUCCESS;
}

CUresult do_cuCtxPushCurrent_v2(CUcontext handle)
{
	struct thread *thread = thread_self();

	if (!context_check(handle))
		return CUDA_ERROR_INVALID_CONTEXT;
	if (thread->depth == sizeof(thread->context) / sizeof(*thread->context))
		return CUDA_ERROR_OUT_OF_MEMORY;
	thread->context[thread->depth++] = (struct context *)handle;
	return CUDA_SUCCESS;
}

CUresult do_cuCtxPopCurrent_v2(CUcontext *handle)
{
	struct context *context = context_current();

	if (!context)
		return CUDA_ERROR_INVALID_CONTEXT;
	thread_self()->depth--;
	if (handle)
		*handle = (CUcontext)context;
	return CUDA_SUCCESS;
}

CUresult do_cuCtxGetCurrent(CUcontext *handle)
{
	if (!handle)
		return CUDA_ERROR_INVALID_VALUE;
	*handle = (CUcontext)context_current();
	return CUDA_SUCCESS;
}

CUresult do_cuCtxGetDevice_v2(CUdevice *device, CUcontext handle)
{
	struct context *context = handle ? context_check(handle) : context_current();

	if (!context)
		return CUDA_ERROR_INVALID_CONTEXT;
	if (!device)
		return CUDA_ERROR_INVALID_VALUE;
	*device = context->device->ordinal;
	return CUDA_SUCCESS;
}

CUresult do_cuCtxGetDevice(CUdevice *device)
{
	return do_cuCtxGetDevice_v2(device, NULL);
}

CUresult do_cuCtxGetFlags(unsigned int *flags)
{
	struct context *context = context_current();

	if (!context)
		return CUDA_ERROR_INVALID_CONTEXT;
	*flags = context->flags;
	return CUDA_SUCCESS;
}

CUresult do_cuCtxSetFlags(unsigned int flags)
{
	struct context *context = context_current();

	if (!context)
		return CUDA_ERROR_INVALID_CONTEXT;
	context->flags = flags;
	return CUDA_SUCCESS;
}

CUresult do_cuCtxGetId(CUcontext handle, unsigned long long *id)
{
	struct context *context = handle ? context_check(handle) : context_current();

	if (!context)
		return CUDA_ERROR_INVALID_CONTEXT;
	*id = context->id;
	return CUDA_SUCCESS;
}

CUresult do_cuCtxGetApiVersion(CUcontext handle, unsigned int *version)
{
	*version = SIM_DRIVER_VERSION;
	return CUDA_SUCCESS;
}

CUresult do_cuCtxGetStreamPriorityRange(int *least, int *greatest)
{
	if (least)
		*least = 0;
	if (greatest)
		*greatest = -5;
	return CUDA_SUCCESS;
}

CUresult do_cuCtxSynchronize_v2(CUcontext handle)
{
	struct context *context = handle ? context_check(handle) : context_current();

	if (!context)
		return CUDA_ERROR_INVALID_CONTEXT;
	context_drain(context);
	return context->broken;
}

CUresult do_cuCtxSynchronize(void)
{
	return do_cuCtxSynchronize_v2(NULL);
}
