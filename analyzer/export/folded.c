/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "export.h"
#include "print.h"
#include "report_facts.h"
#include "report_internal.h"

static const char gaps_sql[] =
	"SELECT iif((SELECT count(DISTINCT process) FROM account) > 1, 'pid ' || p.pid || ';', ''),"
	" coalesce('device ' || a.device || ' idle', 'host'), a.site,"
	" shared_frame(a.from_site, a.site), sum(a.time), coalesce(f.text, '?'),"
	" coalesce(t.text, '?')"
	" FROM account a JOIN process p ON p.id = a.process LEFT JOIN site f ON f.id = a.from_site"
	" LEFT JOIN site t ON t.id = a.site WHERE a.cause IN ('outside', 'computing')"
	" GROUP BY a.process, a.device, a.from_site, a.site"
	" ORDER BY a.process, a.device IS NULL, a.device, 5 DESC, 3";
enum gaps_column { GAP_PROCESS, GAP_WHOSE, GAP_SITE, GAP_DEPTH, GAP_TIME, GAP_FROM, GAP_TO };

/* The outermost first. */
static const char frames_sql[] = "SELECT f.function, " REPORT_FILE
				 " FROM frame f WHERE f.site = ? AND f.depth >= ?"
				 " AND " REPORT_IS_NAMED " ORDER BY f.depth DESC";

/* Semicolons separate frames. */
static int put_frame(FILE *out, const char *format, const char *name, const char *file)
{
	char *text;

	if (asprintf(&text, format, name, file) < 0) {
		fputs("cufence: out of memory\n", stderr);
		return -1;
	}
	for (char *c = text; *c; c++)
		*c = *c == ';' ? ',' : *c;
	print(out, ";%s", text);
	free(text);
	return 0;
}

static int put_frames(struct db *db, sqlite3_stmt *gap, FILE *out)
{
	sqlite3_stmt *q = db_prepare(db, frames_sql);
	int step = q ? db_bind(q, "ii", sqlite3_column_int64(gap, GAP_SITE),
			       sqlite3_column_int64(gap, GAP_DEPTH))
		     : -1;

	while (!step && (step = db_step(q)) > 0)
		step = put_frame(out, *db_text(q, 1) ? "%s (%s)" : "%s%s", db_text(q, 0),
			db_text(q, 1));
	sqlite3_finalize(q);
	return step;
}

int export_folded(struct db *db, FILE *out)
{
	sqlite3_stmt *q = report_functions(db) ? NULL : db_prepare(db, gaps_sql);
	int step = q ? 0 : -1;

	while (!step && (step = db_step(q)) > 0) {
		print(out, "%s%s", db_text(q, GAP_PROCESS), db_text(q, GAP_WHOSE));
		if (sqlite3_column_type(q, GAP_DEPTH) != SQLITE_NULL)
			step = put_frames(db, q, out);
		else
			step = put_frame(out, "from %s to %s", db_text(q, GAP_FROM),
				db_text(q, GAP_TO));
		print(out, " %lld\n", (long long)sqlite3_column_int64(q, GAP_TIME));
	}
	sqlite3_finalize(q);
	return step;
}
