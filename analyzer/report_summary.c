/* SPDX-License-Identifier: Apache-2.0 */
#include "report.h"

#include <string.h>

#include "format.h"
#include "losses.h"

/* Time in which at least one operation ran: each adds what the earlier ones did not cover. */
static const char busy_sql[] =
	"SELECT sum(max(0, end - max(start, coalesce(reach, start)))) FROM ("
	" SELECT start, end, max(end) OVER (ORDER BY start, id"
	"  ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS reach"
	" FROM operation WHERE start IS NOT NULL AND end IS NOT NULL)";

static int64_t duration(struct db *db)
{
	return db_int(db, "SELECT max(end) - min(start) FROM process", 0);
}

/* "3 kernel, 2 memcpy" from a query of counts and names. */
static int print_counts(struct db *db, const char *sql, FILE *out)
{
	sqlite3_stmt *q = db_prepare(db, sql);
	const char *separator = "";
	int step = -1;

	while (q && (step = db_step(q)) > 0) {
		fprintf(out, "%s%lld %s", separator, (long long)sqlite3_column_int64(q, 0),
			(const char *)sqlite3_column_text(q, 1));
		separator = ", ";
	}
	sqlite3_finalize(q);
	return step;
}

static void print_run(struct db *db, FILE *out)
{
	char whole[DURATION_SIZE], inside[DURATION_SIZE];
	long long processes = db_int(db, "SELECT count(*) FROM process", 0);
	long long threads = db_int(db, "SELECT count(*) FROM thread WHERE id IN "
		"(SELECT thread FROM call)", 0);

	fprintf(out,
		"    run      %s, %lld process%s, %lld thread%s, %lld CUDA calls (%s inside)\n",
		format_duration(whole, duration(db)), processes, processes == 1 ? "" : "es",
		threads, threads == 1 ? "" : "s",
		(long long)db_int(db, "SELECT count(*) FROM call WHERE parent IS NULL", 0),
		format_duration(inside,
			db_int(db, "SELECT sum(exit - enter) FROM call WHERE parent IS NULL", 0)));
}

/* Which part of the run was recorded, and what decided it. */
static int print_recording(struct db *db, FILE *out)
{
	char inside[DURATION_SIZE], whole[DURATION_SIZE];
	sqlite3_stmt *q = db_prepare(db, "SELECT coalesce(sum(work), 0),"
		" coalesce(sum((end - start) * work), 0), coalesce(sum(end - start), 0),"
		" replace(group_concat(DISTINCT cause) FILTER (WHERE cause <> 'start'),"
		"  ',', ', ') FROM recording"
		" WHERE EXISTS (SELECT 1 FROM recording WHERE NOT work)");
	int step = q ? db_step(q) : -1;

	if (step > 0 && sqlite3_column_int64(q, 2)) {
		long long windows = sqlite3_column_int64(q, 0);
		fprintf(out, "    recorded %s of %s, in %lld window%s (by %s); shares are of "
			"that\n",
			format_duration(inside, sqlite3_column_int64(q, 1)),
			format_duration(whole, sqlite3_column_int64(q, 2)), windows,
			windows == 1 ? "" : "s", (const char *)sqlite3_column_text(q, 3));
	}
	sqlite3_finalize(q);
	return step < 0 ? -1 : 0;
}

/* Without the stretches in which no work was recorded. */
static int64_t duration_recorded(struct db *db)
{
	return duration(db) - db_int(db, "SELECT coalesce(sum(end - start), 0) FROM recording"
		" WHERE NOT work AND (SELECT count(*) FROM process) = 1", 0);
}

static int print_device(struct db *db, FILE *out)
{
	char busy[DURATION_SIZE], share[DURATION_SIZE];
	int64_t whole = duration_recorded(db), used = db_int(db, busy_sql, 0);
	sqlite3_stmt *q = db_prepare(db, "SELECT DISTINCT name || CASE "
		"WHEN simulated AND name NOT LIKE '%simulated%' THEN ' (simulated)' ELSE '' END "
		"FROM device JOIN process ON process.id = device.process");
	int step = -1;

	while (q && (step = db_step(q)) > 0)
		fprintf(out, "    device   %s\n", (const char *)sqlite3_column_text(q, 0));
	sqlite3_finalize(q);
	if (step || !db_int(db, "SELECT count(*) FROM operation", 0))
		return step;
	fputs("    work     ", out);
	if (print_counts(db, "SELECT count(*), kind FROM operation GROUP BY kind ORDER BY 1 DESC",
		    out) < 0)
		return -1;
	fprintf(out, "; busy %s (%s)\n", format_duration(busy, used),
		format_share(share, whole > 0 ? (double)used / (double)whole : 0));
	return 0;
}

static int print_streams(struct db *db, FILE *out)
{
	if (!db_int(db, "SELECT count(*) FROM stream", 0))
		return 0;
	fputs("    streams  ", out);
	if (print_counts(db, "SELECT count(*), kind FROM stream GROUP BY kind ORDER BY kind", out))
		return -1;
	fputc('\n', out);
	return 0;
}

/* Settings that change what the numbers mean. */
static int print_properties(struct db *db, FILE *out)
{
	static const struct { const char *name, *value, *meaning; } known[] = {
		{ "CUDA_LAUNCH_BLOCKING", "1", ": every launch waits for its kernel, so nothing "
			"overlaps" },
		{ "CUDA_MODULE_LOADING", "EAGER", ": kernels are loaded at the start" },
		{ "PYTORCH_NO_CUDA_MEMORY_CACHING", "1", ": every tensor is a cudaMalloc and a "
			"cudaFree" },
	};
	sqlite3_stmt *q = db_prepare(db, "SELECT DISTINCT name, value FROM property "
		"WHERE name GLOB '[A-Z]*' ORDER BY name");
	int step = -1;

	while (q && (step = db_step(q)) > 0) {
		const char *name = (const char *)sqlite3_column_text(q, 0);
		const char *value = (const char *)sqlite3_column_text(q, 1), *meaning = "";
		for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
			if (!strcmp(name, known[i].name) && !strcmp(value, known[i].value))
				meaning = known[i].meaning;
		fprintf(out, "    set      %s=%s%s\n", name, value, meaning);
	}
	sqlite3_finalize(q);
	return step;
}

/* Why the lines of a script are missing, if they are. */
static int print_scripts(struct db *db, FILE *out)
{
	sqlite3_stmt *q = db_prepare(db, "SELECT DISTINCT substr(value, 7) FROM property "
		"WHERE name = 'python.frames' AND value GLOB 'none: *'");
	int step = -1;

	while (q && (step = db_step(q)) > 0)
		fprintf(out, "    note: no lines of scripts are shown: %s\n",
			(const char *)sqlite3_column_text(q, 0));
	sqlite3_finalize(q);
	return step;
}

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

static int print_losses(struct db *db, FILE *out)
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

static int print_hung(struct db *db, FILE *out)
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

int report_summary(struct db *db, FILE *out)
{
	sqlite3_stmt *q = db_prepare(db, "SELECT coalesce(command, '') FROM run");

	if (q && db_step(q) > 0 && *sqlite3_column_text(q, 0))
		fprintf(out, "cufence: %s\n", (const char *)sqlite3_column_text(q, 0));
	sqlite3_finalize(q);
	if (!db_int(db, "SELECT count(*) FROM call", 0)) {
		fputs("    nothing was traced: no CUDA call was recorded\n", out);
		return print_losses(db, out);
	}
	print_run(db, out);
	if (print_recording(db, out) || print_device(db, out) || print_streams(db, out) ||
		print_properties(db, out) ||
		print_scripts(db, out) || print_hung(db, out))
		return -1;
	return print_losses(db, out);
}
