/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Traces that were loaded at the same time become one load: the first one of them is in the
 * database already, and each other one is a part with a database, tables, columns and ids of its
 * own.  Their rows follow those of the first in the order of the traces, with the ids that they
 * would have had there, so it does not show how many were loaded together.
 */
#include "loader.h"

#include <stdlib.h>
#include <string.h>

#include "id_shift.h"
#include "large.h"
#include "memory.h"
#include "run_build.h"
#include "workers.h"

struct joined {
	struct loader *whole, *part;
	size_t count; /* parts */
	struct id_shift *shift;
};

/* Tables with ids of which the loader knows the last one. */
static const struct {
	enum schema_id table;
	size_t last; /* offset in struct loader */
} counted[] = {
#define COUNTED(table, last) \
	{ \
		TABLE_##table, offsetof(struct loader, last) \
	}
	COUNTED(process, process),
	COUNTED(call, call),
	COUNTED(operation, operation),
	COUNTED(thread, thread),
	COUNTED(context, context),
	COUNTED(stream, stream),
	COUNTED(event, event),
	COUNTED(allocation, allocation),
	COUNTED(kernel, kernel),
	COUNTED(site, site),
	COUNTED(graph, graph),
	COUNTED(graph_node, node),
	COUNTED(graph_exec, exec),
	COUNTED(shape, shape),
	COUNTED(communicator, communicator),
};

static int64_t *last_of(struct loader *loader, size_t i)
{
	return (int64_t *)((char *)loader + counted[i].last);
}

/* --- ids --- */

/* An id that no other row has is given again: DB_NULL. */
static void set_shift(struct joined *joined, size_t number)
{
	struct id_shift *shift = &joined->shift[number];
	size_t count = sizeof(counted) / sizeof(*counted);

	for (size_t i = 0; i < TABLE_COUNT; i++)
		shift->by[i] = DB_NULL;
	shift->by[TABLE_operand] = bulk_last(joined->whole->operands);
	for (size_t i = 0; i < count; i++)
		shift->by[counted[i].table] = *last_of(joined->whole, i);
	for (size_t part = 0; part < number; part++) {
		shift->by[TABLE_operand] += bulk_last(joined->part[part].operands);
		for (size_t i = 0; i < count; i++)
			shift->by[counted[i].table] += *last_of(&joined->part[part], i);
	}
}

static int copy_type(struct loader *whole, struct loader *part, uint64_t hash, uint32_t id)
{
	sqlite3_stmt *q =
		db_prepare(part->db, "SELECT name, kind, runtime FROM call_type WHERE id = ?");
	int rc = !q || db_bind(q, "i", (int64_t)id) || db_step(q) != 1 ||
			db_add(whole->db,
				ROW(call_type, DB_NULL, cell_text(db_text(q, 0)),
					cell_text(db_text(q, 1)), sqlite3_column_int64(q, 2)))
		? -1
		: 0;

	sqlite3_finalize(q);
	if (!rc)
		map_set(&whole->call_types, hash,
			(uint64_t)sqlite3_last_insert_rowid(whole->db->handle));
	return rc;
}

/* Types that the whole lacks are added in the order in which the part has them. */
static int join_types(struct joined *joined, size_t number)
{
	struct loader *whole = joined->whole, *part = &joined->part[number];
	const struct map *types = &part->call_types;
	uint64_t *hash = xcalloc(types->count + 1, sizeof(*hash));
	uint32_t *becomes = xcalloc(types->count + 1, sizeof(*becomes));
	int rc = 0;

	for (size_t i = 0; i < types->size; i++)
		if (types->entry[i].used)
			hash[types->entry[i].value] = types->entry[i].key;
	for (uint32_t id = 1; id <= types->count && !rc; id++) {
		if (!map_get(&whole->call_types, hash[id], 0))
			rc = copy_type(whole, part, hash[id], id);
		becomes[id] = (uint32_t)map_get(&whole->call_types, hash[id], 0);
	}
	free(hash);
	joined->shift[number].call_type = becomes;
	return rc;
}

/* --- rows of SQLite --- */

static sqlite3_stmt *select_rows(struct db *db, enum schema_id id)
{
	const struct schema_table *table = &schema_tables[id];
	sqlite3_str *sql = sqlite3_str_new(db->handle);
	const char *before = "SELECT ";
	sqlite3_stmt *q;
	char *text;

	for (size_t i = 0; i < table->columns; i++)
		if (table->column[i].type) {
			sqlite3_str_appendf(sql, "%s\"%w\"", before, table->column[i].name);
			before = ", ";
		}
	sqlite3_str_appendf(sql, " FROM %s%s", table->name,
		table->without_rowid ? "" : " ORDER BY rowid");
	text = sqlite3_str_finish(sql);
	q = text ? db_prepare(db, text) : NULL;
	sqlite3_free(text);
	return q;
}

static int64_t read_number(sqlite3_stmt *q, int at, const struct schema_column *column,
	enum schema_id table, const struct id_shift *shift)
{
	int ids = id_table(column, table);

	if (sqlite3_column_type(q, at) == SQLITE_NULL || (ids >= 0 && shift->by[ids] == DB_NULL))
		return DB_NULL;
	return id_shifted(shift, ids, sqlite3_column_int64(q, at));
}

/* SQLite has no address of no bytes. */
static struct cell read_cell(sqlite3_stmt *q, int at, int type)
{
	const void *bytes = type == SQLITE_TEXT ? (const void *)sqlite3_column_text(q, at)
						: sqlite3_column_blob(q, at);
	int is_null = sqlite3_column_type(q, at) == SQLITE_NULL;

	return cell_bytes(bytes || is_null ? bytes : "", (size_t)sqlite3_column_bytes(q, at));
}

/* As ROW() has it, whose text is valid until the next step. */
static void read_row(sqlite3_stmt *q, enum schema_id table, const struct id_shift *shift, char *row)
{
	const struct schema_column *column = schema_tables[table].column;

	for (size_t i = 0, at = 0; i < schema_tables[table].columns; i++) {
		union {
			int64_t number;
			double real;
			struct cell cell;
		} value;
		size_t size = sizeof(value.number);

		if (!column[i].type)
			continue;
		if (column[i].type == SQLITE_TEXT || column[i].type == SQLITE_BLOB) {
			size = sizeof(value.cell);
			value.cell = read_cell(q, (int)at, column[i].type);
		} else if (column[i].type == SQLITE_FLOAT)
			value.real = sqlite3_column_double(q, (int)at);
		else
			value.number = read_number(q, (int)at, &column[i], table, shift);
		memcpy(row, &value, size);
		row += size;
		at++;
	}
}

/* 0: not a row of the whole. */
static int finish_row(const struct joined *joined, size_t number, enum schema_id table, void *row)
{
	struct row_call_object *object = row;
	const struct row_image_piece *piece = row;

	if (table == TABLE_call_object && object->object)
		object->object = id_shifted(&joined->shift[number],
			loader_object_table(object->role.at), object->object);
	return table != TABLE_image_piece || joined->part[number].keeps_images ||
		!map_get(&joined->whole->images, (uint64_t)piece->hash, 0);
}

static int copy_rows(const struct joined *joined, size_t number, enum schema_id table)
{
	_Alignas(16) char row[SCHEMA_COLUMNS_MOST * sizeof(struct cell)];
	sqlite3_stmt *q = select_rows(joined->part[number].db, table);
	int step = -1, rc = q ? 0 : -1;

	while (!rc && (step = db_step(q)) > 0) {
		read_row(q, table, &joined->shift[number], row);
		if (finish_row(joined, number, table, row))
			rc = db_add(joined->whole->db, table, row);
	}
	sqlite3_finalize(q);
	return rc || step < 0 ? -1 : 0;
}

/*
 * The four longest are appended.  Tables that load does not fill are empty in a part, but for one
 * that each database has.
 */
static int is_copied(enum schema_id table)
{
	switch (table) {
	case TABLE_call_kind:
	case TABLE_call_type:
	case TABLE_call:
	case TABLE_operation:
	case TABLE_operand:
	case TABLE_launch:
		return 0;
	default:
		return schema_tables[table].stage == SCHEMA_RAW;
	}
}

static int join_rows(struct joined *joined, size_t number)
{
	const struct map *images = &joined->part[number].images;
	int rc = 0;

	for (int table = 0; table < TABLE_COUNT && !rc; table++)
		if (is_copied((enum schema_id)table))
			rc = copy_rows(joined, number, (enum schema_id)table);
	for (size_t i = 0; i < images->size; i++)
		if (images->entry[i].used)
			map_set(&joined->whole->images, images->entry[i].key, 1);
	return rc;
}

/* --- what is longer --- */

static int join_calls(struct joined *joined, size_t number)
{
	struct loader *whole = joined->whole, *part = &joined->part[number];
	const struct id_shift *shift = &joined->shift[number];

	return bulk_append(whole->calls, part->calls, shift) ||
			bulk_append_keys(whole->call_thread, part->call_thread, shift, TABLE_thread,
				TABLE_call)
		? -1
		: 0;
}

static int join_operations(struct joined *joined, size_t number)
{
	struct loader *whole = joined->whole, *part = &joined->part[number];
	const struct id_shift *shift = &joined->shift[number];

	return bulk_append(whole->operations, part->operations, shift) ||
			bulk_append_keys(whole->operation_call, part->operation_call, shift,
				TABLE_call, TABLE_operation)
		? -1
		: 0;
}

static int join_operands(struct joined *joined, size_t number)
{
	struct loader *whole = joined->whole, *part = &joined->part[number];
	const struct id_shift *shift = &joined->shift[number];

	return bulk_append(whole->operands, part->operands, shift) ||
			bulk_append_keys(whole->operand_call, part->operand_call, shift, TABLE_call,
				TABLE_operand)
		? -1
		: 0;
}

static int join_launches(struct joined *joined, size_t number)
{
	return bulk_append(joined->whole->launches, joined->part[number].launches,
		&joined->shift[number]);
}

static int join_columns(struct joined *joined, size_t number)
{
	struct run *run = joined->whole->db->run;

	return run ? run_append(run, joined->part[number].db->run, &joined->shift[number]) : 0;
}

static int join_ends(struct joined *joined, size_t number)
{
	struct loader *whole = joined->whole, *part = &joined->part[number];
	int64_t by = joined->shift[number].by[TABLE_operation];
	size_t count = (size_t)by;

	for (int64_t i = 0; i < part->operation; i++)
		*large_push(whole->end, count) =
			(struct operation_end){ part->end[i].end, part->end[i].id + by };
	return 0;
}

/* These share nothing; the longest are first. */
static int (*const joins[])(struct joined *joined, size_t number) = {
	join_operands,
	join_rows,
	join_calls,
	join_operations,
	join_columns,
	join_launches,
	join_ends,
};

static int join_all(void *arg, size_t number)
{
	struct joined *joined = arg;
	int rc = 0;

	for (size_t i = 0; i < joined->count && !rc; i++)
		rc = joins[number](joined, i);
	return rc;
}

int loader_join(struct loader *whole, struct loader *part, size_t count)
{
	struct joined joined = { whole, part, count, xcalloc(count, sizeof(*joined.shift)) };
	int rc = 0;

	for (size_t i = 0; i < count && !rc; i++) {
		set_shift(&joined, i);
		rc = join_types(&joined, i);
	}
	if (!rc && count)
		rc = workers_run(sizeof(joins) / sizeof(*joins), join_all, &joined);
	for (size_t i = 0; i < count; i++) {
		for (size_t j = 0; j < sizeof(counted) / sizeof(*counted); j++)
			*last_of(whole, j) += *last_of(&part[i], j);
		whole->db->failed |= part[i].db->failed;
		free(joined.shift[i].call_type);
	}
	free(joined.shift);
	return rc;
}
