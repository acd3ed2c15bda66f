/* SPDX-License-Identifier: Apache-2.0 */
#include "baseline.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "format.h"
#include "output.h"
#include "print.h"

static int add_line(sqlite3_stmt *q, char *line)
{
	size_t length = strcspn(line, "\t\r\n");

	while (length && line[length - 1] == ' ')
		length--;
	line[length] = '\0';
	return length && *line != '#' ? db_run(q, "s", line) : 0;
}

int baseline_read(struct db *db, const char *path)
{
	FILE *file = fopen(path, "r");
	sqlite3_stmt *q = NULL;
	char *line = NULL;
	size_t size = 0;
	int rc = -1;

	if (!file) {
		print(stderr,
			"cufence check: cannot open the baseline '%s': %s (--write-baseline makes "
			"one)\n",
			path, strerror(errno));
		return -1;
	}
	q = db_prepare(db, "INSERT OR IGNORE INTO temp.baseline VALUES (?)");
	rc = q ? 0 : -1;
	while (!rc && getline(&line, &size, file) >= 0)
		rc = add_line(q, line);
	if (!rc && ferror(file)) {
		print(stderr, "cufence check: cannot read '%s': %s\n", path, strerror(errno));
		rc = -1;
	}
	free(line);
	fclose(file);
	sqlite3_finalize(q);
	return rc;
}

static const char places_sql[] =
	"SELECT p.fingerprint, f.rule, coalesce(s.text, ''), coalesce(o.text, ''), sum(p.count),"
	" sum(p.waited), sum(p.delayed) FROM temp.verdict v JOIN finding_place p ON p.id = v.place"
	" JOIN finding f ON f.id = v.finding LEFT JOIN site s ON s.id = p.site"
	" LEFT JOIN site o ON o.id = p.other_site WHERE v.state <> 'suppressed'"
	" GROUP BY p.fingerprint ORDER BY p.fingerprint";

static void put_place(sqlite3_stmt *q, FILE *out)
{
	long long count = sqlite3_column_int64(q, 4);
	char time[DURATION_SIZE];

	print(out, "%s\t%s\t%s\t%s\t%lld time%s", db_text(q, 0), db_text(q, 1), db_text(q, 2),
		db_text(q, 3), count, count == 1 ? "" : "s");
	if (sqlite3_column_int64(q, 5))
		print(out, ", %s host wait", format_duration(time, sqlite3_column_int64(q, 5)));
	if (sqlite3_column_int64(q, 6))
		print(out, ", %s device delay", format_duration(time, sqlite3_column_int64(q, 6)));
	fputc('\n', out);
}

static int64_t put_places(struct db *db, FILE *out)
{
	sqlite3_stmt *q = db_prepare(db, places_sql);
	int64_t count = 0;
	int step = -1;

	fputs("# Findings that \"cufence check --baseline\" accepts: fingerprint, rule, at, for, "
	      "cost.\n"
	      "# \"cufence check --write-baseline\" writes this file anew.\n",
		out);
	while (q && (step = db_step(q)) > 0) {
		put_place(q, out);
		count++;
	}
	sqlite3_finalize(q);
	return step ? -1 : count;
}

int64_t baseline_write(struct db *db, const char *path)
{
	struct output output;
	int64_t count;

	if (output_open(&output, "cufence check", path))
		return -1;
	count = put_places(db, output.file);
	return output_close(&output, "cufence check", count >= 0) ? -1 : count;
}
