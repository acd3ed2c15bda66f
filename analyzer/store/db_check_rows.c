/* SPDX-License-Identifier: Apache-2.0 */
#include "db_check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "record.h"

/* Limit of a run (36 years) and of the sum of its calls: sums do not overflow. */
#define LONGEST "1152921504606846976" /* ns, 2^60 */
#define LONGEST_SUM ((int64_t)1 << 60)

#define TIME(at) at " BETWEEN -" LONGEST " AND " LONGEST
/* An interval whose end may be NULL. */
#define INTERVAL(start, end) \
	TIME(start) " AND (" end " IS NULL OR " end " BETWEEN " start " AND " LONGEST ")"
/* Limit of counters: no run has a trillion rows. */
#define COUNT(of) of " BETWEEN 0 AND 1099511627776"
#define DURATION(length) length " BETWEEN 0 AND " LONGEST

/* -1: unknown.  The replay has the state of each device up to the last. */
#define DEVICE "device BETWEEN -1 AND 1023"
_Static_assert(TRACE_DEVICES == 1024, "the condition is about the same devices");

#define OPERATION \
	DEVICE " AND " \
	"(start IS NULL OR " INTERVAL("start", "end") ") AND " \
	"(recorded_end IS NULL OR " TIME("recorded_end") ")"

/*
 * Conditions that schema.sql states only in comments: per row, and a duration in ns whose sum over
 * all rows must be possible.  NULL: none.
 */
static const struct rule {
	const char *table, *holds, *length;
} rules[] = {
	{ "run", TIME("start_unix_ns - " LONGEST), NULL },
	{ "process", INTERVAL("start", "end") " AND " DURATION("clock_error"), "end - start" },
	{ "context", DEVICE, NULL },
	{ "device", "ordinal BETWEEN 0 AND 1023", NULL },
	{ "recording", INTERVAL("start", "end"), "end - start" },
	{ "call", INTERVAL("enter", "exit") " AND (parent IS NULL OR parent < id)",
		"exit - enter" },
	{ "thread_use", COUNT("calls") " AND " COUNT("placed") " AND " DURATION("inside"),
		"inside" },
	{ "usage",
		INTERVAL("since", "time") " AND off BETWEEN 0 AND time - since AND " COUNT(
			"voluntary") " AND " COUNT("involuntary"),
		NULL },
	{ "clock_read", TIME("time"), NULL },
	{ "blocked", DURATION("time") " AND " COUNT("times"), "time" },
	{ "polling", TIME("last"), NULL },
	{ "host_run", INTERVAL("enter", "exit"), "exit - enter" },
	{ "range", INTERVAL("start", "end"), "end - start" },
	{ "operation", OPERATION, "end - start" },
	{ "overhead", INTERVAL("start", "end"), "end - start" },
	/* A join is entered before the other thread's last call. */
	{ "edge", "needs <> call", NULL },
	{ "apart", "last >= first", NULL },
	{ "event_wait", "ifnull(record, 0) <> call", NULL },
	{ "hazard", COUNT("count") " AND (gap IS NULL OR (" TIME("gap") "))", NULL },
	{ "kernel_use", COUNT("launches") " AND complete BETWEEN 0 AND launches", NULL },
	{ "hold", TIME("ready") " AND " DURATION("held"), "held" },
	{ "stream_use", COUNT("operations") " AND " COUNT("unmatched") " AND " DURATION("busy"),
		"busy" },
	{ "device_use",
		INTERVAL("first", "last") " AND " DURATION("busy") " AND " DURATION("overlapped"),
		"busy" },
	{ "wait_use", COUNT("count") " AND " DURATION("waited"), NULL },
	{ "wait", DURATION("waited") " AND " DURATION("avoidable") " AND " DURATION("apart"),
		"waited" },
	{ "finding", DURATION("waited") " AND " DURATION("delayed"), "waited + delayed" },
	{ "finding_place", DURATION("waited") " AND " DURATION("delayed"), "waited + delayed" },
};

/* A column as declared in schema.sql. */
struct column {
	char name[32];
	int type; /* SQLITE_INTEGER, ... */
	int may_be_null;
	int is_id;    /* ids start at 1 */
	int64_t rows; /* number of rows of the table it refers to; INT64_MAX: no reference */
};

struct table {
	struct db *db;
	const char *name;
	const struct rule *rule;
	struct column *column;
	size_t count;
	int64_t row;
	int64_t length; /* sum of rule->length, ns */
};

static int type_of(const char *declared)
{
	switch (declared[0]) {
	case 'T':
		return SQLITE_TEXT;
	case 'B':
		return SQLITE_BLOB;
	case 'R':
		return SQLITE_FLOAT;
	}
	return SQLITE_INTEGER;
}

static int add_column(struct table *table, sqlite3_stmt *declared)
{
	struct column *more = array_room(table->column, table->count, sizeof(*more)), *column;
	const char *name = db_text(declared, 0), *target = db_text(declared, 4);
	char sql[96];

	if (!more)
		return -1;
	table->column = more;
	column = &more[table->count++];
	*column = (struct column){ .type = type_of(db_text(declared, 1)),
		.may_be_null = !sqlite3_column_int(declared, 2) && !sqlite3_column_int(declared, 3),
		.is_id = !strcmp(name, "id"),
		.rows = INT64_MAX };
	snprintf(column->name, sizeof(column->name), "%s", name);
	if (!*target)
		return 0;
	snprintf(sql, sizeof(sql), "SELECT max(id) FROM \"%s\"", target);
	column->rows = db_int(table->db, sql, 0);
	return table->db->failed ? -1 : 0;
}

/* Generated columns are not stored. */
static const char columns_sql[] =
	"WITH f AS MATERIALIZED (SELECT \"from\", \"table\" FROM pragma_foreign_key_list(?1)) "
	"SELECT c.name, c.type, c.\"notnull\", c.pk, "
	" (SELECT f.\"table\" FROM f WHERE f.\"from\" = c.name) "
	"FROM pragma_table_xinfo(?1) c WHERE NOT c.hidden ORDER BY c.cid";

static int read_columns(struct table *table, sqlite3_stmt *columns)
{
	int step = db_bind(columns, "s", table->name) ? -1 : 1;

	while (step > 0 && (step = db_step(columns)) > 0)
		step = add_column(table, columns) ? -1 : 1;
	return step;
}

static int wrong(const struct table *table, const char *column)
{
	return db_damaged(table->db, "row %lld of table '%s' has a wrong '%s'",
		(long long)table->row, table->name, column);
}

static int check_value(const struct table *table, const struct column *column, sqlite3_value *cell)
{
	int type = sqlite3_value_type(cell);
	int64_t value;

	if (type == SQLITE_NULL)
		return column->may_be_null ? 0 : wrong(table, column->name);
	/* JSON has no infinity; SQLite stores NaN as NULL. */
	if (type != column->type || (type == SQLITE_FLOAT && !isfinite(sqlite3_value_double(cell))))
		return wrong(table, column->name);
	if (column->rows == INT64_MAX && !column->is_id)
		return 0;
	value = sqlite3_value_int64(cell);
	if (column->is_id ? value != table->row : value < 1 || value > column->rows)
		return wrong(table, column->name);
	return 0;
}

static int check_row(struct table *table, sqlite3_stmt *row)
{
	int at = (int)table->count;

	table->row++;
	for (int i = 0; i < at; i++)
		if (check_value(table, &table->column[i], sqlite3_column_value(row, i)))
			return -1;
	if (!table->rule)
		return 0;
	if (!sqlite3_column_int(row, at))
		return wrong(table, "time, count or order");
	table->length += sqlite3_column_int64(row, at + 1);
	return table->length > LONGEST_SUM ? wrong(table, "duration") : 0;
}

/* Reads the table, never an index, whose contents may differ. */
static sqlite3_stmt *select_rows(const struct table *table)
{
	sqlite3_str *sql = sqlite3_str_new(table->db->handle);
	sqlite3_stmt *rows;
	char *text;

	for (size_t i = 0; i < table->count; i++)
		sqlite3_str_appendf(sql, "%s\"%w\"", i ? ", " : "SELECT ", table->column[i].name);
	if (table->rule)
		sqlite3_str_appendf(sql, ", %s, %s", table->rule->holds,
			table->rule->length ? table->rule->length : "0");
	sqlite3_str_appendf(sql, " FROM \"%w\" NOT INDEXED", table->name);
	text = sqlite3_str_finish(sql);
	rows = text ? db_prepare(table->db, text) : NULL;
	sqlite3_free(text);
	return rows;
}

static int check_table(struct db *db, sqlite3_stmt *columns, const char *name, int64_t most)
{
	struct table table = { .db = db, .name = name };
	sqlite3_stmt *rows = NULL;
	int step = -1;

	for (size_t i = 0; i < sizeof(rules) / sizeof(*rules); i++)
		if (!strcmp(rules[i].table, name))
			table.rule = &rules[i];
	if (!read_columns(&table, columns))
		rows = select_rows(&table);
	while (rows && (step = db_step(rows)) > 0 && table.row < most)
		if (check_row(&table, rows)) {
			step = -1;
			break;
		}
	sqlite3_finalize(rows);
	free(table.column);
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

int db_check_rows(struct db *db, struct db *made, int64_t most)
{
	sqlite3_stmt *tables, *columns;
	int rc, step = 0;

	if (most == INT64_MAX && check_pages(db))
		return -1;
	tables = db_prepare(made,
		"SELECT name FROM sqlite_master "
		"WHERE type = 'table' AND name NOT LIKE 'sqlite%'");
	columns = db_prepare(made, columns_sql);
	rc = tables && columns ? 0 : -1;
	while (!rc && (step = db_step(tables)) > 0)
		rc = check_table(db, columns, db_text(tables, 0), most);
	sqlite3_finalize(tables);
	sqlite3_finalize(columns);
	return rc || step < 0 ? -1 : 0;
}
