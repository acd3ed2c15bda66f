/* SPDX-License-Identifier: Apache-2.0 */
/* cupti/decode.c against records built with the structures of the installed header. */
#include "unit.h"

#include <cupti.h>

#include "decode.h"

TEST(kernels_keep_times_ids_and_name)
{
	CUpti_ActivityKernel10 kernel = { .kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
		.start = 100,
		.end = 250,
		.deviceId = 1,
		.contextId = 2,
		.streamId = 14,
		.correlationId = 77,
		.name = "_Z4spiny",
		.graphNodeId = 9 };
	struct decoded out;

	assert_int_equal(decode_activity(&kernel, &out), 1);
	assert_int_equal(out.kind, DEVICE_KERNEL);
	assert_int_equal(out.start, 100);
	assert_int_equal(out.end, 250);
	assert_int_equal(out.device, 1);
	assert_int_equal(out.context, 2);
	assert_int_equal(out.stream, 14);
	assert_int_equal(out.correlation, 77);
	assert_int_equal(out.value, 9);
	assert_string_equal(out.name, "_Z4spiny");
	assert_false(out.invalid);
}

TEST(copies_keep_direction_and_memory_kinds)
{
	CUpti_ActivityMemcpy6 copy = { .kind = CUPTI_ACTIVITY_KIND_MEMCPY,
		.copyKind = CUPTI_ACTIVITY_MEMCPY_KIND_DTOH,
		.srcKind = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE,
		.dstKind = CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE,
		.bytes = 1ull << 33,
		.start = 5,
		.end = 6,
		.deviceId = 3,
		.contextId = 4,
		.streamId = 7,
		.correlationId = 8 };
	CUpti_ActivityMemcpyPtoP4 peer = { .kind = CUPTI_ACTIVITY_KIND_MEMCPY2,
		.bytes = 12,
		.start = 5,
		.end = 6,
		.deviceId = 0,
		.srcDeviceId = 1,
		.dstDeviceId = 2,
		.correlationId = 99,
		.streamId = 3,
		.contextId = 1 };
	struct decoded out;

	assert_int_equal(decode_activity(&copy, &out), 1);
	assert_int_equal(out.kind, DEVICE_MEMCPY);
	assert_int_equal(out.detail, CUPTI_ACTIVITY_MEMCPY_KIND_DTOH);
	assert_int_equal(out.src, MEMORY_DEVICE);
	assert_int_equal(out.dst, MEMORY_PAGEABLE);
	assert_int_equal(out.value, 1ull << 33);
	assert_int_equal(out.correlation, 8);
	assert_int_equal(decode_activity(&peer, &out), 1);
	assert_int_equal(out.kind, DEVICE_PEER);
	assert_int_equal(out.src, 1);
	assert_int_equal(out.dst, 2);
	assert_int_equal(out.correlation, 99);
}

TEST(memsets_overheads_and_graphs)
{
	CUpti_ActivityMemset4 set = { .kind = CUPTI_ACTIVITY_KIND_MEMSET,
		.bytes = 4096,
		.start = 1,
		.end = 2,
		.streamId = 7,
		.correlationId = 3,
		.memoryKind = CUPTI_ACTIVITY_MEMORY_KIND_PINNED };
	CUpti_ActivityOverhead3 overhead = { .kind = CUPTI_ACTIVITY_KIND_OVERHEAD,
		.overheadKind = (CUpti_ActivityOverheadKind)(6 << 16),
		.start = 10,
		.end = 20,
		.correlationId = 4 };
	CUpti_ActivityGraphTrace2 graph = { .kind = CUPTI_ACTIVITY_KIND_GRAPH_TRACE,
		.correlationId = 5,
		.start = 30,
		.end = 40,
		.deviceId = 1,
		.graphId = 6,
		.contextId = 2,
		.streamId = 13 };
	struct decoded out;

	assert_int_equal(decode_activity(&set, &out), 1);
	assert_int_equal(out.kind, DEVICE_MEMSET);
	assert_int_equal(out.value, 4096);
	assert_int_equal(out.dst, MEMORY_PINNED);
	assert_int_equal(decode_activity(&overhead, &out), 1);
	assert_int_equal(out.kind, DEVICE_OVERHEAD);
	assert_int_equal(out.detail, OVERHEAD_QUEUE_FULL);
	assert_int_equal(out.correlation, 4);
	assert_int_equal(decode_activity(&graph, &out), 1);
	assert_int_equal(out.kind, DEVICE_GRAPH);
	assert_int_equal(out.graph, 6);
	assert_int_equal(out.stream, 13);
}

TEST(impossible_times_are_marked)
{
	CUpti_ActivityKernel10 kernel = { .kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL };
	struct decoded out;

	assert_int_equal(decode_activity(&kernel, &out), 1);
	assert_true(out.invalid);
	kernel.start = 10;
	kernel.end = 9;
	decode_activity(&kernel, &out);
	assert_true(out.invalid);
	kernel.end = 10;
	decode_activity(&kernel, &out);
	assert_false(out.invalid);
}

TEST(other_kinds_are_left_alone)
{
	CUpti_Activity other = { .kind = CUPTI_ACTIVITY_KIND_SYNCHRONIZATION };
	struct decoded out;

	assert_int_equal(decode_activity(&other, &out), 0);
}
