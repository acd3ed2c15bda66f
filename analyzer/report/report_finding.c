/* SPDX-License-Identifier: Apache-2.0 */
#include "report_finding.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "demangle_whole.h"
#include "evidence.h"
#include "format.h"
#include "kernel_names.h"
#include "print.h"
#include "report_parts.h"
#include "report_timeline.h"
#include "rules.h"
#include "shell.h"

#define MOST_PLACES 3 /* lines; --finding prints all */
#define MOST_ALSO 3
#define MOST_FROM 3 /* callers */

/* The line that place p at site s is printed under. */
#define LINE_OF_PLACE "coalesce(s.function || ' ' || s.text, s.text, -p.id)"

/* clang-format off */
static const char finding_sql[] =
	"SELECT f.id, f.rule, f.message, f.confidence, f.severity, f.site, f.other_site, "
	REPORT_COST_COLUMNS ", count(*), count(DISTINCT " LINE_OF_PLACE ")"
	" FROM finding f JOIN finding_place p ON p.finding = f.id"
	" LEFT JOIN site s ON s.id = p.site"
	" WHERE %s AND (?1 = 0 OR f.id = ?1) GROUP BY f.id ORDER BY f.id";
/* clang-format on */

enum finding_column {
	COL_ID,
	COL_RULE,
	COL_MESSAGE,
	COL_CONFIDENCE,
	COL_SEVERITY,
	COL_SITE,
	COL_OTHER_SITE,
	COL_COST,
	COL_PLACES = COL_COST + REPORT_COST_SIZE,
	COL_LINES
};

/* The call of either side is named as the user wrote it: its outermost call, or cudart's name. */
static const char place_sql[] =
	"WITH RECURSIVE up(call, id, parent) AS ("
	" SELECT id, id, parent FROM call WHERE id IN"
	"  (SELECT other_call FROM finding_place WHERE finding = ?1)"
	" UNION SELECT up.call, call.id, call.parent FROM up JOIN call ON call.id = up.parent)"
	" SELECT p.count, p.waited, p.delayed, p.saving, p.site, s.function, s.text, "
	"  other.function, other.text, " KERNEL_LABEL("kernel") ","
	"  coalesce(CASE WHEN t.runtime THEN t.name END, other.api, t.name), " LINE_OF_PLACE
	", " CONFIRMATION("p") " FROM finding_place p LEFT JOIN site s ON s.id = p.site"
	" LEFT JOIN site other ON other.id = p.other_site"
	" LEFT JOIN call c ON c.id = p.other_call"
	" LEFT JOIN kernel ON kernel.id = c.kernel"
	" LEFT JOIN up ON up.call = p.other_call AND up.parent IS NULL"
	" LEFT JOIN call o ON o.id = up.id"
	" LEFT JOIN call_type t ON t.id = o.type"
	" WHERE p.finding = ?1 AND (p.shown OR ?2) ORDER BY p.id";

enum place_column {
	PLACE_TIMES,
	PLACE_SAVING = PLACE_TIMES + 3,
	PLACE_SITE,
	PLACE_FUNCTION,
	PLACE_TEXT,
	PLACE_OTHER_FUNCTION,
	PLACE_OTHER_TEXT,
	PLACE_OTHER_KERNEL,
	PLACE_OTHER_CALL,
	PLACE_LINE,
	PLACE_CONFIRMATION
};

/* Other places that must change too, named as in place_sql. */
static const char also_sql[] =
	"WITH RECURSIVE up(call, id, parent) AS ("
	" SELECT id, id, parent FROM call WHERE id IN"
	"  (SELECT call FROM finding_also WHERE finding = ?1)"
	" UNION SELECT up.call, call.id, call.parent FROM up JOIN call ON call.id = up.parent)"
	" SELECT coalesce('launch of ' || " KERNEL_LABEL("kernel") ","
	"  CASE WHEN t.runtime THEN t.name END, s.api,"
	"  t.name), s.text, s.function, count(*) OVER () FROM finding_also a"
	" JOIN site s ON s.id = a.site JOIN call c ON c.id = a.call"
	" LEFT JOIN kernel ON kernel.id = c.kernel"
	" JOIN up ON up.call = a.call AND up.parent IS NULL"
	" JOIN call o ON o.id = up.id JOIN call_type t ON t.id = o.type"
	" WHERE a.finding = ?1 AND NOT EXISTS (SELECT 1 FROM finding_place p"
	"  JOIN site at ON at.id = p.site WHERE p.finding = ?1 AND at.text IS s.text)"
	" GROUP BY s.text ORDER BY min(a.call)";

/* The callers of a site's place: the program's outer frames that have names. */
static const char callers_sql[] =
	"SELECT function, file, line FROM frame WHERE site = ?1 AND user = 1"
	" AND function NOT NULL AND function <> '_start' AND depth >"
	"  (SELECT min(depth) FROM frame WHERE site = ?1 AND user = 1) ORDER BY depth";

/*
 * The callers of a finding's line, if it has several (a wrapper), or if nobody would change the
 * line itself (in a destructor, in a library without line information): of the finding's own site
 * and those of its line that change with it.  The table has an index, not views.
 */
static const char from_sql[] =
	"WITH own AS (SELECT * FROM main.site WHERE id = ?1),"
	" at AS MATERIALIZED (SELECT s.id, own.line AS line FROM main.site s JOIN own"
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

/* The place that created a stream, since CUPTI's stream numbers do not appear in the source. */
static const char streams_sql[] =
	"SELECT DISTINCT t.cupti_id, t.kind, s.text, s.function FROM finding_place p"
	" JOIN call c ON c.id IN (p.call, p.other_call) JOIN stream t ON t.id = c.stream"
	" JOIN call m ON m.id = t.created JOIN site s ON s.id = m.site"
	" WHERE p.finding = ? AND t.cupti_id NOT NULL ORDER BY t.cupti_id";

/*
 * A fence that is missing, at the worst instance of a finding's first place: the bytes in common,
 * of which allocation, made where; how close the two came; what each access is known from.
 */
static const char hazard_sql[] =
	"SELECT p.fix, " COMMON_BYTES("a") ", " WHOLE_BYTES("a")
	", a.memory, s.text, s.function, h.gap, h.evidence,"
	" h.other_evidence, h.id, v.name FROM finding_place p"
	" LEFT JOIN hazard h ON h.id = p.hazard LEFT JOIN variable v ON v.allocation = h.allocation"
	" LEFT JOIN allocation a ON a.id = h.allocation LEFT JOIN call c ON c.id = a.created"
	" LEFT JOIN site s ON s.id = c.site WHERE p.finding = ? ORDER BY p.id LIMIT 1";

enum hazard_column {
	HAZARD_FIX,
	HAZARD_BYTES,
	HAZARD_WHOLE,
	HAZARD_MEMORY,
	HAZARD_TEXT,
	HAZARD_FUNCTION,
	HAZARD_GAP,
	HAZARD_EVIDENCE,
	HAZARD_OTHER_EVIDENCE,
	HAZARD_ID,
	HAZARD_VARIABLE
};

static const char *text(sqlite3_stmt *row, int column)
{
	const char *value = (const char *)sqlite3_column_text(row, column);

	return value ? value : "";
}

/* --- numbers --- */

/* "about 96 ms (80 ms to 110 ms" or "at most 96 ms (" */
static void print_interval(sqlite3_stmt *row, int column, const char *separator, FILE *out)
{
	char best[DURATION_SIZE], low[DURATION_SIZE], high[DURATION_SIZE];

	format_duration(best, sqlite3_column_int64(row, column));
	if (sqlite3_column_type(row, column + 1) == SQLITE_NULL)
		print(out, "at most %s%s", best, *separator ? " (" : "");
	else
		print(out, "about %s (%s to %s%s", best,
			sqlite3_column_int64(row, column + 1)
				? format_duration(low, sqlite3_column_int64(row, column + 1))
				: "0",
			format_duration(high, sqlite3_column_int64(row, column + 2)),
			*separator ? separator : ")");
}

void report_print_saving(sqlite3_stmt *row, int column, FILE *out)
{
	int of_turns = sqlite3_column_type(row, column + 4) != SQLITE_NULL;
	char share[DURATION_SIZE], turn[DURATION_SIZE];

	format_share(share, sqlite3_column_double(row, column + 3));
	print_interval(row, column, of_turns ? "" : ", ", out);
	if (of_turns)
		print(out, " would be saved, %s or %s of each turn",
			format_duration(turn, sqlite3_column_int64(row, column + 4)), share);
	else
		print(out, "%s) of the run would be saved", share);
}

/* "12 times, 3.0 ms host wait, 20 ms device delay" of a count and both sums. */
static void print_times(sqlite3_stmt *row, int column, FILE *out)
{
	long long count = sqlite3_column_int64(row, column);
	int64_t waited = sqlite3_column_int64(row, column + 1);
	int64_t delayed = sqlite3_column_int64(row, column + 2);
	char time[DURATION_SIZE];

	print(out, "%lld time%s", count, count == 1 ? "" : "s");
	if (waited)
		print(out, ", %s host wait", format_duration(time, waited));
	if (delayed)
		print(out, ", %s device delay", format_duration(time, delayed));
}

/* Findings about order have no cost. */
static int costs_time(sqlite3_stmt *row, int column)
{
	return sqlite3_column_int64(row, column + 1) || sqlite3_column_int64(row, column + 2);
}

void report_print_cost(sqlite3_stmt *row, int column, FILE *out)
{
	print(out, "%s", text(row, column + REPORT_COST_SIZE - 1));
	print_times(row, column, out);
	if (!costs_time(row, column))
		return;
	fputs("; ", out);
	report_print_saving(row, column + 3, out);
}

/* --- places --- */

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
	const char *call = text(row, PLACE_OTHER_CALL);

	if (*text(row, PLACE_OTHER_KERNEL))
		snprintf(what, size, "launch of %s", text(row, PLACE_OTHER_KERNEL));
	else
		snprintf(what, size, "%.*s", written_length(call), call);
}

/* Layout of a finding's places. */
struct place_layout {
	int64_t finding;
	int lines, places;  /* it has */
	int width;          /* of the column before the place */
	char line[512];     /* printed last */
	sqlite3_stmt *from; /* from_sql */
};

static int print_from(sqlite3_stmt *row, const struct place_layout *layout, FILE *out)
{
	sqlite3_stmt *q = layout->from;
	int step = db_bind(q, "ii", sqlite3_column_int64(row, PLACE_SITE), layout->finding);

	for (int printed = 0; !step && printed < MOST_FROM && (step = db_step(q)) > 0; printed++) {
		const char *file = (const char *)sqlite3_column_text(q, 1);

		step = 0;
		if (printed == MOST_FROM - 1 && sqlite3_column_int(q, 3) > MOST_FROM) {
			print(out, "    from %d more\n", sqlite3_column_int(q, 3) - printed);
			break;
		}
		if (file)
			print(out, "    from %-*s  %s:%d\n", layout->width, db_text(q, 0),
				strrchr(file, '/') ? strrchr(file, '/') + 1 : file,
				sqlite3_column_int(q, 2));
		else
			print(out, "    from %s\n", db_text(q, 0));
	}
	sqlite3_reset(q);
	return step < 0 ? -1 : 0;
}

static int has_other(sqlite3_stmt *row)
{
	return *text(row, PLACE_OTHER_CALL) || *text(row, PLACE_OTHER_TEXT);
}

/* The cost of one place of several. */
static void print_part(sqlite3_stmt *row, const struct place_layout *layout, FILE *out)
{
	if (layout->places < 2)
		return;
	fputs("  (", out);
	print_times(row, PLACE_TIMES, out);
	fputc(')', out);
}

static int print_at(sqlite3_stmt *row, const struct place_layout *layout, FILE *out)
{
	char saving[DURATION_SIZE];

	if (*text(row, PLACE_TEXT))
		print(out, "    at   %-*s  %s", layout->width,
			*text(row, PLACE_FUNCTION) ? text(row, PLACE_FUNCTION) : "?",
			text(row, PLACE_TEXT));
	else
		fputs("    at   a place that was not recorded", out);
	if (layout->lines > 1 && sqlite3_column_type(row, PLACE_SAVING) != SQLITE_NULL)
		print(out, "  (alone about %s)",
			format_duration(saving, sqlite3_column_int64(row, PLACE_SAVING)));
	if (!has_other(row))
		print_part(row, layout, out);
	fputc('\n', out);
	return print_from(row, layout, out);
}

static void print_for(sqlite3_stmt *row, const char *what, const struct place_layout *layout,
	FILE *out)
{
	print(out, "    for  %-*s  %s%s%s", layout->width, what, text(row, PLACE_OTHER_TEXT),
		*text(row, PLACE_OTHER_FUNCTION) ? " in " : "", text(row, PLACE_OTHER_FUNCTION));
	print_part(row, layout, out);
	fputc('\n', out);
}

static int print_place(sqlite3_stmt *row, struct place_layout *layout, FILE *out)
{
	int length = (int)strlen(text(row, PLACE_FUNCTION));
	char what[400];

	name_other(row, what, sizeof(what));
	if (length > layout->width)
		layout->width = length;
	if ((int)strlen(what) > layout->width)
		layout->width = (int)strlen(what);
	if (strncmp(layout->line, text(row, PLACE_LINE), sizeof(layout->line) - 1)) {
		if (print_at(row, layout, out))
			return -1;
		snprintf(layout->line, sizeof(layout->line), "%s", text(row, PLACE_LINE));
	}
	if (has_other(row))
		print_for(row, what, layout, out);
	if (*text(row, PLACE_CONFIRMATION))
		print(out, "    test %s\n", text(row, PLACE_CONFIRMATION));
	return 0;
}

static int print_more(struct db *db, const struct place_layout *layout, int printed, FILE *out)
{
	int more = layout->places - printed;
	char *name = shell_word(db->path);

	if (!name)
		return -1;
	print(out, "    and  %d more place%s: cufence report --finding %lld %s\n", more,
		more == 1 ? "" : "s", (long long)layout->finding, name);
	free(name);
	return 0;
}

static int print_places(struct db *db, sqlite3_stmt *finding, int most, FILE *out)
{
	struct place_layout layout = { .finding = sqlite3_column_int64(finding, COL_ID),
		.places = sqlite3_column_int(finding, COL_PLACES),
		.lines = sqlite3_column_int(finding, COL_LINES),
		.width = 20,
		.from = db_prepare(db, from_sql) };
	sqlite3_stmt *q = layout.from ? db_prepare(db, place_sql) : NULL;
	int step = q ? db_bind(q, "ii", layout.finding, (int64_t)!most) : -1, printed = 0;

	while (!step && (!most || printed < most) && (step = db_step(q)) > 0) {
		step = print_place(q, &layout, out);
		printed++;
	}
	sqlite3_finalize(q);
	sqlite3_finalize(layout.from);
	if (!step && printed < layout.places)
		return print_more(db, &layout, printed, out);
	return step < 0 ? -1 : 0;
}

static int print_callers(struct db *db, int64_t site, const char *title, FILE *out)
{
	sqlite3_stmt *q = db_prepare(db, callers_sql);
	int step = -1;

	if (q && !db_bind(q, "i", site))
		while ((step = db_step(q)) > 0) {
			const char *name = db_text(q, 0);
			const char *file = (const char *)sqlite3_column_text(q, 1);

			print(out, "    %-4s called from ", title);
			if (file)
				print(out, "%-20s  %s:%d\n", name, file, sqlite3_column_int(q, 2));
			else
				print(out, "%s\n", name);
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

			print(out, "    stream %lld (%s) made at %s%s%s\n",
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

	for (int printed = 0; !step && printed < MOST_ALSO && (step = db_step(q)) > 0; printed++) {
		const char *name = db_text(q, 0);
		const char *function = (const char *)sqlite3_column_text(q, 2);

		step = 0;
		if (printed == MOST_ALSO - 1 && sqlite3_column_int(q, 3) > MOST_ALSO) {
			print(out, "    also %d more\n", sqlite3_column_int(q, 3) - printed);
			break;
		}
		print(out, "    also %-20.*s  %s%s%s\n", written_length(name), name,
			(const char *)sqlite3_column_text(q, 1), function ? " in " : "",
			function ? function : "");
	}
	sqlite3_finalize(q);
	return step < 0 ? -1 : 0;
}

static int print_races(struct db *db, int64_t finding, FILE *out)
{
	sqlite3_stmt *q = db_prepare(db,
		"SELECT message FROM finding_race WHERE finding = ? ORDER BY hazard");
	int step = q && !db_bind(q, "i", finding) ? 0 : -1;

	while (!step && (step = db_step(q)) > 0) {
		print(out, "    race %s\n", db_text(q, 0));
		step = 0;
	}
	sqlite3_finalize(q);
	return step;
}

/* --- fences that are missing --- */

/*
 * As the program writes it.  Variables of a file's own are in a namespace that nvcc makes:
 * _INTERNAL_, the file and a number.
 */
static const char *variable_name(const char *mangled, struct whole_name *name)
{
	static const char made[] = "_INTERNAL_";
	const char *own;

	if (demangle_whole(mangled, name))
		return mangled;
	own = strncmp(name->text, made, strlen(made)) ? NULL : strstr(name->text, "::");
	return own ? own + strlen("::") : name->text;
}

static void print_memory(sqlite3_stmt *row, FILE *out)
{
	char common[DURATION_SIZE], whole[DURATION_SIZE];
	struct whole_name name;
	const char *variable = variable_name(text(row, HAZARD_VARIABLE), &name);

	print(out, "    in   %s of %s%s%s%s",
		format_bytes(common, sqlite3_column_int64(row, HAZARD_BYTES)),
		format_bytes(whole, sqlite3_column_int64(row, HAZARD_WHOLE)),
		*variable ? " of variable '" : " (",
		*variable ? variable : text(row, HAZARD_MEMORY), *variable ? "'" : " memory)");
	if (!*variable && *text(row, HAZARD_TEXT))
		print(out, " allocated at %s%s%s", text(row, HAZARD_TEXT),
			*text(row, HAZARD_FUNCTION) ? " in " : "", text(row, HAZARD_FUNCTION));
	fputc('\n', out);
}

static void print_hazard(sqlite3_stmt *row, FILE *out)
{
	int64_t gap = sqlite3_column_int64(row, HAZARD_GAP);
	char time[DURATION_SIZE];

	print_memory(row, out);
	print(out, "    seen the later access in %s, the earlier one in %s\n",
		evidence_text(text(row, HAZARD_EVIDENCE)),
		evidence_text(text(row, HAZARD_OTHER_EVIDENCE)));
	if (sqlite3_column_type(row, HAZARD_GAP) == SQLITE_NULL)
		return;
	print(out, "    time the later one began %s %s the earlier one ended, in this run\n",
		format_duration(time, gap < 0 ? -gap : gap), gap < 0 ? "before" : "after");
}

static int print_fix(struct db *db, int64_t finding, const struct rule_info *rule, FILE *out)
{
	sqlite3_stmt *q = db_prepare(db, hazard_sql);
	int step = q && !db_bind(q, "i", finding) ? db_step(q) : -1;

	if (step > 0 && sqlite3_column_type(q, HAZARD_ID) != SQLITE_NULL)
		print_hazard(q, out);
	if (step > 0 && *text(q, HAZARD_FIX))
		print(out, "    fix  %s\n", text(q, HAZARD_FIX));
	else if (rule)
		print(out, "    fix  %s\n", rule->advice);
	sqlite3_finalize(q);
	return step < 0 ? -1 : 0;
}

/* --- findings --- */

/* Waits are measured, so "certain" is printed for races only. */
static const char *said_confidence(const struct rule_info *rule, const char *confidence)
{
	int is_measured = rule && strcmp(rule->group, "fences") != 0;

	return is_measured && !strcmp(confidence, "certain") ? "" : confidence;
}

/* Red, yellow or plain. */
static const char *severity_color(const char *severity)
{
	return !strcmp(severity, "high")      ? "\033[31m"
		: !strcmp(severity, "medium") ? "\033[33m"
					      : "";
}

static int print_finding(struct db *db, sqlite3_stmt *row, const struct report_options *options,
	FILE *out)
{
	const struct rule_info *rule = rule_find(text(row, COL_RULE));
	int lines = sqlite3_column_int(row, COL_LINES);
	const char *confidence = said_confidence(rule, text(row, COL_CONFIDENCE));

	fputs(options->color ? "\n\033[1m" : "\n", out);
	print(out, "%s: %s", text(row, COL_RULE), text(row, COL_MESSAGE));
	fputs(options->color ? "\033[0m" : "", out);
	fputs("  [", out);
	fputs(options->color ? severity_color(text(row, COL_SEVERITY)) : "", out);
	print(out, "%s%s%s", confidence, *confidence ? ", " : "", text(row, COL_SEVERITY));
	fputs(options->color ? "\033[0m" : "", out);
	print(out, "] #%lld\n    ", (long long)sqlite3_column_int64(row, COL_ID));
	report_print_cost(row, COL_COST, out);
	if (lines > 1)
		print(out,
			costs_time(row, COL_COST) ? ", if all %d lines are changed"
						  : ", at %d lines",
			lines);
	fputc('\n', out);
	if (print_places(db, row, options->finding || options->all ? 0 : MOST_PLACES, out) ||
		print_also(db, sqlite3_column_int64(row, COL_ID), out) ||
		print_fix(db, sqlite3_column_int64(row, COL_ID), rule, out) ||
		print_races(db, sqlite3_column_int64(row, COL_ID), out))
		return -1;
	if (rule && rule->link && *rule->link)
		print(out, "    see  %s\n", rule->link);
	return 0;
}

/* Details that only a single finding is printed with. */
static int print_details(struct db *db, sqlite3_stmt *row, int undrawn, FILE *out)
{
	int64_t finding = sqlite3_column_int64(row, COL_ID);

	return print_callers(db, sqlite3_column_int64(row, COL_SITE), "at", out) ||
			print_callers(db, sqlite3_column_int64(row, COL_OTHER_SITE), "for", out) ||
			print_streams(db, finding, out) || report_order(db, finding, out) ||
			(!undrawn && report_timeline(db, finding, out))
		? -1
		: 0;
}

int64_t report_print_findings(struct db *db, const struct report_options *options, FILE *out)
{
	char *sql = sqlite3_mprintf(finding_sql, report_condition(options->level));
	sqlite3_stmt *q = sql ? db_prepare(db, sql) : NULL;
	int64_t printed = 0;
	int step = q ? db_bind(q, "i", options->finding) : -1;

	while (!step && !(options->top && printed == options->top) && (step = db_step(q)) > 0) {
		step = print_finding(db, q, options, out);
		if (!step && options->finding)
			step = print_details(db, q, options->undrawn, out);
		printed++;
	}
	sqlite3_finalize(q);
	sqlite3_free(sql);
	return step < 0 ? -1 : printed;
}
