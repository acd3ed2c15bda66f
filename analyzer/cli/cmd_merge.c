/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "analyze.h"
#include "command.h"
#include "db.h"
#include "memory.h"
#include "print.h"
#include "ranks.h"
#include "store.h"

enum { TOP = 10 }; /* findings in a text */

/* A trace is analyzed in memory: who wants its details loads it. */
static int add_trace(struct db *merged, const char *path)
{
	char *trace = xstrdup(path);
	struct analyze_input input = { .trace = &trace, .count = 1 };
	struct db run;
	int rc;

	rc = db_create(&run, DB_MEMORY);
	if (!rc) {
		rc = analyze_traces(&run, &input) || ranks_add(merged, &run, path) ? -1 : 0;
		db_close(&run);
	}
	free(trace);
	return rc;
}

static int add_database(struct db *merged, const char *path)
{
	struct db run;
	int rc;

	if (db_open(&run, path, DB_READ))
		return -1;
	if (ranks_is_merged(&run)) {
		print(stderr, "cufence merge: '%s' is a merged database: name those of the ranks\n",
			path);
		rc = -1;
	} else {
		rc = ranks_add(merged, &run, path);
	}
	if (run.failed)
		rc = -1;
	db_close(&run);
	return rc;
}

static int add(struct db *merged, const char *path)
{
	return db_recognize(path) ? add_database(merged, path) : add_trace(merged, path);
}

static int fill(struct db *merged, const void *argument)
{
	const struct arguments *arguments = argument;

	return db_exec(merged, "BEGIN") ||
			ranks_add_all(merged, arguments->operand + 1, (size_t)arguments->count - 1,
				add) ||
			ranks_compare(merged) || db_exec(merged, "COMMIT") || merged->failed
		? -1
		: 0;
}

static int show(const char *path, int json)
{
	struct db merged;
	int rc;

	if (db_open(&merged, path, DB_OWN))
		return -1;
	rc = json ? ranks_json(&merged, stdout) : ranks_print(&merged, TOP, stdout);
	if (merged.failed)
		rc = -1;
	db_close(&merged);
	return rc;
}

/* "cufence merge *.db" must not replace the first rank's database.  0, or -1 after a message. */
static int check_output(const char *path)
{
	struct db there;
	int merged;

	if (!db_recognize(path))
		return 0;
	if (db_open(&there, path, DB_READ))
		return -1;
	merged = ranks_is_merged(&there);
	db_close(&there);
	if (merged)
		return 0;
	print(stderr, "cufence merge: '%s' is the database of a run: name the one to write first\n",
		path);
	return -1;
}

int cmd_merge(const struct arguments *arguments)
{
	const char *format = option(arguments, "--format"), *path = arguments->operand[0];

	if (format && strcmp(format, "text") && strcmp(format, "json")) {
		print(stderr, "cufence merge: --format is text or json, not '%s'\n", format);
		return EXIT_TROUBLE;
	}
	for (int i = 1; i < arguments->count; i++)
		if (is_same_file(path, arguments->operand[i])) {
			print(stderr,
				"cufence merge: '%s' is the database to write and one to read: "
				"name the one to write first\n",
				path);
			return EXIT_TROUBLE;
		}
	return check_output(path) || store_make(path, fill, arguments) ||
			show(path, format && !strcmp(format, "json"))
		? EXIT_TROUBLE
		: 0;
}
