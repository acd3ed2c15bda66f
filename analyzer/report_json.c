/* SPDX-License-Identifier: Apache-2.0 */
#include "report.h"

#include <string.h>

#include "losses.h"
#include "rules.h"

/* rule_text(rule, 'advice') and so on, so that rules.def stays the only list. */
static void rule_text(sqlite3_context *context, int count, sqlite3_value **value)
{
	const char *id = (const char *)sqlite3_value_text(value[0]);
	const char *what = (const char *)sqlite3_value_text(value[1]);
	const struct rule_info *rule = id ? rule_find(id) : NULL;
	const char *text = NULL;

	if (rule && what && !strcmp(what, "title"))
		text = rule->title;
	else if (rule && what && !strcmp(what, "advice"))
		text = rule->advice;
	else if (rule && what && !strcmp(what, "link"))
		text = rule->link;
	if (text)
		sqlite3_result_text(context, text, -1, SQLITE_STATIC);
}

static void loss_is_incomplete(sqlite3_context *context, int count, sqlite3_value **value)
{
	const char *reason = (const char *)sqlite3_value_text(value[0]);
	const struct loss *loss = reason ? loss_find(reason) : NULL;

	sqlite3_result_int(context, !loss || loss->incomplete);
}

static const char place_sql[] =
	"CASE WHEN %s.id IS NULL THEN NULL ELSE json_object('function', %s.function, "
	"'file', %s.file, 'line', %s.line, 'text', %s.text, 'frames', (SELECT json_group_array("
	"json_object('function', function, 'file', file, 'line', line, 'user', user)) "
	"FROM (SELECT * FROM frame WHERE site = %s.id AND function NOT NULL ORDER BY depth))) "
	"END";

static const char json_sql[] =
	"SELECT json_object("
	" 'tool', 'cufence', 'version', (SELECT tool_version FROM run),"
	" 'command', (SELECT command FROM run),"
	" 'run', json_object("
	"  'duration_ns', (SELECT max(end) - min(start) FROM process),"
	"  'recorded', (SELECT json_group_array(json_object('process', process, 'start', start,"
	"   'end', end, 'cause', cause)) FROM recording WHERE work),"
	"  'processes', (SELECT count(*) FROM process),"
	"  'calls', (SELECT count(*) FROM call WHERE parent IS NULL),"
	"  'operations', (SELECT count(*) FROM operation),"
	"  'simulated', (SELECT coalesce(max(simulated), 0) FROM process)),"
	" 'losses', (SELECT json_group_array(json_object('process', process, 'reason', reason,"
	"  'count', count, 'incomplete', loss_is_incomplete(reason))) FROM loss),"
	" 'together', (SELECT json_group_array(json_object('process', process, 'saving_ns', saving,"
	"  'saving_low_ns', saving_low, 'saving_high_ns', saving_high, 'refusal', refusal))"
	"  FROM replay),"
	" 'findings', (SELECT json_group_array(json(finding)) FROM ("
	"  SELECT json_object('id', f.id, 'rule', f.rule, 'title', rule_text(f.rule, 'title'),"
	"   'message', f.message, 'confidence', f.confidence, 'severity', f.severity,"
	"   'shown', f.shown, 'count', f.count, 'waited_ns', f.waited, 'saving_ns', f.saving,"
	"   'saving_low_ns', f.saving_low, 'saving_high_ns', f.saving_high,"
	"   'share', f.share, 'at', json(%s), 'for', json(%s),"
	"   'also', (SELECT json_group_array(json(%s)) FROM (SELECT s.* FROM finding_also b"
	"    JOIN site s ON s.id = b.site AND s.text IS NOT a.text"
	"    WHERE b.finding = f.id ORDER BY b.call) s),"
	"   'advice', rule_text(f.rule, 'advice'), 'link', rule_text(f.rule, 'link'),"
	"   'fingerprint', f.fingerprint) AS finding"
	"  FROM finding f LEFT JOIN site a ON a.id = f.site"
	"  LEFT JOIN site o ON o.id = f.other_site"
	"  WHERE %s AND (?1 = 0 OR f.id = ?1)"
	"  ORDER BY CASE f.severity WHEN 'high' THEN 0 WHEN 'medium' THEN 1 ELSE 2 END,"
	"   f.share DESC, f.id LIMIT ?2)))";

static char *place(const char *alias)
{
	return sqlite3_mprintf(place_sql, alias, alias, alias, alias, alias, alias, alias);
}

int report_json(struct db *db, const struct report_options *options, FILE *out)
{
	char *at = place("a"), *other = place("o"), *also = place("s");
	char *sql = sqlite3_mprintf(json_sql, at, other, also, report_condition(options->level));
	sqlite3_stmt *q = NULL;
	int step = -1;

	sqlite3_create_function(db->handle, "rule_text", 2, SQLITE_UTF8, NULL, rule_text, NULL,
		NULL);
	sqlite3_create_function(db->handle, "loss_is_incomplete", 1, SQLITE_UTF8, NULL,
		loss_is_incomplete, NULL, NULL);
	q = sql ? db_prepare(db, sql) : NULL;
	if (q && !db_bind(q, "ii", options->finding,
			 options->top ? (int64_t)options->top : (int64_t)-1))
		step = db_step(q);
	if (step > 0)
		fprintf(out, "%s\n", (const char *)sqlite3_column_text(q, 0));
	sqlite3_finalize(q);
	sqlite3_free(sql);
	sqlite3_free(at);
	sqlite3_free(other);
	sqlite3_free(also);
	return step > 0 ? 0 : -1;
}
