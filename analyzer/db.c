/* SPDX-License-Identifier: Apache-2.0 */
#include "db.h"

#include <endian.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char schema[] =
#include "schema.inc"
#include "nsys.inc"
	;

/* Of a database that nobody else knows yet; after a crash it is garbage anyway. */
static const char unshared[] = "PRAGMA journal_mode = MEMORY; PRAGMA synchronous = OFF";

#define DB_APPLICATION_ID 0x63756665
#define DB_USER_VERSION 4 /* of schema.sql */

static int fail(sqlite3 *handle, const char *what)
{
	if (sqlite3_errcode(handle) == SQLITE_INTERRUPT)
		fputs("cufence: interrupted\n", stderr);
	else
		fprintf(stderr, "cufence: %s: %s\n", what, sqlite3_errmsg(handle));
	return -1;
}

/* SQLite knows one reason for all that it cannot open. */
static void say_unopened(const char *path, sqlite3 *handle)
{
	int error = handle ? sqlite3_system_errno(handle) : ENOMEM;

	fprintf(stderr, "cufence: cannot open '%s': %s%s\n", path,
		error ? strerror(error) : sqlite3_errmsg(handle),
		error == ENOENT ? " (\"cufence run\" and \"cufence load\" make databases)" : "");
}

static int open_handle(struct db *db, const char *path, int flags)
{
	db->path = strdup(path);
	/* One thread: locks would be a tenth of all time. */
	flags |= SQLITE_OPEN_NOMUTEX;
	if (sqlite3_open_v2(path, &db->handle, flags, NULL) != SQLITE_OK || !db->path) {
		say_unopened(path, db->handle);
		db_close(db);
		return -1;
	}
	sqlite3_busy_timeout(db->handle, 2000);
	return 0;
}

int db_open(struct db *db, const char *path, int read_only)
{
	int64_t version;

	*db = (struct db){ 0 };
	if (open_handle(db, path, read_only ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE))
		return -1;
	if (db_int(db, "PRAGMA application_id", 0) != DB_APPLICATION_ID) {
		fprintf(stderr, "cufence: '%s' is %s\n", path, db_recognize(path) ?
			"damaged: load the traces again" : "not a cufence database");
		db_close(db);
		return -1;
	}
	version = db_int(db, "PRAGMA user_version", 0);
	if (version != DB_USER_VERSION) {
		fprintf(stderr, "cufence: '%s' has schema version %lld, this program has %d: %s\n",
			path, (long long)version, DB_USER_VERSION,
			version > DB_USER_VERSION ? "a newer cufence made it" :
			"load the traces again");
		db_close(db);
		return -1;
	}
	return 0;
}

int db_recognize(const char *path)
{
	/* From "Database Header Format" of SQLite's documentation. */
	struct {
		char magic[16], other[52];
		uint32_t application_id;
	} header;
	FILE *file = fopen(path, "re");
	int rc = file && fread(&header, sizeof(header), 1, file) == 1 &&
		 !memcmp(header.magic, "SQLite format 3", sizeof(header.magic)) &&
		 be32toh(header.application_id) == DB_APPLICATION_ID;

	if (file)
		fclose(file);
	return rc;
}

int db_create(struct db *db, const char *path)
{
	*db = (struct db){ 0 };
	if (open_handle(db, path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE))
		return -1;
	if (db_exec(db, unshared) || db_exec(db, schema)) {
		db_close(db);
		return -1;
	}
	return 0;
}

void db_close(struct db *db)
{
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

int db_run_list(sqlite3_stmt *stmt, const char *types, va_list values)
{
	int rc = bind_all(stmt, types, values);

	while (!rc && (rc = db_step(stmt)) > 0)
		rc = 0;
	sqlite3_reset(stmt);
	return rc;
}

int db_run(sqlite3_stmt *stmt, const char *types, ...)
{
	va_list values;
	int rc;

	va_start(values, types);
	rc = db_run_list(stmt, types, values);
	va_end(values);
	return rc;
}

int64_t db_int(struct db *db, const char *sql, int64_t otherwise)
{
	sqlite3_stmt *stmt = db_prepare(db, sql);
	int64_t value = otherwise;

	if (stmt && sqlite3_step(stmt) == SQLITE_ROW && sqlite3_column_type(stmt, 0) != SQLITE_NULL)
		value = sqlite3_column_int64(stmt, 0);
	sqlite3_finalize(stmt);
	return value;
}
