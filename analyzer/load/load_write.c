/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the rows of calls and of the objects they use. */
#include "loader.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "large.h"
#include "load_accept.h"
#include "memory.h"
#include "run_build.h"

static const char *const memory_names[] = {
	[MEMORY_UNKNOWN] = NULL,
	[MEMORY_PAGEABLE] = "pageable",
	[MEMORY_PINNED] = "pinned",
	[MEMORY_DEVICE] = "device",
	[MEMORY_ARRAY] = "device",
	[MEMORY_MANAGED] = "managed",
	[MEMORY_DEVICE_STATIC] = "device",
	[MEMORY_MANAGED_STATIC] = "managed",
};

static const char *const stream_kinds[] = {
	[STREAM_KIND_UNKNOWN] = "unknown",
	[STREAM_KIND_LEGACY] = "legacy",
	[STREAM_KIND_THREAD] = "per-thread",
	[STREAM_KIND_BLOCKING] = "blocking",
	[STREAM_KIND_NON_BLOCKING] = "non-blocking",
};

static const char *memory_name(unsigned kind)
{
	return kind < sizeof(memory_names) / sizeof(*memory_names) ? memory_names[kind] : NULL;
}

/* Row of an index + 1 in a table whose rows start after before; NULL for none. */
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
	int64_t at = clock_host_ns(&p->clock, ticks);

	seen(p, at);
	return at;
}

int64_t loader_host_time(struct loader *loader, uint64_t ticks)
{
	return host_time(&loader->p, ticks);
}

static int write_polling(struct loader *loader, int64_t call, const struct call_record *record)
{
	struct call_polls polls;

	if (!loader_polls(record, &polls))
		return 0;
	return db_add(loader->db,
		ROW(polling, call, polls.count, host_time(&loader->p, polls.last)));
}

static void note_thread_call(struct loader *loader, const struct loaded_call *call)
{
	struct loaded_thread *thread = &loader->p.thread[call->thread - loader->thread - 1];

	*large_push(thread->call, thread->call_count) = call->number;
}

/* exit: DB_NULL if the call never returned. */
static void note_use(struct loader *loader, const struct loaded_call *call, int64_t enter,
	int64_t exit, uint64_t site)
{
	struct loaded_thread *thread = &loader->p.thread[call->thread - loader->thread - 1];

	if (call->parent)
		return;
	thread->outermost++;
	thread->placed += site != 0;
	thread->stuck = exit == DB_NULL ? enter : DB_NULL;
	if (exit != DB_NULL)
		thread->inside += exit - enter;
}

/* CU_LIMIT_STACK_SIZE and CU_MEMPOOL_ATTR_RELEASE_THRESHOLD of cuda.h. */
#define LIMIT_STACK 0
#define POOL_THRESHOLD 4

/* NULL if the call names none. */
static int64_t bytes_of(const struct loaded_call *call)
{
	const struct call_fields *fields = &call->fields;

	if (call->kind == KIND_CONTEXT_LIMIT && fields->value[FIELD_type] == LIMIT_STACK &&
		fields->value[FIELD_value] <= SIZE_MOST)
		return field(fields, FIELD_value);
	/* UINT64_MAX keeps everything, and so does SIZE_MOST. */
	if (call->kind == KIND_POOL_ATTRIBUTE && fields->value[FIELD_type] == POOL_THRESHOLD)
		return fields->value[FIELD_value] < SIZE_MOST ? (int64_t)fields->value[FIELD_value]
							      : (int64_t)SIZE_MOST;
	return field(fields, FIELD_bytes);
}

/* --- the same rows in the columns of the run, if db->run is to be filled --- */

static uint32_t id_of(int64_t row)
{
	return row == DB_NULL ? 0 : (uint32_t)row;
}

static int64_t time_of(int64_t at)
{
	return at == DB_NULL ? RUN_NEVER : at;
}

static int64_t field_or(const struct loaded_call *call, enum field_kind kind, int64_t otherwise)
{
	int64_t value = field(&call->fields, kind);

	return value == DB_NULL ? otherwise : value;
}

/* Memory kinds as in table call. */
static uint8_t memory_of(unsigned kind)
{
	switch (kind) {
	case MEMORY_ARRAY:
	case MEMORY_DEVICE_STATIC:
		return MEMORY_DEVICE;
	case MEMORY_MANAGED_STATIC:
		return MEMORY_MANAGED;
	default:
		return kind <= MEMORY_MANAGED ? (uint8_t)kind : MEMORY_UNKNOWN;
	}
}

static enum call_kind kind_of(const struct call_type_record *type)
{
	if (type->runtime)
		return KIND_RUNTIME;
	return type->kind < KIND_COUNT ? type->kind : KIND_OTHER;
}

static void fill_payload(struct run_payload *payload, const struct loader *loader,
	const struct loaded_call *call)
{
	payload->ptr = field_or(call, FIELD_ptr, 0);
	payload->bytes = bytes_of(call);
	payload->has_bytes = payload->bytes != DB_NULL;
	if (!payload->has_bytes)
		payload->bytes = 0;
	payload->grid = (uint64_t)field_or(call, FIELD_grid, 0);
	payload->block = (uint64_t)field_or(call, FIELD_block, 0);
	payload->result = call->returned ? ((const struct call_record *)call->record)->result : 0;
	payload->process = (uint32_t)loader->process;
	payload->context = call->context;
	payload->event = (uint32_t)call->event;
	payload->kernel = call->kernel;
	payload->src = memory_of(call->src_memory);
	payload->dst = memory_of(call->dst_memory);
	payload->pageable =
		run_pageable(payload, field_or(call, FIELD_dst, 0), field_or(call, FIELD_src, 0));
}

static int add_call(void *run, void *facts)
{
	return run_add_call(run, facts);
}

static int keep_call(struct loader *loader, const struct loaded_call *call, int64_t enter,
	int64_t exit, int64_t site)
{
	struct run_call_facts *facts;

	if (!loader->db->run)
		return 0;
	facts = relay_add(loader->relay, add_call, loader->db->run, sizeof(*facts));
	if (!facts)
		return -1;
	memset(facts, 0, sizeof(*facts));
	facts->id = (uint32_t)(loader->call + call->number);
	facts->parent = call->parent ? (uint32_t)(loader->call + call->parent) : 0;
	facts->site = id_of(site);
	facts->thread = call->thread;
	facts->stream = call->stream ? (uint32_t)(loader->stream + call->stream) : 0;
	facts->type = (uint32_t)call->type->id;
	facts->kind = kind_of(call->type->record);
	facts->enter = enter;
	facts->exit = time_of(exit);
	facts->returned = call->returned;
	facts->direction = field_or(call, FIELD_direction, COPY_DEFAULT);
	fill_payload(&facts->payload, loader, call);
	return 0;
}

/*
 * A call that fails in the runtime makes no call of the driver (no code for the device, say), so
 * the outermost calls are counted.
 */
static void count_submitted(struct loaded_process *p, const struct loaded_call *call)
{
	if (call->parent || !call->returned || !(call->type->record->traits & TRAIT_SUBMITS))
		return;
	p->submitted++;
	p->refused_work += call->failed ? 1 : 0;
}

int loader_write_call(struct loader *loader, const struct loaded_call *call)
{
	struct loaded_process *p = &loader->p;
	const struct call_record *record = (const struct call_record *)call->record;
	const struct call_fields *fields = &call->fields;
	uint64_t site = map_get(&p->sites,
		call->returned ? record->site : ((const struct enter_record *)call->record)->site,
		0);
	int64_t row = loader->call + call->number, enter = host_time(p, call->enter);
	int64_t exit = call->returned ? host_time(p, call->exit) : DB_NULL;
	int rc = bulk_add(loader->calls,
		ROW(call, row, loader->process, call->thread, row_of(loader->call, call->parent),
			call->type->id, enter, exit,
			call->returned ? (int64_t)record->result : DB_NULL, or_null(call->context),
			row_of(loader->stream, call->stream), or_null((uint64_t)call->event),
			or_null(call->kernel), or_null(site),
			call->returned ? or_null(record->correlation) : DB_NULL,
			!!(call->record->flags & CALL_PER_THREAD), field(fields, FIELD_ptr),
			field(fields, FIELD_dst), field(fields, FIELD_src), bytes_of(call),
			field(fields, FIELD_direction), field(fields, FIELD_flags),
			field(fields, FIELD_grid), field(fields, FIELD_block),
			cell_text(memory_name(call->dst_memory)),
			cell_text(memory_name(call->src_memory))));

	if (rc)
		return -1;
	note_thread_call(loader, call);
	if (keep_call(loader, call, enter, exit, or_null(site)))
		return -1;
	count_submitted(p, call);
	if (call->kind == KIND_INIT && call->returned && p->init != INIT_DONE)
		p->init = call->failed ? INIT_FAILED : INIT_DONE;
	note_use(loader, call, enter, exit, site);
	return call->returned ? write_polling(loader, row, record) : 0;
}

static int64_t device_time(struct loaded_process *p, const struct device_record *device,
	uint64_t cupti_ns)
{
	int64_t at;

	if (!cupti_ns || device->head.flags & DEVICE_INVALID)
		return DB_NULL;
	at = clock_device_ns(&p->clock, cupti_ns);
	seen(p, at);
	return at;
}

struct operation_times {
	int64_t start, end;
	int64_t recorded_end; /* DB_NULL: as end */
};

static struct operation_times operation_times(struct loaded_process *p,
	const struct device_record *device)
{
	struct operation_times times = { .recorded_end = DB_NULL };
	int64_t limit;

	if (!loader_is_impossible(p, device, &limit)) {
		times.start = device_time(p, device, device->start);
		times.end = device_time(p, device, device->end);
		return times;
	}
	times.recorded_end = clock_device_ns(&p->clock, device->end);
	times.start = limit == CLOCK_NONE ? DB_NULL : device_time(p, device, device->start);
	times.end = limit == CLOCK_NONE ? DB_NULL : limit;
	return times;
}

static int write_overhead(struct loader *loader, const struct device_record *device,
	const struct loaded_call *call)
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
	return db_add(loader->db,
		ROW(overhead, loader->process, call ? loader->call + call->number : DB_NULL,
			cell_text(kind), start, end));
}

static int64_t operation_kernel(struct loader *loader, const struct device_record *device,
	const struct loaded_call *call)
{
	struct loaded_process *p = &loader->p;
	const struct string_record *name =
		(const struct string_record *)(uintptr_t)map_get(&p->strings, device->name, 0);

	if (device->kind != DEVICE_KERNEL)
		return DB_NULL;
	if (call && call->kernel && !device->value)
		return call->kernel;
	return name ? or_null(map_get(&p->kernels, map_hash(name->text, name->length), 0))
		    : DB_NULL;
}

static enum work_kind work_kind_of(const struct device_record *device)
{
	switch (device->kind) {
	case DEVICE_KERNEL:
		return WORK_KERNEL;
	case DEVICE_MEMCPY:
		return WORK_MEMCPY;
	case DEVICE_MEMSET:
		return WORK_MEMSET;
	case DEVICE_PEER:
		return WORK_PEER;
	case DEVICE_GRAPH:
		return WORK_GRAPH;
	default:
		return WORK_OTHER;
	}
}

static int add_work(void *run, void *facts)
{
	return run_add_work(run, facts);
}

static int keep_operation(struct loader *loader, const struct device_record *device,
	const struct loaded_call *call, const struct operation_times *times, int64_t context,
	int64_t stream)
{
	struct run_work_facts *facts;

	if (!loader->db->run)
		return 0;
	facts = relay_add(loader->relay, add_work, loader->db->run, sizeof(*facts));
	if (!facts)
		return -1;
	memset(facts, 0, sizeof(*facts));
	facts->id = (uint32_t)loader->operation;
	facts->call = call ? (uint32_t)(loader->call + call->number) : 0;
	facts->start = time_of(times->start);
	facts->end = time_of(times->end);
	facts->where.end_is_limit = times->recorded_end != DB_NULL;
	facts->where.process = (uint32_t)loader->process;
	facts->where.context = id_of(context);
	facts->where.stream = id_of(stream);
	facts->where.device = device->device;
	facts->where.kind = (uint8_t)work_kind_of(device);
	if (device->kind == DEVICE_MEMCPY)
		facts->where.copy_kind = device->detail;
	return 0;
}

static void note_end(struct loader *loader, int64_t end)
{
	size_t count = (size_t)loader->operation - 1;

	*large_push(loader->end, count) = (struct operation_end){ end, loader->operation };
}

static int write_operation(struct loader *loader, const struct device_record *device,
	const struct loaded_call *call)
{
	struct loaded_process *p = &loader->p;
	uint64_t context = map_get(&p->context_cupti_ids, device->context, 0);
	uint64_t stream =
		map_get(&p->cupti_streams, (uint64_t)device->context << 32 | device->stream, 0);
	int copy = device->kind == DEVICE_MEMCPY, peer = device->kind == DEVICE_PEER;
	int bytes = copy || peer || device->kind == DEVICE_MEMSET;
	struct operation_times times = operation_times(p, device);

	if (call && call->stream)
		stream = call->stream;
	if (context)
		context = p->context[context - 1].row;
	else if (call)
		context = call->context;
	loader->operation++;
	loader->p.operations++;
	note_end(loader, times.end);
	if (call &&
		bulk_add_key(loader->operation_call, loader->call + call->number,
			loader->operation))
		return -1;
	if (keep_operation(loader, device, call, &times, or_null(context),
		    row_of(loader->stream, (uint32_t)stream)))
		return -1;
	return bulk_add(loader->operations,
		ROW(operation, loader->operation, loader->process,
			call ? loader->call + call->number : DB_NULL,
			cell_text(run_work_names[work_kind_of(device)]), times.start, times.end,
			device->device, or_null(context), row_of(loader->stream, (uint32_t)stream),
			device->correlation, operation_kernel(loader, device, call),
			bytes ? (int64_t)device->value : DB_NULL,
			copy ? (int64_t)device->detail : DB_NULL,
			cell_text(copy         ? memory_name(device->src)
					: peer ? "device"
					       : NULL),
			cell_text(copy         ? memory_name(device->dst)
					: peer ? "device"
					       : NULL),
			device->kind == DEVICE_KERNEL ? or_null(device->value) : DB_NULL,
			times.recorded_end));
}

int loader_write_device(struct loader *loader, const struct device_record *device,
	const struct loaded_call *call)
{
	return device->kind == DEVICE_OVERHEAD ? write_overhead(loader, device, call)
					       : write_operation(loader, device, call);
}

static int write_streams(struct loader *loader)
{
	struct loaded_process *p = &loader->p;

	for (size_t i = 0; i < p->streams.count; i++) {
		const struct loaded_stream *stream = &p->stream[i];
		const struct life *life = &p->streams.life[i];
		char name[STREAM_NAME_BYTES];
		size_t length = loader_stream_name(loader, stream, name);

		if (db_add(loader->db,
			    ROW(stream, loader->stream + (int64_t)i + 1, loader->process,
				    or_null(stream->context), stream->handle,
				    cell_text(stream_kinds[stream->kind]), or_null(stream->thread),
				    stream->priority, row_of(loader->call, life->created),
				    row_of(loader->call, life->destroyed),
				    stream->cupti_id < 0 ? DB_NULL : stream->cupti_id,
				    cell_bytes(length ? name : NULL, length))))
			return -1;
	}
	return 0;
}

int loader_write_event(void *arg, const struct life *life)
{
	struct loader *loader = arg;

	return db_add(loader->db,
		ROW(event, loader->event + life->row, loader->process, life->handle, life->value,
			row_of(loader->call, life->created),
			row_of(loader->call, life->destroyed)));
}

int loader_write_allocation(void *arg, const struct life *life)
{
	struct loader *loader = arg;

	const struct allocation_kind *kind = loader_allocation_kind(life);
	uint64_t address = kind->made_by == KIND_ALLOC_ARRAY ? 0 : life->handle;

	return db_add(loader->db,
		ROW(allocation, loader->allocation + life->row, loader->process, address,
			life->value, cell_text(kind->memory), row_of(loader->call, life->created),
			row_of(loader->call, life->destroyed)));
}

/* The index of calls by thread. */
static int write_thread_calls(struct loader *loader)
{
	struct loaded_process *p = &loader->p;

	for (size_t i = 0; i < p->thread_count; i++)
		for (size_t j = 0; j < p->thread[i].call_count; j++)
			if (bulk_add_key(loader->call_thread, loader->thread + (int64_t)i + 1,
				    loader->call + p->thread[i].call[j]))
				return -1;
	return 0;
}

static int write_threads(struct loader *loader)
{
	struct loaded_process *p = &loader->p;

	for (size_t i = 0; i < p->thread_count; i++) {
		const struct loaded_thread *thread = &p->thread[i];
		const struct thread_record *named = thread->name;
		int64_t row = loader->thread + (int64_t)i + 1, inside = thread->inside;

		if (thread->stuck != DB_NULL)
			inside += p->end - thread->stuck;
		if (db_add(loader->db,
			    ROW(thread, row, loader->process, thread->tid,
				    cell_bytes(named ? named->name : NULL,
					    (size_t)(named ? named->name_length : 0)),
				    row_of(loader->call, thread->made_by),
				    row_of(loader->call, thread->joined_by))) ||
			db_add(loader->db,
				ROW(thread_use, row, thread->outermost, thread->placed, inside)))
			return -1;
	}
	return 0;
}

int loader_write_rest(struct loader *loader)
{
	struct loaded_process *p = &loader->p;

	if (loader_write_host(loader) || loader_write_host_runs(loader) ||
		loader_write_unmatched(loader) || write_streams(loader) ||
		lives_retire_all(&p->events) || lives_retire_all(&p->allocations) ||
		write_threads(loader) || write_thread_calls(loader))
		return -1;
	loader->call += p->call_count;
	loader->stream += p->streams.begun;
	loader->event += p->events.begun;
	loader->allocation += p->allocations.begun;
	loader->thread += (int64_t)p->thread_count;
	return 0;
}
