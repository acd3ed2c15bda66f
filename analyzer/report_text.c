/* SPDX-License-Identifier: Apache-2.0 */
#include "report.h"

#include <stdlib.h>
#include <string.h>

#include "format.h"
#include "report_timeline.h"
#include "rules.h"

/* The call of either side is named as the user wrote it: its outermost call, or cudart's name. */
static const char finding_sql[] =
	"WITH RECURSIVE up(call, id, parent) AS ("
	" SELECT id, id, parent FROM call WHERE id IN (SELECT other_call FROM finding)"
	" UNION ALL SELECT up.call, call.id, call.parent FROM up JOIN call ON call.id = up.parent)"
	" SELECT f.rule, f.message, f.confidence, f.severity, f.count, f.waited, f.saving, "
	"f.saving_low,"
	"  f.saving_high, f.share,"
	"  at.function, at.text, other.function, other.text, kernel.name,"
	"  coalesce(CASE WHEN t.runtime THEN t.name END, other.api, t.name), f.site, f.other_site"
	" FROM finding f"
	" LEFT JOIN site at ON at.id = f.site"
	" LEFT JOIN site other ON other.id = f.other_site"
	" LEFT JOIN call c ON c.id = f.other_call"
	" LEFT JOIN kernel ON kernel.id = c.kernel"
	" LEFT JOIN up ON up.call = f.other_call AND up.parent IS NULL"
	" LEFT JOIN call o ON o.id = up.id"
	" LEFT JOIN call_type t ON t.id = o.type"
	" WHERE %s AND (?1 = 0 OR f.id = ?1)"
	" ORDER BY CASE f.severity WHEN 'high' THEN 0 WHEN 'medium' THEN 1 ELSE 2 END,"
	"  f.share DESC, f.id LIMIT ?2";

enum finding_column {
	COL_RULE, COL_MESSAGE, COL_CONFIDENCE, COL_SEVERITY, COL_COUNT, COL_WAITED, COL_SAVING,
	COL_SAVING_LOW, COL_SAVING_HIGH, COL_SHARE,
	COL_FUNCTION, COL_TEXT, COL_OTHER_FUNCTION, COL_OTHER_TEXT, COL_OTHER_KERNEL,
	COL_OTHER_CALL, COL_SITE, COL_OTHER_SITE
};

/* Who called the place of a site: the program's frames further out, as far as they have names. */
static const char callers_sql[] =
	"SELECT function, file, line FROM frame WHERE site = ?1 AND user = 1"
	" AND function NOT NULL AND depth >"
	"  (SELECT min(depth) FROM frame WHERE site = ?1 AND user = 1) ORDER BY depth";

static const char *text(sqlite3_stmt *row, enum finding_column column)
{
	const char *value = (const char *)sqlite3_column_text(row, column);

	return value ? value : "";
}

/* "about 96 ms (80 ms to 110 ms, 11 %)", or "at most 96 ms (11 %)" where low is not known. */
static void print_saving(sqlite3_stmt *row, int saving, double share, FILE *out)
{
	char best[DURATION_SIZE], low[DURATION_SIZE], high[DURATION_SIZE], part[DURATION_SIZE];

	format_duration(best, sqlite3_column_int64(row, saving));
	format_share(part, share);
	if (sqlite3_column_type(row, saving + 1) == SQLITE_NULL) {
		fprintf(out, "at most %s (%s)", best, part);
		return;
	}
	fprintf(out, "about %s (%s to %s, %s)", best,
		format_duration(low, sqlite3_column_int64(row, saving + 1)),
		format_duration(high, sqlite3_column_int64(row, saving + 2)), part);
}

static void print_cost(sqlite3_stmt *row, const struct rule_info *rule, FILE *out)
{
	char waited[DURATION_SIZE], share[DURATION_SIZE];
	long long count = sqlite3_column_int64(row, COL_COUNT);
	int overlap = rule && !strcmp(rule->group, "serialization");

	fprintf(out, "    %lld time%s", count, count == 1 ? "" : "s");
	if (sqlite3_column_int64(row, COL_WAITED))
		fprintf(out, ", %s %s", format_duration(waited,
			sqlite3_column_int64(row, COL_WAITED)),
			overlap ? "of overlap lost" : "host wait");
	format_share(share, sqlite3_column_double(row, COL_SHARE));
	if (sqlite3_column_type(row, COL_SAVING) != SQLITE_NULL) {
		fputs("; ", out);
		print_saving(row, COL_SAVING, sqlite3_column_double(row, COL_SHARE), out);
		fputs(" of the run would be saved", out);
	} else if (sqlite3_column_double(row, COL_SHARE) > 0)
		fprintf(out, " (%s of the run)", share);
	fputc('\n', out);
}

static void print_places(sqlite3_stmt *row, FILE *out)
{
	char what[400];
	int width = 20, other = (int)strlen(text(row, COL_FUNCTION));

	if (other > width)
		width = other;
	if (*text(row, COL_OTHER_KERNEL))
		snprintf(what, sizeof(what), "launch of %s", text(row, COL_OTHER_KERNEL));
	else
		snprintf(what, sizeof(what), "%s", text(row, COL_OTHER_CALL));
	if ((int)strlen(what) > width)
		width = (int)strlen(what);
	if (*text(row, COL_TEXT))
		fprintf(out, "    at   %-*s  %s\n", width,
			*text(row, COL_FUNCTION) ? text(row, COL_FUNCTION) : "?",
			text(row, COL_TEXT));
	else
		fputs("    at   a place that was not recorded\n", out);
	if (*what || *text(row, COL_OTHER_TEXT))
		fprintf(out, "    for  %-*s  %s%s%s\n", width, what, text(row, COL_OTHER_TEXT),
			*text(row, COL_OTHER_FUNCTION) ? " in " : "",
			text(row, COL_OTHER_FUNCTION));
}

static int print_callers(struct db *db, sqlite3_stmt *row, enum finding_column column,
	const char *title, FILE *out)
{
	sqlite3_stmt *q = db_prepare(db, callers_sql);
	int step = -1;

	if (q && !db_bind(q, "i", sqlite3_column_int64(row, column)))
		while ((step = db_step(q)) > 0) {
			const char *name = (const char *)sqlite3_column_text(q, 0);
			const char *file = (const char *)sqlite3_column_text(q, 1);

			fprintf(out, "    %-4s called from ", title);
			if (file)
				fprintf(out, "%-20s  %s:%d\n", name, file,
					sqlite3_column_int(q, 2));
			else
				fprintf(out, "%s\n", name);
			title = "";
		}
	sqlite3_finalize(q);
	return step;
}

static void print_finding(sqlite3_stmt *row, const struct report_options *options, FILE *out)
{
	const struct rule_info *rule = rule_find(text(row, COL_RULE));

	fprintf(out, "\n%s%s: %s%s  [%s, %s]\n", options->color ? "\033[1m" : "",
		text(row, COL_RULE), text(row, COL_MESSAGE), options->color ? "\033[0m" : "",
		text(row, COL_CONFIDENCE), text(row, COL_SEVERITY));
	print_cost(row, rule, out);
	print_places(row, out);
	if (!rule)
		return;
	fprintf(out, "    fix  %s\n", rule->advice);
	if (rule->link && *rule->link)
		fprintf(out, "    see  %s\n", rule->link);
}

/* What the findings of each process save together, or why that is not known. */
static int print_together(struct db *db, FILE *out)
{
	sqlite3_stmt *q = db_prepare(db, "SELECT r.saving, r.saving_low, r.saving_high, "
		"cast(r.saving AS REAL) / max(r.measured, 1), r.refusal, p.pid, "
		"(SELECT count(*) FROM process), (SELECT count(*) FROM finding f "
		" JOIN call c ON c.id = f.call WHERE f.shown AND c.process = p.id) AS shown "
		"FROM replay r JOIN process p ON p.id = r.process WHERE shown ORDER BY p.id");
	int step = -1;

	while (q && (step = db_step(q)) > 0) {
		const char *refusal = (const char *)sqlite3_column_text(q, 4);

		if (!refusal && (sqlite3_column_type(q, 0) == SQLITE_NULL ||
					sqlite3_column_int64(q, 7) < 2))
			continue;
		fputs(refusal ? "\nno estimate of what would be saved: " : "\ntogether ", out);
		if (refusal)
			fputs(refusal, out);
		else
			print_saving(q, 0, sqlite3_column_double(q, 3), out);
		fputs(refusal ? "" : " of the run would be saved", out);
		if (sqlite3_column_int64(q, 6) > 1)
			fprintf(out, " [pid %lld]", (long long)sqlite3_column_int64(q, 5));
		fputc('\n', out);
	}
	sqlite3_finalize(q);
	return step;
}

static int64_t count_findings(struct db *db, const char *condition)
{
	char *sql = sqlite3_mprintf("SELECT count(*) FROM finding f WHERE %s", condition);
	int64_t count = sql ? db_int(db, sql, 0) : 0;

	sqlite3_free(sql);
	return count;
}

static void print_rest(struct db *db, const struct report_options *options, int64_t printed,
	FILE *out)
{
	int64_t chosen = count_findings(db, report_condition(options->level));
	int64_t all = count_findings(db, "1");

	if (!printed && !options->finding)
		fputs("\nno findings\n", out);
	if (chosen > printed)
		fprintf(out, "\n%lld more: cufence report --top %lld %s\n",
			(long long)(chosen - printed), (long long)chosen, db->path);
	if (all > chosen)
		fprintf(out, "\n%lld below the threshold or less certain: "
			"cufence report --level possible %s\n", (long long)(all - chosen),
			db->path);
}

int report_text(struct db *db, const struct report_options *options, FILE *out)
{
	char *sql = sqlite3_mprintf(finding_sql, report_condition(options->level));
	sqlite3_stmt *q = sql ? db_prepare(db, sql) : NULL;
	int64_t printed = 0;
	int step = -1;

	sqlite3_free(sql);
	if (!q || report_summary(db, out) || db_bind(q, "ii", options->finding,
		    options->top ? (int64_t)options->top : (int64_t)-1))
		goto out;
	while ((step = db_step(q)) > 0) {
		print_finding(q, options, out);
		if (options->finding && (print_callers(db, q, COL_SITE, "at", out) ||
			print_callers(db, q, COL_OTHER_SITE, "for", out) ||
			report_timeline(db, options->finding, out)))
			goto out;
		printed++;
	}
	if (!step && !options->finding)
		step = print_together(db, out);
	if (!step && !options->finding && db_int(db, "SELECT count(*) FROM call", 0))
		print_rest(db, options, printed, out);
	if (!step && options->finding && !printed) {
		fprintf(stderr, "cufence: there is no finding %lld\n", (long long)options->finding);
		step = -1;
	}
out:
	sqlite3_finalize(q);
	return step;
}
