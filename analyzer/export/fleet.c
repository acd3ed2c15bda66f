/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "byte_hash.h"
#include "fleet_files.h"
#include "fleet_sql.h"
#include "fleet_tables.h"
#include "memory.h"
#include "output.h"
#include "output_name.h"
#include "print.h"

#define COMMAND "cufence export"
#define MANIFEST "{\"cufence\": \"export\", \"schema\": %d}\n"

static const int64_t hour_ns = 3600000000000;

/* --- the folder --- */

/* What stands in the manifest: a version of the schema, 0: the folder is new, or -1. */
static int there(const char *folder)
{
	char *path = xprintf("%s/manifest.json", folder);
	FILE *file = fopen(path, "r");
	int version = -1, entries = 0;
	DIR *dir;

	free(path);
	if (file) {
		if (fscanf(file, MANIFEST, &version) != 1)
			version = -1;
		fclose(file);
		return version;
	}
	dir = opendir(folder);
	if (!dir)
		return errno == ENOENT ? 0 : -1;
	while (readdir(dir))
		entries++;
	closedir(dir);
	return entries > 2 ? -1 : 0;
}

static int write_manifest(const char *folder)
{
	char *path = xprintf("%s/manifest.json", folder);
	struct output output;
	int rc = output_open(&output, COMMAND, path);

	if (!rc) {
		print(output.file, MANIFEST, SCHEMA_VERSION);
		rc = output_close(&output, COMMAND, 1);
	}
	free(path);
	return rc;
}

/* The name of a folder: nothing of it is special to a shell, a path or an engine. */
static int is_name(const char *text)
{
	return *text && *text != '.' &&
		!text[strspn(text,
			"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-")];
}

int fleet_open(struct fleet *fleet)
{
	char *inside = xprintf("%s/", fleet->folder);
	int version = there(fleet->folder), rc = -1;

	if (fleet->run && !is_name(fleet->run))
		print(stderr,
			"%s: --run is made of letters, digits, '.', '_' and '-', unlike '%s'\n",
			COMMAND, fleet->run);
	else if (version < 0)
		print(stderr, "%s: '%s' is neither an export of cufence nor an empty folder\n",
			COMMAND, fleet->folder);
	else if (version && version != SCHEMA_VERSION)
		print(stderr,
			"%s: '%s' has tables of schema %d, and this cufence has %d: export to "
			"another folder\n",
			COMMAND, fleet->folder, version, SCHEMA_VERSION);
	else
		rc = output_folders(inside, COMMAND) || write_manifest(fleet->folder) ||
				fleet_statements(fleet->folder)
			? -1
			: 0;
	free(inside);
	return rc;
}

/* --- rows --- */

static void put_text(struct fleet_file *file, const char *text, size_t length)
{
	fleet_put(file, "\"", 1);
	while (length) {
		size_t plain = 0, bytes = 0;

		while (plain < length && text[plain] != '"' &&
			(bytes = print_character(text + plain, length - plain)))
			plain += bytes;
		fleet_put(file, text, plain);
		text += plain;
		length -= plain;
		if (!length)
			break;
		if (*text == '"')
			fleet_put(file, "\"\"", 2);
		else
			fleet_put(file, "\xef\xbf\xbd", 3);
		text++;
		length--;
	}
	fleet_put(file, "\"", 1);
}

static void put_bytes(struct fleet_file *file, const unsigned char *bytes, size_t length)
{
	for (size_t i = 0; i < length; i++) {
		char digits[3];

		snprintf(digits, sizeof(digits), "%02X", bytes[i]);
		fleet_put(file, digits, 2);
	}
}

static void put_value(struct fleet_file *file, sqlite3_stmt *row, int column)
{
	char number[40];

	switch (sqlite3_column_type(row, column)) {
	case SQLITE_NULL:
		fleet_put(file, "\\N", 2);
		return;
	case SQLITE_INTEGER:
		snprintf(number, sizeof(number), "%lld",
			(long long)sqlite3_column_int64(row, column));
		break;
	case SQLITE_FLOAT:
		snprintf(number, sizeof(number), "%.17g", sqlite3_column_double(row, column));
		break;
	case SQLITE_TEXT:
		put_text(file, (const char *)sqlite3_column_text(row, column),
			(size_t)sqlite3_column_bytes(row, column));
		return;
	default:
		put_bytes(file, sqlite3_column_blob(row, column),
			(size_t)sqlite3_column_bytes(row, column));
		return;
	}
	fleet_put(file, number, strlen(number));
}

static int put_rows(struct fleet_files *files, sqlite3_stmt *row)
{
	int step, columns = sqlite3_column_count(row);

	while ((step = db_step(row)) > 0) {
		int64_t rank = sqlite3_column_type(row, 0) == SQLITE_NULL
			? FLEET_NO_RANK
			: sqlite3_column_int64(row, 0);
		struct fleet_file *file =
			fleet_file(files, rank, sqlite3_column_int64(row, 1) / hour_ns);

		if (!file)
			return -1;
		fleet_put(file, files->name, strlen(files->name));
		for (int i = 2; i < columns; i++) {
			fleet_put(file, ",", 1);
			put_value(file, row, i);
		}
		fleet_put(file, "\n", 1);
	}
	return step;
}

static int add_table(const struct fleet *fleet, struct db *db, int number, const char *name)
{
	struct fleet_files files = { .folder = fleet->folder, .run = fleet->run, .name = name };
	struct fleet_table table;
	char *sql, *header;
	sqlite3_stmt *row;
	int rc;

	fleet_table(number, &table);
	sql = fleet_table_sql(number);
	row = db_prepare(db, sql);
	sqlite3_free(sql);
	files.table = table.name;
	files.header = header = fleet_table_header(&table);
	rc = !row || (!number && db_bind(row, "ss", fleet->run, fleet->commit)) ||
			put_rows(&files, row)
		? -1
		: 0;
	sqlite3_finalize(row);
	rc = fleet_files_close(&files, !rc) || rc ? -1 : 0;
	free(header);
	return rc;
}

/* --- databases --- */

/* 16 digits that are those of no other database, whatever its path is. */
static int identify(struct db *db, char name[17])
{
	sqlite3_stmt *row = db_prepare(db,
		"SELECT start_unix_ns, (SELECT group_concat(pid || ' ' || start || ' ' ||"
		" ifnull(r.rank, '') || ' ' || ifnull(r.host, '')) FROM process p"
		" LEFT JOIN rank r ON r.process = p.id) FROM run");
	uint64_t hash = BYTE_HASH_SEED;
	int step = row ? db_step(row) : -1;

	for (int i = 0; step > 0 && i < 2; i++) {
		const char *text = db_text(row, i);

		hash = byte_hash(hash, text, strlen(text) + 1);
	}
	sqlite3_finalize(row);
	snprintf(name, 17, "%016llx", (unsigned long long)hash);
	return step > 0 ? 0 : -1;
}

static void name_run(struct fleet *fleet, struct db *db)
{
	time_t seconds = (time_t)(db_int(db, "SELECT start_unix_ns FROM run", 0) / 1000000000);
	struct tm utc = { 0 };

	gmtime_r(&seconds, &utc);
	strftime(fleet->began, sizeof(fleet->began), "%Y%m%dT%H%M%SZ", &utc);
	fleet->run = fleet->began;
}

int fleet_add(struct fleet *fleet, struct db *db)
{
	struct fleet_table table;
	char name[17];
	int rc;

	if (!fleet->run)
		name_run(fleet, db);
	rc = identify(db, name);
	/* Table exported comes last: what it names is complete. */
	for (int number = 1; !rc && fleet_table(number, &table); number++)
		rc = add_table(fleet, db, number, name);
	return rc || add_table(fleet, db, 0, name) ? -1 : 0;
}
