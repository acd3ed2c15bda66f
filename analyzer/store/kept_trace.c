/* SPDX-License-Identifier: Apache-2.0 */
#include "kept_trace.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include "constants.h"
#include "db_check.h"
#include "image_beside.h"
#include "image_hash.h"
#include "print.h"
#include "reader.h"
#include "schema.h"

/* Kinds of rows; a reader skips those that it does not know. */
#define KIND_OF_TRACE "trace"
#define KIND_OF_IMAGE "image"
#define KIND_OF_COMMAND "command"

/* Even an empty file counts as a page, so that their number is limited, too. */
#define LEAST_BYTES 4096

static int take_room(int64_t *room, uint64_t bytes)
{
	if (bytes > TRACE_KEPT_UNPACKED || (int64_t)bytes + LEAST_BYTES > *room)
		return -1;
	*room -= (int64_t)bytes + LEAST_BYTES;
	return 0;
}

/* --- storing --- */

struct keeper {
	struct db *db;
	sqlite3_stmt *insert, *loaded;
	int64_t room, unpacked; /* bytes that may still be taken */
	int failed;             /* db cannot be written; set after a message */
};

/* Each returns 0, or -1 if nothing can be kept. */
static int keep(struct keeper *keeper, const char *kind, uint64_t hash, const void *bytes,
	size_t size)
{
	size_t bound = ZSTD_compressBound(size), packed;
	char *data;
	int rc = -1;

	if (take_room(&keeper->unpacked, size) || !(data = malloc(bound)))
		return -1;
	packed = ZSTD_compress(data, bound, bytes, size, ZSTD_CLEVEL_DEFAULT);
	if (!ZSTD_isError(packed) && !take_room(&keeper->room, packed)) {
		rc = db_run(keeper->insert, "siib", kind, (int64_t)hash, (int64_t)size, data,
			packed);
		keeper->failed = rc;
	}
	free(data);
	return rc;
}

static int keep_file(struct keeper *keeper, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), rc = -1;
	char *bytes = NULL;
	struct stat file;

	if (fd < 0)
		return -1;
	if (!fstat(fd, &file) && S_ISREG(file.st_mode) && file.st_size <= keeper->unpacked)
		bytes = malloc((size_t)file.st_size + 1);
	if (bytes && read(fd, bytes, (size_t)file.st_size) == file.st_size)
		rc = keep(keeper, KIND_OF_TRACE, image_hash(bytes, (uint64_t)file.st_size), bytes,
			(size_t)file.st_size);
	free(bytes);
	close(fd);
	return rc;
}

/* Images that were not loaded have no kernel that was launched. */
static int keep_image(struct keeper *keeper, const char *path, const struct image_record *piece)
{
	char *bytes;
	int rc;

	if (!image_is_beside(piece) || db_bind(keeper->loaded, "i", (int64_t)piece->hash) ||
		db_step(keeper->loaded) <= 0 || !(bytes = image_read_beside(path, piece)))
		return 0;
	rc = keep(keeper, KIND_OF_IMAGE, piece->hash, bytes, piece->total);
	free(bytes);
	return rc;
}

static int keep_images(struct keeper *keeper, const char *path)
{
	struct trace_reader reader;
	const struct record *record;
	int rc = trace_open(&reader, path);

	while (!rc && trace_next(&reader, &record))
		if (record->type == RECORD_IMAGE)
			rc = keep_image(keeper, path, (const struct image_record *)record);
	trace_close(&reader);
	return rc;
}

static int keep_all(struct keeper *keeper, char *const *trace, size_t count, const char *command)
{
	size_t length = command ? strlen(command) : 0;
	int rc = command
		? keep(keeper, KIND_OF_COMMAND, image_hash(command, length), command, length)
		: 0;

	for (size_t i = 0; i < count && !rc; i++)
		rc = keep_file(keeper, trace[i]) || keep_images(keeper, trace[i]);
	return rc ? -1 : 0;
}

int kept_trace_store(struct db *db, char *const *trace, size_t count, const char *command)
{
	struct keeper keeper = { .db = db,
		.room = TRACE_KEPT_BYTES,
		.unpacked = TRACE_KEPT_UNPACKED };
	int rc;

	/* Traces given twice are kept once, and so are images that several processes share. */
	keeper.insert = db_prepare(db,
		"INSERT INTO trace (kind, hash, bytes, data) SELECT ?1, ?2, ?3, ?4 WHERE NOT EXISTS"
		" (SELECT 1 FROM trace WHERE kind = ?1 AND hash = ?2)");
	keeper.loaded = db_prepare(db, "SELECT 1 FROM image_piece WHERE hash = ?");
	rc = !keeper.insert || !keeper.loaded || db_exec(db, "BEGIN");
	if (!rc) {
		int all = !keep_all(&keeper, trace, count, command);

		sqlite3_reset(keeper.loaded);
		rc = db_exec(db, all ? "COMMIT" : "ROLLBACK") || keeper.failed;
	}
	sqlite3_finalize(keeper.insert);
	sqlite3_finalize(keeper.loaded);
	return rc ? -1 : 0;
}

/* --- unpacking --- */

/* Any other table or view may be a trap. */
static int is_as_declared(struct db *db)
{
	sqlite3_stmt *there = NULL;
	char *wanted = schema_declaration(TABLE_trace);
	int same = sqlite3_prepare_v2(db->handle,
			   "SELECT sql FROM sqlite_master WHERE type = 'table' AND name = 'trace'",
			   -1, &there, NULL) == SQLITE_OK &&
		sqlite3_step(there) == SQLITE_ROW && db_check_same(wanted, db_text(there, 0));

	sqlite3_finalize(there);
	sqlite3_free(wanted);
	return same;
}

int kept_trace_exists(struct db *db)
{
	sqlite3_stmt *q = NULL;
	int rc = is_as_declared(db) &&
		sqlite3_prepare_v2(db->handle, "SELECT 1 FROM trace WHERE kind = 'trace'", -1, &q,
			NULL) == SQLITE_OK &&
		sqlite3_step(q) == SQLITE_ROW;

	sqlite3_finalize(q);
	return rc;
}

struct unpacker {
	struct db *db;
	const char *folder;
	char *command;
	int64_t room; /* bytes that may still be unpacked */
	int64_t row;
};

enum { ROW_ID, ROW_KIND, ROW_HASH, ROW_BYTES, ROW_DATA };

static int report_unusable(const struct unpacker *unpacker)
{
	print(stderr,
		"cufence: the traces in '%s' are damaged (row %lld of table 'trace'); run the "
		"program again\n",
		unpacker->db->path, (long long)unpacker->row);
	return -1;
}

/* Returns what was packed, with a NUL after it, for the caller to free; NULL after a message. */
static char *unpack(struct unpacker *unpacker, sqlite3_stmt *row)
{
	int64_t size = sqlite3_column_int64(row, ROW_BYTES);
	const void *data = sqlite3_column_blob(row, ROW_DATA);
	size_t packed = (size_t)sqlite3_column_bytes(row, ROW_DATA);
	char *bytes = NULL;

	if (size >= 0 && data && !take_room(&unpacker->room, (uint64_t)size))
		bytes = malloc((size_t)size + 1);
	if (bytes && ZSTD_decompress(bytes, (size_t)size, data, packed) == (size_t)size &&
		image_has_hash(bytes, (uint64_t)size,
			(uint64_t)sqlite3_column_int64(row, ROW_HASH))) {
		bytes[size] = '\0';
		return bytes;
	}
	free(bytes);
	report_unusable(unpacker);
	return NULL;
}

static int write_file(const struct unpacker *unpacker, const char *name, const char *bytes,
	size_t size)
{
	char *path = NULL;
	FILE *file;
	int rc;

	if (asprintf(&path, "%s/%s", unpacker->folder, name) < 0)
		return -1;
	file = fopen(path, "wxe");
	rc = file && fwrite(bytes, 1, size, file) == size ? 0 : -1;
	if (file && fclose(file))
		rc = -1;
	if (rc)
		print(stderr, "cufence: cannot write '%s': %s; use -o to write elsewhere\n", path,
			strerror(errno));
	free(path);
	return rc;
}

static int write_image(const struct unpacker *unpacker, uint64_t hash, const char *bytes,
	size_t size)
{
	char name[sizeof(IMAGE_FOLDER) + IMAGE_NAME_SIZE] = IMAGE_FOLDER, *path = NULL;

	if (asprintf(&path, "%s/" IMAGE_FOLDER, unpacker->folder) < 0)
		return -1;
	/* It may be there; without it, writing fails and says why. */
	mkdir(path, 0700);
	free(path);
	name[sizeof(IMAGE_FOLDER) - 1] = '/';
	image_name(hash, name + sizeof(IMAGE_FOLDER));
	return write_file(unpacker, name, bytes, size);
}

static int unpack_row(struct unpacker *unpacker, sqlite3_stmt *row)
{
	const char *kind = db_text(row, ROW_KIND);
	size_t size = (size_t)sqlite3_column_int64(row, ROW_BYTES);
	char name[32], *bytes;
	int rc = 0;

	unpacker->row = sqlite3_column_int64(row, ROW_ID);
	bytes = unpack(unpacker, row);
	if (!bytes)
		return -1;
	snprintf(name, sizeof(name), "%010lld.cft", (long long)unpacker->row);
	if (!strcmp(kind, KIND_OF_TRACE))
		rc = write_file(unpacker, name, bytes, size);
	else if (!strcmp(kind, KIND_OF_IMAGE))
		rc = write_image(unpacker, (uint64_t)sqlite3_column_int64(row, ROW_HASH), bytes,
			size);
	else if (!strcmp(kind, KIND_OF_COMMAND) && !unpacker->command) {
		unpacker->command = bytes;
		return 0;
	}
	free(bytes);
	return rc;
}

static int unpack_all(struct unpacker *unpacker)
{
	/* A length is read without the bytes. */
	sqlite3_stmt *rows = db_prepare(unpacker->db,
		"SELECT id, kind, hash, bytes, iif(length(data) <= ?, data, NULL) FROM trace"
		" ORDER BY id");
	int step = rows && !db_bind(rows, "i", (int64_t)TRACE_KEPT_BYTES) ? 1 : -1;

	while (step > 0 && (step = db_step(rows)) > 0)
		step = unpack_row(unpacker, rows) ? -1 : 1;
	sqlite3_finalize(rows);
	return step;
}

int kept_trace_unpack(const char *database, const char *folder, char **command)
{
	struct db db;
	struct unpacker unpacker = { .db = &db, .folder = folder, .room = TRACE_KEPT_UNPACKED };
	int rc;

	*command = NULL;
	if (db_open_any(&db, database))
		return -1;
	if (kept_trace_exists(&db)) {
		rc = unpack_all(&unpacker);
	} else {
		print(stderr,
			"cufence: '%s' has no traces in it, as large runs and schemas before 35; "
			"load the trace files, or run the program again\n",
			database);
		rc = -1;
	}
	db_close(&db);
	*command = unpacker.command;
	return rc;
}
