/* SPDX-License-Identifier: Apache-2.0 */
/* The simulated CUPTI: one subscriber, callbacks around calls, records of operations. */
#include <time.h>

#pragma GCC diagnostic ignored "-Wstrict-prototypes"
#include "sim_driver.h"
#include <cupti_activity.h>
#include <cupti_callbacks.h>
#include <cupti_driver_cbid.h>

#define RECORDS 64

/* clang-format off */
#define CUPTI_CALLS(X) \
	X(subscribe, cuptiSubscribe) X(unsubscribe, cuptiUnsubscribe) \
	X(enable_callback, cuptiEnableCallback) \
	X(register_callbacks, cuptiActivityRegisterCallbacks) X(enable, cuptiActivityEnable) \
	X(disable, cuptiActivityDisable) X(flush, cuptiActivityFlushAll) \
	X(set_period, cuptiActivityFlushPeriod) X(next, cuptiActivityGetNextRecord) \
	X(number_dropped, cuptiActivityGetNumDroppedRecords) X(timestamp, cuptiGetTimestamp) \
	X(context_id, cuptiGetContextId) X(stream_id, cuptiGetStreamIdEx)
/* clang-format on */

static struct {
#define X(name, symbol) typeof(&symbol) name;
	CUPTI_CALLS(X)
#undef X
} cupti;

static CUpti_SubscriberHandle subscriber;

/* The last call that a callback reported. */
static struct {
	unsigned int enters, exits;
	uint32_t correlation;
	CUpti_CallbackId cbid;
	CUresult result;
	unsigned int grid_x;
	char name[64];
} seen;

static union {
	CUpti_Activity head;
	CUpti_ActivityKernel10 kernel;
	CUpti_ActivityMemcpy6 copy;
	CUpti_ActivityMemcpyPtoP4 peer;
	CUpti_ActivityMemset4 set;
	CUpti_ActivityOverhead3 overhead;
	CUpti_ActivityGraphTrace2 graph;
} records[RECORDS];
static size_t record_count;
static size_t buffer_size = 1 << 16;

static void on_call(void *userdata, CUpti_CallbackDomain domain, CUpti_CallbackId cbid,
	const void *data)
{
	const CUpti_CallbackData *call = data;

	seen.cbid = cbid;
	seen.correlation = call->correlationId;
	strncpy(seen.name, call->functionName, sizeof(seen.name) - 1);
	if (call->callbackSite == CUPTI_API_ENTER) {
		seen.enters++;
		*call->correlationData = call->correlationId;
		if (cbid == CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel)
			seen.grid_x = *(const unsigned int *)((const char *)call->functionParams +
				sizeof(CUfunction));
		return;
	}
	seen.exits++;
	seen.result = *(const CUresult *)call->functionReturnValue;
	assert_int_equal(*call->correlationData, call->correlationId);
}

static void on_request(uint8_t **buffer, size_t *size, size_t *limit)
{
	*buffer = buffer_size ? malloc(buffer_size) : NULL;
	*size = buffer_size;
	*limit = 0;
}

static void on_complete(CUcontext context, uint32_t stream, uint8_t *buffer, size_t size,
	size_t valid)
{
	CUpti_Activity *record = NULL;

	while (!cupti.next(buffer, valid, &record) && record_count < RECORDS) {
		size_t left = valid - (size_t)((uint8_t *)record - buffer);

		memcpy(&records[record_count++], record,
			left < sizeof(*records) ? left : sizeof(*records));
	}
	free(buffer);
}

static int setup(void **state)
{
	void *library = sim_open("libcupti.so.13");

	setenv("CUFENCE_SIM_DEVICES", "2", 1);
	setenv("CUFENCE_SIM_KERNEL_US", "25", 1);
	sim_setup(state);
#define X(name, symbol) *(void **)&cupti.name = sim_symbol(library, #symbol);
	CUPTI_CALLS(X)
#undef X
	assert_int_equal(cupti.subscribe(&subscriber, on_call, NULL), 0);
	return cupti.register_callbacks(on_request, on_complete);
}

static int fresh(void **state)
{
	static const CUpti_ActivityKind kinds[] = { CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
		CUPTI_ACTIVITY_KIND_MEMCPY, CUPTI_ACTIVITY_KIND_MEMCPY2, CUPTI_ACTIVITY_KIND_MEMSET,
		CUPTI_ACTIVITY_KIND_OVERHEAD };

	sim_quiet(state);
	cupti.flush(0);
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		assert_int_equal(cupti.enable(kinds[i]), 0);
	memset(&seen, 0, sizeof(seen));
	record_count = 0;
	return cupti.enable_callback(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API,
		CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel);
}

#define FRESH_TEST(name) TEST_WITH(name, fresh, NULL)

/* Waits for all work and its records. */
static void collect(void)
{
	drv.cuCtxSynchronize();
	cupti.flush(0);
}

FRESH_TEST(second_subscriber_is_refused_until_the_first_leaves)
{
	CUpti_SubscriberHandle second;

	assert_int_equal(cupti.subscribe(&second, on_call, NULL),
		CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
	assert_int_equal(cupti.unsubscribe(subscriber), 0);
	spin(NULL, 1000);
	assert_int_equal(seen.enters, 0);
	assert_int_equal(cupti.subscribe(&subscriber, on_call, NULL), 0);
}

FRESH_TEST(callbacks_frame_the_calls_they_were_enabled_for)
{
	uint64_t ns = 1000;
	void *values[] = { &ns };

	drv.cuStreamQuery(NULL);
	assert_int_equal(seen.enters, 0);
	drv.cuLaunchKernel(spin_function, 77, 1, 1, 1, 1, 1, 0, NULL, values, NULL);
	assert_int_equal(seen.enters, 1);
	assert_int_equal(seen.exits, 1);
	assert_int_equal(seen.grid_x, 77);
	assert_string_equal(seen.name, "cuLaunchKernel");
	drv.cuLaunchKernel(spin_function, 0, 1, 1, 1, 1, 1, 0, NULL, values, NULL);
	assert_int_equal(seen.result, CUDA_ERROR_INVALID_VALUE);
}

FRESH_TEST(kernel_record_matches_the_call_that_launched_it)
{
	CUstream stream = stream_create(0);
	uint64_t before = drv.cufence_sim_clock(), after;
	CUcontext context;
	uint32_t id;

	drv.cuDevicePrimaryCtxRetain(&context, 0);
	assert_int_equal(spin(stream, 5 * MS), 0);
	drv.cuStreamSynchronize(stream);
	assert_int_equal(cupti.flush(0), 0);
	assert_int_equal(record_count, 1);
	assert_int_equal(records[0].head.kind, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
	assert_int_equal(records[0].kernel.correlationId, seen.correlation);
	assert_string_equal(records[0].kernel.name, "_ZN7cufence4spinEy");
	assert_int_equal(records[0].kernel.end - records[0].kernel.start, 5 * MS);
	assert_true(records[0].kernel.start > before);
	assert_int_equal(cupti.timestamp(&after), 0);
	assert_true(records[0].kernel.end < after);
	assert_int_equal(cupti.stream_id(context, stream, 0, &id), 0);
	assert_int_equal(records[0].kernel.streamId, id);
	assert_int_equal(cupti.context_id(context, &id), 0);
	assert_int_equal(records[0].kernel.contextId, id);
}

FRESH_TEST(copy_records_tell_direction_and_kinds_of_memory)
{
	CUdeviceptr device;
	void *pinned;
	char pageable[100];

	drv.cuMemAlloc_v2(&device, 100);
	drv.cuMemAllocHost_v2(&pinned, 100);
	drv.cuMemcpyDtoH_v2(pageable, device, 100);
	drv.cuMemcpyHtoDAsync_v2(device, pinned, 60, NULL);
	drv.cuMemsetD32_v2(device, 5, 10);
	collect();
	assert_int_equal(record_count, 3);
	assert_int_equal(records[0].copy.copyKind, CUPTI_ACTIVITY_MEMCPY_KIND_DTOH);
	assert_int_equal(records[0].copy.srcKind, CUPTI_ACTIVITY_MEMORY_KIND_DEVICE);
	assert_int_equal(records[0].copy.dstKind, CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE);
	assert_int_equal(records[0].copy.flags, 0);
	assert_int_equal(records[1].copy.copyKind, CUPTI_ACTIVITY_MEMCPY_KIND_HTOD);
	assert_int_equal(records[1].copy.srcKind, CUPTI_ACTIVITY_MEMORY_KIND_PINNED);
	assert_int_equal(records[1].copy.bytes, 60);
	assert_int_equal(records[1].copy.flags, CUPTI_ACTIVITY_FLAG_MEMCPY_ASYNC);
	assert_int_equal(records[2].head.kind, CUPTI_ACTIVITY_KIND_MEMSET);
	assert_int_equal(records[2].set.bytes, 40);
	assert_int_equal(records[2].set.value, 5);
	assert_int_equal(records[2].set.streamId, 7);
}

static void assert_half(unsigned int number, uint8_t kind, uint32_t device, CUcontext context)
{
	const CUpti_ActivityMemcpy6 *copy = &records[number].copy;
	uint32_t id;

	assert_int_equal(copy->kind, CUPTI_ACTIVITY_KIND_MEMCPY);
	assert_int_equal(copy->copyKind, kind);
	assert_int_equal(copy->srcKind, CUPTI_ACTIVITY_MEMORY_KIND_DEVICE);
	assert_int_equal(copy->dstKind, CUPTI_ACTIVITY_MEMORY_KIND_DEVICE);
	assert_int_equal(copy->bytes, 4096);
	assert_int_equal(copy->deviceId, device);
	assert_int_equal(cupti.context_id(context, &id), 0);
	assert_int_equal(copy->contextId, id);
}

FRESH_TEST(copy_between_devices_goes_by_way_of_the_host_but_for_peers)
{
	CUcontext context[2];
	CUdeviceptr memory[2];
	CUstream stream;
	char data[4096] = "";
	uint32_t id;

	for (int i = 1; i >= 0; i--) {
		assert_int_equal(drv.cuDevicePrimaryCtxRetain(&context[i], i), 0);
		drv.cuCtxSetCurrent(context[i]);
		assert_int_equal(drv.cuMemAlloc_v2(&memory[i], 4096), 0);
		drv.cuMemsetD8_v2(memory[i], 'a' + (unsigned char)i, 4096);
		drv.cuCtxSynchronize();
	}
	stream = stream_create(CU_STREAM_NON_BLOCKING);
	cupti.flush(0);
	record_count = 0;
	drv.cuMemcpyPeerAsync(memory[1], context[1], memory[0], context[0], 4096, stream);
	drv.cuStreamSynchronize(stream);
	cupti.flush(0);
	assert_int_equal(record_count, 2);
	assert_half(0, CUPTI_ACTIVITY_MEMCPY_KIND_DTOH, 0, context[0]);
	assert_half(1, CUPTI_ACTIVITY_MEMCPY_KIND_HTOD, 1, context[1]);
	assert_int_equal(records[0].copy.correlationId, records[1].copy.correlationId);
	assert_true(records[0].copy.end <= records[1].copy.start);
	assert_int_equal(cupti.stream_id(context[0], stream, 0, &id), 0);
	assert_int_equal(records[0].copy.streamId, id);
	assert_int_not_equal(records[1].copy.streamId, id);
	drv.cuMemcpyDtoH_v2(data, memory[1], 4096);
	assert_int_equal(data[4095], 'a');

	assert_int_equal(drv.cuCtxEnablePeerAccess(context[1], 0), 0);
	cupti.flush(0);
	record_count = 0;
	drv.cuMemcpyPeerAsync(memory[1], context[1], memory[0], context[0], 4096, stream);
	drv.cuStreamSynchronize(stream);
	cupti.flush(0);
	assert_int_equal(record_count, 1);
	assert_int_equal(records[0].peer.kind, CUPTI_ACTIVITY_KIND_MEMCPY2);
	assert_int_equal(records[0].peer.dstDeviceId, 1);
	drv.cuCtxDisablePeerAccess(context[1]);
}

FRESH_TEST(first_use_of_a_kernel_is_overhead)
{
	CUfunction function;
	CUmodule module;
	CUdeviceptr device;
	void *values[] = { &device };

	drv.cuMemAlloc_v2(&device, 100);
	drv.cuModuleLoadData(&module, sim_ptx);
	drv.cuModuleGetFunction(&function, module, "_Z5plainPf");
	drv.cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, values, NULL);
	drv.cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, values, NULL);
	collect();
	assert_int_equal(record_count, 3);
	assert_int_equal(records[0].overhead.overheadKind,
		CUPTI_ACTIVITY_OVERHEAD_LAZY_FUNCTION_LOADING);
	assert_int_equal(records[0].overhead.correlationId, records[1].kernel.correlationId);
	assert_int_equal(records[1].kernel.end - records[1].kernel.start, 25000);
}

FRESH_TEST(nothing_is_recorded_of_a_disabled_kind)
{
	cupti.disable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
	spin(NULL, 1000);
	collect();
	assert_int_equal(record_count, 0);
}

FRESH_TEST(records_without_a_buffer_are_counted_as_dropped)
{
	size_t dropped = 0;

	buffer_size = 0;
	spin(NULL, 1000);
	spin(NULL, 1000);
	collect();
	buffer_size = 1 << 16;
	assert_int_equal(cupti.number_dropped(NULL, 0, &dropped), 0);
	assert_int_equal(dropped, 2);
	assert_int_equal(record_count, 0);
}

FRESH_TEST(small_buffers_are_filled_one_after_the_other)
{
	buffer_size = 2 * sizeof(CUpti_ActivityKernel10);
	for (int i = 0; i < 5; i++)
		spin(NULL, 1000);
	collect();
	buffer_size = 1 << 16;
	assert_int_equal(record_count, 5);
	for (int i = 1; i < 5; i++)
		assert_true(records[i].kernel.start > records[i - 1].kernel.end);
}

static CUgraphExec two_kernels(void)
{
	uint64_t ns = 1 * MS;
	CUDA_KERNEL_NODE_PARAMS_v2 params = { spin_function, 1, 1, 1, 1, 1, 1, 0, (void *[]){ &ns },
		NULL, NULL, NULL };
	CUgraphExec exec;
	CUgraphNode node;
	CUgraph graph;

	assert_ok(drv.cuGraphCreate(&graph, 0));
	assert_ok(drv.cuGraphAddKernelNode_v2(&node, graph, NULL, 0, &params));
	assert_ok(drv.cuGraphAddKernelNode_v2(&node, graph, &node, 1, &params));
	assert_ok(drv.cuGraphInstantiateWithFlags(&exec, graph, 0));
	return exec;
}

FRESH_TEST(graphs_are_seen_by_their_nodes_or_as_a_whole)
{
	CUgraphExec exec = two_kernels();

	assert_ok(drv.cuGraphLaunch(exec, NULL));
	collect();
	assert_int_equal(record_count, 2);
	assert_int_equal(records[0].kernel.correlationId, records[1].kernel.correlationId);
	assert_int_not_equal(records[0].kernel.graphNodeId, 0);
	assert_int_not_equal(records[0].kernel.graphNodeId, records[1].kernel.graphNodeId);
	record_count = 0;
	assert_int_equal(cupti.enable(CUPTI_ACTIVITY_KIND_GRAPH_TRACE), 0);
	assert_ok(drv.cuGraphLaunch(exec, NULL));
	spin(NULL, 10);
	collect();
	assert_int_equal(cupti.disable(CUPTI_ACTIVITY_KIND_GRAPH_TRACE), 0);
	assert_int_equal(record_count, 2);
	assert_int_equal(records[0].head.kind, CUPTI_ACTIVITY_KIND_GRAPH_TRACE);
	assert_in_range(records[0].graph.end - records[0].graph.start, 2 * MS, 2 * MS + 100000);
	assert_int_equal(records[1].head.kind, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
}

/* As on an H200, and unlike what the function's name says. */
FRESH_TEST(a_period_hands_over_full_buffers_only)
{
	const struct timespec time = { .tv_nsec = 100000000 };

	buffer_size = 4 * sizeof(CUpti_ActivityKernel10);
	assert_int_equal(cupti.set_period(10), 0);
	for (int i = 0; i < 6; i++)
		spin(NULL, 1000);
	drv.cuCtxSynchronize();
	nanosleep(&time, NULL);
	assert_int_equal(record_count, 4);
	cupti.flush(0);
	assert_int_equal(record_count, 6);
	assert_int_equal(cupti.set_period(0), 0);
	buffer_size = 1 << 16;
}

GROUP(setup, NULL)
