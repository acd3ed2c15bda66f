/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A hostile trace on its way to a report: loaded into a database in memory, analyzed, printed.
 * Not its symbols: they are read from files that the trace names.  Whatever a trace says, rows
 * refer to rows that are there.
 */
#include <stdlib.h>
#include <unistd.h>

#include "analyze.h"
#include "fuzz.h"
#include "load.h"
#include "report.h"

static void check_references(struct db *db)
{
	sqlite3_stmt *q = db_prepare(db, "PRAGMA foreign_key_check");

	if (!q || db_step(q)) {
		fprintf(stderr, "a row of '%s' refers to no row of '%s'\n",
			(const char *)sqlite3_column_text(q, 0),
			(const char *)sqlite3_column_text(q, 2));
		abort();
	}
	sqlite3_finalize(q);
}

static void build(char *name, FILE *nowhere)
{
	struct report_options options = { .level = REPORT_POSSIBLE };
	struct db db;

	if (!db_create(&db, ":memory:") && !load_traces(&db, &name, 1, NULL) && !analyze(&db)) {
		check_references(&db);
		report_text(&db, &options, nowhere);
		report_json(&db, &options, nowhere);
	}
	db_close(&db);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static FILE *nowhere;
	static char name[32];
	static int fd;

	if (!nowhere) {
		nowhere = fopen("/dev/null", "w");
		fd = fuzz_memory_file(name);
	}
	if (!nowhere || ftruncate(fd, 0) || pwrite(fd, data, size, 0) != (ssize_t)size)
		exit(2);
	build(name, nowhere);
	return 0;
}

int fuzz_seed(unsigned n, char *const *path, unsigned count, struct fuzz_input *seed)
{
	if (n >= count)
		return 0;
	return fuzz_read_trace(path[n], seed) ? -1 : 1;
}
