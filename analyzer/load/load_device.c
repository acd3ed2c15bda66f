/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Matches device operations to the calls that submitted them, by correlation id, which CUPTI
 * announces to the recorder before the call and stores in every record.
 *
 * A record is stored as its offset in the file, in 8-byte words.  The first one of an id has a
 * slot; further ones (graphs node by node, driver overhead) are in a list sorted by id and offset.
 */
#include "loader.h"

#include <stdlib.h>

#include "load_accept.h"
#include "memory.h"

void loader_file_device(struct loader *loader, const struct device_record *device)
{
	struct loaded_process *p = &loader->p;
	uint32_t place = loader_place(p, device);
	uint32_t *slot = sparse_words_at(&p->device, device->correlation);

	if (!*slot) {
		*slot = place;
		return;
	}
	*array_push(p->more_device, p->more_device_count) =
		(uint64_t)device->correlation << 32 | place;
}

static int compare_numbers(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

void loader_sort_devices(struct loader *loader)
{
	struct loaded_process *p = &loader->p;

	if (p->more_device_count)
		qsort(p->more_device, p->more_device_count, sizeof(*p->more_device),
			compare_numbers);
}

static int compare_start(const void *a, const void *b)
{
	const struct device_record *p = *(const struct device_record *const *)a;
	const struct device_record *q = *(const struct device_record *const *)b;

	if (p->start != q->start)
		return p->start < q->start ? -1 : 1;
	return p < q ? -1 : p > q;
}

static void collect(struct loader *loader, uint32_t place)
{
	struct loaded_process *p = &loader->p;
	const struct device_record *device =
		(const struct device_record *)(p->reader.base + (size_t)place * TRACE_ALIGN);

	if (!loader_accept_device(loader, device))
		return;
	*array_push(p->taken, p->taken_count) = device;
}

/* Returns the index of the first list entry with that id. */
static size_t first_more(const struct loaded_process *p, uint32_t correlation)
{
	size_t low = 0, high = p->more_device_count;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (p->more_device[middle] >> 32 < correlation)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

void loader_take_devices(struct loader *loader, uint32_t correlation)
{
	struct loaded_process *p = &loader->p;
	uint32_t *slot = sparse_words_find(&p->device, correlation);

	p->taken_count = 0;
	if (!slot)
		return;
	collect(loader, *slot);
	*slot = 0;
	for (size_t i = first_more(p, correlation);
		i < p->more_device_count && p->more_device[i] >> 32 == correlation; i++)
		collect(loader, (uint32_t)p->more_device[i]);
	if (p->taken_count > 1)
		qsort(p->taken, p->taken_count, sizeof(*p->taken), compare_start);
}

static uint64_t cupti_stream(const struct device_record *device)
{
	return (uint64_t)device->context << 32 | device->stream;
}

/*
 * Operations inside a graph run on internal streams, not on the stream of the launch, and have no
 * properties of the launch.
 */
static int is_graph_node(const struct device_record *device, const struct loaded_call *call)
{
	return (device->kind == DEVICE_KERNEL && device->value) ||
		(call->kind == KIND_GRAPH_LAUNCH && device->kind != DEVICE_GRAPH);
}

/*
 * A copy between devices without peer access is staged through the host; the half on the other
 * device runs in an internal stream of the driver.
 */
static int is_elsewhere(const struct loaded_process *p, const struct device_record *device,
	const struct loaded_stream *stream)
{
	uint64_t context = map_get(&p->context_cupti_ids, device->context, 0);

	return device->kind == DEVICE_MEMCPY && context && stream->context &&
		p->context[context - 1].row != stream->context;
}

/*
 * Copies properties known only from the device record to the call, and the CUPTI id to the stream.
 */
static void complete_call(struct loader *loader, const struct device_record *device,
	struct loaded_call *call)
{
	struct loaded_process *p = &loader->p;
	struct loaded_stream *stream = call->stream ? &p->stream[call->stream - 1] : NULL;

	if (is_graph_node(device, call))
		return;
	if (device->kind == DEVICE_MEMCPY && device->src)
		call->src_memory = device->src;
	if (device->kind == DEVICE_MEMCPY && device->dst)
		call->dst_memory = device->dst;
	if (!stream || is_elsewhere(p, device, stream))
		return;
	if (stream->cupti_id < 0)
		stream->cupti_id = device->stream;
	map_set(&p->cupti_streams, cupti_stream(device), call->stream);
}

/* An operation whose call was not recorded may run on an otherwise unknown stream. */
static int identify_stream(struct loader *loader, const struct device_record *device)
{
	struct loaded_process *p = &loader->p;
	uint64_t context = map_get(&p->context_cupti_ids, device->context, 0);
	struct loaded_stream stream = {
		.context = context ? p->context[context - 1].row : 0,
		.kind = STREAM_KIND_UNKNOWN,
		.cupti_id = device->stream,
	};
	uint32_t known;

	if (map_get(&p->cupti_streams, cupti_stream(device), 0))
		return 0;
	known = loader_add_stream(loader, KEY_DEVICE_STREAM | cupti_stream(device), 0, &stream);
	if (!known)
		return -1;
	map_set(&p->cupti_streams, cupti_stream(device), known);
	return 0;
}

/* CUPTI's kernel name, for calls whose function was not recorded. */
static int name_kernel(struct loader *loader, const struct device_record *device,
	struct loaded_call *call)
{
	const struct string_record *name =
		(const struct string_record *)(uintptr_t)map_get(&loader->p.strings, device->name,
			0);
	uint32_t kernel;

	if (device->kind != DEVICE_KERNEL || !name || (call && call->kernel))
		return 0;
	kernel = loader_kernel(loader, name->text, name->length);
	if (call && !is_graph_node(device, call))
		call->kernel = kernel;
	return kernel ? 0 : -1;
}

int loader_match_devices(struct loader *loader, struct loaded_call *call)
{
	struct loaded_process *p = &loader->p;

	for (size_t i = 0; i < p->taken_count; i++) {
		const struct device_record *device = p->taken[i];

		if (device->kind == DEVICE_OVERHEAD)
			continue;
		if (name_kernel(loader, device, call))
			return -1;
		complete_call(loader, device, call);
	}
	return 0;
}

int loader_write_unmatched(struct loader *loader)
{
	struct loaded_process *p = &loader->p;
	uint64_t next = 0;

	while ((next = sparse_words_next(&p->device, next)) != UINT64_MAX) {
		loader_take_devices(loader, (uint32_t)next);
		for (size_t i = 0; i < p->taken_count; i++) {
			const struct device_record *device = p->taken[i];

			if (device->kind != DEVICE_OVERHEAD &&
				(name_kernel(loader, device, NULL) ||
					identify_stream(loader, device)))
				return -1;
			if (loader_write_device(loader, device, NULL))
				return -1;
		}
	}
	return 0;
}
