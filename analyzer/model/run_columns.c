/* SPDX-License-Identifier: Apache-2.0 */
#include "run_columns.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "print.h"
#include "run_internal.h"
#include "sorted.h"
#include "work.h"

static int find_room(struct db *db, struct run_room *room)
{
	int64_t calls = run_last_id(db, "call"), works = run_last_id(db, "main.operation");
	int64_t operands = db_int(db, "SELECT max(rowid) FROM operand", 0);
	int64_t launches = db_int(db, "SELECT count(*) FROM launch", 0);

	*room = (struct run_room){ (uint64_t)calls, (uint64_t)works, (uint64_t)operands,
		(uint64_t)launches };
	return calls < 0 || works < 0 || operands < 0 || db->failed ? -1 : 0;
}

struct run *run_open(struct db *db)
{
	struct run_room room;
	struct run *run = work_need(db) || find_room(db, &room) ? NULL : run_new(&room);
	int rc;

	if (!run)
		return NULL;
	run->building->joined = 1;
	rc = run_read_calls(run, db) || run_read_works(run, db) || run_read_operands(run, db) ||
			run_read_launches(run, db)
		? -1
		: run_complete(run, db);
	if (!rc)
		return run;
	if (rc > 0)
		fputs("cufence: table sizes changed while reading\n", stderr);
	run_close(run);
	return NULL;
}

void run_close(struct run *run)
{
	if (!run)
		return;
	column_close(&run->calls);
	column_close(&run->links);
	column_close(&run->payloads);
	column_close(&run->works);
	column_close(&run->allocations);
	column_close(&run->objects);
	column_close(&run->operands);
	column_close(&run->extents);
	column_close(&run->claims);
	column_close(&run->launches);
	column_close(&run->overheads);
	column_close(&run->freed);
	column_close(&run->allocated);
	column_close(&run->threads_made);
	column_close(&run->host_runs);
	column_close(&run->host_run_calls);
	run_evidence_release(&run->evidence);
	map_release(&run->polls);
	map_release(&run->gaps);
	map_release(&run->died);
	free(run->death);
	scratch_close(&run->scratch);
	run_building_free(run);
	map_release(&run->long_calls);
	map_release(&run->long_works);
	free(run->where);
	free(run->stream);
	free(run->context);
	free(run->thread);
	free(run->kernel);
	free(run->device);
	free(run->shape);
	free(run->twin);
	free(run);
}

const struct run *run_of(struct db *db, struct run **own)
{
	*own = db->run ? NULL : run_open(db);
	return db->run ? db->run : *own;
}

int64_t run_long_end(const struct map *ends, int64_t id)
{
	return (int64_t)map_get(ends, (uint64_t)id, (uint64_t)RUN_NEVER);
}

const void *run_rows_from(const struct column *rows, uint32_t call)
{
	return rows->rows +
		sorted_number(rows->rows, rows->count, rows->row_size, 0, call) * rows->row_size;
}

const void *run_find(const struct column *rows, int64_t call)
{
	uint64_t low = sorted_number(rows->rows, rows->count, rows->row_size, 0, (uint32_t)call);
	const unsigned char *row = rows->rows + low * rows->row_size;

	return low < rows->count && *(const uint32_t *)(const void *)row == call ? row : NULL;
}

/* --- reading --- */

int run_reader_open(struct run_reader *reader, struct run *run, struct db *db, const char *table,
	const char *sql)
{
	*reader = (struct run_reader){ .run = run, .db = db, .table = table };
	reader->rows = db_prepare(db, sql);
	return reader->rows ? 0 : -1;
}

int run_reader_next(struct run_reader *reader)
{
	if (!reader->wrong)
		return db_step(reader->rows);
	print(stderr, "cufence: table '%s' has an invalid id\n", reader->table);
	return -1;
}

void run_reader_close(struct run_reader *reader)
{
	sqlite3_finalize(reader->rows);
	reader->rows = NULL;
}

uint32_t run_reader_id(struct run_reader *reader, int column)
{
	int64_t id = sqlite3_column_int64(reader->rows, column);

	if (id >= 0 && id <= RUN_LAST_ID)
		return (uint32_t)id;
	reader->wrong = 1;
	return 0;
}

int64_t run_reader_time(struct run_reader *reader, int column)
{
	return sqlite3_column_type(reader->rows, column) == SQLITE_NULL
		? RUN_NEVER
		: sqlite3_column_int64(reader->rows, column);
}

int64_t run_last_id(struct db *db, const char *table)
{
	char sql[64];
	int64_t last;

	snprintf(sql, sizeof(sql), "SELECT max(rowid) FROM %s", table);
	last = db_int(db, sql, 0);
	if (last >= 0 && last <= RUN_LAST_ID && !db->failed)
		return last;
	print(stderr, "cufence: table '%s' has an invalid id\n", table);
	return -1;
}

void *run_new_rows(struct db *db, const char *table, size_t row_size, size_t *count)
{
	int64_t last = run_last_id(db, table);
	void *rows = last < 0 ? NULL : calloc((size_t)last + 1, row_size);

	if (!rows && last >= 0)
		fputs("cufence: out of memory\n", stderr);
	*count = rows ? (size_t)last + 1 : 0;
	return rows;
}

unsigned run_name(const char *const *names, unsigned count, const unsigned char *name)
{
	for (unsigned i = 0; name && i < count; i++)
		if (names[i] && !strcmp(names[i], (const char *)name))
			return i;
	return 0;
}

int run_has_overhead(const struct run *run, int64_t call, uint32_t kind)
{
	const struct run_overhead *row = run_find(&run->overheads, call);

	for (; row; row = run_next(&run->overheads, row))
		if (row->kind == kind)
			return 1;
	return 0;
}

int64_t run_object(const struct run *run, int64_t call, enum object_role role)
{
	const struct run_object *row = run_find(&run->objects, call);

	for (; row; row = run_next(&run->objects, row))
		if (row->role == role)
			return row->object;
	return 0;
}

const struct run_twin *run_twins(const struct run *run, uint32_t allocation,
	const struct run_twin **end)
{
	size_t low = sorted_number(run->twin, run->twin_count, sizeof(*run->twin),
		offsetof(struct run_twin, allocation), allocation);
	size_t high = low;

	while (high < run->twin_count && run->twin[high].allocation == allocation)
		high++;
	*end = run->twin + high;
	return run->twin + low;
}

static uint32_t allocation_at(const struct run *run, uint64_t number)
{
	return run_memory(run, ((const struct run_operand *)run->operands.rows)[number].allocation);
}

/* Returns the number of rows of a call; they start at *first. */
static uint64_t operands_of(const struct run *run, int64_t call, uint64_t *first)
{
	const struct run_operand *rows = (const struct run_operand *)run->operands.rows;
	const struct run_operand *row = run_find(&run->operands, call);
	uint64_t count = 0;

	*first = row ? (uint64_t)(row - rows) : 0;
	while (row && *first + count < run->operands.count && row[count].call == call)
		count++;
	return count;
}

/* Below this length, comparing all pairs is faster than a map. */
#define FEW_PAIRS 256

static int share_few(const struct run *run, uint64_t first, uint64_t count, uint64_t second,
	uint64_t others)
{
	for (uint64_t i = 0; i < count; i++)
		for (uint64_t k = 0; k < others; k++) {
			uint32_t allocation = allocation_at(run, first + i);

			if (allocation && allocation == allocation_at(run, second + k))
				return 1;
		}
	return 0;
}

/* Graph launches name many allocations: each one is looked up once. */
int run_shares(const struct run *run, int64_t call, int64_t other)
{
	uint64_t first, second, count = operands_of(run, call, &first);
	uint64_t others = operands_of(run, other, &second);
	struct map seen = { 0 };
	int found = 0;

	if (count * others <= FEW_PAIRS)
		return share_few(run, first, count, second, others);
	for (uint64_t i = 0; i < count; i++) {
		uint32_t allocation = allocation_at(run, first + i);

		if (allocation)
			map_set(&seen, allocation, 1);
	}
	for (uint64_t i = 0; i < others && !found; i++)
		found = map_get(&seen, allocation_at(run, second + i), 0) != 0;
	map_release(&seen);
	return found;
}

uint32_t run_outer_site(const struct run *run, int64_t call)
{
	uint32_t site = run_link(run, call)->site, parent;

	while ((parent = run_link(run, call)->parent)) {
		call = parent;
		if (run_link(run, call)->site)
			site = run_link(run, call)->site;
	}
	return site;
}

int run_is_variable(const struct run *run, int64_t allocation)
{
	const struct run_allocation *memory = run_allocation(run, allocation);
	const struct run_call *maker = run_call(run, memory->created);

	return memory->kind == ALLOCATION_VARIABLE || (maker && kind_is_variable(maker->kind));
}
