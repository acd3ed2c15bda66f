/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "command.h"
#include "db.h"
#include "diff.h"
#include "print.h"

#define EXIT_WORSE 1

/* The exit status. */
static int diff(struct db *before, struct db *after, int json)
{
	if (diff_read(before, after) || (json ? diff_json : diff_print)(after, stdout))
		return EXIT_TROUBLE;
	if (before->failed || after->failed)
		return EXIT_TROUBLE;
	return db_int(after,
		       "SELECT EXISTS (SELECT 1 FROM temp.change WHERE state IN ('new', 'worse'))",
		       1)
		? EXIT_WORSE
		: 0;
}

int cmd_diff(const struct arguments *arguments)
{
	const char *format = option(arguments, "--format");
	struct db before, after;
	int status = EXIT_TROUBLE;

	if (format && strcmp(format, "text") && strcmp(format, "json")) {
		print(stderr, "cufence diff: --format is text or json, not '%s'\n", format);
		return EXIT_TROUBLE;
	}
	if (db_open(&before, arguments->operand[0], DB_READ))
		return EXIT_TROUBLE;
	if (!db_open(&after, arguments->operand[1], DB_READ)) {
		status = diff(&before, &after, format && !strcmp(format, "json"));
		db_close(&after);
	}
	db_close(&before);
	return status;
}
