/* SPDX-License-Identifier: Apache-2.0 */
#include "db.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calls.h"
#include "db_check.h"
#include "db_file.h"
#include "kept_trace.h"
#include "memory.h"
#include "print.h"
#include "rows.h"
#include "shell.h"

static const char nsys_sql[] =
#include "nsys.inc"
	;

/* For a database that is not yet visible to others; after a crash it is discarded. */
static const char unshared[] = "PRAGMA journal_mode = MEMORY; PRAGMA synchronous = OFF";

/* SQLite quotes the rest of an unreadable declaration, of many lines: print the first line only. */
static void report_damaged(const char *path, const char *what)
{
	print(stderr, "cufence: '%s' is damaged: %.*s; run \"cufence load\" again\n", path,
		(int)strcspn(what, "\n"), what);
}

static int is_locked(sqlite3 *handle)
{
	return (sqlite3_errcode(handle) & 0xff) ==
		SQLITE_BUSY; /* without the extended error bits */
}

static void report_locked(const char *path)
{
	print(stderr, "cufence: '%s' is in use by another program: try again when it is done\n",
		path);
}

static int fail(sqlite3 *handle, const char *what)
{
	int code = sqlite3_errcode(handle) & 0xff;

	if (code == SQLITE_NOMEM)
		memory_lacks();
	if (is_locked(handle))
		report_locked(sqlite3_db_filename(handle, "main"));
	else if (code == SQLITE_CORRUPT || code == SQLITE_NOTADB)
		report_damaged(sqlite3_db_filename(handle, "main"), sqlite3_errmsg(handle));
	else
		print(stderr, "cufence: %s: %s\n", what, sqlite3_errmsg(handle));
	return -1;
}

int db_damaged(struct db *db, const char *format, ...)
{
	char what[512];
	va_list values;

	va_start(values, format);
	vsnprintf(what, sizeof(what), format, values);
	va_end(values);
	if (!db->failed)
		report_damaged(db->path, what);
	db->failed = 1;
	return -1;
}

/*
 * Settings that "Defense Against The Dark Arts" of SQLite's documentation recommends for untrusted
 * files.  No database can be attached, and code in the file is not run: triggers, and functions
 * with side effects in views and indexes.
 */
static int harden(struct db *db)
{
	static const struct {
		int option, value;
	} settings[] = {
		{ SQLITE_DBCONFIG_DEFENSIVE, 1 },
		{ SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0 },
		{ SQLITE_DBCONFIG_ENABLE_TRIGGER, 0 },
		{ SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0 },
		{ SQLITE_DBCONFIG_ENABLE_FTS3_TOKENIZER, 0 },
	};

	for (size_t i = 0; i < sizeof(settings) / sizeof(*settings); i++)
		sqlite3_db_config(db->handle, settings[i].option, settings[i].value, NULL);
	sqlite3_limit(db->handle, SQLITE_LIMIT_ATTACHED, 0);
	return db_exec(db, "PRAGMA cell_size_check = ON");
}

/* Reads a number of the file's header; prints a message on failure. */
static int64_t read_pragma(struct db *db, const char *sql)
{
	sqlite3_stmt *stmt = NULL;
	int64_t value = -1;

	if (sqlite3_prepare_v2(db->handle, sql, -1, &stmt, NULL) == SQLITE_OK &&
		sqlite3_step(stmt) == SQLITE_ROW)
		value = sqlite3_column_int64(stmt, 0);
	sqlite3_finalize(stmt);
	return value;
}

static int check_application(struct db *db)
{
	if (read_pragma(db, "PRAGMA application_id") != DB_APPLICATION_ID) {
		if (sqlite3_extended_errcode(db->handle) == SQLITE_READONLY_ROLLBACK) {
			print(stderr,
				"cufence: '%s' is incomplete: a command that changed it was "
				"killed; run \"cufence analyze\" again\n",
				db->path);
			return -1;
		}
		if (is_locked(db->handle)) {
			report_locked(db->path);
			return -1;
		}
		if (db_recognize(db->path))
			return db_damaged(db, "%s", sqlite3_errmsg(db->handle));
		print(stderr, "cufence: '%s' is not a cufence database\n", db->path);
		return -1;
	}
	return 0;
}

static int check_version(struct db *db)
{
	int64_t version = read_pragma(db, "PRAGMA user_version");
	int is_newer = version > SCHEMA_VERSION;
	char *word;

	if (version == SCHEMA_VERSION)
		return 0;
	word = !is_newer && kept_trace_exists(db) ? shell_word(db->path) : NULL;
	print(stderr, "cufence: '%s' has schema version %lld, this program has %d: %s%s%s\n",
		db->path, (long long)version, SCHEMA_VERSION,
		is_newer ? "a newer cufence made it, use that one" : "load the traces again",
		word ? ": cufence load " : "", word ? word : "");
	free(word);
	return -1;
}

static int check(struct db *db, enum db_access access)
{
	int64_t size = read_pragma(db, "PRAGMA page_count") * read_pragma(db, "PRAGMA page_size");

	if (db_check_schema(db))
		return -1;
	return db_check_rows(db, access == DB_READ && size > DB_SMALL ? DB_FEW : INT64_MAX);
}

/* Opens it hardened, and checks that it is a cufence database. */
static int open_hardened(struct db *db, const char *path, int flags)
{
	*db = (struct db){ 0 };
	if (!strcmp(path, DB_MEMORY)) {
		print(stderr, "cufence: cannot open '%s': name a file\n", path);
		return -1;
	}
	if (db_file_open(db, path, flags))
		return -1;
	if (!harden(db) && !check_application(db))
		return 0;
	db_close(db);
	return -1;
}

int db_open(struct db *db, const char *path, enum db_access access)
{
	if (open_hardened(db, path,
		    access == DB_WRITE ? SQLITE_OPEN_READWRITE : SQLITE_OPEN_READONLY))
		return -1;
	/*
	 * A transaction until the database is closed ensures that the checked data is what is read.
	 */
	if (!check_version(db) && (access == DB_WRITE || !db_exec(db, "BEGIN")) &&
		(access == DB_OWN || !check(db, access)))
		return 0;
	db_close(db);
	return -1;
}

int db_open_any(struct db *db, const char *path)
{
	if (open_hardened(db, path, SQLITE_OPEN_READONLY))
		return -1;
	if (!db_exec(db, "BEGIN"))
		return 0;
	db_close(db);
	return -1;
}

/* Fills table call_kind from kinds.def. */
static int fill_call_kind(struct db *db)
{
	static const char sql[] = "INSERT INTO call_kind SELECT ?1, ?2, ?3"
#define X(symbol, name, bit) ", ?4 >> " #bit " & 1"
		KIND_TRAITS(X);
#undef X
	sqlite3_stmt *insert = db_prepare(db, sql);
	int rc = insert ? 0 : -1;

	for (int kind = 0; kind < KIND_COUNT && !rc; kind++)
		rc = db_run(insert, "sssi", call_kind_names[kind],
			kind_family_names[kind_family(kind)], kind_waits_names[kind_waits(kind)],
			(int64_t)kind_traits(kind));
	sqlite3_finalize(insert);
	return rc;
}

int db_create(struct db *db, const char *path)
{
	*db = (struct db){ 0 };
	if (db_file_open(db, path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE))
		return -1;
	if (db_exec(db, unshared) || db_exec(db, "BEGIN") || schema_create(db) ||
		db_exec(db, nsys_sql) || fill_call_kind(db) || db_exec(db, "COMMIT")) {
		db_close(db);
		return -1;
	}
	return 0;
}

void db_close(struct db *db)
{
	for (int i = 0; db->rows && i < TABLE_COUNT; i++)
		rows_free(db->rows[i]);
	free(db->rows);
	sqlite3_close(db->handle);
	free(db->path);
	*db = (struct db){ 0 };
}

int db_exec(struct db *db, const char *sql)
{
	if (sqlite3_exec(db->handle, sql, NULL, NULL, NULL) != SQLITE_OK)
		return fail(db->handle, db->path);
	return 0;
}

sqlite3_stmt *db_prepare(struct db *db, const char *sql)
{
	sqlite3_stmt *stmt = NULL;

	if (sqlite3_prepare_v2(db->handle, sql, -1, &stmt, NULL) != SQLITE_OK)
		fail(db->handle, sql);
	return stmt;
}

static int bind_all(sqlite3_stmt *stmt, const char *types, va_list values)
{
	int rc = SQLITE_OK;
	const char *text;
	int64_t number;

	sqlite3_reset(stmt);
	for (int i = 1; types[i - 1] && rc == SQLITE_OK; i++) {
		switch (types[i - 1]) {
		case 'i':
			rc = sqlite3_bind_int64(stmt, i, va_arg(values, int64_t));
			break;
		case 'I':
			number = va_arg(values, int64_t);
			rc = number == DB_NULL ? sqlite3_bind_null(stmt, i)
					       : sqlite3_bind_int64(stmt, i, number);
			break;
		case 'd':
			rc = sqlite3_bind_double(stmt, i, va_arg(values, double));
			break;
		case 's':
			rc = sqlite3_bind_text(stmt, i, va_arg(values, const char *), -1,
				SQLITE_TRANSIENT);
			break;
		case 't':
			text = va_arg(values, const char *);
			rc = sqlite3_bind_text(stmt, i, text, (int)va_arg(values, size_t),
				SQLITE_TRANSIENT);
			break;
		case 'b':
			text = va_arg(values, const char *);
			rc = sqlite3_bind_blob(stmt, i, text, (int)va_arg(values, size_t),
				SQLITE_TRANSIENT);
			break;
		default:
			rc = SQLITE_MISUSE;
		}
	}
	return rc == SQLITE_OK ? 0 : fail(sqlite3_db_handle(stmt), sqlite3_sql(stmt));
}

int db_bind(sqlite3_stmt *stmt, const char *types, ...)
{
	va_list values;
	int rc;

	va_start(values, types);
	rc = bind_all(stmt, types, values);
	va_end(values);
	return rc;
}

int db_step(sqlite3_stmt *stmt)
{
	int rc = sqlite3_step(stmt);

	if (rc == SQLITE_ROW)
		return 1;
	if (rc == SQLITE_DONE)
		return 0;
	return fail(sqlite3_db_handle(stmt), sqlite3_sql(stmt));
}

int db_run(sqlite3_stmt *stmt, const char *types, ...)
{
	va_list values;
	int rc;

	va_start(values, types);
	rc = bind_all(stmt, types, values);
	va_end(values);
	while (!rc && (rc = db_step(stmt)) > 0)
		rc = 0;
	sqlite3_reset(stmt);
	return rc;
}

int64_t db_int(struct db *db, const char *sql, int64_t otherwise)
{
	sqlite3_stmt *stmt = db->failed ? NULL : db_prepare(db, sql);
	int64_t value = otherwise;
	int step = stmt ? db_step(stmt) : -1;

	if (step > 0 && sqlite3_column_type(stmt, 0) != SQLITE_NULL)
		value = sqlite3_column_int64(stmt, 0);
	if (step < 0)
		db->failed = 1;
	sqlite3_finalize(stmt);
	return value;
}

const char *db_text(sqlite3_stmt *stmt, int column)
{
	const char *text = (const char *)sqlite3_column_text(stmt, column);

	return text ? text : "";
}

int db_print_json(struct db *db, const char *sql, FILE *out)
{
	sqlite3_stmt *q = db_prepare(db, sql);
	int step = q ? db_step(q) : -1;

	if (step > 0)
		print_json(out, db_text(q, 0), strlen(db_text(q, 0)));
	fputc('\n', out);
	sqlite3_finalize(q);
	return step > 0 ? 0 : -1;
}
