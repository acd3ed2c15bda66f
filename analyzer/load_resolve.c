/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the handles and addresses of each call meant when it was entered.
 */
#include "loader.h"

#include <stdlib.h>

#include "array.h"

#define HAS(fields, kind) ((fields)->present & 1ull << FIELD_##kind)

struct resolving {
	struct loader *loader;
	struct loaded_process *p;
	struct loaded_call *call;
	struct call_fields fields;
	uint32_t number;           /* the call's index + 1 */
	unsigned kind;
	int failed;
};

uint32_t loader_add_stream(struct loader *loader, uint64_t key, const struct loaded_stream *stream)
{
	struct loaded_process *p = &loader->p;
	struct loaded_stream *more = array_room(p->stream, p->streams.count, sizeof(*more));

	if (!more)
		return 0;
	p->stream = more;
	more[p->streams.count] = *stream;
	return lives_begin(&p->streams, key, 0, 0);
}

/*
 * "Stream 0" is the legacy default stream of the current context, or the per-thread one where a
 * _ptsz or _ptds entry point was called; handles 1 and 2 name them whatever the entry point
 * (CUDA driver API, "Stream synchronization behavior").
 */
static uint32_t default_stream(struct resolving *r, int per_thread)
{
	struct loaded_stream stream = {
		.handle = per_thread ? STREAM_PER_THREAD : STREAM_LEGACY,
		.context = r->call->context, .thread = per_thread ? r->call->thread : 0,
		.kind = per_thread ? STREAM_KIND_PER_THREAD : STREAM_KIND_LEGACY, .cupti_id = -1,
	};
	uint64_t owner = (uint64_t)stream.context << 32 | stream.thread;
	uint32_t known = (uint32_t)map_get(&r->p->default_streams, owner, 0);

	if (!known) {
		known = loader_add_stream(r->loader, KEY_DEFAULT_STREAM | owner, &stream);
		if (known && map_set(&r->p->default_streams, owner, known))
			return 0;
	}
	return known;
}

static uint32_t stream_of(struct resolving *r, uint64_t handle)
{
	struct loaded_stream unknown = {
		.handle = handle, .context = r->call->context, .kind = STREAM_KIND_UNKNOWN,
		.cupti_id = -1,
	};
	uint32_t known;

	if (handle == STREAM_NULL)
		return default_stream(r, r->call->record->flags & CALL_PER_THREAD);
	if (handle == STREAM_LEGACY || handle == STREAM_PER_THREAD)
		return default_stream(r, handle == STREAM_PER_THREAD);
	known = lives_find(&r->p->streams, handle, r->call->enter);
	return known ? known : loader_add_stream(r->loader, handle, &unknown);
}

static int create_stream(struct resolving *r)
{
	struct loaded_process *p = r->p;
	uint64_t handle = r->fields.value[FIELD_new_stream];
	struct loaded_stream *more;

	if (r->failed || !handle)
		return 0;
	more = array_room(p->stream, p->streams.count, sizeof(*more));
	if (!more)
		return -1;
	p->stream = more;
	/* CU_STREAM_NON_BLOCKING is 1. */
	more[p->streams.count] = (struct loaded_stream){
		.handle = handle, .context = r->call->context,
		.kind = r->fields.value[FIELD_flags] & 1 ? STREAM_KIND_NON_BLOCKING
							 : STREAM_KIND_BLOCKING,
		.priority = (int32_t)r->fields.value[FIELD_priority], .cupti_id = -1,
	};
	r->call->stream = lives_begin(&p->streams, handle, r->call->exit, r->number);
	return r->call->stream ? 0 : -1;
}

static uint32_t add_event(struct resolving *r, uint64_t handle, uint64_t begin, uint32_t created)
{
	struct loaded_process *p = r->p;
	uint32_t *more = array_room(p->event_flags, p->events.count, sizeof(*more));

	if (!more)
		return 0;
	p->event_flags = more;
	more[p->events.count] = created ? (uint32_t)r->fields.value[FIELD_flags] : 0;
	return lives_begin(&p->events, handle, begin, created);
}

static int resolve_event(struct resolving *r)
{
	uint64_t handle = r->fields.value[FIELD_event];

	if (r->kind == KIND_EVENT_CREATE) {
		handle = r->fields.value[FIELD_new_event];
		if (r->failed || !handle)
			return 0;
		r->call->event = add_event(r, handle, r->call->exit, r->number);
		return r->call->event ? 0 : -1;
	}
	if (!HAS(&r->fields, event) || !handle)
		return 0;
	r->call->event = lives_find(&r->p->events, handle, r->call->enter);
	if (!r->call->event)
		r->call->event = add_event(r, handle, 0, 0);
	if (!r->call->event)
		return -1;
	if (r->kind == KIND_EVENT_DESTROY && !r->failed)
		lives_end(&r->p->events, r->call->event, r->call->exit, r->number);
	return 0;
}

static int resolve_stream(struct resolving *r)
{
	int implied = r->kind == KIND_COPY || r->kind == KIND_SET || r->kind == KIND_COPY_PEER;

	if (r->kind == KIND_STREAM_CREATE)
		return create_stream(r);
	if (!implied && !HAS(&r->fields, stream))
		return 0;
	r->call->stream = stream_of(r, implied ? STREAM_NULL : r->fields.value[FIELD_stream]);
	if (!r->call->stream)
		return -1;
	if (r->kind == KIND_STREAM_DESTROY && !r->failed)
		lives_end(&r->p->streams, r->call->stream, r->call->exit, r->number);
	return 0;
}

static const struct loaded_allocation *allocation_kind(unsigned kind)
{
	static const struct { unsigned kind; struct loaded_allocation made; } kinds[] = {
		{ KIND_ALLOC_DEVICE, { 0, "device", MEMORY_DEVICE } },
		{ KIND_ALLOC_HOST, { 0, "pinned", MEMORY_PINNED } },
		{ KIND_ALLOC_MANAGED, { 0, "managed", MEMORY_MANAGED } },
		{ KIND_ALLOC_ASYNC, { 0, "async", MEMORY_DEVICE } },
		{ KIND_REGISTER_HOST, { 0, "registered", MEMORY_PINNED } },
		{ KIND_MEM_MAP, { 0, "mapped", MEMORY_DEVICE } },
		{ KIND_ALLOC_IMPORT, { 0, "imported", MEMORY_DEVICE } },
		{ KIND_IPC_OPEN, { 0, "imported", MEMORY_DEVICE } },
	};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (kinds[i].kind == kind)
			return &kinds[i].made;
	return NULL;
}

static int allocate(struct resolving *r, const struct loaded_allocation *made)
{
	struct loaded_process *p = r->p;
	uint64_t address = r->fields.value[FIELD_ptr];
	struct loaded_allocation *more;
	uint32_t life;

	if (r->failed || !address)
		return 0;
	more = array_room(p->allocation, p->allocations.count, sizeof(*more));
	if (!more)
		return -1;
	p->allocation = more;
	more[p->allocations.count] = *made;
	more[p->allocations.count].bytes = r->fields.value[FIELD_bytes];
	life = lives_begin(&p->allocations, address, r->call->exit, r->number);
	if (!life)
		return -1;
	return ranges_add(&p->live_memory, address, r->fields.value[FIELD_bytes], life);
}

static void release(struct resolving *r)
{
	uint64_t address = r->fields.value[FIELD_ptr];
	uint32_t life = lives_find(&r->p->allocations, address, r->call->enter);

	if (r->failed || !life)
		return;
	lives_end(&r->p->allocations, life, r->call->exit, r->number);
	ranges_remove(&r->p->live_memory, address, life);
}

static int resolve_memory(struct resolving *r)
{
	const struct loaded_allocation *made = allocation_kind(r->kind);

	if (made)
		return allocate(r, made);
	if (r->kind == KIND_FREE_DEVICE || r->kind == KIND_FREE_HOST ||
		r->kind == KIND_FREE_ASYNC || r->kind == KIND_UNREGISTER_HOST ||
		r->kind == KIND_MEM_UNMAP || r->kind == KIND_IPC_CLOSE)
		release(r);
	return 0;
}

/* What the address of a copy points into: an allocation, else what the direction implies. */
static enum memory_kind memory_at(const struct resolving *r, uint64_t address, int host, int device)
{
	uint32_t life = ranges_find(&r->p->live_memory, address);

	if (life)
		return r->p->allocation[life - 1].kind;
	if (host)
		return MEMORY_PAGEABLE;
	return device ? MEMORY_DEVICE : MEMORY_UNKNOWN;
}

static void resolve_copy(struct resolving *r)
{
	uint64_t direction = HAS(&r->fields, direction) ? r->fields.value[FIELD_direction]
							: (uint64_t)COPY_DEFAULT;

	if (HAS(&r->fields, dst))
		r->call->dst_memory = (uint8_t)memory_at(r, r->fields.value[FIELD_dst],
			direction == COPY_H2H || direction == COPY_D2H,
			direction == COPY_H2D || direction == COPY_D2D);
	if (HAS(&r->fields, src))
		r->call->src_memory = (uint8_t)memory_at(r, r->fields.value[FIELD_src],
			direction == COPY_H2H || direction == COPY_H2D,
			direction == COPY_D2H || direction == COPY_D2D);
}

static void resolve_context(struct resolving *r)
{
	const struct record *record = r->call->record;
	unsigned number = record->type == RECORD_CALL
				  ? ((const struct call_record *)record)->context
				  : ((const struct enter_record *)record)->context;
	uint64_t found = map_get(&r->p->context_numbers, number, 0);

	/* cuCtxSynchronize_v2 names the context it waits for. */
	if (r->kind == KIND_CONTEXT_SYNC && HAS(&r->fields, context) &&
		r->fields.value[FIELD_context])
		found = map_get(&r->p->context_handles, r->fields.value[FIELD_context], found);
	r->call->context = found ? r->p->context[found - 1].row : 0;
}

static int resolve_call(struct resolving *r)
{
	const struct call_record *record = (const struct call_record *)r->call->record;

	r->kind = loader_call_kind(r->loader, r->call);
	r->fields = loader_fields(r->loader, r->call);
	r->failed = record->head.type != RECORD_CALL || record->result != 0;
	resolve_context(r);
	if (resolve_stream(r) || resolve_event(r) || resolve_memory(r))
		return -1;
	resolve_copy(r);
	if (loader_write_operands(r->loader, r->call, &r->fields))
		return -1;
	if (HAS(&r->fields, function))
		r->call->kernel = (uint32_t)map_get(&r->p->functions,
			r->fields.value[FIELD_function], 0);
	if (record->head.type == RECORD_CALL && record->correlation)
		return map_set(&r->p->correlations, record->correlation, r->number);
	return 0;
}

int loader_resolve(struct loader *loader)
{
	struct resolving r = { .loader = loader, .p = &loader->p };

	for (size_t i = 0; i < loader->p.call_count; i++) {
		r.call = &loader->p.call[i];
		r.number = (uint32_t)i + 1;
		if (resolve_call(&r))
			return -1;
	}
	return 0;
}
