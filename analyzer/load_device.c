/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operations of the device meet the calls that submitted them: by correlation id, which CUPTI
 * announces to the recorder before the call and repeats in every record.
 */
#include "loader.h"

#include <stdlib.h>

static int compare_start(const void *a, const void *b)
{
	const struct device_record *p = *(const struct device_record *const *)a;
	const struct device_record *q = *(const struct device_record *const *)b;

	if (p->start != q->start)
		return p->start < q->start ? -1 : 1;
	if (p->correlation != q->correlation)
		return p->correlation < q->correlation ? -1 : 1;
	return p < q ? -1 : p > q;
}

static uint64_t cupti_stream(const struct device_record *device)
{
	return (uint64_t)device->context << 32 | device->stream;
}

/* Operations inside a graph run on the executor's streams, not on the one it was launched on. */
static int is_graph_node(const struct device_record *device)
{
	return device->kind == DEVICE_KERNEL && device->value;
}

/* The call learns what only the device knew; the stream learns its CUPTI id. */
static int tell_call(struct loader *loader, const struct device_record *device,
	struct loaded_call *call)
{
	struct loaded_process *p = &loader->p;
	struct loaded_stream *stream = call->stream ? &p->stream[call->stream - 1] : NULL;

	if (device->kind == DEVICE_MEMCPY && device->src)
		call->src_memory = device->src;
	if (device->kind == DEVICE_MEMCPY && device->dst)
		call->dst_memory = device->dst;
	if (!stream || is_graph_node(device))
		return 0;
	if (stream->cupti_id < 0)
		stream->cupti_id = device->stream;
	return map_set(&p->cupti_streams, cupti_stream(device), call->stream);
}

/* An operation whose call was not recorded may run on a stream that nothing else names. */
static int know_stream(struct loader *loader, const struct device_record *device)
{
	struct loaded_process *p = &loader->p;
	uint64_t context = map_get(&p->context_cupti_ids, device->context, 0);
	struct loaded_stream stream = {
		.context = context ? p->context[context - 1].row : 0,
		.kind = STREAM_KIND_UNKNOWN, .cupti_id = device->stream,
	};
	uint32_t known;

	if (map_get(&p->cupti_streams, cupti_stream(device), 0))
		return 0;
	known = loader_add_stream(loader, KEY_DEVICE_STREAM | cupti_stream(device), &stream);
	return known ? map_set(&p->cupti_streams, cupti_stream(device), known) : -1;
}

/* The kernel's name as CUPTI reports it, for calls whose function was not recorded. */
static int name_kernel(struct loader *loader, const struct device_record *device,
	struct loaded_call *call)
{
	const struct string_record *name = (const struct string_record *)(uintptr_t)
		map_get(&loader->p.strings, device->name, 0);
	uint32_t kernel;

	if (device->kind != DEVICE_KERNEL || !name || (call && call->kernel))
		return 0;
	kernel = loader_kernel(loader, name->text, name->length);
	if (call && !is_graph_node(device))
		call->kernel = kernel;
	return kernel ? 0 : -1;
}

int loader_match_device(struct loader *loader)
{
	struct loaded_process *p = &loader->p;

	if (p->device_count)
		qsort(p->device, p->device_count, sizeof(*p->device), compare_start);
	for (int matched = 1; matched >= 0; matched--) {
		for (size_t i = 0; i < p->device_count; i++) {
			const struct device_record *device = p->device[i];
			uint64_t number = map_get(&p->correlations, device->correlation, 0);
			struct loaded_call *call = number ? &p->call[number - 1] : NULL;
			if (device->kind == DEVICE_OVERHEAD || !!call != matched)
				continue;
			if (name_kernel(loader, device, call) ||
				(call ? tell_call(loader, device, call)
				      : know_stream(loader, device)))
				return -1;
		}
	}
	return 0;
}
