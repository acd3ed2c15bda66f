/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Launch parameters: rows of launch, and of shape, shared by launches that differ only in the
 * addresses of their memory.
 */
#include "loader.h"
#include "run_build.h"

#include <string.h>

/*
 * Shapes per process.  Further launches have none and get the accesses that hold for any launch of
 * their kernels: their races are kept, at a lower confidence.
 */
#define SHAPE_LIMIT (1u << 18)

/*
 * Limit for the bytes of words per run; beyond it, words that only a hash stands for are left
 * out, and are unknown as for a launch without a shape.
 */
#define WORDS_LIMIT (32u << 20)

/* The words after the fields of a launch. */
static struct launch_values values_of(const struct loaded_call *call)
{
	const struct call_record *record = (const struct call_record *)call->record;
	const char *end = (const char *)record + record_bytes(&record->head);
	const char *at = (const char *)&record->field[call->type->record->field_count];
	struct launch_values values = {
		.pointer = (const struct launch_pointer *)at,
		.pointer_count = record->pointer_count,
		.extra = record->head.flags & CALL_EXTRA,
	};

	if (record->head.flags & CALL_BUFFER) /* all words were checked for operands */
		return (struct launch_values){ .count = 0 };
	at += record->pointer_count * sizeof(struct launch_pointer);
	at += (size_t)(end - at) % TRACE_ALIGN;
	if (record->head.flags & CALL_ATTRIBUTES)
		end -= sizeof(struct call_attributes);
	values.count = end > at ? (size_t)(end - at) / sizeof(values.value[0]) : 0;
	if (values.count > LAUNCH_WORDS_KEPT + 1)
		values.count = LAUNCH_WORDS_KEPT + 1;
	memcpy(values.value, at, values.count * sizeof(values.value[0]));
	return values;
}

/* Room for all words of a launch, and for its other words that look like addresses. */
#define BLOB_WORDS (LAUNCH_WORDS_MOST + LAUNCH_WORDS_MAX)

static size_t words_of(const struct loader *loader, const struct loaded_call *call,
	const struct launch_values *values, char *blob)
{
	struct launch_word word[BLOB_WORDS];
	size_t count = launch_words_place(word, values,
		(const struct function_record *)(uintptr_t)map_get(&loader->p.layouts, call->kernel,
			0));

	for (size_t i = 0; i < loader->p.stray_count; i++)
		word[count++] = loader->p.stray[i];
	for (size_t i = 0; i < count; i++)
		launch_words_put(blob, i, word[i]);
	return count * LAUNCH_WORD_BYTES;
}

/* Finds the words that the hash of a launch stands for, if recorded. */
static void find_rest(struct loader *loader, struct launch_values *values)
{
	const struct words_record *record;

	if (values->count <= LAUNCH_WORDS_KEPT || loader->words_bytes > WORDS_LIMIT)
		return;
	record = (const struct words_record *)(uintptr_t)map_get(&loader->p.words,
		values->value[LAUNCH_WORDS_KEPT], 0);
	if (!record || record->length > LAUNCH_WORDS_REST * sizeof(uint64_t))
		return;
	values->rest = (const uint64_t *)(const void *)record->data;
	values->rest_count = record->length / sizeof(uint64_t);
}

static int add_shape(struct loader *loader, const struct loaded_call *call,
	struct launch_values *values, int64_t row)
{
	const struct loaded_process *p = &loader->p;
	char blob[BLOB_WORDS * LAUNCH_WORD_BYTES];
	size_t bytes;

	find_rest(loader, values);
	bytes = words_of(loader, call, values, blob);
	loader->words_bytes += bytes;
	return db_add(loader->db,
		ROW(shape, row, call->kernel, call->fields.value[FIELD_grid],
			call->fields.value[FIELD_block], cell_bytes(blob, bytes),
			cell_bytes(p->pointed, p->pointed_count * sizeof(*p->pointed))));
}

/* Returns the row of the shape, 0: too many shapes, -1 after a message. */
static int64_t shape_of(struct loader *loader, const struct loaded_call *call)
{
	struct launch_values values = values_of(call);
	struct loaded_process *p = &loader->p;
	uint64_t what[] = {
		call->kernel,
		call->fields.value[FIELD_grid],
		call->fields.value[FIELD_block],
		map_hash_words(values.value, values.count),
		p->pointed_count,
		0,
		0,
	};
	uint64_t hash;
	int64_t row;

	for (size_t i = 0; i < p->pointed_count; i++)
		what[5] = what[5] * 31 + p->pointed[i] * UINT64_C(0x9e3779b97f4a7c15);
	for (size_t i = 0; i < p->stray_count; i++)
		what[6] = what[6] * 31 + p->stray[i].offset * UINT64_C(0x9e3779b97f4a7c15) +
			p->stray[i].value;
	hash = map_hash_words(what, sizeof(what) / sizeof(*what));
	row = (int64_t)map_get(&p->shapes, hash, 0);
	if (row || p->shapes.count == SHAPE_LIMIT)
		return row;
	row = ++loader->shape;
	map_set(&p->shapes, hash, (uint64_t)row);
	return add_shape(loader, call, &values, row) ? -1 : row;
}

static int add_launch(void *run, void *bytes)
{
	const struct run_ended *launch = bytes;

	return run_add_launch(run, launch->call, launch->what);
}

/* Adds the launch to the columns of the run, if they are being filled. */
static int keep_launch(struct loader *loader, int64_t call, int64_t shape)
{
	struct run_ended *launch;

	if (!loader->db->run)
		return 0;
	launch = relay_add(loader->relay, add_launch, loader->db->run, sizeof(*launch));
	if (!launch)
		return -1;
	*launch = (struct run_ended){ (uint32_t)call, (uint32_t)shape };
	return 0;
}

int loader_write_launch(struct loader *loader, const struct loaded_call *call)
{
	const uint64_t needed = 1ull << FIELD_grid | 1ull << FIELD_block;
	int64_t shape;

	if (!call->kernel || call->failed || (call->fields.present & needed) != needed)
		return 0;
	shape = shape_of(loader, call);
	if (shape <= 0)
		return (int)shape;
	return bulk_add(loader->launches, ROW(launch, loader->call + call->number, shape))
		? -1
		: keep_launch(loader, loader->call + call->number, shape);
}
