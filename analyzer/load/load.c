/* SPDX-License-Identifier: Apache-2.0 */
#include "load.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "large.h"
#include "radix_sort.h"
#include "loader.h"
#include "memory.h"
#include "print.h"
#include "run_build.h"
#include "workers.h"

/*
 * Indexes whose keys come in order, filled together with the rows; the last one is filled at the
 * end.
 */
static const char early_indexes[] =
	"CREATE INDEX call_thread ON call (thread);"
	"CREATE INDEX operation_call ON operation (call) WHERE call IS NOT NULL;"
	"CREATE INDEX operand_call ON operand (call);"
	"CREATE INDEX operation_end ON operation (end);";

/*
 * Indexes for analysis and reports: each costs as much as inserting its rows.  Statistics are
 * computed from a sample.
 */
static const char indexes[] =
	"PRAGMA cache_size = -32768;"
	"CREATE INDEX overhead_call ON overhead (call);"
	"CREATE INDEX shape_kernel ON shape (kernel);"
	"PRAGMA analysis_limit = 400; ANALYZE; PRAGMA cache_size = -16384;";

static int insert_run(struct loader *loader, const char *command)
{
	sqlite3_stmt *stmt = db_prepare(loader->db, "INSERT INTO run VALUES (?,?,?)");
	int rc = stmt ? db_run(stmt, "iss", loader->origin, CUFENCE_VERSION, command) : -1;

	sqlite3_finalize(stmt);
	return rc;
}

static int prepare_statements(struct loader *loader)
{
	loader->update_kernel =
		db_prepare(loader->db, "UPDATE kernel SET local_bytes = ? WHERE id = ?");
	loader->update_texture = db_prepare(loader->db,
		"UPDATE texture SET destroyed = ? WHERE process = ? AND value = ? AND surface = ? "
		"AND destroyed IS NULL");
	loader->objects = rows_open(loader->db, TABLE_call_object);
	return loader->update_kernel && loader->update_texture && loader->objects ? 0 : -1;
}

/* Those of a part are empty files of the database's, too: their pages are moved to its own. */
static int open_tables(struct loader *loader, struct db *db)
{
	loader->relay = relay_new();
	loader->calls = bulk_open(db, TABLE_call, loader->relay);
	loader->operations = bulk_open(db, TABLE_operation, loader->relay);
	loader->operands = bulk_open(db, TABLE_operand, loader->relay);
	loader->launches = bulk_open(db, TABLE_launch, loader->relay);
	loader->call_thread = bulk_open_index(db, "call_thread", loader->relay);
	loader->operation_call = bulk_open_index(db, "operation_call", loader->relay);
	loader->operand_call = bulk_open_index(db, "operand_call", loader->relay);
	return loader->calls && loader->operations && loader->operands && loader->launches &&
			loader->call_thread && loader->operation_call && loader->operand_call
		? 0
		: -1;
}

static int prepare(struct loader *loader)
{
	if (prepare_statements(loader) || open_tables(loader, loader->db))
		return -1;
	loader->operation_end = bulk_open_index(loader->db, "operation_end", loader->relay);
	return loader->operation_end ? 0 : -1;
}

static void release(struct loader *loader)
{
	relay_free(loader->relay);
	rows_free(loader->objects);
	sqlite3_finalize(loader->update_kernel);
	sqlite3_finalize(loader->update_texture);
	map_release(&loader->call_types);
	map_release(&loader->images);
	bulk_free(loader->calls);
	bulk_free(loader->operations);
	bulk_free(loader->operands);
	bulk_free(loader->launches);
	bulk_free(loader->call_thread);
	bulk_free(loader->operation_call);
	bulk_free(loader->operand_call);
	bulk_free(loader->operation_end);
	large_free(loader->end);
	progress_end(&loader->progress);
}

static int write_ends(struct loader *loader)
{
	int rc = 0;

	loader->end =
		radix_sort_large(loader->end, (size_t)loader->operation, sizeof(*loader->end));
	for (int64_t i = 0; i < loader->operation && !rc; i++)
		rc = bulk_add_key(loader->operation_end, loader->end[i].end, loader->end[i].id);
	return rc;
}

static int finish(struct loader *loader)
{
	struct bulk *bulk[] = { loader->calls, loader->operations, loader->operands,
		loader->launches, loader->call_thread, loader->operation_call, loader->operand_call,
		loader->operation_end };

	progress_show(&loader->progress, "creating indexes");
	return write_ends(loader) || relay_end(loader->relay) || rows_finish(loader->objects) ||
			db_exec(loader->db, "COMMIT") ||
			bulk_finish(bulk, sizeof(bulk) / sizeof(*bulk)) ||
			db_exec(loader->db, indexes)
		? -1
		: 0;
}

/* --- traces that are loaded at the same time --- */

/* A part has the memory of a load by itself until it is joined. */
enum { TOGETHER_MOST = 8 };

/* The first trace is loaded into the whole, each other one into a part. */
struct together {
	struct loader *whole, *part;
	char *const *path;
	size_t count;
	int64_t lasts; /* ns, what the durations of each may add up to */
};

/* Opens the database of a part. */
static int open_part(const struct together *together, struct loader *part, const char *path)
{
	struct run_room room;
	struct stat stat;

	if (db_create(part->db, DB_TEMPORARY) || db_exec(part->db, early_indexes) ||
		db_exec(part->db, "BEGIN") || prepare_statements(part))
		return -1;
	if (!together->whole->db->run)
		return 0;
	room = run_room_of(lstat(path, &stat) ? 0 : (uint64_t)stat.st_size, together->count);
	part->db->run = run_new(&room);
	return part->db->run ? 0 : -1;
}

static int load_one(void *arg, size_t number)
{
	const struct together *together = arg;
	struct loader *part = number ? &together->part[number - 1] : NULL;
	struct loader *loader = part ? part : together->whole;
	const char *path = together->path[number];

	loader->lasted = CLOCK_MOST_SUM - together->lasts;
	return (part && open_part(together, part, path)) || loader_load_process(loader, path) ||
			relay_end(loader->relay) || rows_finish(loader->objects)
		? -1
		: 0;
}

static int start_part(const struct loader *whole, struct loader *part)
{
	*part = (struct loader){
		.db = xcalloc(1, sizeof(*part->db)),
		.whole = whole->whole,
		.origin = whole->origin,
		.last_window = whole->last_window,
		.words_bytes = whole->words_bytes,
	};
	return open_tables(part, whole->db);
}

/* What is limited for all traces is added up; messages come in their order. */
static void add_up(const struct together *together, struct loader *loader, int64_t *lasted,
	uint64_t words_before)
{
	*lasted += loader->lasted - (CLOCK_MOST_SUM - together->lasts);
	if (loader != together->whole)
		together->whole->words_bytes += loader->words_bytes - words_before;
	if (loader->damage[0])
		print(stderr, "cufence: '%s' is damaged: %s; loaded the undamaged part\n",
			loader->path, loader->damage);
	loader->damage[0] = '\0';
}

static void release_part(struct loader *part)
{
	release(part);
	run_close(part->db->run);
	db_close(part->db);
	free(part->db);
}

static int load_together(struct loader *whole, char *const *path, size_t count)
{
	struct loader *part = xcalloc(count, sizeof(*part));
	int64_t lasted = whole->lasted, left = CLOCK_MOST_SUM - lasted;
	uint64_t words = whole->words_bytes;
	struct together together = { whole, part, path, count, left / (int64_t)count };
	int rc = 0;

	for (size_t i = 0; i + 1 < count && !rc; i++)
		rc = start_part(whole, &part[i]);
	rc = rc || workers_run(count, load_one, &together);
	for (size_t i = 0; i < count && !rc; i++)
		add_up(&together, i ? &part[i - 1] : whole, &lasted, words);
	whole->lasted = lasted;
	rc = rc || loader_join(whole, part, count - 1) ? -1 : 0;
	for (size_t i = 0; i + 1 < count; i++)
		if (part[i].db)
			release_part(&part[i]);
	free(part);
	return rc;
}

/* A database in memory has no folder for parts. */
static int load_all(struct loader *loader, char *const *path, size_t count)
{
	size_t together = bulk_in_memory(loader->calls) ? 1 : workers_processors(TOGETHER_MOST);
	int rc = 0;

	for (size_t i = 0; i < count && !rc; i += together)
		rc = load_together(loader, path + i, count - i < together ? count - i : together);
	return rc;
}

int load_traces(struct db *db, char *const *path, size_t count, const char *command,
	int last_window)
{
	struct loader loader = { .db = db, .whole = &loader, .last_window = last_window };
	char **chosen = xcalloc(count, sizeof(*chosen));
	int rc = -1;

	if (loader_choose_files(&loader, path, &count, chosen) || db_exec(db, early_indexes) ||
		db_exec(db, "BEGIN")) {
		free(chosen);
		return -1;
	}
	if (!prepare(&loader) && !insert_run(&loader, command) && !load_all(&loader, chosen, count))
		rc = finish(&loader);
	free(chosen);
	if (rc && !sqlite3_get_autocommit(db->handle))
		sqlite3_exec(db->handle, "ROLLBACK", NULL, NULL, NULL);
	release(&loader);
	return rc;
}
