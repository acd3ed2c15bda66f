/* SPDX-License-Identifier: Apache-2.0 */
#include "report_parts.h"

#include <string.h>

#include "losses.h"

/* The texts hold at most one %lld, which is the count. */
static void print_loss_text(const char *text, long long count, FILE *out)
{
	const char *mark = strstr(text, "%lld");

	if (mark)
		fprintf(out, "%.*s%lld%s", (int)(mark - text), text, count, mark + 4);
	else
		fputs(text, out);
}

/* Why there is no device side.  holder: another tool, NULL: not known. */
static void print_cupti(const char *state, int error, const char *holder, FILE *out)
{
	if (!strcmp(state, "busy"))
		fprintf(out, " (CUPTI busy: it serves one tool at a time, here %s)",
			holder ? holder : "another profiler");
	else if (!strcmp(state, "failed"))
		fprintf(out, " (CUPTI failed, error %d)", error);
	else
		fprintf(out, " (CUPTI %s)", state);
}

int report_losses(struct db *db, FILE *out)
{
	sqlite3_stmt *q = db_prepare(db, "SELECT reason, count, pid, cupti, cupti_error, "
		"(SELECT value FROM property WHERE property.process = process.id "
		" AND name = 'cupti.holder') "
		"FROM loss JOIN process ON id = process ORDER BY process, reason");
	int step = -1;

	while (q && (step = db_step(q)) > 0) {
		const char *reason = (const char *)sqlite3_column_text(q, 0);
		const struct loss *loss = loss_find(reason);
		if (loss && !loss->text)
			continue;
		fprintf(out, "    %s ", !loss || loss->incomplete ? "incomplete:" : "note:");
		print_loss_text(loss ? loss->text : reason, sqlite3_column_int64(q, 1), out);
		if (!strcmp(reason, "host_only"))
			print_cupti((const char *)sqlite3_column_text(q, 3),
				sqlite3_column_int(q, 4),
				(const char *)sqlite3_column_text(q, 5), out);
		fprintf(out, " [pid %lld]\n", (long long)sqlite3_column_int64(q, 2));
	}
	sqlite3_finalize(q);
	return step;
}

/* The last call of a thread that never returned from it, as the user wrote it. */
static const char hung_sql[] =
	"SELECT coalesce(CASE WHEN t.runtime THEN t.name END, s.api, t.name), s.function, s.text,"
	"  p.pid, h.tid FROM call c JOIN call_type t ON t.id = c.type"
	" JOIN process p ON p.id = c.process JOIN thread h ON h.id = c.thread"
	" LEFT JOIN site s ON s.id = c.site"
	" WHERE c.exit IS NULL AND c.parent IS NULL AND NOT p.closed AND NOT EXISTS ("
	"  SELECT 1 FROM call l WHERE l.thread = c.thread AND l.parent IS NULL AND l.id > c.id)"
	" ORDER BY c.id LIMIT 20";

int report_hung(struct db *db, FILE *out)
{
	sqlite3_stmt *q = db_prepare(db, hung_sql);
	int step = -1;

	while (q && (step = db_step(q)) > 0) {
		const char *function = (const char *)sqlite3_column_text(q, 1);
		const char *place = (const char *)sqlite3_column_text(q, 2);
		fprintf(out, "    hung     %s had not returned when the process ended: %s, %s "
			"[pid %lld, thread %lld]\n", (const char *)sqlite3_column_text(q, 0),
			function ? function : "?", place ? place : "?",
			(long long)sqlite3_column_int64(q, 3),
			(long long)sqlite3_column_int64(q, 4));
	}
	sqlite3_finalize(q);
	return step;
}
