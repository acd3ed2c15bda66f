/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "export.h"
#include "export_sql.h"
#include "print.h"
#include "report_internal.h"
#include "report_possible.h"
#include "rules.h"

/* A rule's failing and accepted places, and what its findings cost of the run, in seconds. */
static const char counts_sql[] =
	"SELECT count(*) FILTER (WHERE state = 'fails'), count(*) FILTER (WHERE state = "
	"'baseline'),"
	" count(*) FILTER (WHERE state = 'suppressed'),"
	" coalesce((SELECT printf('%.6f', sum(saving) / 1e9) FROM finding WHERE rule = ?1 AND id IN"
	"  (SELECT finding FROM temp.verdict WHERE state <> 'hidden') HAVING sum(saving)), '0')"
	" FROM temp.verdict v JOIN finding f ON f.id = v.finding WHERE f.rule = ?1";
enum count_column { COUNT_FAILS, COUNT_BASELINE, COUNT_SUPPRESSED, COUNT_COST };

static const char places_sql[] =
	"SELECT p.message, v.severity, source_path(s.file), s.line, coalesce(s.text, '?'), "
	"s.function,"
	" cost_text(f.id), o.text, o.function, coalesce(p.fix, rule_text(f.rule, 'advice')), f.id,"
	" p.fingerprint, " CONFIRMATION("p") 
	" FROM temp.verdict v JOIN finding_place p ON p.id = v.place"
	" JOIN finding f ON f.id = v.finding LEFT JOIN site s ON s.id = p.site"
	" LEFT JOIN site o ON o.id = p.other_site WHERE v.state = 'fails' AND f.rule = ?1"
	" ORDER BY p.id";
enum place_column {
	PLACE_MESSAGE,
	PLACE_SEVERITY,
	PLACE_FILE,
	PLACE_LINE,
	PLACE_TEXT,
	PLACE_FUNCTION,
	PLACE_COST,
	PLACE_OTHER,
	PLACE_OTHER_FUNCTION,
	PLACE_FIX,
	PLACE_ID,
	PLACE_FINGERPRINT,
	PLACE_CONFIRMATION
};

struct suite {
	struct db *db;
	FILE *out;
	sqlite3_stmt *counts, *places;
};

/* As print() shows it, which leaves no character that XML does not allow. */
static void put_text(FILE *out, const char *text)
{
	char *shown = NULL;
	size_t size;
	FILE *memory = open_memstream(&shown, &size);

	if (memory)
		print(memory, "%s", text);
	if (!memory || fclose(memory)) {
		free(shown);
		return;
	}
	for (const char *c = shown; *c; c++) {
		const char *entity = *c == '<' ? "&lt;"
			: *c == '>'            ? "&gt;"
			: *c == '&'            ? "&amp;"
			: *c == '"'            ? "&quot;"
					       : NULL;

		if (entity)
			fputs(entity, out);
		else
			fputc(*c, out);
	}
	free(shown);
}

static void put_attribute(FILE *out, const char *name, const char *text)
{
	print(out, " %s=\"", name);
	put_text(out, text);
	fputc('"', out);
}

static void begin_case(const struct suite *suite, const char *group, const char *name,
	const char *seconds)
{
	fputs("<testcase", suite->out);
	put_attribute(suite->out, "classname", group);
	put_attribute(suite->out, "name", name);
	put_attribute(suite->out, "time", seconds);
}

/* A place as its lines. */
static void put_place(sqlite3_stmt *q, FILE *out)
{
	int has_file = sqlite3_column_type(q, PLACE_FILE) != SQLITE_NULL;

	put_text(out, db_text(q, has_file ? PLACE_FILE : PLACE_TEXT));
	if (has_file)
		print(out, ":%d", sqlite3_column_int(q, PLACE_LINE));
	print(out, ": #%lld ", (long long)sqlite3_column_int64(q, PLACE_ID));
	if (*db_text(q, PLACE_FUNCTION)) {
		fputs("in ", out);
		put_text(out, db_text(q, PLACE_FUNCTION));
		fputs(": ", out);
	}
	put_text(out, db_text(q, PLACE_MESSAGE));
	fputs("\n    ", out);
	put_text(out, db_text(q, PLACE_COST));
	if (*db_text(q, PLACE_OTHER)) {
		fputs("\n    for ", out);
		put_text(out, db_text(q, PLACE_OTHER));
		fputs(*db_text(q, PLACE_OTHER_FUNCTION) ? " in " : "", out);
		put_text(out, db_text(q, PLACE_OTHER_FUNCTION));
	}
	if (*db_text(q, PLACE_CONFIRMATION)) {
		fputs("\n    test ", out);
		put_text(out, db_text(q, PLACE_CONFIRMATION));
	}
	fputs("\n    fix ", out);
	put_text(out, db_text(q, PLACE_FIX));
	fputs("\n    fingerprint ", out);
	put_text(out, db_text(q, PLACE_FINGERPRINT));
	fputc('\n', out);
}

/* Its message is that of the first place; readers of the format show one failure of a case. */
static int put_failure(const struct suite *suite, const struct rule_info *rule, const char *seconds)
{
	sqlite3_stmt *q = suite->places;
	int step = db_bind(q, "s", rule->id) ? -1 : db_step(q);

	begin_case(suite, rule_groups[rule->group], rule->id, seconds);
	if (step > 0 && sqlite3_column_type(q, PLACE_FILE) != SQLITE_NULL) {
		put_attribute(suite->out, "file", db_text(q, PLACE_FILE));
		print(suite->out, " line=\"%d\"", sqlite3_column_int(q, PLACE_LINE));
	}
	fputs("><failure", suite->out);
	if (step > 0) {
		put_attribute(suite->out, "message", db_text(q, PLACE_MESSAGE));
		put_attribute(suite->out, "type", db_text(q, PLACE_SEVERITY));
	}
	fputs(">", suite->out);
	for (; step > 0; step = db_step(q))
		put_place(q, suite->out);
	fputs("</failure></testcase>\n", suite->out);
	sqlite3_reset(q);
	return step;
}

static int put_rule(const struct suite *suite, const struct rule_info *rule)
{
	sqlite3_stmt *q = suite->counts;
	int step = db_bind(q, "s", rule->id) ? -1 : db_step(q);
	int known, suppressed;

	if (step <= 0)
		return -1;
	known = sqlite3_column_int(q, COUNT_BASELINE);
	suppressed = sqlite3_column_int(q, COUNT_SUPPRESSED);
	if (sqlite3_column_int(q, COUNT_FAILS))
		return put_failure(suite, rule, db_text(q, COUNT_COST));
	begin_case(suite, rule_groups[rule->group], rule->id, db_text(q, COUNT_COST));
	if (known || suppressed)
		print(suite->out,
			"><skipped message=\"%d in the baseline, %d suppressed\"/></testcase>\n",
			known, suppressed);
	else
		fputs("/>\n", suite->out);
	return 0;
}

/* Test cases of the check itself: a complete trace, and --max-cost. */
static int put_troubles(const struct suite *suite)
{
	sqlite3_stmt *q = db_prepare(suite->db, "SELECT name, message, failure FROM temp.trouble");
	int step = -1;

	while (q && (step = db_step(q)) > 0) {
		begin_case(suite, "run", db_text(q, 0), "0");
		fputs(sqlite3_column_int(q, 2) ? "><error" : "><failure", suite->out);
		put_attribute(suite->out, "message", db_text(q, 1));
		put_attribute(suite->out, "type", db_text(q, 0));
		fputs("/></testcase>\n", suite->out);
	}
	sqlite3_finalize(q);
	return step;
}

/* What is possible fails no case. */
static int put_possible(const struct suite *suite)
{
	struct report_possible found;
	char *text = report_possible(suite->db, POSSIBLE_WITHOUT_VERDICT, 0, &found);

	if (text && *text) {
		fputs("<system-out>", suite->out);
		put_text(suite->out, text);
		fputs("</system-out>\n", suite->out);
	}
	free(text);
	return text ? 0 : -1;
}

/* Writes an attribute with the count that sql gives. */
static void put_count(const struct suite *suite, const char *name, const char *sql)
{
	print(suite->out, " %s=\"%lld\"", name, (long long)db_int(suite->db, sql, 0));
}

static void put_counts(const struct suite *suite)
{
	print(suite->out, " tests=\"%lld\"",
		RULE_COUNT + (long long)db_int(suite->db, "SELECT count(*) FROM temp.trouble", 0));
	put_count(suite, "failures",
		"SELECT (SELECT count(DISTINCT f.rule) FROM temp.verdict v JOIN finding f"
		"  ON f.id = v.finding WHERE v.state = 'fails')"
		" + (SELECT count(*) FROM temp.trouble WHERE NOT failure)");
	put_count(suite, "errors", "SELECT count(*) FROM temp.trouble WHERE failure");
}

static int put_suite(const struct suite *suite)
{
	sqlite3_stmt *q = db_prepare(suite->db,
		"SELECT coalesce(command, 'cufence'), printf('%.3f', (SELECT max(end) FROM "
		"process) / 1e9),"
		" strftime('%Y-%m-%dT%H:%M:%S', start_unix_ns / 1000000000, 'unixepoch') FROM run");
	int rc = q && db_step(q) > 0 ? 0 : -1;

	fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"cufence\"",
		suite->out);
	put_counts(suite);
	fputs(">\n<testsuite", suite->out);
	if (!rc) {
		put_attribute(suite->out, "name", db_text(q, 0));
		put_attribute(suite->out, "time", db_text(q, 1));
		put_attribute(suite->out, "timestamp", db_text(q, 2));
	}
	put_counts(suite);
	put_count(suite, "skipped",
		"SELECT count(*) FROM (SELECT f.rule FROM temp.verdict v JOIN finding f"
		"  ON f.id = v.finding GROUP BY f.rule HAVING NOT max(v.state = 'fails')"
		"  AND max(v.state IN ('baseline', 'suppressed')))");
	fputs(">\n", suite->out);
	for (int i = 0; !rc && i < RULE_COUNT; i++)
		rc = put_rule(suite, &rules[i]);
	if (!rc)
		rc = put_troubles(suite) || put_possible(suite) ? -1 : 0;
	fputs("</testsuite>\n</testsuites>\n", suite->out);
	sqlite3_finalize(q);
	return rc;
}

int export_junit(struct db *db, FILE *out)
{
	struct suite suite = { .db = db, .out = out };
	struct export_sql sql;
	int rc = export_sql_open(&sql, db);

	if (!rc) {
		suite.counts = db_prepare(db, counts_sql);
		suite.places = db_prepare(db, places_sql);
		rc = suite.counts && suite.places ? put_suite(&suite) : -1;
	}
	sqlite3_finalize(suite.counts);
	sqlite3_finalize(suite.places);
	export_sql_close(&sql);
	return rc;
}
