/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A cache of access lists: equal calls share a list, which is derived once.  A reader keeps two
 * generations.  When the young one is full, the old one is freed.  A list that is read again moves
 * to the young one, so that it survives until LISTS_BYTES of others were read.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "access_internal.h"
#include "large.h"
#include "memory.h"

#define LISTS_BYTES ((size_t)32 << 20)
/* If another list has the same hash, the next keys are tried; beyond these it is not shared. */
#define PROBE_STEPS 8
/* Rows compared in sequence before a binary search. */
#define NEAR_STEPS 32

struct list {
	struct accesses accesses;
	struct access_rows rows; /* of one call with these accesses */
	uint64_t version;        /* version of a graph, 0: none */
	uint32_t generation;     /* in which it was young last */
};

static void free_list(struct access_reader *reader, struct list *list)
{
	reader->list[list->accesses.number] = NULL;
	accesses_release(&list->accesses);
	free(list);
}

static void free_lists(struct access_reader *reader, struct id_map *lists)
{
	for (size_t i = 0; i < lists->size; i++)
		if (lists->slot[i].object)
			free_list(reader, lists->slot[i].object);
	free(lists->slot);
	*lists = (struct id_map){ 0 };
}

struct access_reader *access_open(struct db *db)
{
	struct access_reader *reader = xcalloc(1, sizeof(*reader));

	reader->run = run_of(db, &reader->own);
	reader->compared = xcalloc(ACCESS_COMPARED, sizeof(*reader->compared));
	*array_push(reader->list, reader->list_count) = NULL;
	if (reader->run) {
		reader->list_of = large_zeroed(run_call_end(reader->run), sizeof(*reader->list_of));
		reader->graphs = access_graphs_open(db);
	}
	if (reader->graphs)
		return reader;
	access_close(reader);
	return NULL;
}

/* Returns NULL after a message. */
static struct access_reader *need_part(struct access_reader *whole, struct db *db, size_t part)
{
	while (whole->part_count <= part)
		*array_push(whole->part, whole->part_count) = NULL;
	if (part && !whole->part[part]) {
		whole->part[part] = access_open(db);
		if (whole->part[part])
			whole->part[part]->whole = whole;
	}
	return part ? whole->part[part] : whole;
}

struct access_reader *access_share(struct db *db, size_t part)
{
	struct access_reader *whole = db->run->accesses, *reader;

	if (!whole)
		whole = access_open(db);
	if (!whole)
		return NULL;
	db->run->accesses = whole;
	whole->shared_in = db->run;
	whole->users++;
	reader = need_part(whole, db, part);
	if (!reader)
		access_close(whole);
	return reader;
}

void access_close(struct access_reader *reader)
{
	if (reader && reader->whole)
		reader = reader->whole;
	if (!reader || (reader->shared_in && --reader->users))
		return;
	if (reader->shared_in)
		reader->shared_in->accesses = NULL;
	for (size_t i = 0; i < reader->part_count; i++) {
		if (reader->part[i])
			reader->part[i]->whole = NULL;
		access_close(reader->part[i]);
	}
	free(reader->part);
	free_lists(reader, &reader->young);
	free_lists(reader, &reader->old);
	if (reader->graphs)
		access_graphs_close(reader->graphs);
	accesses_release(&reader->scratch);
	run_close(reader->own);
	free(reader->list);
	large_free(reader->list_of);
	free(reader->compared);
	free(reader);
}

/* --- the rows of a call --- */

/* Calls are mostly queried in order: the search starts after the rows found last. */
static const unsigned char *find_rows(const struct column *rows, uint64_t *at, uint32_t call,
	const unsigned char **end)
{
	uint64_t next = *at, size = rows->row_size;
	const unsigned char *first = NULL;

	for (int steps = 0; next < rows->count && steps < NEAR_STEPS; next++, steps++) {
		const unsigned char *row = rows->rows + next * size;
		uint32_t of = *(const uint32_t *)(const void *)row;

		if (of < call)
			continue;
		first = of == call ? row : NULL;
		if (of > call && next == *at)
			first = run_find(rows, call);
		goto found;
	}
	first = next < rows->count || *at >= rows->count ? run_find(rows, call) : NULL;
found:
	*end = first;
	if (!first)
		return NULL;
	while (*end < rows->rows + rows->count * size &&
		*(const uint32_t *)(const void *)*end == call)
		*end += size;
	*at = (uint64_t)(*end - rows->rows) / size;
	return first;
}

static void find_objects(struct access_reader *reader, uint32_t call, struct access_rows *rows)
{
	const unsigned char *end;
	const struct run_object *object =
		(const void *)find_rows(&reader->run->objects, &reader->objects_at, call, &end);

	for (; object && (const unsigned char *)object < end; object++)
		if (object->role == OBJECT_CONTENT)
			rows->content = (unsigned)object->object;
		else if (object->role == OBJECT_EXEC)
			rows->exec = object->object;
}

int access_find_rows(struct access_reader *reader, int64_t call, struct access_rows *rows)
{
	const struct run *run = reader->run;
	const struct run_call *row = run_call(run, call);
	const struct run_ended *launch;
	const unsigned char *end;

	if (!row)
		return -1;
	*rows = (struct access_rows){ .kind = (enum call_kind)row->kind,
		.payload = run_payload(run, row) };
	rows->operand =
		(const void *)find_rows(&run->operands, &reader->operands_at, (uint32_t)call, &end);
	rows->operands_end = (const void *)end;
	rows->extent =
		(const void *)find_rows(&run->extents, &reader->extents_at, (uint32_t)call, &end);
	rows->extents_end = (const void *)end;
	launch =
		(const void *)find_rows(&run->launches, &reader->launches_at, (uint32_t)call, &end);
	rows->shape = launch && run_shape(run, launch->what) ? launch->what : 0;
	find_objects(reader, (uint32_t)call, rows);
	return 0;
}

/* --- lists --- */

static uint64_t mix(uint64_t hash, uint64_t word)
{
	hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
	return hash ^ hash >> 29;
}

static uint64_t hash_rows(const struct access_rows *rows)
{
	const struct run_payload *payload = rows->payload;
	uint64_t hash = mix(rows->kind, (uint64_t)payload->kernel << 32 | rows->shape);

	hash = mix(hash, (uint64_t)payload->bytes);
	hash = mix(hash,
		(uint64_t)payload->dst << 16 | (uint64_t)payload->src << 8 | rows->content);
	for (const struct run_operand *row = rows->operand; row < rows->operands_end; row++) {
		hash = mix(hash, (uint64_t)row->offset << 32 | row->allocation);
		hash = mix(hash, (uint64_t)row->address ^ (uint64_t)row->role << 60);
	}
	for (const struct run_extent *row = rows->extent; row < rows->extents_end; row++) {
		hash = mix(hash, (uint64_t)row->address);
		hash = mix(hash, (uint64_t)row->span);
	}
	return hash;
}

static int is_same_operand(const struct run_operand *a, const struct run_operand *b)
{
	return a->allocation == b->allocation && a->address == b->address &&
		a->offset == b->offset && a->role == b->role;
}

static int is_same_extent(const struct run_extent *a, const struct run_extent *b)
{
	return a->allocation == b->allocation && a->role == b->role && a->address == b->address &&
		a->bytes == b->bytes && a->pitch == b->pitch && a->rows == b->rows &&
		a->slice == b->slice && a->slices == b->slices && a->span == b->span;
}

/* Compares everything that determines the accesses of a call. */
static int is_same(const struct access_rows *a, const struct access_rows *b)
{
	const struct run_payload *x = a->payload, *y = b->payload;

	if (a->kind != b->kind || x->kernel != y->kernel || a->shape != b->shape ||
		x->bytes != y->bytes || x->has_bytes != y->has_bytes || x->dst != y->dst ||
		x->src != y->src || a->content != b->content ||
		a->operands_end - a->operand != b->operands_end - b->operand ||
		a->extents_end - a->extent != b->extents_end - b->extent)
		return 0;
	for (ptrdiff_t i = 0; i < a->operands_end - a->operand; i++)
		if (!is_same_operand(&a->operand[i], &b->operand[i]))
			return 0;
	for (ptrdiff_t i = 0; i < a->extents_end - a->extent; i++)
		if (!is_same_extent(&a->extent[i], &b->extent[i]))
			return 0;
	return 1;
}

static size_t bytes_of(const struct list *list)
{
	return sizeof(*list) + sizeof(list) + sizeof(struct id_map_slot) +
		list->accesses.count * sizeof(*list->accesses.access);
}

static void put(struct access_reader *reader, int64_t key, struct list *list)
{
	id_map_put(&reader->young, key, list);
	list->generation = reader->generation;
	reader->young_bytes += bytes_of(list);
	if (reader->young_bytes < LISTS_BYTES)
		return;
	free_lists(reader, &reader->old);
	reader->old = reader->young;
	reader->young = (struct id_map){ 0 };
	reader->young_bytes = 0;
	reader->generation++;
}

/* Moves the list to the young generation.  Returns NULL if there is none. */
static struct list *get(struct access_reader *reader, int64_t key)
{
	struct list *list = id_map_get(&reader->young, key);

	if (list)
		return list;
	list = id_map_take(&reader->old, key);
	if (list)
		put(reader, key, list);
	return list;
}

/* Stores a copy of scratch as a list. */
static struct list *store(struct access_reader *reader, int64_t key, const struct access_rows *rows,
	uint64_t version)
{
	struct list *list = xcalloc(1, sizeof(*list));
	size_t count = reader->scratch.count, size = sizeof(*list->accesses.access);

	if (count) {
		list->accesses.access = xrealloc(NULL, count, size);
		memcpy(list->accesses.access, reader->scratch.access, count * size);
	}
	list->accesses.count = list->accesses.room = reader->scratch.count;
	list->accesses.complete = reader->scratch.complete;
	list->accesses.named = reader->scratch.named;
	list->accesses.reaches = reader->scratch.reaches;
	list->accesses.number = reader->list_count;
	*array_push(reader->list, reader->list_count) = list;
	list->rows = *rows;
	list->version = version;
	put(reader, key, list);
	return list;
}

static int64_t key_of(uint64_t hash, int step)
{
	return (int64_t)((hash + 2 * (uint64_t)step) & INT64_MAX) | 1;
}

/* Checks a list with the same hash. */
static int is_list_of(const struct list *list, const struct access_rows *rows, uint64_t version)
{
	if (version || list->version)
		return version == list->version;
	return is_same(rows, &list->rows);
}

/* Reads the accesses of a call, or of a version of a graph, into scratch. */
static int read_list(struct access_reader *reader, const struct access_rows *rows, uint64_t version)
{
	struct accesses *scratch = &reader->scratch;

	scratch->count = 0;
	scratch->complete = scratch->named = 0;
	scratch->reaches = 0;
	if (version) {
		access_copy_version(reader, version, scratch);
		return 0;
	}
	if (kind_family(rows->kind) == FAMILY_graph_launch) {
		access_add_named(reader, rows, scratch);
		return 0;
	}
	return access_add_operation(reader, rows, NULL, scratch);
}

static struct list *find_list(struct access_reader *reader, const struct access_rows *rows,
	uint64_t version)
{
	uint64_t hash = version ? mix(1, version) : hash_rows(rows);
	struct list *list = NULL;
	int64_t key = 0;

	for (int step = 0; step < PROBE_STEPS; step++) {
		key = key_of(hash, step);
		list = get(reader, key);
		if (!list)
			break;
		if (is_list_of(list, rows, version))
			return list;
	}
	if (list)
		free_list(reader, id_map_take(&reader->young, key));
	if (read_list(reader, rows, version))
		return NULL;
	return store(reader, key, rows, version);
}

const struct accesses *access_read(struct access_reader *reader, int64_t call)
{
	static const struct accesses nothing = { 0 };
	uint32_t number = call > 0 && call < run_call_end(reader->run) ? reader->list_of[call] : 0;
	struct list *list = reader->list[number];
	struct access_rows rows;
	uint64_t version = 0;

	/* Only a list that is young outlives the next one that is read. */
	if (list && list->generation == reader->generation)
		return &list->accesses;
	if (access_find_rows(reader, call, &rows))
		return &nothing;
	if (kind_family(rows.kind) == FAMILY_graph_launch) {
		if (!rows.exec)
			return &nothing;
		if (access_find_version(reader, call, &rows, &version))
			return NULL;
	}
	list = find_list(reader, &rows, version);
	if (!list)
		return NULL;
	/* The list of a graph may differ later, once limits are reached. */
	if (!version && !rows.exec)
		reader->list_of[call] = (uint32_t)list->accesses.number;
	return &list->accesses;
}
