/* SPDX-License-Identifier: Apache-2.0 */
#include "db_file.h"

#include <endian.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "print.h"

/* SQLite of distributions interprets file:NAME as a URI. The caller frees the result. */
static char *name_of_file(const char *path)
{
	int is_name = path[0] == '/' || !strcmp(path, DB_MEMORY) || !strcmp(path, DB_TEMPORARY);
	char *name = NULL;

	return asprintf(&name, "%s%s", is_name ? "" : "./", path) < 0 ? NULL : name;
}

/* Opening a pipe would block, and a device would be read. */
static int is_special(const char *path)
{
	struct stat file;

	if (stat(path, &file) || S_ISREG(file.st_mode) || S_ISDIR(file.st_mode))
		return 0;
	print(stderr, "cufence: '%s' is not a regular file\n", path);
	return 1;
}

int db_file_open(struct db *db, const char *path, int flags)
{
	char *name = name_of_file(path);
	int rc;

	if (is_special(path)) {
		free(name);
		return -1;
	}
	/* Single-threaded: locks would take a tenth of the time. */
	flags |= SQLITE_OPEN_NOMUTEX;
	db->path = strdup(path);
	rc = !name || !db->path || sqlite3_open_v2(name, &db->handle, flags, NULL) != SQLITE_OK;
	if (rc) {
		/* SQLite has one error for all open failures. */
		sqlite3 *handle = db->handle;
		int error = handle ? sqlite3_system_errno(handle) : ENOMEM;

		print(stderr, "cufence: cannot open '%s': %s%s\n", path,
			error ? strerror(error) : sqlite3_errmsg(handle),
			error == ENOENT ? " (\"cufence run\" and \"cufence load\" make databases)"
					: "");
		db_close(db);
	} else {
		sqlite3_busy_timeout(db->handle, 2000);
	}
	free(name);
	return rc ? -1 : 0;
}

static int is_regular(const char *path)
{
	struct stat file;

	return !stat(path, &file) && S_ISREG(file.st_mode);
}

int db_recognize(const char *path)
{
	/* From "Database Header Format" of SQLite's documentation. */
	struct {
		char magic[16], other[52];
		uint32_t application_id;
	} header;
	FILE *file = is_regular(path) ? fopen(path, "re") : NULL;
	int rc = file && fread(&header, sizeof(header), 1, file) == 1 &&
		!memcmp(header.magic, "SQLite format 3", sizeof(header.magic)) &&
		be32toh(header.application_id) == DB_APPLICATION_ID;

	if (file)
		fclose(file);
	return rc;
}
