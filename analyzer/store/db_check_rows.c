/* SPDX-License-Identifier: Apache-2.0 */
#include "db_check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "schema.h"

struct table {
	struct db *db;
	const struct schema_table *is;
	const int64_t *last; /* as find_last() has it */
	int64_t row;
	int64_t length; /* sum of is->length, ns */
};

static int is_id(const struct schema_column *column)
{
	return !strcmp(column->name, "id");
}

/* Finds the last id of each table that has ids: one statement, as many take longer. */
static int find_last(struct db *db, int64_t last[TABLE_COUNT])
{
	sqlite3_str *sql = sqlite3_str_new(db->handle);
	sqlite3_stmt *q;
	char *text;
	int rc;

	for (int i = 0; i < TABLE_COUNT; i++)
		sqlite3_str_appendf(sql,
			is_id(schema_tables[i].column) ? "%s(SELECT max(id) FROM \"%w\")" : "%s0",
			i ? ", " : "SELECT ", schema_tables[i].name);
	text = sqlite3_str_finish(sql);
	q = text ? db_prepare(db, text) : NULL;
	rc = q && db_step(q) > 0 ? 0 : -1;
	for (int i = 0; i < TABLE_COUNT && !rc; i++)
		last[i] = sqlite3_column_int64(q, i);
	sqlite3_finalize(q);
	sqlite3_free(text);
	return rc;
}

static int wrong(const struct table *table, const char *column)
{
	return db_damaged(table->db, "row %lld of table '%s' has a wrong '%s'",
		(long long)table->row, table->is->name, column);
}

static int check_value(const struct table *table, size_t i, sqlite3_value *cell)
{
	const struct schema_column *column = &table->is->column[i];
	int type = sqlite3_value_type(cell);
	int64_t value;

	if (type == SQLITE_NULL)
		return column->null == SCHEMA_MAY_BE_NULL ? 0 : wrong(table, column->name);
	/* JSON has no infinity; SQLite stores NaN as NULL. */
	if (type != column->type || (type == SQLITE_FLOAT && !isfinite(sqlite3_value_double(cell))))
		return wrong(table, column->name);
	if (column->target < 0 && !is_id(column))
		return 0;
	/* Ids start at 1. */
	value = sqlite3_value_int64(cell);
	if (is_id(column) ? value != table->row : value < 1 || value > table->last[column->target])
		return wrong(table, column->name);
	return 0;
}

/* Computed columns are not stored: NULL is selected in their place. */
static int check_row(struct table *table, sqlite3_stmt *row)
{
	int at = (int)table->is->columns;

	table->row++;
	for (int i = 0; i < at; i++)
		if (check_value(table, (size_t)i, sqlite3_column_value(row, i)))
			return -1;
	if (!table->is->holds)
		return 0;
	if (!sqlite3_column_int(row, at))
		return wrong(table, "time, count or order");
	table->length += sqlite3_column_int64(row, at + 1);
	return table->length > SCHEMA_LONGEST ? wrong(table, "duration") : 0;
}

static int check_table(struct table table, int64_t most)
{
	/* Reads the table, never an index, whose contents may differ. */
	const struct schema_table *is = table.is;
	sqlite3_str *sql = sqlite3_str_new(table.db->handle);
	sqlite3_stmt *rows;
	char *text;

	for (size_t i = 0; i < is->columns; i++)
		sqlite3_str_appendf(sql, is->column[i].type ? "%s\"%w\"" : "%sNULL",
			i ? ", " : "SELECT ", is->column[i].name);
	if (is->holds)
		sqlite3_str_appendf(sql, ", %s, %s", is->holds, is->length ? is->length : "0");
	sqlite3_str_appendf(sql, " FROM \"%w\" NOT INDEXED", is->name);
	text = sqlite3_str_finish(sql);
	rows = text ? db_prepare(table.db, text) : NULL;
	sqlite3_free(text);
	int step = -1;

	while (rows && (step = db_step(rows)) > 0 && table.row < most)
		if (check_row(&table, rows)) {
			step = -1;
			break;
		}
	sqlite3_finalize(rows);
	return step < 0 ? -1 : 0;
}

/* Pages and indexes, by SQLite; its answer begins with a line that names the database "main". */
static int check_pages(struct db *db)
{
	sqlite3_stmt *q = db_prepare(db, "PRAGMA integrity_check(1)");
	int rc = q && db_step(q) > 0 ? 0 : -1;
	const char *answer, *line;

	if (!rc && strcmp(answer = db_text(q, 0), "ok")) {
		line = strrchr(answer, '\n');
		rc = db_damaged(db, "%s", line ? line + 1 : answer);
	}
	sqlite3_finalize(q);
	return rc;
}

int db_check_rows(struct db *db, int64_t most)
{
	int64_t last[TABLE_COUNT];

	if ((most == INT64_MAX && check_pages(db)) || find_last(db, last))
		return -1;
	for (int i = 0; i < TABLE_COUNT; i++)
		if (check_table((struct table){ db, &schema_tables[i], last, 0, 0 }, most))
			return -1;
	return 0;
}
