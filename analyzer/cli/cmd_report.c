/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "filter_options.h"
#include "formats.h"
#include "full_names.h"
#include "merge.h"
#include "output.h"
#include "print.h"
#include "ranks.h"
#include "report_request.h"
#include "verdict.h"

/* A decimal number: 0, or -1 after a message. */
static int parse_number(const char *name, const char *value, int64_t least, int64_t *number)
{
	char *end;

	errno = 0;
	*number = strtoll(value, &end, 10);
	if (!errno && end != value && !*end && *number >= least && *number <= 1000000000)
		return 0;
	print(stderr, "cufence: %s is a number%s, not '%s'\n", name, least ? " from 1 on" : "",
		value);
	return -1;
}

static int parse_level(const char *level, struct report_options *options)
{
	if (!level || !strcmp(level, "likely"))
		options->level = REPORT_LIKELY;
	else if (!strcmp(level, "certain"))
		options->level = REPORT_CERTAIN;
	else if (!strcmp(level, "possible"))
		options->level = REPORT_POSSIBLE;
	else {
		print(stderr,
			"cufence: --level is certain, likely or possible, not "
			"'%s'\n",
			level);
		return -1;
	}
	return 0;
}

static int parse_color(const char *when, struct report_options *options)
{
	static const char *const choices[] = { "auto", "always", "never" };

	for (int i = 0; i < 3; i++)
		if (!strcmp(when ? when : "auto", choices[i])) {
			options->color = i;
			return 0;
		}
	print(stderr, "cufence: --color is auto, always or never, not '%s'\n", when);
	return -1;
}

static int parse_finding(const struct arguments *arguments, struct report_options *options)
{
	const char *finding = option_if_any(arguments, "--finding");

	if (!finding)
		return 0;
	options->level = REPORT_POSSIBLE; /* a finding that is asked for is shown */
	return parse_number("--finding", *finding == '#' ? finding + 1 : finding, 1,
		&options->finding);
}

static int parse_options(const struct arguments *arguments, const struct format *format,
	struct report_options *options)
{
	const char *all = option(arguments, "--all");
	int64_t top = all ? 0 : format->top;

	if (all && option(arguments, "--level")) {
		fputs("cufence: --all already shows every level: leave out --level\n", stderr);
		return -1;
	}
	if (parse_level(all ? "possible" : option(arguments, "--level"), options) ||
		parse_color(option(arguments, "--color"), options))
		return -1;
	if (option(arguments, "--top") &&
		parse_number("--top", option(arguments, "--top"), 0, &top))
		return -1;
	options->top = (int)top;
	options->all = all != NULL;
	return parse_finding(arguments, options);
}

/* Of the ranks of a merged database, which has no findings of its own. */
static int write_ranks(struct db *db, struct report_request *request, FILE *out)
{
	if (format_is_text(request->format))
		return ranks_print(db, request->options.top, out);
	if (!strcmp(request->format->name, "json"))
		return ranks_json(db, out);
	print(stderr,
		"cufence: '%s' is a merged database, of which there is text and json; name a "
		"rank's own for other formats\n",
		db->path);
	return -1;
}

/* A timeline shows where each process was at it, so its findings are not merged. */
static int write_report(struct db *db, struct report_request *request, FILE *out)
{
	int is_timeline = request->format->export != NULL;
	int (*write)(struct db *, FILE *) =
		request->format->check ? request->format->check : request->format->export;

	if (verdict_begin(db) || (!is_timeline && merge_findings(db, request->options.finding)) ||
		filter_findings(db, &request->filter, &request->filtered))
		return -1;
	request->options.filter = request->filtered;
	if (request->format->report)
		return request->format->report(db, &request->options, out);
	/* Formats of others have no place for it. */
	if (request->options.filter)
		print(stderr, "cufence: %s\n", request->options.filter);
	return verdict_of_report(db, &request->options) || write(db, out) ? -1 : 0;
}

enum disclosure request_disclosure(const struct arguments *arguments)
{
	return option(arguments, "--redact")                 ? DISCLOSE_LEAST
		: option_if_any(arguments, "--command-line") ? DISCLOSE_ALL
							     : DISCLOSE_PROGRAM;
}

/* The name of the format, NULL: by the file; "" after a message. */
static const char *format_name(const struct arguments *arguments)
{
	const char *name = option(arguments, "--format");

	if (!option_if_any(arguments, "--patch"))
		return name;
	if (!name)
		return "patch";
	fputs("cufence: --patch is a format: leave out --format\n", stderr);
	return "";
}

int report_request_read(const struct arguments *arguments, const char *file,
	struct report_request *request)
{
	const char *name = format_name(arguments);

	*request = (struct report_request){ .path = option(arguments, file) };
	if (!name || *name)
		request->format = format_find(arguments->command->name, name, request->path);
	request->disclosure = request_disclosure(arguments);
	request->full_names = option(arguments, "--full-names") != NULL;
	if (!request->format)
		return -1;
	/* People read text where the program ran. */
	if (format_is_text(request->format) && request->disclosure == DISCLOSE_PROGRAM)
		request->disclosure = DISCLOSE_ALL;
	return filter_options_read(arguments, &request->filter) ||
			parse_options(arguments, request->format, &request->options)
		? -1
		: 0;
}

/* Colors and line width depend on where the report goes. */
static void fit_to(struct report_options *options, const char *path, FILE *out)
{
	enum { AUTO, ALWAYS };

	options->color =
		options->color == ALWAYS || (options->color == AUTO && !path && report_color(out));
	options->width = path ? 0 : report_width(out);
}

int report_request_write(struct report_request *request, const char *database,
	enum db_access access, FILE *standard)
{
	const char *path = request->path;
	struct output output = { .file = standard };
	struct db db;
	int rc = -1;

	fit_to(&request->options, path, standard);
	if (db_open(&db, database, access))
		return -1;
	if (path && is_same_file(path, database)) {
		print(stderr, "cufence: '%s' is the database: name another file\n", path);
		goto out;
	}
	if (disclose(&db, request->disclosure) || (request->full_names && full_names_use(&db)) ||
		(path && output_open(&output, "cufence", path)))
		goto out;
	rc = (ranks_is_merged(&db) ? write_ranks : write_report)(&db, request, output.file);
	if (db.failed)
		rc = -1;
	/* main() checks standard output for all commands. */
	if (path && output_close(&output, "cufence", !rc))
		rc = -1;
out:
	sqlite3_free(request->filtered);
	request->filtered = NULL;
	db_close(&db);
	return rc;
}

int cmd_report(const struct arguments *arguments)
{
	struct report_request request;

	return report_request_read(arguments, "-o", &request) ||
			report_request_write(&request, database_operand(arguments), DB_READ, stdout)
		? EXIT_TROUBLE
		: 0;
}
