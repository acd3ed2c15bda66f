/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Objects named by a call in addition to its stream and event, if they affect order: contexts of
 * copies between devices, events of launch attributes (table call_object).
 *
 * Arrays, and the textures and surfaces through which kernels access memory.  The memory layout of
 * an array is not documented, and no pointer refers to its bytes.  The analyzer therefore gives the
 * bytes of each array addresses of its own: a copy of a part of an array is a set of these.
 */
#include "loader.h"

#include <string.h>

#define VALUE(call, field) ((call)->fields.value[FIELD_##field])
#define HAS(call, field) ((call)->fields.present & 1ull << FIELD_##field)

int loader_run(struct loader *loader, const char *sql, int64_t first, int64_t second, int64_t third,
	int64_t fourth)
{
	sqlite3_stmt *q = db_prepare(loader->db, sql);
	int wanted = q ? sqlite3_bind_parameter_count(q) : 0, rc = -1;

	if (q)
		rc = wanted == 2      ? db_run(q, "ii", first, second)
			: wanted == 3 ? db_run(q, "iii", first, second, third)
				      : db_run(q, "iiii", first, second, third, fourth);
	sqlite3_finalize(q);
	return rc;
}

int loader_object_table(const char *role)
{
	static const struct {
		const char *role;
		int table;
	} tables[] = {
		{ "exec", TABLE_graph_exec },
		{ "event", TABLE_event },
		{ "launch_event", TABLE_event },
		{ "completion_event", TABLE_event },
		{ "dst_context", TABLE_context },
		{ "src_context", TABLE_context },
		{ "captured", TABLE_graph },
	};

	for (size_t i = 0; i < sizeof(tables) / sizeof(*tables); i++)
		if (!strcmp(tables[i].role, role))
			return tables[i].table;
	return -1;
}

int loader_write_object(struct loader *loader, const struct loaded_call *call, const char *role,
	int64_t object)
{
	return rows_add(loader->objects,
		ROW(call_object, loader->call + call->number, cell_text(role), object));
}

static int write_event(struct loader *loader, const struct loaded_call *call, const char *role,
	uint64_t handle)
{
	uint32_t life = handle ? lives_find(&loader->p.events, handle, call->enter) : 0;

	if (!life)
		return 0;
	return loader_write_object(loader, call, role,
		loader->event + loader->p.events.life[life - 1].row);
}

static int write_context(struct loader *loader, const struct loaded_call *call, const char *role,
	uint64_t handle)
{
	uint64_t found = map_get(&loader->p.context_handles, handle, 0);

	if (!found)
		return 0;
	return loader_write_object(loader, call, role, loader->p.context[found - 1].row);
}

static const struct loaded_context *context_with_row(const struct loaded_process *p, uint32_t row)
{
	for (size_t i = 0; row && i < p->context_count; i++)
		if (p->context[i].row == row)
			return &p->context[i];
	return NULL;
}

/*
 * Returns the context in which the memory at an address was allocated, NULL: not device memory, or
 * unknown.
 */
static const struct loaded_context *context_of_memory(const struct loaded_process *p,
	uint64_t address)
{
	uint32_t number = ranges_find(&p->live_memory, address);
	const struct life *life = number ? &p->allocations.life[number - 1] : NULL;

	if (!life || loader_allocation_kind(life)->made_by != KIND_ALLOC_DEVICE)
		return NULL;
	return context_with_row(p, life->context);
}

/* A copy without contexts may be one between devices, too. */
static int write_contexts_of_memory(struct loader *loader, const struct loaded_call *call)
{
	const struct loaded_process *p = &loader->p;
	const struct loaded_context *to = context_of_memory(p, call->fields.value[FIELD_dst]);
	const struct loaded_context *from = context_of_memory(p, call->fields.value[FIELD_src]);

	if (!to || !from || to->record.device == from->record.device)
		return 0;
	return loader_write_object(loader, call, "dst_context", to->row) ||
			loader_write_object(loader, call, "src_context", from->row)
		? -1
		: 0;
}

int loader_attributes(const struct call_record *call, struct call_attributes *attributes)
{
	size_t bytes = record_bytes(&call->head);

	if (!(call->head.flags & CALL_ATTRIBUTES) || bytes < sizeof(*call) + sizeof(*attributes))
		return 0;
	memcpy(attributes, (const char *)call + bytes - sizeof(*attributes), sizeof(*attributes));
	return 1;
}

static int write_attributes(struct loader *loader, const struct loaded_call *call)
{
	struct call_attributes attributes;

	if (!loader_attributes((const struct call_record *)call->record, &attributes))
		return 0;
	return loader_write_object(loader, call, "attributes", (int64_t)attributes.flags) ||
			write_event(loader, call, "launch_event", attributes.event) ||
			write_event(loader, call, "completion_event", attributes.completion_event)
		? -1
		: 0;
}

/* The 32-bit pattern of a memset; the call's name gives the number of significant bits. */
static int write_fill(struct loader *loader, const struct loaded_call *call)
{
	const struct call_type_record *type = call->type->record;
	const char *name = type->data + type->field_count;
	uint32_t value = (uint32_t)call->fields.value[FIELD_value];

	if (!(call->fields.present & 1ull << FIELD_value))
		return 0;
	if (memmem(name, type->name_length, "D8", 2))
		value = (value & 0xff) * 0x01010101u;
	else if (memmem(name, type->name_length, "D16", 3))
		value = (value & 0xffff) * 0x00010001u;
	return loader_write_object(loader, call, "fill", value);
}

static int write_contexts(struct loader *loader, const struct loaded_call *call)
{
	if (call_is_copy(call->kind))
		return write_contexts_of_memory(loader, call);
	if (!(call->fields.present & 1ull << FIELD_dst_context))
		return 0;
	return write_context(loader, call, "dst_context", call->fields.value[FIELD_dst_context]) ||
			write_context(loader, call, "src_context",
				call->fields.value[FIELD_src_context])
		? -1
		: 0;
}

/* cuEventElapsedTime names two events; the call row has the second one. */
static int write_first_event(struct loader *loader, const struct loaded_call *call)
{
	const struct call_record *record = (const struct call_record *)call->record;
	const struct call_type_record *type = call->type->record;

	for (unsigned i = 0; i < type->field_count; i++)
		if ((uint8_t)type->data[i] == FIELD_event)
			return write_event(loader, call, "event", record->field[i]);
	return 0;
}

/* cuCtxFromGreenCtx: the context represents a green context. */
static int mark_green(struct loader *loader, const struct loaded_call *call)
{
	uint64_t found = map_get(&loader->p.context_handles, call->fields.value[FIELD_context], 0);

	if (!found || !(call->fields.present & 1ull << FIELD_handle))
		return 0;
	return loader_run(loader, "UPDATE context SET green = ? WHERE id = ?", 1,
		loader->p.context[found - 1].row, 0, 0);
}

int loader_write_objects(struct loader *loader, const struct loaded_call *call)
{
	if (call->failed)
		return 0;
	switch (call->kind) {
	case KIND_EVENT_ELAPSED:
		return write_first_event(loader, call);
	case KIND_LAUNCH:
		return write_attributes(loader, call);
	case KIND_CONTEXT:
		return mark_green(loader, call);
	default:
		return kind_family((enum call_kind)call->kind) == FAMILY_set
			? write_fill(loader, call)
			: write_contexts(loader, call);
	}
}

/* --- arrays, textures and surfaces --- */

/* cuda.h, CUarray_format: bytes of a channel; 1 for other formats (compressed, planes). */
static uint64_t channel_bytes(uint64_t format)
{
	switch (format) {
	case 0x02:
	case 0x09:
	case 0x10:
		return 2;
	case 0x03:
	case 0x0a:
	case 0x20:
		return 4;
	default:
		return 1;
	}
}

static uint64_t at_least_one(uint64_t number)
{
	return number ? number : 1;
}

static int is_mipmapped(const struct loaded_call *call)
{
	const struct call_type_record *type = call->type->record;

	return memmem(type->data + type->field_count, type->name_length, "Mipmapped", 9) != NULL;
}

int loader_make_array(struct loader *loader, const struct loaded_call *call, uint8_t kind)
{
	struct loaded_process *p = &loader->p;
	uint64_t handle = VALUE(call, array), bytes;
	uint32_t life;

	if (call->failed || !handle)
		return 0;
	life = lives_begin(&p->allocations, KEY_ARRAY | handle, call->exit, call->number);
	map_set(&p->levels, handle, 0);
	/* Values of a trace are untrusted. */
	if (__builtin_mul_overflow(VALUE(call, width), at_least_one(VALUE(call, height)), &bytes) ||
		__builtin_mul_overflow(bytes, at_least_one(VALUE(call, depth)), &bytes) ||
		__builtin_mul_overflow(bytes, channel_bytes(VALUE(call, type)), &bytes) ||
		bytes > INT64_MAX)
		bytes = 0;
	p->allocations.life[life - 1].value = bytes;
	p->allocations.life[life - 1].kind = kind;
	p->allocations.life[life - 1].context = call->context;
	return db_add(loader->db,
		ROW(array, loader->allocation + p->allocations.life[life - 1].row,
			bytes ? (int64_t)VALUE(call, width) : 0,
			bytes ? (int64_t)VALUE(call, height) : 0,
			bytes ? (int64_t)VALUE(call, depth) : 0, (uint32_t)VALUE(call, type),
			is_mipmapped(call)));
}

void loader_end_array(struct loader *loader, const struct loaded_call *call)
{
	struct loaded_process *p = &loader->p;
	uint32_t life = lives_find(&p->allocations, KEY_ARRAY | VALUE(call, array), call->enter);

	if (call->failed || !life)
		return;
	lives_end(&p->allocations, life, call->exit, call->number);
}

int64_t loader_find_array(struct loader *loader, uint64_t array, uint64_t enter, uint64_t *begin)
{
	struct loaded_process *p = &loader->p;
	uint64_t whole = map_get(&p->levels, array, 0);
	uint32_t life;

	*begin = whole ? map_get(&p->level_numbers, array, 0) * ARRAY_LEVEL : 0;
	life = lives_find(&p->allocations, KEY_ARRAY | (whole ? whole : array), enter);
	return life ? loader->allocation + p->allocations.life[life - 1].row : 0;
}

static void note_level(struct loaded_process *p, const struct loaded_call *call)
{
	uint64_t level = VALUE(call, depth);

	if (!VALUE(call, array) || level >= 64)
		return;
	map_set(&p->levels, VALUE(call, array), VALUE(call, handle));
	map_set(&p->level_numbers, VALUE(call, array), level);
}

static int is_surface(const struct loaded_call *call)
{
	const struct call_type_record *type = call->type->record;

	return memmem(type->data + type->field_count, type->name_length, "Surf", 4) != NULL;
}

static int add_texture(struct loader *loader, const struct loaded_call *call)
{
	uint64_t array = VALUE(call, array), address = VALUE(call, ptr);
	uint32_t life = array ? 0 : ranges_find(&loader->p.live_memory, address);
	int64_t allocation =
		life ? loader->allocation + loader->p.allocations.life[life - 1].row : 0;

	if (array)
		allocation = loader_find_array(loader, array, call->enter, &address);
	return db_add(loader->db,
		ROW(texture, DB_NULL, loader->process, VALUE(call, value), is_surface(call),
			loader->call + call->number, DB_NULL, cell_id(allocation), address,
			array ? DB_NULL : (int64_t)(VALUE(call, bytes) & INT64_MAX)));
}

int loader_take_textures(struct loader *loader, const struct loaded_call *call)
{
	if (call->failed)
		return 0;
	switch (call->kind) {
	case KIND_ARRAY_LEVEL:
		note_level(&loader->p, call);
		return 0;
	case KIND_TEXTURE_CREATE:
		return HAS(call, value) ? add_texture(loader, call) : 0;
	case KIND_TEXTURE_DESTROY:
		return db_run(loader->update_texture, "iiii", loader->call + call->number,
			loader->process, (int64_t)VALUE(call, value), (int64_t)is_surface(call));
	default:
		return 0;
	}
}
