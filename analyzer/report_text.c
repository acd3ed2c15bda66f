/* SPDX-License-Identifier: Apache-2.0 */
#include "report.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "format.h"
#include "losses.h"
#include "report_parts.h"
#include "report_timeline.h"
#include "rules.h"

/*
 * One line is mended once, whomever it is in the way of: findings of one rule at one place are
 * told together, as "rank" 1, 2, ... of the costliest.  The call of either side is named as the
 * user wrote it: its outermost call, or cudart's name.
 */
#define LINE_OF(f, s) \
	"coalesce(" s ".function || ' ' || " s ".text, " s ".text, -" f ".id)"
#define GRADE "CASE f.severity WHEN 'high' THEN 0 WHEN 'medium' THEN 1 ELSE 2 END"
static const char finding_sql[] =
	"WITH RECURSIVE up(call, id, parent) AS ("
	" SELECT id, id, parent FROM call WHERE id IN (SELECT other_call FROM finding)"
	" UNION ALL SELECT up.call, call.id, call.parent FROM up JOIN call ON call.id = up.parent),"
	" chosen AS (SELECT f.id, first_value(f.id) OVER same AS first,"
	"  row_number() OVER same AS rank,"
	"  first_value(f.share) OVER same AS share, first_value(" GRADE ") OVER same AS grade"
	"  FROM finding f LEFT JOIN call c ON c.id = f.call LEFT JOIN site s ON s.id = f.site"
	"  WHERE %s AND (?1 = 0 OR f.id = ?1)"
	"  WINDOW same AS (PARTITION BY f.rule, c.process, " LINE_OF("f", "s")
	"   ORDER BY " GRADE ", f.share DESC, f.id))"
	" SELECT f.id, f.rule, f.message, f.confidence, f.severity, f.count, f.waited, f.saving, "
	"f.saving_low,"
	"  f.saving_high, f.share,"
	"  at.function, at.text, other.function, other.text, kernel.name,"
	"  coalesce(CASE WHEN t.runtime THEN t.name END, other.api, t.name), f.site, f.other_site,"
	"  chosen.rank"
	" FROM chosen JOIN finding f ON f.id = chosen.id"
	" LEFT JOIN site at ON at.id = f.site"
	" LEFT JOIN site other ON other.id = f.other_site"
	" LEFT JOIN call c ON c.id = f.other_call"
	" LEFT JOIN kernel ON kernel.id = c.kernel"
	" LEFT JOIN up ON up.call = f.other_call AND up.parent IS NULL"
	" LEFT JOIN call o ON o.id = up.id"
	" LEFT JOIN call_type t ON t.id = o.type"
	" ORDER BY chosen.grade, chosen.share DESC, chosen.first, chosen.rank";

enum finding_column {
	COL_ID, COL_RULE, COL_MESSAGE, COL_CONFIDENCE, COL_SEVERITY, COL_COUNT, COL_WAITED,
	COL_SAVING, COL_SAVING_LOW, COL_SAVING_HIGH, COL_SHARE,
	COL_FUNCTION, COL_TEXT, COL_OTHER_FUNCTION, COL_OTHER_TEXT, COL_OTHER_KERNEL,
	COL_OTHER_CALL, COL_SITE, COL_OTHER_SITE, COL_RANK
};
#define MOST_FOR 3 /* of findings told together, those whose "for" is printed */
#define MOST_FROM 3 /* callers */

/* Where else to change the program, named as in finding_sql. */
static const char also_sql[] =
	"WITH RECURSIVE up(call, id, parent) AS ("
	" SELECT id, id, parent FROM call WHERE id IN"
	"  (SELECT call FROM finding_also WHERE finding = ?1)"
	" UNION ALL SELECT up.call, call.id, call.parent FROM up JOIN call ON call.id = up.parent)"
	" SELECT coalesce('launch of ' || kernel.name, CASE WHEN t.runtime THEN t.name END, s.api,"
	"  t.name), s.text, s.function, count(*) OVER () FROM finding_also a"
	" JOIN finding f ON f.id = a.finding LEFT JOIN site at ON at.id = f.site"
	" JOIN site s ON s.id = a.site AND s.text IS NOT at.text JOIN call c ON c.id = a.call"
	" LEFT JOIN kernel ON kernel.id = c.kernel"
	" JOIN up ON up.call = a.call AND up.parent IS NULL"
	" JOIN call o ON o.id = up.id JOIN call_type t ON t.id = o.type"
	" WHERE a.finding = ?1 GROUP BY s.text ORDER BY min(a.call)";

/* Who called the place of a site: the program's frames further out, as far as they have names. */
static const char callers_sql[] =
	"SELECT function, file, line FROM frame WHERE site = ?1 AND user = 1"
	" AND function NOT NULL AND function <> '_start' AND depth >"
	"  (SELECT min(depth) FROM frame WHERE site = ?1 AND user = 1) ORDER BY depth";

/*
 * Who calls the line of a finding where that has several callers, as a wrapper has, or is none to
 * change: in a destructor, in a library without lines.  Of its own site, and those of its line that
 * are to be changed with it.
 */
static const char from_sql[] =
	"WITH own AS (SELECT * FROM site WHERE id = ?1),"
	" at AS MATERIALIZED (SELECT s.id, own.line AS line FROM site s JOIN own"
	"  ON s.process = own.process AND s.function IS own.function AND s.text IS own.text),"
	" caller AS MATERIALIZED (SELECT f.* FROM at JOIN frame f ON f.site = at.id AND f.depth ="
	"  (SELECT c.depth FROM frame c WHERE c.site = at.id AND c.user = 1"
	"   AND c.function <> '_start' AND (at.line NOT NULL OR c.line NOT NULL) AND c.depth >"
	"    (SELECT min(depth) FROM frame WHERE site = at.id AND user = 1)"
	"   ORDER BY c.depth LIMIT 1))"
	" SELECT function, file, line, count(*) OVER () FROM caller"
	" WHERE (site = ?1 OR site IN (SELECT site FROM finding_also WHERE finding = ?2))"
	" AND ((SELECT count(*) FROM (SELECT DISTINCT function, file, line FROM caller)) > 1"
	"  OR (SELECT line IS NULL OR function LIKE '~%' FROM own))"
	" GROUP BY function, file, line ORDER BY min(site)";

/* A stream's number is CUPTI's and stands nowhere in the program: where that made it. */
static const char streams_sql[] =
	"SELECT DISTINCT t.cupti_id, t.kind, s.text, s.function FROM finding f"
	" JOIN call c ON c.id IN (f.call, f.other_call) JOIN stream t ON t.id = c.stream"
	" JOIN call m ON m.id = t.created JOIN site s ON s.id = m.site"
	" WHERE f.id = ? AND t.cupti_id NOT NULL ORDER BY t.cupti_id";

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
		sqlite3_column_int64(row, saving + 1) ?
			format_duration(low, sqlite3_column_int64(row, saving + 1)) :
			"0",
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

/* cuMemFree_v2 is written cuMemFree. */
static int written_length(const char *name)
{
	int length = (int)strlen(name);

	if (!strncmp(name, "cu", 2) && isupper((unsigned char)name[2]) && length > 3 &&
		!strncmp(name + length - 3, "_v", 2))
		length -= 3;
	return length;
}

static void name_other(sqlite3_stmt *row, char *what, size_t size)
{
	const char *call = text(row, COL_OTHER_CALL);

	if (*text(row, COL_OTHER_KERNEL))
		snprintf(what, size, "launch of %s", text(row, COL_OTHER_KERNEL));
	else
		snprintf(what, size, "%.*s", written_length(call), call);
}

static void print_for(sqlite3_stmt *row, const char *what, int width, FILE *out)
{
	long long count = sqlite3_column_int64(row, COL_COUNT);

	if (!*what && !*text(row, COL_OTHER_TEXT))
		return;
	fprintf(out, "    for  %-*s  %s%s%s", width, what, text(row, COL_OTHER_TEXT),
		*text(row, COL_OTHER_FUNCTION) ? " in " : "", text(row, COL_OTHER_FUNCTION));
	if (sqlite3_column_int64(row, COL_RANK) > 1)
		fprintf(out, " (%lld time%s)", count, count == 1 ? "" : "s");
	fputc('\n', out);
}

static int print_from(struct db *db, sqlite3_stmt *row, int width, FILE *out)
{
	sqlite3_stmt *q = db_prepare(db, from_sql);
	int step = q ? db_bind(q, "ii", sqlite3_column_int64(row, COL_SITE),
			       sqlite3_column_int64(row, COL_ID)) : -1;

	for (int printed = 0; !step && printed < MOST_FROM && (step = db_step(q)) > 0; printed++) {
		const char *file = (const char *)sqlite3_column_text(q, 1);

		step = 0;
		if (printed == MOST_FROM - 1 && sqlite3_column_int(q, 3) > MOST_FROM) {
			fprintf(out, "    from %d more\n", sqlite3_column_int(q, 3) - printed);
			break;
		}
		if (file)
			fprintf(out, "    from %-*s  %s:%d\n", width,
				(const char *)sqlite3_column_text(q, 0),
				strrchr(file, '/') ? strrchr(file, '/') + 1 : file,
				sqlite3_column_int(q, 2));
		else
			fprintf(out, "    from %s\n", (const char *)sqlite3_column_text(q, 0));
	}
	sqlite3_finalize(q);
	return step < 0 ? -1 : 0;
}

static int print_places(struct db *db, sqlite3_stmt *row, FILE *out)
{
	char what[400];
	int width = 20, other = (int)strlen(text(row, COL_FUNCTION));

	if (other > width)
		width = other;
	name_other(row, what, sizeof(what));
	if ((int)strlen(what) > width)
		width = (int)strlen(what);
	if (*text(row, COL_TEXT))
		fprintf(out, "    at   %-*s  %s\n", width,
			*text(row, COL_FUNCTION) ? text(row, COL_FUNCTION) : "?",
			text(row, COL_TEXT));
	else
		fputs("    at   a place that was not recorded\n", out);
	if (print_from(db, row, width, out))
		return -1;
	print_for(row, what, width, out);
	return 0;
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

static int print_streams(struct db *db, int64_t finding, FILE *out)
{
	sqlite3_stmt *q = db_prepare(db, streams_sql);
	int step = -1;

	if (q && !db_bind(q, "i", finding))
		while ((step = db_step(q)) > 0) {
			const char *function = (const char *)sqlite3_column_text(q, 3);

			fprintf(out, "    stream %lld (%s) made at %s%s%s\n",
				(long long)sqlite3_column_int64(q, 0),
				(const char *)sqlite3_column_text(q, 1),
				(const char *)sqlite3_column_text(q, 2), function ? " in " : "",
				function ? function : "");
		}
	sqlite3_finalize(q);
	return step;
}

static int print_also(struct db *db, int64_t finding, FILE *out)
{
	sqlite3_stmt *q = db_prepare(db, also_sql);
	int step = q ? db_bind(q, "i", finding) : -1;

	for (int printed = 0; !step && printed < MOST_FOR && (step = db_step(q)) > 0; printed++) {
		const char *name = (const char *)sqlite3_column_text(q, 0);
		const char *function = (const char *)sqlite3_column_text(q, 2);

		step = 0;
		if (printed == MOST_FOR - 1 && sqlite3_column_int(q, 3) > MOST_FOR) {
			fprintf(out, "    also %d more\n", sqlite3_column_int(q, 3) - printed);
			break;
		}
		fprintf(out, "    also %-20.*s  %s%s%s\n", written_length(name), name,
			(const char *)sqlite3_column_text(q, 1), function ? " in " : "",
			function ? function : "");
	}
	sqlite3_finalize(q);
	return step < 0 ? -1 : 0;
}

/* The finding that is being printed. */
struct told {
	int64_t finding;               /* 0: none yet */
	const struct rule_info *rule;
	int64_t others;                /* told with it */
};

/* What ends a finding, behind all that it is for. */
static int print_end(struct db *db, const struct told *told, FILE *out)
{
	if (!told->finding)
		return 0;
	if (told->others > MOST_FOR - 1)
		fprintf(out, "    for  %lld more\n", (long long)told->others - (MOST_FOR - 1));
	if (print_also(db, told->finding, out))
		return -1;
	if (told->rule) {
		fprintf(out, "    fix  %s\n", told->rule->advice);
		if (told->rule->link && *told->rule->link)
			fprintf(out, "    see  %s\n", told->rule->link);
	}
	return 0;
}

static int print_finding(struct db *db, sqlite3_stmt *row, const struct rule_info *rule,
	const struct report_options *options, FILE *out)
{
	fprintf(out, "\n%s%s: %s%s  [%s, %s] #%lld\n", options->color ? "\033[1m" : "",
		text(row, COL_RULE), text(row, COL_MESSAGE), options->color ? "\033[0m" : "",
		text(row, COL_CONFIDENCE), text(row, COL_SEVERITY),
		(long long)sqlite3_column_int64(row, COL_ID));
	print_cost(row, rule, out);
	return print_places(db, row, out);
}

/* What the findings of each process save together, or why that is not known. */
static int print_together(struct db *db, FILE *out)
{
	sqlite3_stmt *q = db_prepare(db, "SELECT r.saving, r.saving_low, r.saving_high, "
		"cast(r.saving AS REAL) / max(r.measured, 1), r.refusal, p.pid, "
		"(SELECT count(*) FROM process), (SELECT count(DISTINCT f.rule || "
		LINE_OF("f", "s") ") FROM finding f JOIN call c ON c.id = f.call "
		" LEFT JOIN site s ON s.id = f.site "
		" WHERE f.shown AND c.process = p.id) AS shown "
		"FROM replay r JOIN process p ON p.id = r.process WHERE shown ORDER BY p.id");
	int step = -1;

	while (q && (step = db_step(q)) > 0) {
		const char *refusal = (const char *)sqlite3_column_text(q, 4);

		if (!refusal && (sqlite3_column_type(q, 0) == SQLITE_NULL ||
					sqlite3_column_int64(q, 7) < 2))
			continue;
		if (refusal) {
			fprintf(out, "\nno closer estimate of what would be saved: %s", refusal);
		} else {
			fputs("\nall findings together: ", out);
			print_saving(q, 0, sqlite3_column_double(q, 3), out);
			fputs(" of the run would be saved", out);
		}
		if (sqlite3_column_int64(q, 6) > 1)
			fprintf(out, " [pid %lld]", (long long)sqlite3_column_int64(q, 5));
		fputc('\n', out);
	}
	sqlite3_finalize(q);
	return step;
}

/* Those that are told together are one. */
static int64_t count_findings(struct db *db, const char *condition)
{
	char *sql = sqlite3_mprintf("SELECT count(*) FROM (SELECT DISTINCT f.rule, c.process, "
		LINE_OF("f", "s") " FROM finding f LEFT JOIN call c ON c.id = f.call "
		"LEFT JOIN site s ON s.id = f.site WHERE %s)", condition);
	int64_t count = sql ? db_int(db, sql, 0) : 0;

	sqlite3_free(sql);
	return count;
}

/* Many lines that make one mistake may each be below the threshold. */
#define SUM_MIN_SHARE 0.05
static int print_sum(struct db *db, FILE *out)
{
	sqlite3_stmt *q = db_prepare(db, "SELECT f.rule, min(sum(f.share), 1) FROM finding f "
		"LEFT JOIN call c ON c.id = f.call WHERE NOT f.shown GROUP BY f.rule, c.process "
		"HAVING count(*) > 1 ORDER BY sum(f.share) DESC LIMIT 1");
	char share[DURATION_SIZE];
	int step = q ? db_step(q) : -1;

	if (step > 0 && sqlite3_column_double(q, 1) >= SUM_MIN_SHARE)
		fprintf(out, "; those of %s %s of the run in sum",
			(const char *)sqlite3_column_text(q, 0),
			format_share(share, sqlite3_column_double(q, 1)));
	sqlite3_finalize(q);
	return step < 0 ? -1 : 0;
}

static int print_rest(struct db *db, const struct report_options *options, int64_t printed,
	FILE *out)
{
	int64_t chosen = count_findings(db, report_condition(options->level));
	int64_t all = count_findings(db, "1");

	if (!printed && !options->finding)
		fprintf(out, "\nno findings%s\n", losses_incomplete(db) ?
			", but the trace is incomplete" : "");
	if (printed)
		fprintf(out, "\none finding with its timeline: "
			"cufence report --finding NUMBER %s\n", db->path);
	if (chosen > printed)
		fprintf(out, "\n%lld more: cufence report --top %lld %s\n",
			(long long)(chosen - printed), (long long)chosen, db->path);
	if (all <= chosen)
		return 0;
	fprintf(out, "\n%lld below the threshold or less certain", (long long)(all - chosen));
	if (print_sum(db, out))
		return -1;
	fprintf(out, ": cufence report --level possible %s\n", db->path);
	return 0;
}

/* What only one finding alone is told with. */
static int print_details(struct db *db, sqlite3_stmt *row, int64_t finding, FILE *out)
{
	return print_callers(db, row, COL_SITE, "at", out) ||
	       print_callers(db, row, COL_OTHER_SITE, "for", out) ||
	       print_streams(db, finding, out) ||
	       report_timeline(db, finding, out) ? -1 : 0;
}

/* Returns how many were printed, -1 after a message. */
static int64_t print_findings(struct db *db, sqlite3_stmt *q, const struct report_options *options,
	FILE *out)
{
	struct told told = { 0 };
	int64_t printed = 0;
	char what[400];
	int step;

	while ((step = db_step(q)) > 0) {
		if (sqlite3_column_int64(q, COL_RANK) > 1) {
			name_other(q, what, sizeof(what));
			if (++told.others < MOST_FOR)
				print_for(q, what, 20, out);
			continue;
		}
		if (print_end(db, &told, out))
			return -1;
		if (options->top && printed == options->top)
			return printed;
		told = (struct told){ .finding = sqlite3_column_int64(q, COL_ID),
			.rule = rule_find(text(q, COL_RULE)) };
		if (print_finding(db, q, told.rule, options, out))
			return -1;
		printed++;
		if (options->finding)
			return print_end(db, &told, out) ||
			       print_details(db, q, options->finding, out) ? -1 : printed;
	}
	return step || print_end(db, &told, out) ? -1 : printed;
}

static int print_report(struct db *db, const struct report_options *options, FILE *out)
{
	char *sql = sqlite3_mprintf(finding_sql, report_condition(options->level));
	sqlite3_stmt *q = sql ? db_prepare(db, sql) : NULL;
	int64_t printed = -1;
	int failed = -1;

	sqlite3_free(sql);
	if (!q || report_summary(db, out) || db_bind(q, "i", options->finding))
		goto out;
	printed = print_findings(db, q, options, out);
	if (printed < 0)
		goto out;
	if (options->finding && !printed) {
		fprintf(stderr, "cufence: there is no finding %lld\n", (long long)options->finding);
		goto out;
	}
	failed = options->finding ? 0 : print_together(db, out);
	if (!failed && !options->finding && db_int(db, "SELECT count(*) FROM call", 0))
		failed = print_rest(db, options, printed, out);
out:
	sqlite3_finalize(q);
	return failed;
}

int report_text(struct db *db, const struct report_options *options, FILE *out)
{
	char *text = NULL;
	size_t size;
	FILE *memory = open_memstream(&text, &size);
	int rc = memory ? print_report(db, options, memory) : -1;

	if (!memory || fclose(memory)) {
		fputs("cufence: out of memory\n", stderr);
		rc = -1;
	}
	if (text)
		report_wrap(text, options->width, out);
	free(text);
	return rc;
}
