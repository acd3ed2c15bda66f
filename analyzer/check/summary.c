/* SPDX-License-Identifier: Apache-2.0 */
#include "summary.h"

#include <stdlib.h>

#include "print.h"
#include "report_finding.h"
#include "report_internal.h"
#include "report_possible.h"
#include "severity.h"
#include "shell.h"

/* Findings listed; the counts are of all. */
#define MOST_LISTED 5

/*
 * The answer of "cufence confirm" for a finding's failing places: that of the first confirmed
 * place, or else of the first one whose order is missing, or of the first that was tried.
 */
#define CONFIRMATION_OF_PLACES \
	"(SELECT " CONFIRMATION("q") " AS test FROM temp.verdict w" \
	" JOIN finding_place q ON q.id = w.place" \
	" WHERE w.finding = n.finding AND w.state = 'fails' AND test NOT NULL" \
	" ORDER BY test NOT LIKE 'confirmed:%', test NOT LIKE 'order missing%', q.id LIMIT 1)"

/* A finding's line names its first failing place and has the numbers of all. */
static const char failed_sql[] =
	"SELECT f.rule, f.id, p.message, coalesce(s.file || ':' || s.line, s.text, '?'),"
	" s.function,"
	" n.count, n.places, n.severity, " REPORT_COST_COLUMNS ", " CONFIRMATION_OF_PLACES
	" FROM (SELECT finding, min(place) FILTER (WHERE state = 'fails') AS first,"
	"  count(*) FILTER (WHERE state = 'fails') AS count, count(*) AS places,"
	"  max(severity) FILTER (WHERE state = 'fails') AS severity FROM temp.verdict"
	"  GROUP BY finding HAVING max(state = 'fails')) n JOIN finding f ON f.id = n.finding"
	" JOIN finding_place p ON p.id = n.first LEFT JOIN site s ON s.id = p.site ORDER BY f.id";
enum failed_column {
	FAILED_RULE,
	FAILED_ID,
	FAILED_MESSAGE,
	FAILED_PLACE,
	FAILED_FUNCTION,
	FAILED_COUNT,
	FAILED_OF,
	FAILED_SEVERITY,
	FAILED_COST,
	FAILED_CONFIRMATION = FAILED_COST + REPORT_COST_SIZE
};

int summary_findings(struct db *db, FILE *out)
{
	sqlite3_stmt *q = db_prepare(db, failed_sql);
	int step = -1;

	while (q && (step = db_step(q)) > 0) {
		int count = sqlite3_column_int(q, FAILED_COUNT),
		    of = sqlite3_column_int(q, FAILED_OF);
		const char *function = db_text(q, FAILED_FUNCTION);

		print(out, "%s: %s #%lld%s%s: %s: ", db_text(q, FAILED_PLACE),
			db_text(q, FAILED_RULE), (long long)sqlite3_column_int64(q, FAILED_ID),
			*function ? " in " : "", function, db_text(q, FAILED_MESSAGE));
		report_print_cost(q, FAILED_COST, out);
		if (of > 1)
			print(out, ", at %d places", of);
		if (count < of)
			print(out, ", %d of them new", count);
		if (*db_text(q, FAILED_CONFIRMATION))
			print(out, "; %s", db_text(q, FAILED_CONFIRMATION));
		print(out, " [%s]\n", db_text(q, FAILED_SEVERITY));
	}
	sqlite3_finalize(q);
	if (step)
		return -1;
	q = db_prepare(db, "SELECT name, message FROM temp.trouble WHERE NOT failure");
	step = -1;
	while (q && (step = db_step(q)) > 0)
		print(out, "%s: %s: %s\n", db->path, db_text(q, 0), db_text(q, 1));
	sqlite3_finalize(q);
	return step;
}

/* Prints a label and at most MOST_LISTED rows of text. */
static int print_list(struct db *db, const char *label, const char *sql, FILE *out)
{
	sqlite3_stmt *q = db_prepare(db, sql);
	int step = -1, count = 0;

	while (q && (step = db_step(q)) > 0)
		if (count++ < MOST_LISTED)
			print(out, "    %-10s  %s\n", count == 1 ? label : "", db_text(q, 0));
	if (count > MOST_LISTED)
		print(out, "    %-10s  and %d more\n", "", count - MOST_LISTED);
	sqlite3_finalize(q);
	return step;
}

#define FAILS_OF(name, ...) \
	" count(DISTINCT finding) FILTER (WHERE state = 'fails' AND severity = '" #name "'),"
#define NAME_OF(name, ...) #name,

static const char counts_sql[] =
	"SELECT count(DISTINCT finding) FILTER (WHERE state = 'fails')," SEVERITIES(FAILS_OF)
	" count(*) FILTER (WHERE state = 'baseline'), count(*) FILTER (WHERE state = 'suppressed'),"
	" (SELECT count(*) FROM finding f WHERE NOT EXISTS (SELECT 1 FROM temp.verdict w"
	"   WHERE w.finding = f.id AND w.state NOT IN ('passes', 'hidden')))"
	" FROM temp.verdict";

static int print_counts(struct db *db, FILE *out)
{
	static const char *const names[] = { SEVERITIES(NAME_OF) };
	sqlite3_stmt *q = db_prepare(db, counts_sql);
	int step = q ? db_step(q) : -1;
	const char *separator = " (";

	if (step > 0) {
		int failed = sqlite3_column_int(q, 0);

		print(out, "cufence check: %s: %s", db->path, failed ? "" : "no finding fails");
		if (failed)
			print(out, "%d finding%s", failed, failed == 1 ? " fails" : "s fail");
		for (int i = 0; i < 3; i++)
			if (sqlite3_column_int(q, 1 + i)) {
				print(out, "%s%d %s", separator, sqlite3_column_int(q, 1 + i),
					names[i]);
				separator = ", ";
			}
		print(out,
			"%s; places accepted: %d in the baseline, %d suppressed; not counted: %d\n",
			failed ? ")" : "", sqlite3_column_int(q, 4), sqlite3_column_int(q, 5),
			sqlite3_column_int(q, 6));
	}
	sqlite3_finalize(q);
	return step < 0 ? -1 : 0;
}

static int print_next(struct db *db, FILE *out)
{
	int64_t finding =
		db_int(db, "SELECT min(finding) FROM temp.verdict WHERE state = 'fails'", 0);
	char *name = finding ? shell_word(db->path) : NULL;

	if (finding && !name)
		return -1;
	if (finding)
		print(out, "    %-10s  cufence report --finding %lld %s\n", "next",
			(long long)finding, name);
	free(name);
	return 0;
}

static int print_possible(struct db *db, FILE *out)
{
	struct report_possible possible;
	char *text = report_possible(db, POSSIBLE_WITHOUT_VERDICT, 1, &possible);

	if (text && *text)
		print(out, "    %-10s  %s\n", "note", text);
	free(text);
	return text ? 0 : -1;
}

int summary_print(struct db *db, FILE *out)
{
	return print_counts(db, out) ||
			print_list(db, "suppressed",
				"SELECT DISTINCT f.rule || ': ' || v.reason FROM temp.verdict v"
				" JOIN finding f ON f.id = v.finding WHERE v.state = 'suppressed'",
				out) ||
			print_list(db, "gone",
				"SELECT fingerprint FROM temp.baseline WHERE fingerprint NOT IN"
				" (SELECT fingerprint FROM finding_place) ORDER BY fingerprint",
				out) ||
			print_possible(db, out) || print_next(db, out)
		? -1
		: 0;
}
