/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "command.h"
#include "db.h"
#include "diff.h"
#include "print.h"

#define EXIT_WORSE 1

static int complain(const char *what)
{
	print(stderr, "cufence diff: %s (see \"cufence help diff\")\n", what);
	return -1;
}

/* How many operands are runs before the change: two need no "--", more do.  -1 after a message. */
static int count_before(const struct arguments *arguments)
{
	if (arguments->separator <= 0 && arguments->count == 2)
		return 1;
	if (arguments->separator <= 0)
		return complain("put -- between the runs before the change and those after it");
	if (arguments->separator == arguments->count)
		return complain("no run after the --");
	return arguments->separator;
}

static int add(struct db *diff, const char *path, int after)
{
	struct db run;
	int rc;

	if (db_open(&run, path, DB_READ))
		return -1;
	rc = diff_add(diff, &run, after);
	if (run.failed)
		rc = -1;
	db_close(&run);
	return rc;
}

/* The exit status. */
static int compare(struct db *diff, const struct arguments *arguments, int before, int json)
{
	for (int i = 0; i < arguments->count; i++)
		if (add(diff, arguments->operand[i], i >= before))
			return EXIT_TROUBLE;
	if (diff_compare(diff) || (json ? diff_json : diff_print)(diff, stdout) || diff->failed)
		return EXIT_TROUBLE;
	return db_int(diff,
		       "SELECT EXISTS (SELECT 1 FROM temp.change WHERE state IN ('new', 'worse'))",
		       1)
		? EXIT_WORSE
		: 0;
}

int cmd_diff(const struct arguments *arguments)
{
	const char *format = option(arguments, "--format");
	int before = count_before(arguments), status;
	struct db diff;

	if (format && strcmp(format, "text") && strcmp(format, "json")) {
		print(stderr, "cufence diff: --format is text or json, not '%s'\n", format);
		return EXIT_TROUBLE;
	}
	if (before < 0 || diff_open(&diff))
		return EXIT_TROUBLE;
	status = compare(&diff, arguments, before, format && !strcmp(format, "json"));
	db_close(&diff);
	return status;
}
