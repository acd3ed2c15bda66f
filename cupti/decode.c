/* SPDX-License-Identifier: Apache-2.0 */
#include "decode.h"

#include <cupti.h>
#include <stddef.h>
#include <string.h>

#include "older_cuda.h"

/* Offsets of members in a kind of record; 0: no such member (offset 0 is the kind itself). */
struct offsets {
	uint32_t activity; /* CUpti_ActivityKind */
	uint8_t kind;      /* enum device_kind */
	uint8_t start, end, device, context, stream, correlation;
	uint8_t value, value_size;
	uint8_t name, graph;
	uint8_t detail, detail_size, detail_shift;
	uint8_t src, dst, end_size; /* src and dst: memory kinds (1 byte) or devices (4) */
};

#define AT(type, member, offset) \
	_Static_assert(offsetof(type, member) == (offset), #type "." #member)
AT(CUpti_ActivityKernel10, start, 16);
AT(CUpti_ActivityKernel10, end, 24);
AT(CUpti_ActivityKernel10, deviceId, 40);
AT(CUpti_ActivityKernel10, contextId, 44);
AT(CUpti_ActivityKernel10, streamId, 48);
AT(CUpti_ActivityKernel10, correlationId, 92);
AT(CUpti_ActivityKernel10, name, 104);
AT(CUpti_ActivityKernel10, graphNodeId, 144);
AT(CUpti_ActivityMemcpy6, copyKind, 4);
AT(CUpti_ActivityMemcpy6, srcKind, 5);
AT(CUpti_ActivityMemcpy6, dstKind, 6);
AT(CUpti_ActivityMemcpy6, bytes, 8);
AT(CUpti_ActivityMemcpy6, start, 16);
AT(CUpti_ActivityMemcpy6, end, 24);
AT(CUpti_ActivityMemcpy6, deviceId, 32);
AT(CUpti_ActivityMemcpy6, contextId, 36);
AT(CUpti_ActivityMemcpy6, streamId, 40);
AT(CUpti_ActivityMemcpy6, correlationId, 44);
AT(CUpti_ActivityMemcpyPtoP4, bytes, 8);
AT(CUpti_ActivityMemcpyPtoP4, start, 16);
AT(CUpti_ActivityMemcpyPtoP4, deviceId, 32);
AT(CUpti_ActivityMemcpyPtoP4, contextId, 36);
AT(CUpti_ActivityMemcpyPtoP4, streamId, 40);
AT(CUpti_ActivityMemcpyPtoP4, srcDeviceId, 44);
AT(CUpti_ActivityMemcpyPtoP4, dstDeviceId, 52);
AT(CUpti_ActivityMemcpyPtoP4, correlationId, 60);
AT(CUpti_ActivityMemset4, bytes, 8);
AT(CUpti_ActivityMemset4, start, 16);
AT(CUpti_ActivityMemset4, deviceId, 32);
AT(CUpti_ActivityMemset4, contextId, 36);
AT(CUpti_ActivityMemset4, streamId, 40);
AT(CUpti_ActivityMemset4, correlationId, 44);
AT(CUpti_ActivityMemset4, memoryKind, 50);
AT(CUpti_ActivityOverhead3, overheadKind, 4);
AT(CUpti_ActivityOverhead3, start, 24);
AT(CUpti_ActivityOverhead3, end, 32);
AT(CUpti_ActivityOverhead3, correlationId, 40);
AT(CUpti_ActivityGraphTrace2, correlationId, 4);
AT(CUpti_ActivityGraphTrace2, start, 8);
AT(CUpti_ActivityGraphTrace2, end, 16);
AT(CUpti_ActivityGraphTrace2, deviceId, 24);
AT(CUpti_ActivityGraphTrace2, graphId, 28);
AT(CUpti_ActivityGraphTrace2, contextId, 32);
AT(CUpti_ActivityGraphTrace2, streamId, 36);

static const struct offsets layouts[] = {
	{ CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, DEVICE_KERNEL, .start = 16, .end = 24,
		.device = 40, .context = 44, .stream = 48, .correlation = 92, .name = 104,
		.value = 144, .value_size = 8 },
	{ CUPTI_ACTIVITY_KIND_MEMCPY, DEVICE_MEMCPY, .start = 16, .end = 24, .device = 32,
		.context = 36, .stream = 40, .correlation = 44, .value = 8, .value_size = 8,
		.detail = 4, .detail_size = 1, .src = 5, .dst = 6, .end_size = 1 },
	{ CUPTI_ACTIVITY_KIND_MEMCPY2, DEVICE_PEER, .start = 16, .end = 24, .device = 32,
		.context = 36, .stream = 40, .correlation = 60, .value = 8, .value_size = 8,
		.detail = 4, .detail_size = 1, .src = 44, .dst = 52, .end_size = 4 },
	{ CUPTI_ACTIVITY_KIND_MEMSET, DEVICE_MEMSET, .start = 16, .end = 24, .device = 32,
		.context = 36, .stream = 40, .correlation = 44, .value = 8, .value_size = 8,
		.dst = 50, .end_size = 1 },
	{ CUPTI_ACTIVITY_KIND_OVERHEAD, DEVICE_OVERHEAD, .start = 24, .end = 32, .correlation = 40,
		.detail = 4, .detail_size = 4, .detail_shift = 16 },
	{ CUPTI_ACTIVITY_KIND_GRAPH_TRACE, DEVICE_GRAPH, .start = 8, .end = 16, .device = 24,
		.context = 32, .stream = 36, .correlation = 4, .graph = 28 },
};

static uint64_t load(const void *record, unsigned offset, unsigned size)
{
	uint64_t value = 0;

	if (offset)
		memcpy(&value, (const char *)record + offset, size);
	return value;
}

int decode_activity(const void *record, struct decoded *out)
{
	uint32_t activity;
	const struct offsets *at = NULL;

	memcpy(&activity, record, sizeof(activity));
	for (unsigned i = 0; i < sizeof(layouts) / sizeof(layouts[0]); i++)
		if (layouts[i].activity == activity)
			at = &layouts[i];
	if (!at)
		return 0;
	*out = (struct decoded){
		.kind = at->kind,
		.detail = (uint8_t)(load(record, at->detail, at->detail_size) >> at->detail_shift),
		.src = (uint8_t)load(record, at->src, at->end_size),
		.dst = (uint8_t)load(record, at->dst, at->end_size),
		.start = load(record, at->start, 8),
		.end = load(record, at->end, 8),
		.correlation = (uint32_t)load(record, at->correlation, 4),
		.context = (uint32_t)load(record, at->context, 4),
		.device = (uint32_t)load(record, at->device, 4),
		.stream = (uint32_t)load(record, at->stream, 4),
		.value = load(record, at->value, at->value_size),
		.graph = (uint32_t)load(record, at->graph, 4),
		.name = (const char *)(uintptr_t)load(record, at->name, 8),
	};
	out->invalid = !out->start || out->end < out->start;
	return 1;
}
