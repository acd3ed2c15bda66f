/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A hostile trace on its way to a report: loaded into a database in memory, analyzed, printed.
 * Not its symbols: they are read from files that the trace names.  Whatever a trace says, the
 * database is one that every command accepts.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyze.h"
#include "db_check.h"
#include "fuzz.h"
#include "html.h"
#include "load.h"
#include "losses.h"
#include "merge.h"
#include "report.h"
#include "trace_mutations.h"

const int fuzz_is_trace = 1;

/* glibc's own, which the sanitizer does not replace; the size is kept in front. */
void *__libc_malloc(size_t size);
void *__libc_realloc(void *at, size_t size);
void __libc_free(void *at);
enum { FRONT = 16 };

static void *set_size(char *at, int size)
{
	if (!at)
		return NULL;
	memcpy(at, &size, sizeof(size));
	return at + FRONT;
}

static void *allocate(int size)
{
	return set_size(__libc_malloc((size_t)size + FRONT), size);
}

static void *reallocate(void *at, int size)
{
	return set_size(__libc_realloc((char *)at - FRONT, (size_t)size + FRONT), size);
}

static void release(void *at)
{
	if (at)
		__libc_free((char *)at - FRONT);
}

static int size_of(void *at)
{
	int size;

	memcpy(&size, (char *)at - FRONT, sizeof(size));
	return size;
}

static int round_up(int size)
{
	return (size + 7) & ~7;
}

static int start(void *unused)
{
	return SQLITE_OK;
}

static void end(void *unused)
{
}

static const sqlite3_mem_methods unchecked = {
	allocate,
	release,
	reallocate,
	size_of,
	round_up,
	start,
	end,
	NULL,
};

static void check_rows(struct db *db)
{
	if (db_check_rows(db, INT64_MAX))
		abort();
}

/* damaged: in a way that is to be noticed. */
static void build(char *name, FILE *nowhere, int damaged)
{
	struct report_options options = { .level = REPORT_POSSIBLE };
	struct db db;

	if (!db_create(&db, DB_MEMORY) && !load_traces(&db, &name, 1, NULL, 0) && !analyze(&db)) {
		check_rows(&db);
		if (damaged && losses_effect(&db) < LOSS_INCOMPLETE) {
			fprintf(stderr, "a damaged trace passes for whole\n");
			abort();
		}
		merge_begin(&db);
		merge_findings(&db, 0);
		report_text(&db, &options, nowhere);
		report_json(&db, &options, nowhere);
		report_html(&db, &options, nowhere);
	}
	db_close(&db);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static FILE *nowhere;
	static char name[32];
	static int fd;
	int damaged = trace_is_damaged(data, &size);

	if (!nowhere) {
		/* A third of the time goes into SQLite's allocations: with FUZZ_FAST unchecked. */
		if (getenv("FUZZ_FAST"))
			sqlite3_config(SQLITE_CONFIG_MALLOC, &unchecked);
		nowhere = fopen("/dev/null", "w");
		fd = fuzz_memory_file(name);
	}
	if (!nowhere || ftruncate(fd, 0) || pwrite(fd, data, size, 0) != (ssize_t)size)
		exit(2);
	build(name, nowhere, damaged);
	return 0;
}

int fuzz_seed(unsigned n, char *const *path, unsigned count, struct fuzz_input *seed)
{
	if (n >= count)
		return 0;
	return fuzz_read_trace(path[n], seed) ? -1 : 1;
}
