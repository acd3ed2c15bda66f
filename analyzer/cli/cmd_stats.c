/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "filter_options.h"
#include "formats.h"
#include "output.h"
#include "print.h"
#include "query_rows.h"
#include "stats.h"

#define STATS_TOP 10 /* names of a section in a text */

struct request {
	struct stats_filter filter;
	const char *path;   /* of the output, or NULL */
	const char *format; /* text, csv or json */
	int top;            /* 0: all */
};

static int complain(const char *name, const char *what, const char *value)
{
	print(stderr, "cufence stats: %s is %s, not '%s'\n", name, what, value);
	return -1;
}

/* Without --format the file's ending decides. */
static int parse_format(const struct arguments *arguments, struct request *request)
{
	const char *format = option(arguments, "--format");
	const char *ending = format_ending(request->path);

	request->format = format ? format : "text";
	if (!format && ending && strcmp(ending, "txt"))
		request->format = ending;
	return !strcmp(request->format, "text") || !strcmp(request->format, "csv") ||
			!strcmp(request->format, "json")
		? 0
		: format ? complain("--format", "text, csv or json", format)
			 : complain("the ending of -o",
				   ".text, .txt, .csv or .json, or give "
				   "--format",
				   request->path);
}

static int parse_top(const char *value, struct request *request)
{
	char *end;
	long top;

	request->top = strcmp(request->format, "text") ? 0 : STATS_TOP;
	if (!value)
		return 0;
	errno = 0;
	top = strtol(value, &end, 10);
	if (errno || end == value || *end || top < 0 || top > 1000000000)
		return complain("--top", "a number", value);
	request->top = (int)top;
	return 0;
}

/* Reads seconds up to the end or a colon; DB_NULL if there are none. */
static int parse_seconds(const char **text, int64_t *ns)
{
	char *end;
	double seconds = strtod(*text, &end);

	if (!(seconds >= 0 && seconds < 1e9))
		return -1;
	*ns = end == *text ? DB_NULL : (int64_t)(seconds * 1e9 + 0.5);
	*text = end;
	return 0;
}

/* "1.5:2", "1.5:" or ":2" */
static int parse_time(const char *value, struct filter *filter)
{
	const char *rest = value;

	filter->from = filter->until = DB_NULL;
	return !value ||
			(!parse_seconds(&rest, &filter->from) && *rest++ == ':' &&
				!parse_seconds(&rest, &filter->until) && !*rest)
		? 0
		: -1;
}

int filter_options_read(const struct arguments *arguments, struct filter *filter)
{
	*filter = (struct filter){
		.stream = option_if_any(arguments, "--stream"),
		.kernel = option_if_any(arguments, "--kernel"),
		.range = option_if_any(arguments, "--range"),
		.process = option_if_any(arguments, "--process"),
		.thread = option_if_any(arguments, "--thread"),
		.time = option_if_any(arguments, "--time"),
	};
	if (!parse_time(filter->time, filter))
		return 0;
	print(stderr, "cufence %s: --time is FROM:UNTIL in seconds of the run, not '%s'\n",
		arguments->command->name, filter->time);
	return -1;
}

static int parse_section(const char *name, struct stats_filter *filter)
{
	const struct stats_section *section = stats_sections;

	filter->section = name;
	while (name && section->name && strcmp(section->name, name))
		section++;
	return section->name ? 0
			     : complain("--section",
				       "turns, kernels, copies, calls, waits, memory, streams or "
				       "ranges",
				       name);
}

static int parse(const struct arguments *arguments, struct request *request)
{
	const char *by = option(arguments, "--by");

	*request = (struct request){
		.path = option(arguments, "-o"),
		.filter.by_loop = by != NULL,
	};
	if (by && strcmp(by, "loop"))
		return complain("--by", "loop", by);
	return parse_format(arguments, request) || parse_top(option(arguments, "--top"), request) ||
			filter_options_read(arguments, &request->filter.only) ||
			parse_section(option(arguments, "--section"), &request->filter)
		? -1
		: 0;
}

static int write_rows(struct db *db, const struct request *request, FILE *out)
{
	sqlite3_stmt *q = db_prepare(db, stats_rows_sql);
	int rc = q && !db_bind(q, "i", (int64_t)request->top)
		? query_rows(q, strcmp(request->format, "csv") ? QUERY_JSON : QUERY_CSV, 1, out)
		: -1;

	sqlite3_finalize(q);
	return rc;
}

/* Statistics of nothing are a mistake in what was asked for, or there was nothing to record. */
static int read_stats(struct db *db, const struct request *request)
{
	if (request->filter.by_loop && !db_int(db, "SELECT EXISTS (SELECT 1 FROM loop)", 0)) {
		fputs("cufence stats: the run has no loop: leave out --by\n", stderr);
		return -1;
	}
	if (stats_read(db, &request->filter))
		return -1;
	if (db_int(db, "SELECT EXISTS (SELECT 1 FROM temp.stats)", 1))
		return 0;
	fputs("cufence stats: the run has nothing of that (see \"cufence help stats\")\n", stderr);
	return -1;
}

static int write_stats(struct db *db, const struct request *request)
{
	struct output output = { .file = stdout };
	int rc;

	if (read_stats(db, request) ||
		(request->path && output_open(&output, "cufence", request->path)))
		return -1;
	rc = !strcmp(request->format, "text")
		? stats_text(db, &request->filter, request->top, output.file)
		: write_rows(db, request, output.file);
	if (db->failed)
		rc = -1;
	if (request->path && output_close(&output, "cufence", !rc))
		rc = -1;
	return rc;
}

int cmd_stats(const struct arguments *arguments)
{
	const char *database = database_operand(arguments), *path = option(arguments, "-o");
	struct request request;
	struct db db;
	int rc;

	if (path && is_same_file(path, database)) {
		print(stderr, "cufence: '%s' is the database: name another file\n", path);
		return EXIT_TROUBLE;
	}
	if (parse(arguments, &request))
		return EXIT_TROUBLE;
	if (db_open(&db, database, DB_READ))
		return EXIT_TROUBLE;
	rc = write_stats(&db, &request);
	db_close(&db);
	return rc ? EXIT_TROUBLE : 0;
}
