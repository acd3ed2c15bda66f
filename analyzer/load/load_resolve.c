/* SPDX-License-Identifier: Apache-2.0 */
/* Resolves the handles and addresses of each call to the objects they meant at its entry. */
#include "loader.h"

#include <stdlib.h>

#include "memory.h"

#define HAS(fields, kind) ((fields)->present & 1ull << FIELD_##kind)

struct resolving {
	struct loader *loader;
	struct loaded_process *p;
	struct loaded_call *call;
};

uint32_t loader_add_stream(struct loader *loader, uint64_t key, uint64_t begin,
	const struct loaded_stream *stream)
{
	struct loaded_process *p = &loader->p;

	p->stream = array_grown(p->stream, p->streams.count, sizeof(*p->stream));
	p->stream[p->streams.count] = *stream;
	return lives_begin(&p->streams, key, begin, 0);
}

/*
 * Handle 0 is the legacy default stream of the current context, or the per-thread default stream
 * for _ptsz and _ptds entry points.  Handles 1 and 2 name these streams for any entry point (CUDA
 * driver API, "Stream synchronization behavior").
 */
static uint32_t default_stream(struct resolving *r, int per_thread)
{
	struct loaded_stream stream = {
		.handle = per_thread ? STREAM_PER_THREAD : STREAM_LEGACY,
		.context = r->call->context,
		.thread = per_thread ? r->call->thread : 0,
		.kind = per_thread ? STREAM_KIND_THREAD : STREAM_KIND_LEGACY,
		.cupti_id = -1,
	};
	uint64_t owner = (uint64_t)stream.context << 32 | stream.thread;
	uint32_t known = (uint32_t)map_get(&r->p->default_streams, owner, 0);

	if (!known) {
		known = loader_add_stream(r->loader, KEY_DEFAULT_STREAM | owner, 0, &stream);
		if (known)
			map_set(&r->p->default_streams, owner, known);
	}
	return known;
}

static uint32_t stream_of(struct resolving *r, uint64_t handle)
{
	struct loaded_stream unknown = {
		.handle = handle,
		.context = r->call->context,
		.kind = STREAM_KIND_UNKNOWN,
		.cupti_id = -1,
	};
	uint32_t known;

	if (handle == STREAM_NULL)
		return default_stream(r, r->call->record->flags & CALL_PER_THREAD);
	if (handle == STREAM_LEGACY || handle == STREAM_PER_THREAD)
		return default_stream(r, handle == STREAM_PER_THREAD);
	known = lives_find(&r->p->streams, handle, r->call->enter);
	return known ? known : loader_add_stream(r->loader, handle, r->call->enter, &unknown);
}

static void create_stream(struct resolving *r)
{
	struct loaded_process *p = r->p;
	uint64_t handle = r->call->fields.value[FIELD_new_stream];

	if (r->call->failed || !handle)
		return;
	p->stream = array_grown(p->stream, p->streams.count, sizeof(*p->stream));
	/* CU_STREAM_NON_BLOCKING is 1. */
	p->stream[p->streams.count] = (struct loaded_stream){
		.handle = handle,
		.context = r->call->context,
		.kind = r->call->fields.value[FIELD_flags] & 1 ? STREAM_KIND_NON_BLOCKING
							       : STREAM_KIND_BLOCKING,
		.priority = (int32_t)r->call->fields.value[FIELD_priority],
		.cupti_id = -1,
	};
	r->call->stream = lives_begin(&p->streams, handle, r->call->exit, r->call->number);
	p->streams.life[r->call->stream - 1].context = r->call->context;
}

static uint32_t add_event(struct resolving *r, uint64_t handle, uint64_t begin, uint32_t created)
{
	uint32_t life = lives_begin(&r->p->events, handle, begin, created);

	if (created) {
		r->p->events.life[life - 1].value = r->call->fields.value[FIELD_flags];
		r->p->events.life[life - 1].context = r->call->context;
	}
	return life;
}

/* The event that the call creates or names; 0: none. */
static int find_event(struct resolving *r, uint32_t *life)
{
	uint64_t handle = r->call->fields.value[FIELD_event];

	*life = 0;
	if (kind_family(r->call->kind) == FAMILY_event_create) {
		handle = r->call->fields.value[FIELD_new_event];
		if (r->call->failed || !handle)
			return 0;
		*life = add_event(r, handle, r->call->exit, r->call->number);
	} else {
		if (!HAS(&r->call->fields, event) || !handle)
			return 0;
		*life = lives_find(&r->p->events, handle, r->call->enter);
		if (!*life)
			*life = add_event(r, handle, r->call->enter, 0);
	}
	return *life ? 0 : -1;
}

static int resolve_event(struct resolving *r)
{
	uint32_t life;

	if (find_event(r, &life))
		return -1;
	if (!life)
		return 0;
	r->call->event = r->loader->event + r->p->events.life[life - 1].row;
	if (r->call->kind == KIND_EVENT_DESTROY && !r->call->failed) {
		lives_end(&r->p->events, life, r->call->exit, r->call->number);
		return 0;
	}
	return 0;
}

static int resolve_stream(struct resolving *r)
{
	int implied = kind_has(r->call->kind, K_DEFAULT_STREAM);

	if (r->call->kind == KIND_STREAM_CREATE) {
		create_stream(r);
		return 0;
	}
	if (!implied && !HAS(&r->call->fields, stream))
		return 0;
	r->call->stream = stream_of(r, implied ? STREAM_NULL : r->call->fields.value[FIELD_stream]);
	if (!r->call->stream)
		return -1;
	if (r->call->kind == KIND_STREAM_DESTROY && !r->call->failed) {
		lives_end(&r->p->streams, r->call->stream, r->call->exit, r->call->number);
		return 0;
	}
	return 0;
}

/* CU_GRAPH_NODE_TYPE_MEM_ALLOC */
#define NODE_ALLOC 10

static const struct allocation_kind allocation_kinds[] = {
#define KIND_MAKES(symbol, name, memory) { KIND_##symbol, #name, MEMORY_##memory },
#include "kinds.def"
};

const struct allocation_kind *loader_allocation_kind(const struct life *life)
{
	return &allocation_kinds[life->kind];
}

/* Programs query a variable's address repeatedly; old traces lack its name and size. */
static int is_new_variable(const struct resolving *r)
{
	const struct lives *lives = &r->p->allocations;
	const struct call_fields *fields = &r->call->fields;
	uint32_t life = (uint32_t)map_get(&lives->latest, fields->value[FIELD_ptr], 0);

	if (!HAS(fields, name) || !fields->value[FIELD_name] || !fields->value[FIELD_bytes])
		return 0;
	return !life || lives->life[life - 1].end != UINT64_MAX;
}

/* --- mappings of physical memory --- */

/* The allocation that represents memory mapped at an address, and the offset in it. */
struct known {
	int64_t row; /* as struct life.row, 0: none */
	int64_t shift;
};

static struct known known_at(const struct loaded_process *p, uint64_t address)
{
	return (struct known){ (int64_t)map_get(&p->known_by, address, 0),
		(int64_t)map_get(&p->known_at, address, 0) };
}

/* True if it is also the first mapping, whose addresses no other mapping of the allocation has. */
static int has_own_addresses(const struct loaded_process *p, const struct life *life)
{
	struct known known = known_at(p, life->handle);

	return map_get(&p->known_first, (uint64_t)known.row, 0) ==
		life->handle - (uint64_t)known.shift;
}

/*
 * Returns the mapping adjacent to the present one in the same reservation.  Programs that map piece
 * by piece, such as PyTorch's expandable segments, use these as one allocation.
 */
static const struct life *neighbour(const struct resolving *r, uint64_t address)
{
	const struct loaded_process *p = r->p;
	uint32_t number = ranges_find(&p->live_memory, address);
	const struct life *life = number ? &p->allocations.life[number - 1] : NULL;
	uint32_t reserved = ranges_find(&p->reserved, r->call->fields.value[FIELD_ptr]);

	if (!life || loader_allocation_kind(life)->made_by != KIND_MEM_MAP || !reserved ||
		ranges_find(&p->reserved, address) != reserved || !has_own_addresses(p, life))
		return NULL;
	return life;
}

/*
 * The preceding mapping in the reservation, or the following one if the first piece was unmapped.
 */
static struct known known_by_neighbour(const struct resolving *r)
{
	uint64_t address = r->call->fields.value[FIELD_ptr];
	const struct life *beside = neighbour(r, address - 1);
	struct known known = { 0 };

	if (!beside)
		beside = neighbour(r, address + r->call->fields.value[FIELD_bytes]);
	if (!beside)
		return known;
	known = known_at(r->p, beside->handle);
	known.shift += (int64_t)(address - beside->handle);
	return known.shift < 0 ? (struct known){ 0 } : known;
}

static int write_alias(struct resolving *r, const struct life *life, struct known known)
{
	return db_add(r->loader->db,
		ROW(alias, r->loader->allocation + life->row, r->loader->allocation + known.row,
			known.shift));
}

/*
 * Physical memory may be mapped several times (cuMemMap, whose offset is 0).  Once released, its
 * handle may be reused for other memory while the first is still mapped.
 */
static int note_mapping(struct resolving *r, uint32_t number)
{
	struct loaded_process *p = r->p;
	const struct life *life = &p->allocations.life[number - 1];
	uint64_t handle = r->call->fields.value[FIELD_handle];
	uint32_t first = (uint32_t)map_get(&p->mapped, handle, 0);
	struct known known =
		first ? known_at(p, p->allocations.life[first - 1].handle) : known_by_neighbour(r);

	if (!first) {
		map_set(&p->mapped, handle, number);
		map_set(&p->mapped_at, life->handle, handle);
	}
	if (known.row && write_alias(r, life, known))
		return -1;
	if (!known.row)
		map_set(&p->known_first, (uint64_t)life->row, life->handle);
	map_set(&p->known_by, life->handle, (uint64_t)(known.row ? known.row : life->row));
	map_set(&p->known_at, life->handle, (uint64_t)known.shift);
	return loader_join_mapping(r->loader, r->call, life) ? -1 : 0;
}

/* Address range without memory. */
static void note_reservation(struct resolving *r)
{
	struct ranges *reserved = &r->p->reserved;
	uint64_t address = r->call->fields.value[FIELD_ptr];

	if (r->call->failed || !address)
		return;
	if (r->call->kind == KIND_MEM_RESERVE) {
		ranges_add(reserved, address, r->call->fields.value[FIELD_bytes], r->call->exit,
			r->call->number);
		return;
	}
	if (r->call->kind == KIND_MEM_UNRESERVE)
		ranges_remove(reserved, address, ranges_find(reserved, address));
}

static void note_unmapping(struct resolving *r, uint32_t life)
{
	uint64_t handle = map_get(&r->p->mapped_at, r->p->allocations.life[life - 1].handle, 0);

	if (handle && map_get(&r->p->mapped, handle, 0) == life)
		map_set(&r->p->mapped, handle, 0);
}

/* cuMemRetainAllocationHandle: a handle of memory mapped at an address. */
static void retain_handle(struct resolving *r)
{
	uint32_t life = ranges_find(&r->p->live_memory, r->call->fields.value[FIELD_ptr]);

	if (!life ||
		loader_allocation_kind(&r->p->allocations.life[life - 1])->made_by != KIND_MEM_MAP)
		return;
	map_set(&r->p->mapped, r->call->fields.value[FIELD_handle], life);
}

/* With a size it is new memory; retained or imported memory may be known. */
static int drop_handle(struct resolving *r)
{
	const struct call_fields *fields = &r->call->fields;
	uint64_t handle = fields->value[FIELD_handle];
	int is_new = HAS(fields, bytes) && fields->value[FIELD_bytes];

	if (r->call->kind == KIND_MEM_BIND)
		return loader_bind_multicast(r->loader, r->call);
	if (!r->call->failed)
		loader_settle_handle(r->loader, handle);
	if (!r->call->failed && is_new)
		loader_renew_handle(r->loader, handle);
	if (r->call->kind == KIND_MEM_IMPORT && loader_note_handle(r->loader, r->call))
		return -1;
	if (HAS(fields, bytes) && !is_new) {
		if (!r->call->failed)
			retain_handle(r);
		return 0;
	}
	if (!r->call->failed)
		map_set(&r->p->mapped, handle, 0);
	return 0;
}

/*
 * Memory of another process has the same address each time it is opened, and is unmapped when it
 * has been closed as often (CUDA driver API, cuIpcCloseMemHandle). change: 1 opened, -1 closed.
 * Returns 1 if it was open before, or still is.
 */
static int is_open_besides(struct resolving *r, int change)
{
	uint64_t address = r->call->fields.value[FIELD_ptr];
	uint64_t times = map_get(&r->p->opened, address, 0) + (uint64_t)change;

	if (r->call->failed || !address || times == UINT64_MAX)
		return 0;
	map_set(&r->p->opened, address, times);
	return change > 0 ? times > 1 : times > 0;
}

static int allocate(struct resolving *r, size_t kind)
{
	struct loaded_process *p = r->p;
	uint64_t address = r->call->fields.value[FIELD_ptr];
	uint64_t bytes = r->call->fields.value[FIELD_bytes];
	uint32_t life;
	int open;

	if (r->call->kind == KIND_ALLOC_ARRAY)
		return loader_make_array(r->loader, r->call, (uint8_t)kind);
	if (r->call->failed || !address)
		return 0;
	if (r->call->kind == KIND_IPC_OPEN && (open = is_open_besides(r, 1)))
		return open < 0 ? -1 : 0;
	if (r->call->kind == KIND_GRAPH_ADD_NODE && r->call->fields.value[FIELD_type] != NODE_ALLOC)
		return 0;
	if (kind_is_variable(r->call->kind)) {
		if (!is_new_variable(r))
			return 0;
		map_set(&p->variables, address, r->call->fields.value[FIELD_module]);
	}
	life = lives_begin(&p->allocations, address, r->call->exit, r->call->number);
	p->allocations.life[life - 1].value = bytes;
	p->allocations.life[life - 1].kind = (uint8_t)kind;
	p->allocations.life[life - 1].context = r->call->context;
	if (r->call->kind == KIND_MEM_MAP && note_mapping(r, life))
		return -1;
	if (r->call->kind == KIND_REGISTER_HOST &&
		loader_join_pages(r->loader, r->call, &p->allocations.life[life - 1]))
		return -1;
	ranges_add(&p->live_memory, address, bytes, r->call->exit, life);
	return 0;
}

static int release(struct resolving *r)
{
	struct loaded_process *p = r->p;
	uint64_t address = r->call->fields.value[FIELD_ptr];
	uint32_t life = lives_find(&p->allocations, address, r->call->enter);
	int open;

	if (r->call->failed || !life)
		return 0;
	if (r->call->kind == KIND_IPC_CLOSE && (open = is_open_besides(r, -1)))
		return open < 0 ? -1 : 0;
	/* Graph memory has the same address again at the next launch. */
	if (allocation_kinds[p->allocations.life[life - 1].kind].made_by == KIND_GRAPH_ADD_NODE)
		return 0;
	if (r->call->kind == KIND_MEM_UNMAP)
		note_unmapping(r, life);
	ranges_remove(&p->live_memory, address, life);
	lives_end(&p->allocations, life, r->call->exit, r->call->number);
	return 0;
}

/* Memory allocated by a captured call belongs to the graph. */
static enum call_kind maker_of(const struct resolving *r)
{
	enum call_kind kind = (enum call_kind)r->call->kind;

	return kind == KIND_ALLOC_ASYNC && loader_is_captured(r->loader, r->call)
		? KIND_GRAPH_ADD_NODE
		: kind;
}

static int resolve_memory(struct resolving *r)
{
	enum call_kind kind = maker_of(r);

	for (size_t i = 0; i < sizeof(allocation_kinds) / sizeof(*allocation_kinds); i++)
		if (allocation_kinds[i].made_by == kind)
			return allocate(r, i);
	if (r->call->kind == KIND_IPC_EXPORT && HAS(&r->call->fields, handle))
		return loader_note_handle(r->loader, r->call);
	if (kind_family(r->call->kind) == FAMILY_mapping && HAS(&r->call->fields, handle))
		return drop_handle(r);
	if (kind_family(r->call->kind) == FAMILY_mapping && !kind_has(r->call->kind, K_RELEASES)) {
		note_reservation(r);
		return 0;
	}
	if (r->call->kind == KIND_FREE_ARRAY) {
		loader_end_array(r->loader, r->call);
		return 0;
	}
	if (r->call->kind == KIND_MODULE_UNLOAD && !r->call->failed) {
		loader_end_variables(r->p, r->call);
		return 0;
	}
	return kind_has(r->call->kind, K_RELEASES) ? release(r) : 0;
}

/* Memory kind of a copy's operand: that of its allocation, else as the direction implies. */
static enum memory_kind memory_at(const struct resolving *r, uint64_t address, int host, int device)
{
	uint32_t life = ranges_find(&r->p->live_memory, address);

	if (life)
		return loader_allocation_kind(&r->p->allocations.life[life - 1])->kind;
	if (host)
		return MEMORY_PAGEABLE;
	return device ? MEMORY_DEVICE : MEMORY_UNKNOWN;
}

static void resolve_copy(struct resolving *r)
{
	uint64_t direction = HAS(&r->call->fields, direction)
		? r->call->fields.value[FIELD_direction]
		: (uint64_t)COPY_DEFAULT;

	if (HAS(&r->call->fields, dst))
		r->call->dst_memory = (uint8_t)memory_at(r, r->call->fields.value[FIELD_dst],
			direction == COPY_H2H || direction == COPY_D2H,
			direction == COPY_H2D || direction == COPY_D2D);
	if (HAS(&r->call->fields, src))
		r->call->src_memory = (uint8_t)memory_at(r, r->call->fields.value[FIELD_src],
			direction == COPY_H2H || direction == COPY_H2D,
			direction == COPY_D2H || direction == COPY_D2D);
}

/* Another thread may have used the handle before the thread that recorded the function. */
static uint32_t function_of(const struct resolving *r, uint64_t handle)
{
	const struct lives *functions = &r->p->functions;
	uint32_t life = (uint32_t)map_get(&functions->latest, handle, 0);

	if (!life)
		return 0;
	while (functions->life[life - 1].begin > r->call->enter &&
		functions->life[life - 1].previous)
		life = functions->life[life - 1].previous;
	return (uint32_t)functions->life[life - 1].value;
}

int loader_resolve(struct loader *loader, struct loaded_call *call)
{
	struct resolving r = { .loader = loader, .p = &loader->p, .call = call };

	loader_resolve_context(loader, call);
	ranges_reach(&r.p->live_memory, call->enter);
	ranges_reach(&r.p->reserved, call->enter);
	if (resolve_stream(&r) || resolve_event(&r) || resolve_memory(&r))
		return -1;
	resolve_copy(&r);
	if (HAS(&call->fields, function))
		call->kernel = function_of(&r, call->fields.value[FIELD_function]);
	loader_end_context(loader, call);
	return 0;
}
