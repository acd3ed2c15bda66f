/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "html.h"
#include "output.h"
#include "print.h"
#include "report.h"

/* A decimal number: 0, or -1 after a message. */
static int parse_number(const char *name, const char *value, int64_t least, int64_t *number)
{
	char *end;

	errno = 0;
	*number = strtoll(value, &end, 10);
	if (!errno && end != value && !*end && *number >= least && *number <= 1000000000)
		return 0;
	print(stderr, "cufence report: %s is a number%s, not '%s'\n", name,
		least ? " from 1 on" : "", value);
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
			"cufence report: --level is certain, likely or possible, not "
			"'%s'\n",
			level);
		return -1;
	}
	return 0;
}

static const struct format {
	const char *name;
	int (*report)(struct db *, const struct report_options *, FILE *);
	int top; /* findings, unless another number is asked for; 0: all */
} formats[] = {
	{ "text", report_text, REPORT_TOP },
	/* A program that reads the findings has no use for a part of them; a page has room. */
	{ "json", report_json, 0 },
	{ "html", report_html, 0 },
};

static const struct format *find_format(const char *name)
{
	for (size_t i = 0; i < sizeof(formats) / sizeof(*formats); i++)
		if (!strcmp(name ? name : "text", formats[i].name))
			return &formats[i];
	print(stderr, "cufence report: --format is text, json or html, not '%s'\n", name);
	return NULL;
}

static int parse_options(const struct arguments *arguments, const struct format *format,
	struct report_options *options)
{
	int64_t top = format->top;

	if (parse_level(option(arguments, "--level"), options))
		return -1;
	if (option(arguments, "--top") &&
		parse_number("--top", option(arguments, "--top"), 0, &top))
		return -1;
	options->top = (int)top;
	if (!option(arguments, "--finding"))
		return 0;
	options->level = REPORT_POSSIBLE; /* who names one wants to see it */
	return parse_number("--finding", option(arguments, "--finding"), 1, &options->finding);
}

int cmd_report(const struct arguments *arguments)
{
	const struct format *format = find_format(option(arguments, "--format"));
	const char *path = option(arguments, "-o");
	struct report_options options = { .color = !path && report_color(stdout),
		.width = path ? 0 : report_width(stdout) };
	int rc = -1;
	char *target = NULL;
	FILE *out = stdout;
	struct db db;

	if (!format || parse_options(arguments, format, &options) ||
		db_open(&db, database_operand(arguments), DB_READ))
		return EXIT_TROUBLE;
	if (path && is_same_file(path, database_operand(arguments))) {
		print(stderr, "cufence report: '%s' is what is to be read\n", path);
		goto out;
	}
	if (path && !(target = output_target(path)))
		goto out;
	if (path)
		out = fopen(path, "w");
	if (out)
		rc = format->report(&db, &options, out);
	if (db.failed)
		rc = -1;
	/* Standard output is looked at in the end, for all commands. */
	if (!out || (path && (fflush(out) || ferror(out)))) {
		print(stderr, "cufence: cannot write '%s': %s\n", path, strerror(errno));
		rc = -1;
	}
	if (path && out)
		fclose(out);
out:
	free(target);
	db_close(&db);
	return rc ? EXIT_TROUBLE : 0;
}
