/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "export.h"
#include "export_sql.h"
#include "merge.h"
#include "print.h"
#include "query_rows.h"
#include "report_internal.h"
#include "report_possible.h"

/* A row a finding: its first failing place stands for all. */
static const char findings_sql[] =
	"SELECT f.id, f.rule, v.severity, coalesce(source_path(s.file) || ':' || s.line, s.text, "
	"'?'),"
	" coalesce(s.function, ''), p.message, cost_text(f.id),"
	" coalesce(p.fix, rule_text(f.rule, 'advice')), n.count - 1, " CONFIRMATION("p") 
	" FROM (SELECT finding, min(place) AS first, count(*) AS count FROM temp.verdict"
	"  WHERE state = 'fails' GROUP BY finding) n JOIN temp.verdict v ON v.place = n.first"
	" JOIN finding f ON f.id = n.finding JOIN finding_place p ON p.id = n.first"
	" LEFT JOIN site s ON s.id = p.site ORDER BY f.id";
enum column {
	COL_ID,
	COL_RULE,
	COL_SEVERITY,
	COL_PLACE,
	COL_FUNCTION,
	COL_MESSAGE,
	COL_COST,
	COL_FIX,
	COL_MORE,
	COL_CONFIRMATION
};

/* What the table leaves out: accepted places, and findings none of whose places is in it. */
static const char counts_sql[] =
	"SELECT count(*) FILTER (WHERE state = 'baseline'),"
	" count(*) FILTER (WHERE state = 'suppressed'),"
	" (SELECT count(*) FROM finding f WHERE NOT EXISTS (SELECT 1 FROM temp.verdict w"
	"  WHERE w.finding = f.id AND w.state NOT IN ('passes', 'hidden')))"
	" FROM temp.verdict";

/* In HTML no character of a name is markup of CommonMark or of GitHub's extensions. */
static void put_character(char c, FILE *out)
{
	if (c == '\n')
		fputs("<br>", out);
	else if (strchr("\\`*_[]<>&|~$!\"", c))
		print(out, "&#%d;", c);
	else
		fputc(c, out);
	/* No mention of a user and no link to an issue: a space of no width follows. */
	if (c == '@' || c == '#')
		fputs("&#8203;", out);
}

/* Text as print() shows it; what stands between two backticks is code. */
static void put_text(const char *text, FILE *out)
{
	char *shown = NULL;
	size_t size;
	FILE *memory = open_memstream(&shown, &size);
	int in_code = 0;

	if (memory)
		print(memory, "%s", text);
	if (!memory || fclose(memory)) {
		free(shown);
		return;
	}
	for (const char *c = shown; *c; c++)
		if (*c == '`' && (in_code || strchr(c + 1, '`'))) {
			fputs(in_code ? "</code>" : "<code>", out);
			in_code = !in_code;
		} else {
			put_character(*c, out);
		}
	free(shown);
}

static int is_unjudged(struct db *db)
{
	return db_int(db, "SELECT EXISTS (SELECT 1 FROM temp.trouble WHERE failure)", 1) != 0;
}

static int put_findings(struct db *db, FILE *out)
{
	int64_t count = db_int(db,
		"SELECT count(DISTINCT finding) FROM temp.verdict WHERE state = 'fails'", -1);
	sqlite3_stmt *q = count < 0 ? NULL : db_prepare(db, findings_sql);
	int step = -1;

	if (is_unjudged(db))
		fputs("### cufence: the run cannot be judged\n\n", out);
	else if (count)
		print(out, "### cufence: %lld finding%s\n\n", (long long)count,
			count == 1 ? "" : "s");
	else
		fputs("### cufence: no finding\n\n", out);
	if (count)
		fputs("| Finding | Place | What | Cost | Fix |\n| --- | --- | --- | --- | --- |\n",
			out);
	while (q && (step = db_step(q)) > 0) {
		int more = sqlite3_column_int(q, COL_MORE);

		print(out, "| %lld %s<br>%s | ", (long long)sqlite3_column_int64(q, COL_ID),
			db_text(q, COL_RULE), db_text(q, COL_SEVERITY));
		put_text(db_text(q, COL_PLACE), out);
		if (*db_text(q, COL_FUNCTION)) {
			fputs("<br>in ", out);
			put_text(db_text(q, COL_FUNCTION), out);
		}
		if (more)
			print(out, "<br>and %d more place%s", more, more == 1 ? "" : "s");
		fputs(" | ", out);
		put_text(db_text(q, COL_MESSAGE), out);
		if (*db_text(q, COL_CONFIRMATION)) {
			fputs("<br>", out);
			put_text(db_text(q, COL_CONFIRMATION), out);
		}
		fputs(" | ", out);
		put_text(db_text(q, COL_COST), out);
		fputs(" | ", out);
		put_text(db_text(q, COL_FIX), out);
		fputs(" |\n", out);
	}
	sqlite3_finalize(q);
	if (count)
		fputc('\n', out);
	return step;
}

static int put_troubles(struct db *db, FILE *out)
{
	sqlite3_stmt *q = db_prepare(db, "SELECT name || ': ' || message FROM temp.trouble");
	int step = -1;

	while (q && (step = db_step(q)) > 0) {
		fputs("**Failed:** ", out);
		put_text(db_text(q, 0), out);
		fputs("\n\n", out);
	}
	sqlite3_finalize(q);
	return step;
}

static int put_rest(struct db *db, FILE *out)
{
	sqlite3_stmt *q = db_prepare(db, counts_sql);
	int step = q ? db_step(q) : -1;
	struct report_possible found;
	char *possible = report_possible(db, POSSIBLE_WITHOUT_VERDICT, 0, &found);

	if (step > 0 && !is_unjudged(db))
		print(out,
			"Places accepted: %d in the baseline, %d suppressed. Other findings, below "
			"the threshold or less certain: %d.\n",
			sqlite3_column_int(q, 0), sqlite3_column_int(q, 1),
			sqlite3_column_int(q, 2));
	sqlite3_finalize(q);
	if (possible && *possible) {
		fputs("\nNote: ", out);
		put_text(possible, out);
		fputc('\n', out);
	}
	free(possible);
	return step > 0 && possible ? 0 : -1;
}

int export_markdown(struct db *db, FILE *out)
{
	struct export_sql sql;
	int rc = export_sql_open(&sql, db);

	if (!rc)
		rc = put_findings(db, out) || put_troubles(db, out) || put_rest(db, out) ? -1 : 0;
	export_sql_close(&sql);
	return rc;
}

/* Text as print() shows it, but in the columns that have the database's own words. */
static const char csv_sql[] =
	"SELECT f.id AS finding, f.rule AS rule, v.severity AS severity,"
	" f.confidence AS confidence, shown(source_path(s.file)) AS file, s.line AS line,"
	" shown(s.function) AS function, shown(p.message) AS message, p.count AS count,"
	" p.waited AS waited_ns, p.saving AS saving_ns,"
	" shown(coalesce(p.fix, rule_text(f.rule, 'advice'))) AS fix,"
	" p.fingerprint AS fingerprint%s"
	" FROM temp.verdict v JOIN finding_place p ON p.id = v.place"
	" JOIN finding f ON f.id = v.finding LEFT JOIN site s ON s.id = p.site"
	" WHERE v.state = 'fails' ORDER BY p.id";

int export_csv(struct db *db, FILE *out)
{
	struct export_sql sql;
	int several = db_int(db, "SELECT count(*) FROM process", 0) > 1;
	char *text = sqlite3_mprintf(csv_sql,
		several ? ", json_array_length(" MERGED_PROCESSES("f") ") AS processes" : "");
	sqlite3_stmt *q = export_sql_open(&sql, db) || !text ? NULL : db_prepare(db, text);
	int rc = q ? query_rows(q, QUERY_CSV, 1, out) : -1;

	sqlite3_free(text);
	sqlite3_finalize(q);
	export_sql_close(&sql);
	return rc;
}
