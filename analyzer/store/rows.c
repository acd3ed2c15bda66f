/* SPDX-License-Identifier: Apache-2.0 */
#include "rows.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	ROWS_AT_ONCE = 64,
	COLUMNS_MOST = 16,
};

union value {
	int64_t number;
	const char *text;
};

struct rows {
	struct db *db;
	const char *into, *types;
	unsigned columns, count;
	sqlite3_stmt *insert; /* ROWS_AT_ONCE of them */
	union value value[ROWS_AT_ONCE * COLUMNS_MOST];
};

/* INSERT INTO name VALUES (?,?),(?,?) */
static sqlite3_stmt *prepare(const struct rows *rows, unsigned count)
{
	char sql[200 + ROWS_AT_ONCE * (2 * COLUMNS_MOST + 2)];
	size_t used = (size_t)snprintf(sql, 200, "%s VALUES ", rows->into);

	for (unsigned i = 0; i < count; i++) {
		sql[used++] = i ? ',' : ' ';
		for (unsigned column = 0; column < rows->columns; column++) {
			sql[used++] = column ? ',' : '(';
			sql[used++] = '?';
		}
		sql[used++] = ')';
	}
	sql[used] = '\0';
	return db_prepare(rows->db, sql);
}

struct rows *rows_open(struct db *db, const char *into, const char *types)
{
	struct rows *rows = calloc(1, sizeof(*rows));

	if (!rows) {
		fputs("cufence: out of memory\n", stderr);
		return NULL;
	}
	*rows = (struct rows){ .db = db, .into = into, .types = types };
	rows->columns = (unsigned)strlen(types);
	if (rows->columns <= COLUMNS_MOST && strlen(into) < 150)
		rows->insert = prepare(rows, ROWS_AT_ONCE);
	if (!rows->insert) {
		free(rows);
		return NULL;
	}
	return rows;
}

static int bind(sqlite3_stmt *insert, int at, char type, union value value)
{
	if (type == 'c')
		return sqlite3_bind_text(insert, at, value.text, -1, SQLITE_STATIC);
	if (type == 'I' && value.number == DB_NULL)
		return sqlite3_bind_null(insert, at);
	return sqlite3_bind_int64(insert, at, value.number);
}

/* The statement inserts as many rows as are waiting. */
static int run(struct rows *rows, sqlite3_stmt *insert)
{
	unsigned values = rows->count * rows->columns;
	int rc = insert ? SQLITE_OK : SQLITE_ERROR;

	for (unsigned i = 0; i < values && rc == SQLITE_OK; i++)
		rc = bind(insert, (int)i + 1, rows->types[i % rows->columns], rows->value[i]);
	rows->count = 0;
	if (rc == SQLITE_OK)
		rc = db_step(insert);
	sqlite3_reset(insert);
	return rc ? -1 : 0;
}

int rows_add(struct rows *rows, ...)
{
	union value *value = &rows->value[rows->count * rows->columns];
	va_list values;

	va_start(values, rows);
	for (unsigned i = 0; i < rows->columns; i++)
		if (rows->types[i] == 'c')
			value[i].text = va_arg(values, const char *);
		else
			value[i].number = va_arg(values, int64_t);
	va_end(values);
	return ++rows->count == ROWS_AT_ONCE ? run(rows, rows->insert) : 0;
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
