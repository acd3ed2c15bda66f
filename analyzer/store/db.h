/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Thin helpers over SQLite, so that a query reads as its SQL and three lines.  Every function
 * that can fail returns 0 or -1 after one message on stderr; bound parameters only.
 *
 *	struct sqlite3_stmt *q = db_prepare(db, "SELECT id FROM call WHERE thread = ?");
 *	if (!q || db_bind(q, "i", thread))
 *		goto out;
 *	while ((step = db_step(q)) > 0)
 *		use(sqlite3_column_int64(q, 0));
 *
 * One thread.
 */
#ifndef CUFENCE_DB_H
#define CUFENCE_DB_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sqlite3.h>

#define DB_APPLICATION_ID 0x63756665 /* of schema.sql: in every database of ours */
#define DB_MEMORY ":memory:"

struct run;

struct db {
	sqlite3 *handle;
	char *path;
	size_t order_limit; /* bytes, of an order's clocks; 0: ORDER_LIMIT (order.h) */
	struct run *run; /* in columns, while it is loaded or analyzed (run_columns.h), or NULL */
	int failed;      /* a value could not be read or is damaged, after a message */
};

/* What a database is opened for. */
enum db_access {
	DB_WRITE,  /* also to change it */
	DB_READ,   /* to print what is in its rows */
	DB_FOLLOW, /* to conclude from all of it */
	DB_OWN,    /* to print what this process has just written, which is not checked */
};

/*
 * Opens an existing cufence database.  It is input like a trace (db_check.h), and all of it is
 * checked, which takes some 3 s for a million calls.  For DB_READ that is so up to DB_SMALL bytes;
 * of a larger one only the first DB_FEW rows of each table: others may be anything.
 */
int db_open(struct db *db, const char *path, enum db_access access);

#define DB_SMALL (16 << 20)
#define DB_FEW 20000

/* 1 if the regular file at path begins like a cufence database of any version.  Says nothing. */
int db_recognize(const char *path);

/*
 * Creates an empty one with schema.sql; what is at path must be empty.  Until it is closed a crash
 * of the machine damages it: it is for a file that gets its name when it is whole.  DB_MEMORY is
 * no file.
 */
int db_create(struct db *db, const char *path);

void db_close(struct db *db);

/* Runs SQL without results, several statements if need be. */
int db_exec(struct db *db, const char *sql);

/* A statement to step, NULL after a message; sqlite3_finalize() frees it. */
sqlite3_stmt *db_prepare(struct db *db, const char *sql);

/*
 * Binds all parameters in order: i int64_t, I int64_t with INT64_MIN as NULL, d double, s string
 * (NULL: NULL; copied), t text and its length in bytes as a size_t, b bytes likewise.  The
 * statement is reset first.
 */
int db_bind(sqlite3_stmt *stmt, const char *types, ...);

/* 1: a row, 0: done, -1: failed after a message. */
int db_step(sqlite3_stmt *stmt);

/* Binds, steps a statement without rows to its end and resets it. */
int db_run(sqlite3_stmt *stmt, const char *types, ...);
int db_run_list(sqlite3_stmt *stmt, const char *types, va_list values);

/*
 * First column of the first row, or otherwise if there is none, if it is NULL, or if it cannot be
 * read: db->failed is set then, after a message.
 */
int64_t db_int(struct db *db, const char *sql, int64_t otherwise);

/* A column of the row as text, "" for NULL, as long as the row is. */
const char *db_text(sqlite3_stmt *stmt, int column);

/* NULL for db_bind's "I". */
#define DB_NULL INT64_MIN

#endif
