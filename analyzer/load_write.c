/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rows whose ids or contents depend on the whole trace.
 */
#include "loader.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const memory_names[] = {
	[MEMORY_UNKNOWN] = NULL, [MEMORY_PAGEABLE] = "pageable", [MEMORY_PINNED] = "pinned",
	[MEMORY_DEVICE] = "device", [MEMORY_ARRAY] = "device", [MEMORY_MANAGED] = "managed",
	[MEMORY_DEVICE_STATIC] = "device", [MEMORY_MANAGED_STATIC] = "managed",
};

static const char *const stream_kinds[] = {
	[STREAM_KIND_UNKNOWN] = "unknown", [STREAM_KIND_LEGACY] = "legacy",
	[STREAM_KIND_PER_THREAD] = "per-thread", [STREAM_KIND_BLOCKING] = "blocking",
	[STREAM_KIND_NON_BLOCKING] = "non-blocking",
};

static const char *memory_name(unsigned kind)
{
	return kind < sizeof(memory_names) / sizeof(*memory_names) ? memory_names[kind] : NULL;
}

/* Row of an index + 1 among rows that start after before; NULL for none. */
static int64_t row_of(int64_t before, uint32_t number)
{
	return number ? before + number : DB_NULL;
}

static int64_t or_null(uint64_t row)
{
	return row ? (int64_t)row : DB_NULL;
}

static int64_t field(const struct call_fields *fields, enum field_kind kind)
{
	return fields->present & 1ull << kind ? (int64_t)fields->value[kind] : DB_NULL;
}

static void seen(struct loaded_process *p, int64_t at)
{
	if (at > p->end)
		p->end = at;
}

static int64_t host_time(struct loaded_process *p, uint64_t ticks)
{
	int64_t at = clock_host(&p->clock, ticks);

	seen(p, at);
	return at;
}

static int write_polling(struct loader *loader, int64_t call, const struct call_record *record)
{
	struct call_polls polls;
	size_t bytes = record->head.words * (size_t)TRACE_ALIGN;

	if (!(record->head.flags & CALL_POLLS) || bytes < sizeof(*record) + sizeof(polls))
		return 0;
	memcpy(&polls, (const char *)record + bytes - sizeof(polls), sizeof(polls));
	return db_run(loader->insert[INSERT_POLLING], "iii", call, (int64_t)polls.count,
		host_time(&loader->p, polls.last));
}

static int write_call(struct loader *loader, size_t index)
{
	struct loaded_process *p = &loader->p;
	const struct loaded_call *call = &p->call[index];
	const struct call_record *record = (const struct call_record *)call->record;
	int returned = record->head.type == RECORD_CALL;
	struct call_fields fields = loader_fields(loader, call);
	uint32_t site = returned ? record->site
				 : ((const struct enter_record *)call->record)->site;
	int64_t row = loader->call + (int64_t)index + 1;
	int rc = db_run(loader->insert[INSERT_CALL], "iiiIiiIIIIIIIIiIIIIIIIIss", row,
		loader->process, (int64_t)call->thread,
		row_of(loader->call, call->parent), p->type[loader_call_number(call)].id,
		host_time(p, call->enter), returned ? host_time(p, call->exit) : DB_NULL,
		returned ? (int64_t)record->result : DB_NULL, or_null(call->context),
		row_of(loader->stream, call->stream), row_of(loader->event, call->event),
		or_null(call->kernel), or_null(map_get(&p->sites, site, 0)),
		returned ? or_null(record->correlation) : DB_NULL,
		(int64_t)!!(call->record->flags & CALL_PER_THREAD),
		field(&fields, FIELD_ptr), field(&fields, FIELD_dst), field(&fields, FIELD_src),
		field(&fields, FIELD_bytes), field(&fields, FIELD_direction),
		field(&fields, FIELD_flags), field(&fields, FIELD_grid),
		field(&fields, FIELD_block),
		memory_name(call->dst_memory), memory_name(call->src_memory));
	return rc || !returned ? rc : write_polling(loader, row, record);
}

static int64_t device_time(struct loaded_process *p, const struct device_record *device,
	uint64_t cupti_ns)
{
	int64_t at;

	if (!cupti_ns || device->head.flags & DEVICE_INVALID)
		return DB_NULL;
	at = clock_device(&p->clock, cupti_ns);
	seen(p, at);
	return at;
}

static int write_overhead(struct loader *loader, const struct device_record *device, uint32_t call)
{
	struct loaded_process *p = &loader->p;
	int64_t start = device_time(p, device, device->start);
	int64_t end = device_time(p, device, device->end);
	char number[16];
	const char *kind = number;

	if (start == DB_NULL || end == DB_NULL)
		return 0;
	if (device->detail == OVERHEAD_LAZY_LOADING)
		kind = "lazy_loading";
	else if (device->detail == OVERHEAD_QUEUE_FULL)
		kind = "queue_full";
	else
		snprintf(number, sizeof(number), "%u", device->detail);
	return db_run(loader->insert[INSERT_OVERHEAD], "iIsii", loader->process,
		row_of(loader->call, call), kind, start, end);
}

static const char *operation_kind(const struct device_record *device)
{
	static const char *const kinds[] = {
		[DEVICE_KERNEL] = "kernel", [DEVICE_MEMCPY] = "memcpy", [DEVICE_MEMSET] = "memset",
		[DEVICE_PEER] = "peer", [DEVICE_GRAPH] = "graph",
	};

	if (device->kind < sizeof(kinds) / sizeof(*kinds) && kinds[device->kind])
		return kinds[device->kind];
	return "other";
}

static int64_t operation_kernel(struct loader *loader, const struct device_record *device,
	const struct loaded_call *call)
{
	struct loaded_process *p = &loader->p;
	const struct string_record *name = (const struct string_record *)(uintptr_t)
		map_get(&p->strings, device->name, 0);

	if (device->kind != DEVICE_KERNEL)
		return DB_NULL;
	if (call && call->kernel && !device->value)
		return call->kernel;
	return name ? or_null(map_get(&p->kernels, map_hash(name->text, name->length), 0))
		    : DB_NULL;
}

static int write_operation(struct loader *loader, const struct device_record *device,
	uint32_t number)
{
	struct loaded_process *p = &loader->p;
	const struct loaded_call *call = number ? &p->call[number - 1] : NULL;
	uint64_t context = map_get(&p->context_cupti_ids, device->context, 0);
	uint64_t stream = map_get(&p->cupti_streams,
		(uint64_t)device->context << 32 | device->stream, 0);
	int copy = device->kind == DEVICE_MEMCPY, peer = device->kind == DEVICE_PEER;
	int bytes = copy || peer || device->kind == DEVICE_MEMSET;

	if (call && call->stream)
		stream = call->stream;
	if (context)
		context = p->context[context - 1].row;
	else if (call)
		context = call->context;
	loader->operation++;
	return db_run(loader->insert[INSERT_OPERATION], "iiIsIIiIIiIIIssI", loader->operation,
		loader->process, row_of(loader->call, number), operation_kind(device),
		device_time(p, device, device->start), device_time(p, device, device->end),
		(int64_t)device->device, or_null(context),
		row_of(loader->stream, (uint32_t)stream), (int64_t)device->correlation,
		operation_kernel(loader, device, call),
		bytes ? (int64_t)device->value : DB_NULL,
		copy ? (int64_t)device->detail : DB_NULL,
		copy ? memory_name(device->src) : peer ? "device" : NULL,
		copy ? memory_name(device->dst) : peer ? "device" : NULL,
		device->kind == DEVICE_KERNEL ? or_null(device->value) : DB_NULL);
}

static int write_device(struct loader *loader)
{
	struct loaded_process *p = &loader->p;

	for (size_t i = 0; i < p->device_count; i++) {
		const struct device_record *device = p->device[i];
		uint32_t call = (uint32_t)map_get(&p->correlations, device->correlation, 0);
		if (device->kind == DEVICE_OVERHEAD ? write_overhead(loader, device, call)
						    : write_operation(loader, device, call))
			return -1;
	}
	return 0;
}

static int write_streams(struct loader *loader)
{
	struct loaded_process *p = &loader->p;

	for (size_t i = 0; i < p->streams.count; i++) {
		const struct loaded_stream *stream = &p->stream[i];
		const struct life *life = &p->streams.life[i];
		if (db_run(loader->insert[INSERT_STREAM], "iiIisIiIII",
			    loader->stream + (int64_t)i + 1, loader->process,
			    or_null(stream->context), (int64_t)stream->handle,
			    stream_kinds[stream->kind], or_null(stream->thread),
			    (int64_t)stream->priority, row_of(loader->call, life->created),
			    row_of(loader->call, life->destroyed),
			    stream->cupti_id < 0 ? DB_NULL : stream->cupti_id))
			return -1;
	}
	return 0;
}

static int write_events(struct loader *loader)
{
	struct loaded_process *p = &loader->p;

	for (size_t i = 0; i < p->events.count; i++) {
		const struct life *life = &p->events.life[i];
		if (db_run(loader->insert[INSERT_EVENT], "iiiiII", loader->event + (int64_t)i + 1,
			    loader->process, (int64_t)life->handle, (int64_t)p->event_flags[i],
			    row_of(loader->call, life->created),
			    row_of(loader->call, life->destroyed)))
			return -1;
	}
	return 0;
}

static int write_allocations(struct loader *loader)
{
	struct loaded_process *p = &loader->p;

	for (size_t i = 0; i < p->allocations.count; i++) {
		const struct life *life = &p->allocations.life[i];
		if (db_run(loader->insert[INSERT_ALLOCATION], "iiiisII",
			    loader->allocation + (int64_t)i + 1, loader->process,
			    (int64_t)life->handle, (int64_t)p->allocation[i].bytes,
			    p->allocation[i].memory, row_of(loader->call, life->created),
			    row_of(loader->call, life->destroyed)))
			return -1;
	}
	return 0;
}

static int write_threads(struct loader *loader)
{
	struct loaded_process *p = &loader->p;

	for (size_t i = 0; i < p->thread_count; i++) {
		const struct thread_record *named = p->thread[i].name;
		if (db_run(loader->insert[INSERT_THREAD], "iiitII", loader->thread + (int64_t)i + 1,
			    loader->process, (int64_t)p->thread[i].tid,
			    named ? named->name : NULL, (size_t)(named ? named->name_length : 0),
			    row_of(loader->call, p->thread[i].made_by),
			    row_of(loader->call, p->thread[i].joined_by)))
			return -1;
	}
	return 0;
}

int loader_write(struct loader *loader)
{
	struct loaded_process *p = &loader->p;

	for (size_t i = 0; i < p->call_count; i++)
		if (write_call(loader, i))
			return -1;
	if (loader_write_host(loader) || write_device(loader) || write_streams(loader) || write_events(loader) ||
		write_allocations(loader) || write_threads(loader))
		return -1;
	loader->call += (int64_t)p->call_count;
	loader->stream += (int64_t)p->streams.count;
	loader->event += (int64_t)p->events.count;
	loader->allocation += (int64_t)p->allocations.count;
	loader->thread += (int64_t)p->thread_count;
	return 0;
}
