/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "export.h"
#include "export_sql.h"
#include "report_internal.h"
#include "report_possible.h"
#include "severity.h"

/*
 * ::error file=...,line=...,title=...::message, escaped as actions/toolkit does
 * (core/src/command.ts): in a message % and line ends, in a property ':' and ',' as well.
 */
#define DATA(text) \
	"replace(replace(replace(" text ", '%', '%25'), char(13), '%0D'), char(10), '%0A')"
#define PROPERTY(text) "replace(replace(" DATA(text) ", ':', '%3A'), ',', '%2C')"

static const char lines_sql[] =
	"SELECT '::' || " SEVERITY_ANNOTATION("v.severity") " || ' ' ||"
	" CASE WHEN s.file NOT NULL THEN 'file='"
	"  || " PROPERTY("shown(source_path(s.file))") " || ','"
	"  || CASE WHEN s.line > 0 THEN 'line=' || s.line || ',' ELSE '' END ELSE '' END"
	" || 'title=' || " PROPERTY("f.rule || ' #' || f.id")
	" || '::' || " DATA("shown(coalesce(s.function || ': ', '') || p.message || ': '"
	"  || cost_text(f.id)) || char(10) || coalesce('for ' || shown(o.text"
	"  || coalesce(' in ' || o.function, '')) || char(10), '')"
	"  || coalesce(shown(" CONFIRMATION("p") ") || char(10), '') || 'fix '"
	"  || shown(coalesce(p.fix, rule_text(f.rule, 'advice')))")
	" FROM temp.verdict v JOIN finding_place p ON p.id = v.place JOIN finding f"
	" ON f.id = v.finding LEFT JOIN site s ON s.id = p.site LEFT JOIN site o ON o.id = "
	"p.other_site"
	" WHERE v.state = 'fails' ORDER BY p.id";

static const char troubles_sql[] = "SELECT '::error title=' || " PROPERTY(
	"name") " || '::' || " DATA("shown(message)") " FROM temp.trouble";

static const char possible_sql[] =
	"SELECT '::notice title=cufence::' || " DATA("?1") " WHERE ?1 <> ''";

/* text: the parameter of sql, NULL: it has none */
static int put_lines(struct db *db, const char *sql, const char *text, FILE *out)
{
	sqlite3_stmt *q = db_prepare(db, sql);
	int step = -1;

	if (q && text && db_bind(q, "s", text)) {
		sqlite3_finalize(q);
		return -1;
	}
	while (q && (step = db_step(q)) > 0) {
		fputs(db_text(q, 0), out);
		fputc('\n', out);
	}
	sqlite3_finalize(q);
	return step;
}

/* shown() writes the line ends of a stack as escapes. */
static const char calls_sql[] =
	"SELECT '::error ' || CASE WHEN file NOT NULL THEN 'file='"
	"  || " PROPERTY("shown(source_path(file))") " || ',' || coalesce('line='"
	"  || nullif(line, 0) || ',', '') ELSE '' END || 'title=' || " PROPERTY("policies")
	" || '::' || " DATA("shown(coalesce(function || ': ', '') || name || ', ' || count"
	"  || iif(count = 1, ' time', ' times')) || coalesce(char(10) || 'called by '"
	"  || replace(shown(stack), '\\x0a', char(10) || 'called by '), '')")
	" FROM temp.forbidden";

int export_github_calls(struct db *db, FILE *out)
{
	struct export_sql sql;
	int rc = export_sql_open(&sql, db);

	if (!rc)
		rc = put_lines(db, calls_sql, NULL, out) || put_lines(db, troubles_sql, NULL, out)
			? -1
			: 0;
	export_sql_close(&sql);
	return rc;
}

int export_github(struct db *db, FILE *out)
{
	struct report_possible found;
	char *possible = report_possible(db, POSSIBLE_WITHOUT_VERDICT, 0, &found);
	struct export_sql sql;
	int rc = export_sql_open(&sql, db);

	if (!rc)
		rc = !possible || put_lines(db, lines_sql, NULL, out) ||
				put_lines(db, troubles_sql, NULL, out) ||
				put_lines(db, possible_sql, possible, out)
			? -1
			: 0;
	export_sql_close(&sql);
	free(possible);
	return rc;
}
