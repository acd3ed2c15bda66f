/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Thin helpers over SQLite.  Every function that can fail returns 0, or -1 after one message on
 * stderr.  SQL parameters are always bound.
 *
 *	struct sqlite3_stmt *q = db_prepare(db, "SELECT id FROM call WHERE thread = ?");
 *	if (!q || db_bind(q, "i", thread))
 *		goto out;
 *	while ((step = db_step(q)) > 0)
 *		use(sqlite3_column_int64(q, 0));
 *
 * Single-threaded: threads that share a struct db use it in turn, between db_lock() and
 * db_unlock().
 */
#ifndef CUFENCE_DB_H
#define CUFENCE_DB_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sqlite3.h>

#define DB_APPLICATION_ID 0x63756665 /* of schema.def; in every cufence database */
#define DB_MEMORY ":memory:"
#define DB_TEMPORARY "" /* in a file of SQLite's that nobody else sees */

struct run;

struct db {
	sqlite3 *handle;
	char *path;
	size_t order_limit;    /* bytes for an order's clocks; 0: ORDER_LIMIT (order.h) */
	struct run *run;       /* in columns, while loading or analyzing (run_columns.h), or NULL */
	struct rows **rows;    /* of each table, for db_add() (rows.h); NULL: not yet */
	int failed;            /* a value was unreadable or damaged; set after a message */
	pthread_mutex_t mutex; /* zeroed is PTHREAD_MUTEX_INITIALIZER */
};

static inline void db_lock(struct db *db)
{
	pthread_mutex_lock(&db->mutex);
}

static inline void db_unlock(struct db *db)
{
	pthread_mutex_unlock(&db->mutex);
}

/* Access modes of a database. */
enum db_access {
	DB_WRITE,  /* read and change */
	DB_READ,   /* print its rows */
	DB_FOLLOW, /* analyze all of it */
	DB_OWN,    /* print data just written by this process; no checks */
};

/*
 * Opens an existing cufence database.  It is untrusted input, like a trace (db_check.h), and is
 * checked completely, which takes some 3 s for a million calls.  With DB_READ, for files over
 * DB_SMALL bytes only the first DB_FEW rows of each table are checked; other rows may be invalid.
 */
int db_open(struct db *db, const char *path, enum db_access access);

/*
 * Opens a cufence database of any schema for reading.  Nothing of it is checked: its tables may be
 * views, and only what was compared with schema.def may be read.
 */
int db_open_any(struct db *db, const char *path);

#define DB_SMALL (16 << 20)
#define DB_FEW 20000

/*
 * Returns 1 if the regular file at path begins like a cufence database of any version.  Prints
 * nothing.
 */
int db_recognize(const char *path);

/*
 * Creates a database with schema.def in an empty file.  Until it is closed, a crash of the machine
 * damages it: use it for a file that gets its final name when complete.  DB_MEMORY is in memory,
 * DB_TEMPORARY where temporary files are.
 */
int db_create(struct db *db, const char *path);

void db_close(struct db *db);

/* Runs SQL without results, one or more statements. */
int db_exec(struct db *db, const char *sql);

/* Returns a statement, NULL after a message; sqlite3_finalize() frees it. */
sqlite3_stmt *db_prepare(struct db *db, const char *sql);

/*
 * Binds all parameters in order: i int64_t, I int64_t with INT64_MIN as NULL, d double, s string
 * (NULL: NULL; copied), t text and its length in bytes as a size_t, b bytes and their length.  The
 * statement is reset first.
 */
int db_bind(sqlite3_stmt *stmt, const char *types, ...);

/* Returns 1: a row, 0: done, -1: failed after a message. */
int db_step(sqlite3_stmt *stmt);

/* Binds, steps a statement without rows to its end and resets it. */
int db_run(sqlite3_stmt *stmt, const char *types, ...);

/*
 * Returns the first column of the first row; otherwise if there is no row, if it is NULL, or if it
 * cannot be read.  In the last case db->failed is set after a message.
 */
int64_t db_int(struct db *db, const char *sql, int64_t otherwise);

/* Returns a column as text, "" for NULL; valid as long as the row. */
const char *db_text(sqlite3_stmt *stmt, int column);

/* NULL for db_bind's "I". */
#define DB_NULL INT64_MIN

/* Prints the JSON text that a query returns, and a line's end.  0, or -1 after a message. */
int db_print_json(struct db *db, const char *sql, FILE *out);

#endif
