/* SPDX-License-Identifier: Apache-2.0 */
#include "load_accept.h"
#include "loader.h"

#include <stdlib.h>
#include <string.h>

#include "demangle.h"
#include "hold_plan.h"
#include "memory.h"
#include "print.h"

static int insert_site(struct loader *loader, const struct site_record *site)
{
	struct loaded_process *p = &loader->p;
	int64_t row = loader->site + 1;

	if (map_get(&p->sites, site->id, 0))
		return 0;
	map_set(&p->sites, site->id, (uint64_t)row);
	if (db_add(loader->db,
		    ROW(site, row, loader->process, site->id, cell_text(NULL), cell_text(NULL),
			    DB_NULL, cell_text(NULL), cell_text(NULL))))
		return -1;
	loader->site++;
	for (unsigned i = 0; i < site_frames(site); i++)
		if (db_add(loader->db,
			    ROW(frame, row, i, site->address[i], DB_NULL, cell_text(NULL),
				    cell_text(NULL), DB_NULL, 1, DB_NULL)))
			return -1;
	return 0;
}

const char *loader_build_id(const uint8_t id[20], char text[41])
{
	int known = 0;

	for (size_t i = 0; i < 20; i++) {
		known |= id[i];
		snprintf(text + 2 * i, 3, "%02x", id[i]);
	}
	return known ? text : NULL;
}

static int insert_module(struct loader *loader, const struct module_record *module)
{
	char build_id[41];

	return db_add(loader->db,
		ROW(module, DB_NULL, loader->process, module->start, module->end,
			module->file_offset, cell_bytes(module->path, module->path_length),
			cell_text(loader_build_id(module->build_id, build_id))));
}

static uint32_t insert_kernel(struct loader *loader, int64_t handle, const char *mangled,
	size_t length, int64_t parameters)
{
	char base[256], *whole = xprintf("%.*s", (int)length, mangled);
	int64_t row = loader->kernel + 1;
	int rc;

	demangle_base(whole, base, sizeof(base));
	rc = db_add(loader->db,
		ROW(kernel, row, loader->process, handle, cell_text(whole), cell_text(base),
			parameters, DB_NULL));
	free(whole);
	if (rc)
		return 0;
	map_set(&loader->p.kernels, map_hash(mangled, length), (uint64_t)row);
	loader->kernel++;
	return (uint32_t)row;
}

uint32_t loader_kernel(struct loader *loader, const char *mangled, size_t length)
{
	uint64_t row = map_get(&loader->p.kernels, map_hash(mangled, length), 0);

	return row ? (uint32_t)row : insert_kernel(loader, DB_NULL, mangled, length, DB_NULL);
}

static int insert_parameters(struct loader *loader, uint32_t kernel,
	const struct function_record *function)
{
	for (uint32_t i = 0; i < function->parameter_count; i++) {
		struct function_parameter parameter;

		memcpy(&parameter, function->data + i * sizeof(parameter), sizeof(parameter));
		if (db_add(loader->db, ROW(parameter, kernel, i, parameter.offset, parameter.size)))
			return -1;
	}
	map_set(&loader->p.layouts, kernel, (uint64_t)(uintptr_t)function);
	return 0;
}

static int set_local_bytes(struct loader *loader, int64_t kernel,
	const struct function_record *function)
{
	return !function->local
		? 0
		: db_run(loader->update_kernel, "ii", (int64_t)function->local - 1, kernel);
}

struct unplaced_function {
	uint64_t handle;
	uint32_t kernel, thread; /* thread: kernel thread id */
};

/* From begin on (ticks) the handles recorded by this thread mean those kernels. */
static void place_functions(struct loaded_process *p, uint32_t thread, uint64_t begin)
{
	size_t left = 0;

	for (size_t i = 0; i < p->unplaced_count; i++) {
		struct unplaced_function function = p->unplaced[i];
		uint32_t life;

		if (function.thread != thread) {
			p->unplaced[left++] = function;
			continue;
		}
		life = lives_begin(&p->functions, function.handle, begin, 0);
		p->functions.life[life - 1].value = function.kernel;
	}
	p->unplaced_count = left;
}

static int add_function(struct loader *loader, const struct function_record *function)
{
	struct loaded_process *p = &loader->p;
	int known = function->parameter_count != FUNCTION_NO_PARAMETERS;
	const char *name = function->data +
		(known ? function->parameter_count * sizeof(struct function_parameter) : 0);
	uint64_t same = map_get(&p->kernels, map_hash(name, function->name_length), 0);
	uint32_t row;

	if (same && map_get(&p->latest_functions, function->handle, 0) == same)
		return set_local_bytes(loader, (int64_t)same, function);
	row = insert_kernel(loader, (int64_t)function->handle, name, function->name_length,
		known ? (int64_t)function->parameter_count : DB_NULL);
	if (!row)
		return -1;
	/* The thread that first uses a function records it right before that call. */
	*array_push(p->unplaced, p->unplaced_count) =
		(struct unplaced_function){ function->handle, row, p->reader.thread };
	map_set(&p->latest_functions, function->handle, row);
	if (set_local_bytes(loader, row, function))
		return -1;
	return known ? insert_parameters(loader, row, function) : 0;
}

/* By hash: traces of one run share their types, hundreds of them. */
static uint64_t hash_call_type(const struct call_type_record *type, unsigned kind)
{
	const char *name = type->data + type->field_count;
	uint64_t hash = map_hash(name, type->name_length);

	return hash ^ ((uint64_t)kind << 1 | !!type->runtime) * UINT64_C(0x9e3779b97f4a7c15);
}

static int add_call_type(struct loader *loader, const struct call_type_record *type)
{
	unsigned kind = type->kind < KIND_COUNT ? type->kind : KIND_OTHER;
	struct file_call_type *slot = &loader->p.type[type->call];
	uint64_t hash = hash_call_type(type, kind);

	slot->record = type;
	slot->fields = 0;
	for (unsigned i = 0; i < type->field_count; i++)
		if ((uint8_t)type->data[i] < FIELD_KIND_COUNT)
			slot->fields |= 1ull << (uint8_t)type->data[i];
	slot->id = (int64_t)map_get(&loader->call_types, hash, 0);
	if (slot->id)
		return 0;
	if (db_add(loader->db,
		    ROW(call_type, DB_NULL,
			    cell_bytes(type->data + type->field_count, type->name_length),
			    cell_text(call_kind_names[kind]), type->runtime)))
		return -1;
	slot->id = sqlite3_last_insert_rowid(loader->db->handle);
	map_set(&loader->call_types, hash, (uint64_t)slot->id);
	return 0;
}

static void add_context(struct loaded_process *p, const struct context_record *context)
{
	uint64_t known = map_get(&p->context_numbers, context->id, 0);

	/* Two threads may record the same name at the same time, with a number each. */
	if (!known)
		known = map_get(&p->context_handles, context->handle, 0);
	if (!known) {
		*array_push(p->context, p->context_count) =
			(struct loaded_context){ .record = *context };
		known = p->context_count;
	} else if (context->cupti_id || !p->context[known - 1].record.cupti_id) {
		uint32_t number = p->context[known - 1].record.id;

		p->context[known - 1].record = *context;
		p->context[known - 1].record.id = (uint16_t)number;
	}
	map_set(&p->context_numbers, context->id, known);
	if (context->cupti_id)
		map_set(&p->context_cupti_ids, context->cupti_id, known);
	map_set(&p->context_handles, context->handle, known);
}

/* Returns the row of a kernel thread id. */
static uint32_t thread_row(struct loader *loader, uint32_t tid)
{
	struct loaded_process *p = &loader->p;
	uint64_t row = map_get(&p->threads, tid, 0);

	if (row)
		return (uint32_t)row;
	*array_push(p->thread, p->thread_count) =
		(struct loaded_thread){ .tid = tid, .stuck = DB_NULL };
	row = (uint64_t)loader->thread + p->thread_count;
	map_set(&p->threads, tid, row);
	return (uint32_t)row;
}

static int add_thread(struct loader *loader, const struct thread_record *thread)
{
	uint32_t row = thread_row(loader, thread->thread);

	if (!row)
		return -1;
	row -= (uint32_t)loader->thread;
	if (thread->name_length)
		loader->p.thread[row - 1].name = thread;
	if (thread->birth)
		map_set(&loader->p.births, thread->birth, row);
	return 0;
}

static int add_call(struct loader *loader, const struct record *record)
{
	struct loaded_process *p = &loader->p;
	uint64_t enter = record->type == RECORD_CALL ? ((const struct call_record *)record)->enter
						     : ((const struct enter_record *)record)->enter;
	uint32_t thread = thread_row(loader, p->reader.thread);

	if (enter < p->first_tick)
		p->first_tick = enter;
	if (record->type == RECORD_CALL &&
		loader_note_overlap(p, (const struct call_record *)record))
		return -1;
	if (p->unplaced_count)
		place_functions(p, p->reader.thread, enter);
	if (thread && record->type == RECORD_CALL)
		loader_note_collective(loader, thread, (const struct call_record *)record);
	return thread ? lane_file(loader, thread, record) : -1;
}

static int add_host_run(struct loader *loader, const struct host_run_record *run)
{
	uint32_t thread = thread_row(loader, loader->p.reader.thread);

	if (!thread)
		return -1;
	loader_note_host_run(loader, thread, run);
	return 0;
}

static int add_calibration(struct loader *loader, const struct calibration_record *calibration)
{
	struct loaded_process *p = &loader->p;

	*array_push(p->calibration, p->calibration_count) = calibration;
	return db_add(loader->db,
		ROW(calibration, loader->process, calibration->ticks, calibration->realtime_ns,
			calibration->cupti_ns, calibration->gap_ticks));
}

static int add_usage(struct loader *loader, const struct usage_record *usage)
{
	uint32_t thread = thread_row(loader, loader->p.reader.thread);

	if (!thread)
		return -1;
	loader_note_usage(loader, thread, usage);
	return 0;
}

static int insert_device(struct loader *loader, const struct device_info_record *device)
{
	return db_add(loader->db,
		ROW(device, loader->process, device->device,
			cell_bytes(device->name, device->name_length), device->sm_count,
			device->threads_per_sm, device->blocks_per_sm, device->compute_major,
			device->compute_minor, device->async_engines, device->memory_bytes));
}

static int insert_symbol(struct loader *loader, const struct symbol_record *symbol)
{
	const char *file = symbol->file_length ? symbol->data + symbol->function_length : NULL;

	return db_add(loader->db,
		ROW(symbol, loader->process, symbol->address, symbol->depth,
			cell_bytes(symbol->function_length ? symbol->data : NULL,
				symbol->function_length),
			cell_bytes(file, symbol->file_length),
			symbol->line ? (int64_t)symbol->line : DB_NULL));
}

static int insert_code(struct loader *loader, const struct code_record *code)
{
	const char *file = code->data + code->name_length;

	return db_add(loader->db,
		ROW(code, loader->process, code->id, code->version, code->first_line,
			cell_bytes(code->data, code->name_length),
			cell_bytes(file, code->file_length),
			cell_bytes(file + code->file_length, code->table_length)));
}

/* "device.ORDINAL.NAME" is an attribute of that device. */
static int insert_property(struct loader *loader, const struct property_record *property)
{
	const char *value = property->data + property->name_length;
	char name[64], text[24];
	int ordinal, at = 0;

	snprintf(name, sizeof(name), "%.*s", (int)property->name_length, property->data);
	snprintf(text, sizeof(text), "%.*s", (int)property->value_length, value);
	if (sscanf(name, "device.%d.%n", &ordinal, &at) == 1 && at && name[at])
		return db_add(loader->db,
			ROW(device_attribute, loader->process, ordinal, cell_text(name + at),
				strtoll(text, NULL, 10)));
	loader_note_rank(loader, property);
	loader->p.shaken |= !strcmp(name, SHAKEN_PROPERTY);
	return db_add(loader->db,
		ROW(property, loader->process, cell_bytes(property->data, property->name_length),
			cell_bytes(value, property->value_length)));
}

static int scan_record(struct loader *loader, const struct record *record)
{
	switch (record->type) {
	case RECORD_CALL_TYPE:
		return add_call_type(loader, (const struct call_type_record *)record);
	case RECORD_CALL:
	case RECORD_ENTER:
		return add_call(loader, record);
	case RECORD_HOST_RUN:
		return add_host_run(loader, (const struct host_run_record *)record);
	case RECORD_DEVICE:
		loader_file_device(loader, (const struct device_record *)record);
		return 0;
	case RECORD_SITE:
		return insert_site(loader, (const struct site_record *)record);
	case RECORD_MODULE:
		return insert_module(loader, (const struct module_record *)record);
	case RECORD_FUNCTION:
		return add_function(loader, (const struct function_record *)record);
	case RECORD_STRING:
		map_set(&loader->p.strings, ((const struct string_record *)record)->id,
			(uint64_t)(uintptr_t)record);
		return 0;
	case RECORD_CONTEXT:
		add_context(&loader->p, (const struct context_record *)record);
		return 0;
	case RECORD_DEVICE_INFO:
		return insert_device(loader, (const struct device_info_record *)record);
	case RECORD_CALIBRATION:
		return add_calibration(loader, (const struct calibration_record *)record);
	case RECORD_WINDOW:
		*array_push(loader->p.window, loader->p.window_count) =
			(const struct window_record *)record;
		return 0;
	case RECORD_USAGE:
		return add_usage(loader, (const struct usage_record *)record);
	case RECORD_PROPERTY:
		return insert_property(loader, (const struct property_record *)record);
	case RECORD_IMAGE:
		loader_note_image(loader, (const struct image_record *)record);
		return 0;
	case RECORD_IMAGE_FILE:
		return loader_insert_image_file(loader, (const struct image_file_record *)record);
	case RECORD_WORDS:
		map_set(&loader->p.words, ((const struct words_record *)record)->hash,
			(uint64_t)(uintptr_t)record);
		return 0;
	case RECORD_SYMBOL:
		return insert_symbol(loader, (const struct symbol_record *)record);
	case RECORD_CODE:
		return insert_code(loader, (const struct code_record *)record);
	case RECORD_THREAD:
		return add_thread(loader, (const struct thread_record *)record);
	default:
		return 0;
	}
}

/* Follows which call of each thread has not returned of those that are left out. */
static void note_open(const struct loaded_process *p, struct map *open, const struct record *record,
	int left_out)
{
	if (record->type == RECORD_CALL && !(record->flags & CALL_NESTED) && open->count)
		map_remove(open, p->reader.thread);
	if (left_out && record->type == RECORD_ENTER && !map_get(open, p->reader.thread, 0))
		map_set(open, p->reader.thread, (uint64_t)(uintptr_t)record);
}

/* A call in which a thread still is belongs to what is loaded, whenever it was entered. */
static int add_open(struct loader *loader, struct map *open)
{
	int rc = 0;

	for (size_t i = 0; i < open->size && !rc; i++) {
		if (!open->entry[i].used)
			continue;
		loader->p.reader.thread = (uint32_t)open->entry[i].key;
		loader->p.last_lane = SIZE_MAX;
		rc = add_call(loader, (const struct record *)(uintptr_t)open->entry[i].value);
	}
	map_release(open);
	return rc;
}

int loader_scan(struct loader *loader)
{
	struct loaded_process *p = &loader->p;
	const struct record *record;
	struct map open = { 0 };
	int left_out;

	p->first_tick = UINT64_MAX;
	p->type = xcalloc(UINT16_MAX + 1, sizeof(*p->type));
	if (loader->last_window || p->reader.header->ring.generation)
		loader_find_since(loader);
	while (trace_next(&p->reader, &record)) {
		loader_step(loader, record_bytes(record));
		left_out = since_leaves_out(&p->since, record);
		note_open(p, &open, record, left_out);
		/* A lane is read again, up to where it has such a record. */
		if (left_out)
			p->last_lane = SIZE_MAX;
		else if (scan_record(loader, record)) {
			map_release(&open);
			return -1;
		}
	}
	if (add_open(loader, &open))
		return -1;
	/* The process was killed before the call. */
	while (p->unplaced_count)
		place_functions(p, p->unplaced[0].thread, UINT64_MAX);
	return 0;
}
