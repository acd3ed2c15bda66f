/* SPDX-License-Identifier: Apache-2.0 */
/* Kernel launches and host functions.  Kernels do not compute: they only take time. */
#include <string.h>

#include "cuda_calls.h"
#include "cuda_state.h"

#define KERNEL_TIME 10000 /* ns, of a kernel that does not say how long it lasts */
#define KERNEL_LEAST 2000 /* ns, even of one that says 0 */

struct launch {
	struct function *function;
	const CUlaunchConfig *config;
	void **values, **extra;
};

/* Address of the first parameter's value, NULL if the launch brings none. */
static const void *first_parameter(const struct launch *launch)
{
	void **extra = launch->extra;

	if (launch->values)
		return launch->values[0];
	for (; extra && extra[0] != CU_LAUNCH_PARAM_END; extra += 2) {
		if (extra[0] == CU_LAUNCH_PARAM_BUFFER_POINTER)
			return extra[1];
	}
	return NULL;
}

static uint64_t launch_duration(const struct launch *launch)
{
	const void *first = first_parameter(launch);
	uint64_t ns = KERNEL_TIME;

	if (launch->function->spins && first)
		memcpy(&ns, first, sizeof(ns));
	return ns > KERNEL_LEAST ? ns : KERNEL_LEAST;
}

static bool dimensions_valid(const CUlaunchConfig *c)
{
	uint64_t threads = (uint64_t)c->blockDimX * c->blockDimY * c->blockDimZ;

	return c->gridDimX && c->gridDimY && c->gridDimZ && c->gridDimX <= 0x7fffffff &&
		c->gridDimY <= 65535 && c->gridDimZ <= 65535 && threads && threads <= 1024 &&
		c->blockDimZ <= 64 && c->sharedMemBytes <= 232448;
}

static void launch_record(struct op *op, const struct launch *launch, const struct stream *stream)
{
	const CUlaunchConfig *c = launch->config;

	op->record = (struct sim_record){
		.kind = SIM_KERNEL, .correlation = thread_self()->correlation,
		.device = (uint32_t)stream->context->device->ordinal,
		.context = stream->context->id, .stream = stream->id,
		.name = launch->function->name,
		.grid = { c->gridDimX, c->gridDimY, c->gridDimZ },
		.block = { c->blockDimX, c->blockDimY, c->blockDimZ },
		.shared = c->sharedMemBytes, .async = true,
	};
}

/* Lazy loading serializes the device: the next kernel of each stream comes after everything. */
static void after_load(struct op *op, struct stream *stream)
{
	if (stream->loads == stream->context->loads)
		return;
	stream->loads = stream->context->loads;
	op_after(op, stream->context->load);
}

static CUresult launch_run(const struct launch *launch)
{
	struct stream *stream = stream_get(launch->config->hStream);
	struct op *op;

	if (!stream)
		return context_current() ? CUDA_ERROR_INVALID_HANDLE : CUDA_ERROR_INVALID_CONTEXT;
	if (!object_check(launch->function, OBJECT_FUNCTION))
		return CUDA_ERROR_INVALID_HANDLE;
	if (!dimensions_valid(launch->config))
		return CUDA_ERROR_INVALID_VALUE;
	if (launch->config->numAttrs)
		return sim_unsupported("cuLaunchKernelEx with attributes");
	stream_reserve(stream);
	function_load(launch->function, stream->context);
	op = op_new(OP_KERNEL, stream, launch_duration(launch));
	launch_record(op, launch, stream);
	after_load(op, stream);
	op_submit(op);
	op_put(op);
	return CUDA_SUCCESS;
}

CUresult do_cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction f, void **values,
	void **extra)
{
	const struct launch launch = { (struct function *)f, config, values, extra };

	return config ? launch_run(&launch) : CUDA_ERROR_INVALID_VALUE;
}

CUresult do_cuLaunchKernel(CUfunction f, unsigned int gx, unsigned int gy, unsigned int gz,
	unsigned int bx, unsigned int by, unsigned int bz, unsigned int shared, CUstream stream,
	void **values, void **extra)
{
	const CUlaunchConfig config = {
		.gridDimX = gx, .gridDimY = gy, .gridDimZ = gz, .blockDimX = bx, .blockDimY = by,
		.blockDimZ = bz, .sharedMemBytes = shared, .hStream = stream,
	};

	return do_cuLaunchKernelEx(&config, f, values, extra);
}

CUresult do_cuLaunchHostFunc(CUstream handle, CUhostFn function, void *data)
{
	struct stream *stream = stream_get(handle);
	struct op *op;

	if (!stream)
		return CUDA_ERROR_INVALID_HANDLE;
	if (!function)
		return CUDA_ERROR_INVALID_VALUE;
	op = op_new(OP_HOST, stream, 0);
	op->function = function;
	op->data = data;
	op_submit(op);
	op_put(op);
	return CUDA_SUCCESS;
}
