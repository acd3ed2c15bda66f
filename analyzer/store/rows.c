/* SPDX-License-Identifier: Apache-2.0 */
#include "rows.h"

#include <assert.h>
#include <stdlib.h>

#include "memory.h"

enum {
	ROWS_AT_ONCE = 64,
};

struct rows {
	struct db *db;
	const struct schema_table *table;
	unsigned most, count;
	sqlite3_stmt *insert; /* of most rows */
	char row[];           /* count of them */
};

static sqlite3_stmt *prepare(const struct rows *rows, unsigned count)
{
	sqlite3_str *sql = sqlite3_str_new(rows->db->handle);
	sqlite3_stmt *insert;
	char *text;

	sqlite3_str_appendf(sql, "INSERT %sINTO %s VALUES ",
		rows->table->repeats ? "OR IGNORE " : "", rows->table->name);
	for (unsigned i = 0; i < count; i++) {
		const char *before = i ? ",(?" : "(?";

		for (size_t j = 0; j < rows->table->columns; j++)
			if (rows->table->column[j].type) {
				sqlite3_str_appendall(sql, before);
				before = ",?";
			}
		sqlite3_str_appendall(sql, ")");
	}
	text = sqlite3_str_finish(sql);
	insert = text ? db_prepare(rows->db, text) : NULL;
	sqlite3_free(text);
	return insert;
}

static struct rows *new_rows(struct db *db, enum schema_id table, unsigned most)
{
	struct rows *rows = xcalloc(1, sizeof(*rows) + most * schema_tables[table].row);

	rows->db = db;
	rows->table = &schema_tables[table];
	rows->most = most;
	rows->insert = prepare(rows, most);
	if (rows->insert)
		return rows;
	free(rows);
	return NULL;
}

struct rows *rows_open(struct db *db, enum schema_id table)
{
	return new_rows(db, table, ROWS_AT_ONCE);
}

/* Binds the columns of a row from parameter *at on, and counts them. */
static int bind(sqlite3_stmt *insert, int *at, const struct schema_table *table, const char *row)
{
	int rc = SQLITE_OK;

	for (size_t i = 0; i < table->columns && rc == SQLITE_OK; i++) {
		const struct schema_column *column = &table->column[i];
		const union {
			int64_t number;
			double real;
			struct cell cell;
		} *value = (const void *)row;

		row += column->type == SQLITE_TEXT || column->type == SQLITE_BLOB
			? sizeof(value->cell)
			: column->type ? sizeof(value->number)
				       : 0;
		if (column->type == SQLITE_TEXT)
			rc = sqlite3_bind_text64(insert, (*at)++, value->cell.at,
				value->cell.length, SQLITE_STATIC, SQLITE_UTF8);
		else if (column->type == SQLITE_BLOB)
			rc = sqlite3_bind_blob64(insert, (*at)++, value->cell.at,
				value->cell.length, SQLITE_STATIC);
		else if (column->type == SQLITE_FLOAT)
			rc = sqlite3_bind_double(insert, (*at)++, value->real);
		else if (column->type && column->null && value->number == DB_NULL)
			rc = sqlite3_bind_null(insert, (*at)++);
		else if (column->type)
			rc = sqlite3_bind_int64(insert, (*at)++, value->number);
	}
	return rc;
}

/* The statement inserts as many rows as are waiting. */
static int run(struct rows *rows, sqlite3_stmt *insert)
{
	int rc = insert ? SQLITE_OK : SQLITE_ERROR, at = 1;

	for (unsigned i = 0; i < rows->count && rc == SQLITE_OK; i++)
		rc = bind(insert, &at, rows->table, rows->row + i * rows->table->row);
	rows->count = 0;
	if (rc == SQLITE_OK)
		rc = db_step(insert);
	sqlite3_reset(insert);
	return rc ? -1 : 0;
}

int rows_add(struct rows *rows, enum schema_id table, const void *row)
{
	assert(rows->table == &schema_tables[table]);
	memcpy(rows->row + rows->count * rows->table->row, row, rows->table->row);
	return ++rows->count == rows->most ? run(rows, rows->insert) : 0;
}

int db_add(struct db *db, enum schema_id table, const void *row)
{
	if (!db->rows)
		db->rows = xcalloc(TABLE_COUNT, sizeof(*db->rows));
	if (!db->rows[table])
		db->rows[table] = new_rows(db, table, 1);
	return db->rows[table] ? rows_add(db->rows[table], table, row) : -1;
}

int rows_finish(struct rows *rows)
{
	sqlite3_stmt *rest;
	int rc;

	if (!rows->count)
		return 0;
	rest = prepare(rows, rows->count);
	rc = run(rows, rest);
	sqlite3_finalize(rest);
	return rc;
}

void rows_free(struct rows *rows)
{
	if (!rows)
		return;
	sqlite3_finalize(rows->insert);
	free(rows);
}
