/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tables of a database, from schema.def, and a type for the rows of each:
 *
 *	rows_add(edges, ROW(edge, call, needs, cell_text("stream")))
 *
 * The compiler refuses a row with too few or too many columns, or with another type than declared.
 * An integer in a column that may be NULL, or an id, is NULL if it is DB_NULL; a real number if it
 * is NAN; text and bytes if their address is NULL.
 */
#ifndef CUFENCE_SCHEMA_H
#define CUFENCE_SCHEMA_H

#include <string.h>

#include "db.h"

/* A database of another version is refused: each change of schema.def has a new one. */
#define SCHEMA_VERSION 48

/* The longest run (2^60 ns, 36 years), and the limit for a sum of its durations. */
#define SCHEMA_LONGEST ((int64_t)1 << 60)

enum {
	SCHEMA_COLUMNS_MOST = 32, /* of a table */
};

enum schema_stage {
	SCHEMA_RAW,
	SCHEMA_DERIVED,
};

enum schema_id {
#define TABLE(name, stage, note) TABLE_##name,
#include "schema.def"
	TABLE_COUNT
};

/* All that is declared but views: tables, then indexes. */
enum {
	LAST_TABLE = TABLE_COUNT - 1,
#define INDEX(name, table, columns) INDEX_##name,
#include "schema.def"
	SCHEMA_DECLARED
};

/* An id in a column that may be NULL, of which 0 stands for none. */
static inline int64_t cell_id(int64_t id)
{
	return id ? id : DB_NULL;
}

/* Text or bytes, which need no end. */
struct cell {
	const void *at;
	size_t length;
};

/* Either may be NULL. */
static inline struct cell cell_text(const char *at)
{
	return (struct cell){ at, at ? strlen(at) : 0 };
}

static inline struct cell cell_bytes(const void *at, size_t length)
{
	return (struct cell){ at, length };
}

#define ROW_INT int64_t
#define ROW_INT_NULL int64_t
#define ROW_INT_DEFAULT(value) int64_t
#define ROW_KEY int64_t
#define ROW_KEY_REF(table) int64_t
#define ROW_REF(table) int64_t
#define ROW_REF_NULL(table) int64_t
#define ROW_TEXT struct cell
#define ROW_TEXT_NULL struct cell
#define ROW_TEXT_KEY struct cell
#define ROW_BLOB struct cell
#define ROW_REAL double
#define ROW_REAL_NULL double
#define TABLE(name, stage, note) struct row_##name {
#define COLUMN(name, type, note) ROW_##type name;
#define END(name) \
	} \
	;
#include "schema.def"

/* The two arguments of a function that takes a row: its table and its columns, all of them. */
#define ROW(table, ...) \
	TABLE_##table, &(const struct row_##table) \
	{ \
		__VA_ARGS__ \
	}

struct schema_column {
	const char *name, *note;
	int type; /* SQLITE_INTEGER, ...; 0: computed, no member of the row */
	const char *declared;
	int target; /* the table whose ids it has, -1: none */
	enum {
		SCHEMA_NEVER_NULL,
		SCHEMA_MAY_BE_NULL,
		SCHEMA_IS_KEY, /* by itself: in an INTEGER, NULL stands for the next one */
	} null;
};

struct schema_table {
	const char *name, *note;
	enum schema_stage stage;
	const struct schema_column *column;
	size_t columns;
	size_t row; /* size of struct row_NAME, whose members are in the order of the columns */
	const char *key;            /* several columns, or NULL */
	int without_rowid;          /* the table is stored in the order of its key */
	int repeats;                /* a row whose key is there is left out when it is written */
	const char *holds, *length; /* as CHECK has them, or NULL */
};

extern const struct schema_table schema_tables[TABLE_COUNT];

const char *schema_name(int declared);

/* As sqlite3's .schema shows it, without semicolon, for the caller to free by sqlite3_free(). */
char *schema_declaration(int declared);

/* Makes the tables, indexes and views in an empty database.  Returns 0, or -1 after a message. */
int schema_create(struct db *db);

/* Deletes what the analyzer concluded.  Returns 0, or -1 after a message. */
int schema_delete_derived(struct db *db);

#endif
