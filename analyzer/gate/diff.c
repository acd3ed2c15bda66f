/* SPDX-License-Identifier: Apache-2.0 */
#include "diff.h"

#include <stdlib.h>
#include <string.h>

#include "constants.h"
#include "format.h"
#include "print.h"

static const char tables_sql[] =
	"CREATE TEMP TABLE side (after INTEGER, fingerprint TEXT, rule TEXT, place TEXT,"
	" message TEXT, count INTEGER, run REAL, turn REAL, share REAL, shown INTEGER, fence "
	"INTEGER,"
	" confidence INTEGER);"
	"CREATE TEMP TABLE change (state TEXT, rule TEXT, place TEXT, message TEXT,"
	" fingerprint TEXT, per TEXT, before INTEGER, after INTEGER, before_count INTEGER, "
	"after_count INTEGER)";

/* Each place with its share of the finding's cost, per turn and per run.  Places with one
 * fingerprint, as several processes have, are added up. */
static const char places_sql[] =
	"SELECT p.fingerprint, f.rule, coalesce(s.file || ':' || s.line, s.text, '?')"
	"  || coalesce(' ' || s.function, ''), p.message, sum(p.count),"
	" sum(iif(f.share > 0, f.saving * p.share / f.share, 0)),"
	" sum(iif(f.share > 0, f.turn_saving * p.share / f.share, f.turn_saving)), sum(p.share),"
	" max(f.shown), min(f.waited + f.delayed = 0),"
	" max(CASE p.confidence WHEN 'certain' THEN 3 WHEN 'likely' THEN 2 ELSE 1 END)"
	" FROM finding_place p JOIN finding f ON f.id = p.finding"
	" LEFT JOIN site s ON s.id = p.site GROUP BY p.fingerprint ORDER BY min(p.id)";

/* Places that reports hide are compared, too, if the other run shows them. */
static const char change_sql[] =
	"WITH one AS (SELECT fingerprint, min(turn NOT NULL) AS by_turn FROM temp.side"
	"  GROUP BY fingerprint HAVING max(shown)),"
	" pair AS (SELECT iif(by_turn, 'turn', 'run') AS per, one.fingerprint AS same,"
	"  iif(by_turn, a.turn, a.run) AS cost_a, iif(by_turn, b.turn, b.run) AS cost_b,"
	"  a.rule AS rule_a, a.place AS place_a, a.message AS message_a, a.count AS count_a,"
	"  b.rule AS rule_b, b.place AS place_b, b.message AS message_b, b.count AS count_b,"
	"  a.share AS share_a, b.share AS share_b, a.fence, a.confidence AS sure_a,"
	"  b.confidence AS sure_b FROM one"
	"  LEFT JOIN temp.side a ON a.fingerprint = one.fingerprint AND a.after"
	"  LEFT JOIN temp.side b ON b.fingerprint = one.fingerprint AND NOT b.after)"
	" INSERT INTO temp.change SELECT CASE WHEN rule_b IS NULL THEN 'new'"
	"  WHEN rule_a IS NULL THEN 'gone'"
	"  WHEN fence AND sure_a <> sure_b THEN iif(sure_a > sure_b, 'worse', 'better')"
	"  WHEN cost_a - cost_b > cost_b * ?1 / 100.0"
	"   AND cost_a - cost_b > cost_a / share_a * ?2 / 100.0 THEN 'worse'"
	"  WHEN cost_b - cost_a > cost_b * ?1 / 100.0"
	"   AND cost_b - cost_a > cost_b / share_b * ?2 / 100.0 THEN 'better' ELSE 'same' END,"
	" coalesce(rule_a, rule_b), coalesce(place_a, place_b), coalesce(message_a, message_b),"
	" same, per, CAST(cost_b AS INTEGER), CAST(cost_a AS INTEGER), count_b, count_a FROM pair";

static int copy_side(struct db *from, struct db *to, int after)
{
	sqlite3_stmt *q = db_prepare(from, places_sql);
	sqlite3_stmt *insert = db_prepare(to,
		"INSERT INTO temp.side VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)");
	int step = q && insert ? 0 : -1;

	while (!step && (step = db_step(q)) > 0) {
		sqlite3_reset(insert);
		sqlite3_bind_int(insert, 1, after);
		for (int i = 0; i < 11; i++)
			sqlite3_bind_value(insert, i + 2, sqlite3_column_value(q, i));
		step = db_step(insert);
	}
	sqlite3_finalize(q);
	sqlite3_finalize(insert);
	return step;
}

int diff_read(struct db *before, struct db *after)
{
	sqlite3_stmt *q;
	int rc;

	if (db_exec(after, tables_sql) || copy_side(before, after, 0) || copy_side(after, after, 1))
		return -1;
	q = db_prepare(after, change_sql);
	rc = q ? db_run(q, "ii", (int64_t)DIFF_WORSE_PERCENT, (int64_t)FINDING_MIN_PERCENT) : -1;
	sqlite3_finalize(q);
	return rc;
}

#define BY_STATE \
	" ORDER BY CASE state WHEN 'new' THEN 0 WHEN 'worse' THEN 1 WHEN 'gone' THEN 2" \
	" WHEN 'better' THEN 3 ELSE 4 END, max(coalesce(after, 0), coalesce(before, 0)) DESC," \
	" fingerprint"

/* "1.6 ms"; "-" if that run lacks the finding, or if it costs no time. */
static const char *cost_text(sqlite3_stmt *q, int column, char text[DURATION_SIZE])
{
	int64_t cost = sqlite3_column_int64(q, column);

	return cost > 0 ? format_duration(text, cost) : "-";
}

int diff_print(struct db *after, FILE *out)
{
	sqlite3_stmt *q = db_prepare(after,
		"SELECT state, before, after, per, rule, place, message FROM temp.change"
		" WHERE state <> 'same'" BY_STATE);
	char before_text[DURATION_SIZE], after_text[DURATION_SIZE];
	int64_t same = db_int(after, "SELECT count(*) FROM temp.change WHERE state = 'same'", 0);
	int step = -1, any = 0;

	while (q && (step = db_step(q)) > 0) {
		if (!any++)
			print(out, "%-7s %8s %8s  %-5s %s\n", "", "before", "after", "of a",
				"finding");
		print(out, "%-7s %8s %8s  %-5s %s: %s: %s\n", db_text(q, 0),
			cost_text(q, 1, before_text), cost_text(q, 2, after_text), db_text(q, 3),
			db_text(q, 5), db_text(q, 4), db_text(q, 6));
	}
	sqlite3_finalize(q);
	print(out, "%s%lld place%s of findings as before\n", any ? "" : "no difference; ",
		(long long)same, same == 1 ? "" : "s");
	return step;
}

int diff_json(struct db *after, FILE *out)
{
	sqlite3_stmt *q = db_prepare(after,
		"SELECT json_object('tool', 'cufence', 'worse', (SELECT count(*) FROM temp.change"
		"  WHERE state IN ('new', 'worse')), 'changes', json_group_array(json_object("
		"  'state', state, 'rule', rule, 'place', place, 'message', message,"
		"  'fingerprint', fingerprint, 'per', per, 'before_ns', before, 'after_ns', after,"
		"  'before_count', before_count, 'after_count', after_count)))"
		" FROM (SELECT * FROM temp.change" BY_STATE ")");
	int step = q ? db_step(q) : -1;

	if (step > 0)
		print_json(out, db_text(q, 0), strlen(db_text(q, 0)));
	fputc('\n', out);
	sqlite3_finalize(q);
	return step > 0 ? 0 : -1;
}
