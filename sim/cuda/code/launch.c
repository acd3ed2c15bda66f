/* SPDX-License-Identifier: Apache-2.0 */
/* Kernel launches.  Kernels do not compute: they only take time. */
#include <string.h>

#include "cuda_calls.h"
#include "cuda_graph.h"
#include "settings.h"

#define KERNEL_LEAST 2000     /* ns, even for a requested duration of 0 */
#define BLOCKS_MAX (132 * 32) /* maximum resident blocks, for cooperative launches */

static uint64_t kernel_time = 10000; /* ns, of a kernel that does not specify its duration */

void kernel_time_init(void)
{
	const char *text = getenv("CUFENCE_SIM_KERNEL_US");

	uint64_t microseconds;

	if (text && setting_number(text, &microseconds))
		kernel_time = microseconds * 1000;
}

/* Offset of a parameter in the buffer form of the parameters; the first is at 0 in any layout. */
const void *kernel_parameter(const CUDA_KERNEL_NODE_PARAMS_v3 *kernel, unsigned int index)
{
	const struct function *function = (const struct function *)kernel->func;
	void **extra = kernel->extra;
	size_t offset = 0;

	if (kernel->kernelParams)
		return kernel->kernelParams[index];
	if (index && index >= function->parameter_count)
		return NULL;
	if (index)
		offset = function->parameters[index].offset;
	for (; extra && extra[0] != CU_LAUNCH_PARAM_END; extra += 2) {
		if (extra[0] == CU_LAUNCH_PARAM_BUFFER_POINTER)
			return (const char *)extra[1] + offset;
	}
	return NULL;
}

static uint64_t launch_duration(const CUDA_KERNEL_NODE_PARAMS_v3 *kernel)
{
	const struct function *function = (const struct function *)kernel->func;
	const void *first = function->spins ? kernel_parameter(kernel, 0) : NULL;
	uint64_t ns = kernel_time;

	if (first)
		memcpy(&ns, first, sizeof(ns));
	return ns > KERNEL_LEAST ? ns : KERNEL_LEAST;
}

static bool dimensions_valid(const CUDA_KERNEL_NODE_PARAMS_v3 *k)
{
	uint64_t threads = (uint64_t)k->blockDimX * k->blockDimY * k->blockDimZ;

	return k->gridDimX && k->gridDimY && k->gridDimZ && k->gridDimX <= 0x7fffffff &&
		k->gridDimY <= 65535 && k->gridDimZ <= 65535 && threads && threads <= 1024 &&
		k->blockDimX <= 1024 && k->blockDimY <= 1024 && k->blockDimZ <= 64;
}

/* Above 48 KiB a kernel must have opted in to dynamic shared memory (CUDA programming guide). */
static bool shared_valid(const CUDA_KERNEL_NODE_PARAMS_v3 *k)
{
	const struct function *function = (const struct function *)k->func;
	uint32_t limit = function->shared_limit > 49152 ? (uint32_t)function->shared_limit : 49152;

	return k->sharedMemBytes <= limit;
}

CUresult kernel_check(const struct work *work, struct context *context)
{
	const CUDA_KERNEL_NODE_PARAMS_v3 *kernel = &work->params.kernel;

	if (!object_check(kernel->func, OBJECT_FUNCTION))
		return CUDA_ERROR_INVALID_HANDLE;
	return dimensions_valid(kernel) && shared_valid(kernel) ? CUDA_SUCCESS
								: CUDA_ERROR_INVALID_VALUE;
}

/* Does a parameter point to memory that code on this device cannot access? */
static bool out_of_reach(const CUDA_KERNEL_NODE_PARAMS_v3 *kernel, const struct context *context)
{
	const struct function *function = (const struct function *)kernel->func;

	for (unsigned int i = 0; i < function->parameter_count; i++) {
		const void *value = kernel_parameter(kernel, i);
		const struct memory *memory;
		uintptr_t word;

		if (!value || function->parameters[i].size != sizeof(word))
			continue;
		memcpy(&word, value, sizeof(word));
		memory = memory_find(word);
		if (memory && memory->device && memory->place != PLACE_MANAGED && !memory->pool &&
			!context_reaches(context, memory->device))
			return true;
	}
	return false;
}

static void break_context(struct op *op)
{
	op->stream->context->broken = CUDA_ERROR_ILLEGAL_ADDRESS;
}

static void launch_record(struct op *op, const CUDA_KERNEL_NODE_PARAMS_v3 *k)
{
	record_origin(op, op->stream);
	op->record.kind = SIM_KERNEL;
	op->record.name = ((const struct function *)k->func)->name;
	op->record.shared = k->sharedMemBytes;
	op->record.async = true;
	memcpy(op->record.grid, &k->gridDimX, sizeof(op->record.grid));
	memcpy(op->record.block, &k->blockDimX, sizeof(op->record.block));
}

void cufence_sim_next_kernel(uint64_t (*length)(void *argument, uint64_t start), void *argument)
{
	struct thread *thread = thread_self();

	thread->length = length;
	thread->length_argument = argument;
}

struct op *kernel_op(const struct work *work, struct stream *stream)
{
	const CUDA_KERNEL_NODE_PARAMS_v3 *kernel = &work->params.kernel;
	struct thread *thread = thread_self();
	struct op *op;

	function_prepare((struct function *)kernel->func, stream->context);
	op = op_new(OP_KERNEL, stream, launch_duration(kernel));
	op->length = thread->length;
	op->data = thread->length_argument;
	thread->length = NULL;
	op->programmatic = work->programmatic;
	if (out_of_reach(kernel, stream->context))
		op->effect = break_context;
	launch_record(op, kernel);
	if (work->started)
		event_set(work->started, op_started(op));
	return op;
}

/* Applies attributes that have an effect; hints are accepted. */
static CUresult read_attributes(struct work *work, const CUlaunchConfig *config)
{
	const CUDA_KERNEL_NODE_PARAMS_v3 *k = &work->params.kernel;

	for (unsigned int i = 0; i < config->numAttrs; i++) {
		const CUlaunchAttributeValue *value = &config->attrs[i].value;

		switch ((int)config->attrs[i].id) {
		case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION:
			work->programmatic = value->programmaticStreamSerializationAllowed;
			break;
		case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT:
			work->started = event_get(value->programmaticEvent.event);
			if (!work->started)
				return CUDA_ERROR_INVALID_HANDLE;
			break;
		case CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT:
			work->started = event_get(value->launchCompletionEvent.event);
			if (!work->started)
				return CUDA_ERROR_INVALID_HANDLE;
			break;
		case CU_LAUNCH_ATTRIBUTE_COOPERATIVE:
			if (value->cooperative &&
				(uint64_t)k->gridDimX * k->gridDimY * k->gridDimZ > BLOCKS_MAX)
				return CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE;
			break;
		case CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY:
		case CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE:
			return sim_unsupported("cuLaunchKernelEx with that attribute");
		default:
			break;
		}
	}
	return CUDA_SUCCESS;
}

CUresult do_cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction f, void **values,
	void **extra)
{
	struct work work = { .async = true, .params = { .type = CU_GRAPH_NODE_TYPE_KERNEL } };
	CUresult result;

	if (!config || (config->numAttrs && !config->attrs))
		return CUDA_ERROR_INVALID_VALUE;
	work.params.kernel = (CUDA_KERNEL_NODE_PARAMS_v3){
		.func = f,
		.gridDimX = config->gridDimX,
		.gridDimY = config->gridDimY,
		.gridDimZ = config->gridDimZ,
		.blockDimX = config->blockDimX,
		.blockDimY = config->blockDimY,
		.blockDimZ = config->blockDimZ,
		.sharedMemBytes = config->sharedMemBytes,
		.kernelParams = values,
		.extra = extra,
	};
	result = read_attributes(&work, config);
	return result ? result : work_submit(&work, config->hStream, NULL);
}

CUresult do_cuLaunchKernel(CUfunction f, unsigned int gx, unsigned int gy, unsigned int gz,
	unsigned int bx, unsigned int by, unsigned int bz, unsigned int shared, CUstream stream,
	void **values, void **extra)
{
	const CUlaunchConfig config = {
		.gridDimX = gx,
		.gridDimY = gy,
		.gridDimZ = gz,
		.blockDimX = bx,
		.blockDimY = by,
		.blockDimZ = bz,
		.sharedMemBytes = shared,
		.hStream = stream,
	};

	return do_cuLaunchKernelEx(&config, f, values, extra);
}

CUresult do_cuLaunchCooperativeKernel(CUfunction f, unsigned int gx, unsigned int gy,
	unsigned int gz, unsigned int bx, unsigned int by, unsigned int bz, unsigned int shared,
	CUstream stream, void **values)
{
	CUlaunchAttribute cooperative = { .id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE,
		.value = { .cooperative = 1 } };
	const CUlaunchConfig config = {
		.gridDimX = gx,
		.gridDimY = gy,
		.gridDimZ = gz,
		.blockDimX = bx,
		.blockDimY = by,
		.blockDimZ = bz,
		.sharedMemBytes = shared,
		.hStream = stream,
		.attrs = &cooperative,
		.numAttrs = 1,
	};

	return do_cuLaunchKernelEx(&config, f, values, NULL);
}

CUresult do_cuLaunchHostFunc(CUstream stream, CUhostFn function, void *data)
{
	struct work work = { .params = { .type = CU_GRAPH_NODE_TYPE_HOST,
				     .host = { function, data } } };

	return work_submit(&work, stream, NULL);
}

/* Unlike a host function, a callback gets the stream and its error, and cannot be captured. */
struct callback {
	CUstreamCallback function;
	CUstream stream;
	void *data;
	const CUresult *status;
};

static void call_back(void *data)
{
	struct callback *callback = data;

	callback->function(callback->stream, *callback->status, callback->data);
}

CUresult do_cuStreamAddCallback(CUstream handle, CUstreamCallback function, void *data,
	unsigned int flags)
{
	struct stream *stream;
	CUresult result = stream_find(handle, &stream);
	struct callback *callback;
	struct op *op;

	if (result)
		return result;
	if (!function || flags)
		return CUDA_ERROR_INVALID_VALUE;
	if (stream->capture) {
		capture_invalidate(stream->capture);
		return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	}
	callback = must_realloc(NULL, sizeof(*callback));
	*callback = (struct callback){ function, handle, data, &stream->context->broken };
	device_gate(stream->context->device);
	op = op_new(OP_HOST, stream, 0);
	op->function = call_back;
	op->data = callback;
	op->staging = callback; /* freed with the op */
	op->after_error = true;
	op_submit(op);
	op_put(op);
	return CUDA_SUCCESS;
}
