/* SPDX-License-Identifier: Apache-2.0 */
#include "schema.h"

#include "memory.h"
#include "record.h"

#define IDS(table) "REFERENCES " #table "(id)"

/* As struct schema_column has them, from type on. */
#define TYPE_INT SQLITE_INTEGER, "INTEGER NOT NULL", -1, SCHEMA_NEVER_NULL
#define TYPE_INT_NULL SQLITE_INTEGER, "INTEGER", -1, SCHEMA_MAY_BE_NULL
#define TYPE_INT_DEFAULT(value) \
	SQLITE_INTEGER, "INTEGER NOT NULL DEFAULT " #value, -1, SCHEMA_NEVER_NULL
#define TYPE_KEY SQLITE_INTEGER, "INTEGER PRIMARY KEY", -1, SCHEMA_IS_KEY
#define TYPE_KEY_REF(table) \
	SQLITE_INTEGER, "INTEGER PRIMARY KEY " IDS(table), TABLE_##table, SCHEMA_IS_KEY
#define TYPE_REF(table) \
	SQLITE_INTEGER, "INTEGER NOT NULL " IDS(table), TABLE_##table, SCHEMA_NEVER_NULL
#define TYPE_REF_NULL(table) \
	SQLITE_INTEGER, "INTEGER " IDS(table), TABLE_##table, SCHEMA_MAY_BE_NULL
#define TYPE_TEXT SQLITE_TEXT, "TEXT NOT NULL", -1, SCHEMA_NEVER_NULL
#define TYPE_TEXT_NULL SQLITE_TEXT, "TEXT", -1, SCHEMA_MAY_BE_NULL
#define TYPE_TEXT_KEY SQLITE_TEXT, "TEXT PRIMARY KEY", -1, SCHEMA_IS_KEY
#define TYPE_BLOB SQLITE_BLOB, "BLOB NOT NULL", -1, SCHEMA_NEVER_NULL
#define TYPE_REAL SQLITE_FLOAT, "REAL NOT NULL", -1, SCHEMA_NEVER_NULL
#define TYPE_REAL_NULL SQLITE_FLOAT, "REAL", -1, SCHEMA_MAY_BE_NULL

#define TABLE(table, stage, note) static const struct schema_column columns_of_##table[] = {
#define COLUMN(column, type, note) { #column, note, TYPE_##type },
#define COMPUTED(column, sql, note) { #column, note, 0, "INTEGER " sql, -1, SCHEMA_MAY_BE_NULL },
#define END(table) \
	} \
	;
#include "schema.def"

/* Conditions that declarations state in notes only. */
#define LONGEST "1152921504606846976" /* SCHEMA_LONGEST */
#define TIME(at) at " BETWEEN -" LONGEST " AND " LONGEST
/* An interval whose end may be NULL. */
#define INTERVAL(start, end) \
	TIME(start) " AND (" end " IS NULL OR " end " BETWEEN " start " AND " LONGEST ")"
/* No run has a trillion rows. */
#define COUNT(of) of " BETWEEN 0 AND 1099511627776"
#define DURATION(length) length " BETWEEN 0 AND " LONGEST
/* -1: unknown.  The replay has the state of each device up to the last. */
#define DEVICE "device BETWEEN -1 AND 1023"
_Static_assert(TRACE_DEVICES == 1024, "the condition is about the same devices");

const struct schema_table schema_tables[TABLE_COUNT] = {
#define TABLE(table, of_stage, of_note) \
	[TABLE_##table] = { .name = #table, \
		.stage = SCHEMA_##of_stage, \
		.note = of_note, \
		.column = columns_of_##table, \
		.columns = sizeof(columns_of_##table) / sizeof(*columns_of_##table), \
		.row = sizeof(struct row_##table),
#define WITH(...) __VA_ARGS__,
#define CHECK(of_holds, of_length) .holds = of_holds, .length = of_length,
#define END(table) \
	} \
	,
#include "schema.def"
};

static const struct {
	const char *name, *sql;
} indexes[] = {
#define INDEX(name, table, columns) { #name, "CREATE INDEX " #name " ON " #table " " columns },
#include "schema.def"
};

static const char views_sql[] =
#define VIEW(name, note, more, sql) "CREATE VIEW " #name " AS -- " note "\n-- " more "\n" sql ";"
#include "schema.def"
	;

const char *schema_name(int declared)
{
	return declared < TABLE_COUNT ? schema_tables[declared].name
				      : indexes[declared - TABLE_COUNT].name;
}

char *schema_declaration(int declared)
{
	sqlite3_str *sql = sqlite3_str_new(NULL);
	char *text;

	if (declared < TABLE_COUNT) {
		/* A line for each column, with its note. */
		const struct schema_table *table = &schema_tables[declared];
		sqlite3_str_appendf(sql, "CREATE TABLE %s ( -- %s\n", table->name, table->note);
		for (size_t i = 0; i < table->columns; i++) {
			const struct schema_column *column = &table->column[i];

			sqlite3_str_appendf(sql, "\t%s %s%s%s%s\n", column->name, column->declared,
				i + 1 < table->columns || table->key ? "," : "",
				*column->note ? " -- " : "", column->note);
		}
		if (table->key)
			sqlite3_str_appendf(sql, "\tPRIMARY KEY (%s)\n", table->key);
		sqlite3_str_appendall(sql, table->without_rowid ? ") WITHOUT ROWID" : ")");
	} else
		sqlite3_str_appendall(sql, indexes[declared - TABLE_COUNT].sql);
	text = sqlite3_str_finish(sql);
	if (!text)
		memory_lacks();
	return text;
}

/* Runs the text, and frees it. */
static int run(struct db *db, char *sql)
{
	int rc = sql ? db_exec(db, sql) : -1;

	sqlite3_free(sql);
	return rc;
}

int schema_create(struct db *db)
{
	int rc = run(db,
		sqlite3_mprintf("PRAGMA application_id = %d; PRAGMA user_version = %d",
			DB_APPLICATION_ID, SCHEMA_VERSION));

	for (int i = 0; i < SCHEMA_DECLARED && !rc; i++)
		rc = run(db, schema_declaration(i));
	return rc ? -1 : db_exec(db, views_sql);
}

int schema_delete_derived(struct db *db)
{
	sqlite3_str *sql = sqlite3_str_new(db->handle);

	for (int i = 0; i < TABLE_COUNT; i++)
		if (schema_tables[i].stage == SCHEMA_DERIVED)
			sqlite3_str_appendf(sql, "DELETE FROM %s;", schema_tables[i].name);
	return run(db, sqlite3_str_finish(sql));
}
