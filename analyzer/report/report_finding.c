/* SPDX-License-Identifier: Apache-2.0 */
#include "report_finding.h"

#include <stdlib.h>
#include <string.h>

#include "demangle_whole.h"
#include "evidence.h"
#include "format.h"
#include "kernel_names.h"
#include "operators.h"
#include "print.h"
#include "report_internal.h"
#include "report_places.h"
#include "report_timeline.h"
#include "rules.h"
#include "severity.h"
#include "shell.h"

/* clang-format off */
static const char finding_sql[] =
	"SELECT f.id, f.rule, f.message, f.confidence, f.severity, f.site, f.other_site, "
	REPORT_COST_COLUMNS ", count(*),"
	" count(DISTINCT " REPORT_LINE_OF_PLACE ") FILTER (WHERE p.shown OR p.hazard IS NULL)"
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

/* The callers of a site's place: the program's outer frames that have names. */
static const char callers_sql[] =
	"SELECT function, file, line FROM frame WHERE site = ?1 AND user = 1"
	" AND function NOT NULL AND function <> '_start' AND depth >"
	"  (SELECT min(depth) FROM frame WHERE site = ?1 AND user = 1) ORDER BY depth";

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

void report_print_times(sqlite3_stmt *row, int column, FILE *out)
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
	report_print_times(row, column, out);
	if (!costs_time(row, column))
		return;
	fputs("; ", out);
	report_print_saving(row, column + 3, out);
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

/* The answer of "cufence try". */
static int print_trial(struct db *db, int64_t finding, FILE *out)
{
	sqlite3_stmt *q = db_prepare(db,
		"SELECT replace(t.result, '-', ' '), t.how FROM trial t JOIN finding f"
		" ON f.fingerprint = t.fingerprint WHERE f.id = ?");
	int step = q && !db_bind(q, "i", finding) ? db_step(q) : -1;

	if (step > 0)
		print(out, "    test %s: %s\n", db_text(q, 0), db_text(q, 1));
	sqlite3_finalize(q);
	return step < 0 ? -1 : 0;
}

/*
 * "all  about 1.2 s host wait (1.0 s to 1.4 s) in 60 s, 4800 times (4000 to 5600); from 12 samples"
 */
static void print_amount(sqlite3_stmt *q, int column, const char *what, FILE *out)
{
	char about[DURATION_SIZE], low[DURATION_SIZE], high[DURATION_SIZE];
	int64_t least = sqlite3_column_int64(q, column + 1);

	if (!sqlite3_column_int64(q, column))
		return;
	print(out, "%s %s", format_duration(about, sqlite3_column_int64(q, column)), what);
	if (sqlite3_column_type(q, column + 1) != SQLITE_NULL)
		print(out, " (%s to %s)", least ? format_duration(low, least) : "0",
			format_duration(high, sqlite3_column_int64(q, column + 2)));
	fputs(", ", out);
}

static int print_sample(struct db *db, int64_t finding, FILE *out)
{
	sqlite3_stmt *q = db_prepare(db,
		"SELECT waited, waited_low, waited_high, delayed, delayed_low, delayed_high,"
		" count, count_low, count_high, windows, whole FROM finding_sample"
		" WHERE finding = ?");
	int step = q && !db_bind(q, "i", finding) ? db_step(q) : -1;
	char whole[DURATION_SIZE];

	if (step > 0) {
		long long samples = sqlite3_column_int64(q, 9);

		fputs("    all  about ", out);
		print_amount(q, 0, "host wait", out);
		print_amount(q, 3, "device delay", out);
		print(out, "%lld times", (long long)sqlite3_column_int64(q, 6));
		if (sqlite3_column_type(q, 7) != SQLITE_NULL)
			print(out, " (%lld to %lld)", (long long)sqlite3_column_int64(q, 7),
				(long long)sqlite3_column_int64(q, 8));
		print(out, " in all %s: extrapolated from %lld sample%s\n",
			format_duration(whole, sqlite3_column_int64(q, 10)), samples,
			samples == 1 ? "" : "s");
	}
	sqlite3_finalize(q);
	return step < 0 ? -1 : 0;
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

static void print_hazard(sqlite3_stmt *row, FILE *out)
{
	int64_t gap = sqlite3_column_int64(row, HAZARD_GAP);
	char time[DURATION_SIZE];
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
	print(out, "    seen the later access in %s, the earlier one in %s\n",
		evidence_text(text(row, HAZARD_EVIDENCE)),
		evidence_text(text(row, HAZARD_OTHER_EVIDENCE)));
	if (sqlite3_column_type(row, HAZARD_GAP) == SQLITE_NULL)
		return;
	print(out, "    time the later one began %s %s the earlier one ended, in this run\n",
		format_duration(time, gap < 0 ? -gap : gap), gap < 0 ? "before" : "after");
}

/* Those of the printed places, each once: pairs of lines may need fences of their own. */
static int print_fixes(struct db *db, int64_t finding, const char *first, int all, FILE *out)
{
	sqlite3_stmt *q = db_prepare(db,
		"SELECT fix FROM (SELECT * FROM finding_place WHERE finding = ?1 AND (shown OR ?2)"
		"  ORDER BY id LIMIT CASE WHEN ?2 THEN -1 ELSE ?3 END)"
		" WHERE fix <> ?4 AND fix <> '' GROUP BY fix ORDER BY min(id)");
	int step =
		q ? db_bind(q, "iiis", finding, (int64_t)all, (int64_t)REPORT_PLACES, first) : -1;

	print(out, "    fix  %s\n", first);
	while (!step && (step = db_step(q)) > 0) {
		print(out, "    fix  %s\n", db_text(q, 0));
		step = 0;
	}
	sqlite3_finalize(q);
	return step;
}

static int print_fix(struct db *db, int64_t finding, const struct rule_info *rule, int all,
	FILE *out)
{
	sqlite3_stmt *q = db_prepare(db, hazard_sql);
	int step = q && !db_bind(q, "i", finding) ? db_step(q) : -1;

	if (step > 0 && sqlite3_column_type(q, HAZARD_ID) != SQLITE_NULL)
		print_hazard(q, out);
	if (step > 0 && *text(q, HAZARD_FIX))
		step = print_fixes(db, finding, text(q, HAZARD_FIX), all, out);
	else if (rule)
		print(out, "    fix  %s\n", rule->advice);
	sqlite3_finalize(q);
	return step < 0 ? -1 : 0;
}

/* --- findings --- */

/* Waits are measured, so "certain" is printed for races only. */
static const char *said_confidence(const struct rule_info *rule, const char *confidence)
{
	int is_measured = rule && rule->group != GROUP_fences;

	return is_measured && !strcmp(confidence, "certain") ? "" : confidence;
}

#define NAME_AND_COLOR(name, rank, annotation, level, color) { #name, color },

static const char *severity_color(const char *severity)
{
	static const char *const names_and_colors[][2] = { SEVERITIES(NAME_AND_COLOR) };

	for (size_t i = 0; i < sizeof(names_and_colors) / sizeof(*names_and_colors); i++)
		if (!strcmp(severity, names_and_colors[i][0]))
			return names_and_colors[i][1];
	return "";
}

static int print_finding(struct db *db, sqlite3_stmt *row, const struct report_options *options,
	FILE *out)
{
	const struct rule_info *rule = rule_find(text(row, COL_RULE));
	int lines = sqlite3_column_int(row, COL_LINES);
	const struct report_places places = { .finding = sqlite3_column_int64(row, COL_ID),
		.places = sqlite3_column_int(row, COL_PLACES),
		.lines = lines };
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
	if (print_sample(db, places.finding, out) ||
		report_print_places(db, &places, options, out) ||
		report_print_also(db, places.finding, out) ||
		print_fix(db, places.finding, rule, options->finding || options->all, out) ||
		print_trial(db, places.finding, out) || print_races(db, places.finding, out))
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
			report_streams(db, finding, out) || report_order(db, finding, out) ||
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
