/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of the matrix: streams, events, launches, graphs, modules, settings. */
#include "probe.h"
#include "probe_driver.h"
#include "probe_kernels.h"

#define STEP(name) static cudaError_t name(struct bench *bench, const struct probe_row *row)

STEP(create_stream)
{
	return cudaStreamCreateWithFlags(&bench->stream, cudaStreamNonBlocking);
}

STEP(destroy_stream)
{
	return cudaStreamDestroy(bench->stream);
}

STEP(launch_and_destroy_stream)
{
	cudaError_t error = probe_spin(bench->stream, PROBE_BUSY_NS);

	return error == cudaSuccess ? cudaStreamDestroy(bench->stream) : error;
}

STEP(create_event)
{
	return cudaEventCreate(&bench->event);
}

STEP(destroy_event)
{
	return cudaEventDestroy(bench->event);
}

STEP(record_behind_and_destroy)
{
	cudaError_t error = cudaEventRecord(bench->event, bench->behind);

	return error == cudaSuccess ? cudaEventDestroy(bench->event) : error;
}

STEP(record)
{
	return cudaEventRecord(bench->event, bench->call[row->stream]);
}

STEP(record_and_wait)
{
	cudaError_t error = record(bench, row);

	return error == cudaSuccess ? cudaEventSynchronize(bench->event) : error;
}

STEP(wait_behind)
{
	cudaError_t error = cudaEventRecord(bench->event, bench->behind);

	return error == cudaSuccess ? cudaStreamWaitEvent(bench->call[row->stream], bench->event, 0)
				    : error;
}

STEP(synchronize)
{
	return cudaStreamSynchronize(bench->call[row->stream]);
}

STEP(query)
{
	cudaError_t error = cudaStreamQuery(bench->call[row->stream]);

	cudaGetLastError(); /* NotReady stays there */
	return error == cudaErrorNotReady ? cudaSuccess : error;
}

STEP(synchronize_device)
{
	return cudaDeviceSynchronize();
}

STEP(properties)
{
	struct cudaDeviceProp all;

	return cudaGetDeviceProperties(&all, 0);
}

STEP(function_attribute)
{
	return cudaFuncSetAttribute(probe_spin_function(),
		cudaFuncAttributePreferredSharedMemoryCarveout, cudaSharedmemCarveoutDefault);
}

STEP(function_cache)
{
	return cudaFuncSetCacheConfig(probe_spin_function(), cudaFuncCachePreferNone);
}

STEP(device_cache)
{
	return cudaDeviceSetCacheConfig(cudaFuncCachePreferNone);
}

STEP(limit_printf)
{
	return cudaDeviceSetLimit(cudaLimitPrintfFifoSize, 2 * PROBE_MIB);
}

STEP(limit_heap)
{
	return cudaDeviceSetLimit(cudaLimitMallocHeapSize, 16 * PROBE_MIB);
}

STEP(occupancy)
{
	int blocks;

	return cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, probe_spin_function(), 256,
		0);
}

STEP(launch)
{
	return probe_spin(bench->call[row->stream], 0);
}

STEP(launch_fresh)
{
	return probe_fresh(bench->call[row->stream], bench->fresh++);
}

STEP(attributes_of_fresh)
{
	struct cudaFuncAttributes attributes;

	return cudaFuncGetAttributes(&attributes, probe_attributes_function(bench->fresh++));
}

static void nothing(void *data)
{
}

static void nothing_called_back(cudaStream_t stream, cudaError_t error, void *data)
{
}

STEP(launch_host)
{
	return cudaLaunchHostFunc(bench->call[row->stream], nothing, NULL);
}

STEP(add_callback)
{
	return cudaStreamAddCallback(bench->call[row->stream], nothing_called_back, NULL, 0);
}

STEP(create_graph)
{
	/* The legacy stream cannot be captured. */
	cudaStream_t stream = bench->call[PROBE_NONBLOCKING];
	cudaError_t error = cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal);

	if (error == cudaSuccess)
		error = probe_spin(stream, 0);
	return error == cudaSuccess ? cudaStreamEndCapture(stream, &bench->graph) : error;
}

STEP(instantiate)
{
	return cudaGraphInstantiate(&bench->exec, bench->graph, 0);
}

STEP(create_exec)
{
	cudaError_t error = create_graph(bench, row);

	return error == cudaSuccess ? instantiate(bench, row) : error;
}

STEP(upload)
{
	return cudaGraphUpload(bench->exec, bench->call[row->stream]);
}

STEP(launch_graph)
{
	return cudaGraphLaunch(bench->exec, bench->call[row->stream]);
}

STEP(destroy_exec)
{
	return cudaGraphExecDestroy(bench->exec);
}

STEP(destroy_graph)
{
	return cudaGraphDestroy(bench->graph);
}

STEP(destroy_both)
{
	cudaError_t error = destroy_exec(bench, row);

	return error == cudaSuccess ? destroy_graph(bench, row) : error;
}

static const char image[] =
	".version 6.0\n.target sm_52\n.address_size 64\n"
	".visible .entry probe_module()\n{\nret;\n}\n";

cudaError_t probe_load_module(struct bench *bench, const struct probe_row *row)
{
	__typeof__(&cuModuleLoadData) load = PROBE_DRIVER(cuModuleLoadData);

	return load ? probe_driver_error(load((CUmodule *)&bench->pointer, image))
		    : cudaErrorNotSupported;
}

cudaError_t probe_unload_module(struct bench *bench, const struct probe_row *row)
{
	__typeof__(&cuModuleUnload) unload = PROBE_DRIVER(cuModuleUnload);

	return unload ? probe_driver_error(unload(bench->pointer)) : cudaErrorNotSupported;
}

#define ON(which) .stream = PROBE_##which

static const struct probe_row rows[] = {
	{ "cudaStreamCreate", .call = create_stream, .cleanup = destroy_stream },
	{ "cudaStreamDestroy, idle", .prepare = create_stream, .call = destroy_stream },
	{ "cudaStreamDestroy, busy", .prepare = create_stream, .call = launch_and_destroy_stream },
	{ "cudaEventCreate", .call = create_event, .cleanup = destroy_event },
	{ "cudaEventDestroy, pending", .prepare = create_event, .call = record_behind_and_destroy },
	{ "cudaEventRecord, non-blocking stream", .prepare = create_event, .call = record,
		.cleanup = destroy_event, ON(NONBLOCKING) },
	{ "cudaEventRecord, legacy stream", .prepare = create_event, .call = record,
		.cleanup = destroy_event, ON(LEGACY) },
	{ "cudaEventSynchronize, recorded on the legacy stream", .prepare = create_event,
		.call = record_and_wait, .cleanup = destroy_event, ON(LEGACY) },
	{ "cudaEventSynchronize, recorded on an idle blocking stream", .prepare = create_event,
		.call = record_and_wait, .cleanup = destroy_event, ON(BLOCKING) },
	{ "cudaStreamWaitEvent, non-blocking stream", .prepare = create_event, .call = wait_behind,
		.cleanup = destroy_event, ON(NONBLOCKING) },
	{ "cudaStreamSynchronize, idle non-blocking stream", .call = synchronize, ON(NONBLOCKING) },
	{ "cudaStreamSynchronize, idle blocking stream", .call = synchronize, ON(BLOCKING) },
	{ "cudaStreamSynchronize, legacy stream", .call = synchronize, ON(LEGACY) },
	{ "cudaStreamSynchronize, idle per-thread stream", .call = synchronize, ON(PER_THREAD) },
	{ "cudaStreamQuery, legacy stream", .call = query, ON(LEGACY) },
	{ "cudaDeviceSynchronize", .call = synchronize_device },
	{ "cudaGetDeviceProperties", .call = properties },
	{ "cudaFuncSetAttribute", .call = function_attribute },
	{ "cudaFuncSetCacheConfig", .call = function_cache },
	{ "cudaDeviceSetCacheConfig", .call = device_cache },
	{ "cudaDeviceSetLimit, printf buffer", .call = limit_printf },
	{ "cudaDeviceSetLimit, heap", .call = limit_heap },
	{ "cudaOccupancyMaxActiveBlocksPerMultiprocessor", .call = occupancy },
	{ "launch, non-blocking stream", .call = launch, ON(NONBLOCKING) },
	{ "launch, blocking stream", .call = launch, ON(BLOCKING) },
	{ "launch, legacy stream", .call = launch, ON(LEGACY) },
	{ "launch of a kernel not yet loaded", .call = launch_fresh, ON(NONBLOCKING) },
	{ "cudaFuncGetAttributes of a kernel not yet loaded", .call = attributes_of_fresh },
	{ "cudaLaunchHostFunc, non-blocking stream", .call = launch_host, ON(NONBLOCKING) },
	{ "cudaStreamAddCallback, non-blocking stream", .call = add_callback, ON(NONBLOCKING) },
	{ "cudaGraphInstantiate", .prepare = create_graph, .call = instantiate,
		.cleanup = destroy_both, ON(NONBLOCKING) },
	{ "cudaGraphUpload", .prepare = create_exec, .call = upload, .cleanup = destroy_both,
		ON(NONBLOCKING) },
	{ "cudaGraphLaunch, non-blocking stream", .prepare = create_exec, .call = launch_graph,
		.cleanup = destroy_both, ON(NONBLOCKING) },
	{ "cudaGraphLaunch, legacy stream", .prepare = create_exec, .call = launch_graph,
		.cleanup = destroy_both, ON(LEGACY) },
	{ "cudaGraphExecDestroy", .prepare = create_exec, .call = destroy_exec,
		.cleanup = destroy_graph, ON(NONBLOCKING) },
	{ "cuModuleLoadData", .call = probe_load_module, .cleanup = probe_unload_module },
	{ "cuModuleUnload", .prepare = probe_load_module, .call = probe_unload_module },
};

const struct probe_group probe_call_group = { .name = "calls",
	.rows = rows,
	.count = sizeof(rows) / sizeof(*rows),
	.memory = true };

STEP(limit_stack)
{
	return cudaDeviceSetLimit(cudaLimitStackSize, 1280 + 256 * (size_t)bench->fresh++);
}

STEP(launch_local)
{
	return probe_local(bench->call[row->stream], bench->fresh++);
}

STEP(launch_print)
{
	return probe_print(bench->call[row->stream]);
}

static const struct probe_row first[] = {
	{ "cudaDeviceSetLimit, larger stack", .call = limit_stack, .once = true },
	{ "launch that needs more local memory than any before", .call = launch_local,
		ON(NONBLOCKING), .once = true },
	{ "first launch of a kernel with printf", .call = launch_print, ON(NONBLOCKING),
		.once = true, .backgrounds = 1u << PROBE_BLOCKING },
};

const struct probe_group probe_first_group = { .name = "first times",
	.rows = first,
	.count = sizeof(first) / sizeof(*first),
	.single = true };
