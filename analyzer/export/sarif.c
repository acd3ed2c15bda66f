/* SPDX-License-Identifier: Apache-2.0 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "export.h"
#include "disclose.h"
#include "export_sql.h"
#include "merge.h"
#include "print.h"
#include "report_facts.h"
#include "report_internal.h"
#include "report_possible.h"
#include "rules.h"
#include "severity.h"

#define SCHEMA \
	"https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"

#ifdef CUFENCE_HOMEPAGE
#define INFORMATION ",\"informationUri\":\"" CUFENCE_HOMEPAGE "\""
#else
#define INFORMATION
#endif

/* Without members that are NULL (RFC 7396). */
#define PRESENT(object) "json_patch('{}', " object ")"

/* A location at site s with a text, which may be NULL. */
#define LOCATION(s, text) \
	PRESENT("json_object('physicalLocation', CASE WHEN " s \
		".file NOT NULL THEN" \
		" json_object('artifactLocation', json_object('uri', source_uri(" s \
		".file)," \
		" 'uriBaseId', source_base(" s ".file)), 'region', CASE WHEN " s \
		".line > 0" \
		" THEN json_object('startLine', " s \
		".line) END) END, 'logicalLocations'," \
		" json_array(json_object('fullyQualifiedName', coalesce(" s ".function, " s \
		".text," \
		" '?'), 'kind', 'function')), 'message', CASE WHEN " text \
		" NOT NULL" \
		" THEN json_object('text', " text ") END)")

/* A step of a code flow with its kind: producer, fence or consumer. */
#define STEP(s, text, kind) \
	"json_object('location', json(" LOCATION(s, text) "), 'importance', 'essential'," \
	" 'kinds', json_array('" kind "'))"

/* clang-format off */
static const char results_sql[] =
	"SELECT " PRESENT("json_object('ruleId', rule, 'ruleIndex', rule_number(rule),"
	" 'level', level, 'message', json_object('text', shown(said)),"
	" 'locations', CASE WHEN at_id NOT NULL THEN json_array(json(at)) ELSE json_array() END,"
	" 'relatedLocations', CASE WHEN other NOT NULL THEN"
	"  json_array(json_patch('{\"id\":1}', other)) END,"
	" 'codeFlows', CASE WHEN other NOT NULL AND at_id NOT NULL THEN json_array(json_object("
	"  'message', json_object('text', 'producer, fence and consumer'),"
	"  'threadFlows', json_array(json_object('locations', CASE WHEN fence NOT NULL"
	"   THEN json_array(json(first), json(fence), json(last))"
	"   ELSE json_array(json(first), json(last)) END)))) END,"
	" 'occurrenceCount', json_array_length(processes),"
	" 'partialFingerprints', json_object('cufencePlace/v1', fingerprint),"
	" 'suppressions', CASE WHEN state = 'suppressed' THEN json_array(json_object("
	"  'kind', 'external', 'status', 'accepted', 'justification', reason))"
	"  ELSE json_array() END,"
	" 'baselineState', CASE WHEN (SELECT 1 FROM temp.baseline) THEN"
	"  iif(fingerprint IN (SELECT fingerprint FROM temp.baseline), 'unchanged', 'new') END,"
	" 'properties', json_object('finding', finding, 'confidence', confidence,"
	"  'severity', severity, 'fails', json(iif(state = 'fails', 'true', 'false')),"
	"  'count', count, 'waited_ns', waited, 'delayed_ns', delayed, 'saving_ns', saving,"
	"  'share', share, 'turn_saving_ns', turn_saving, 'finding_saving_ns', all_saving,"
	"  'kind', kind, 'fix', fix, 'confirmation', confirmed,"
	"  'processes', json(processes)))") " FROM ("
	"SELECT f.rule, f.id AS finding, v.state, v.severity, v.reason, p.fingerprint, p.count,"
	" p.waited, p.delayed, p.saving, p.share, f.turn_saving, f.saving AS all_saving,"
	" p.confidence, p.kind, coalesce(p.fix, rule_text(f.rule, 'advice')) AS fix,"
	" " SEVERITY_LEVEL("v.severity") " AS level,"
	" " CONFIRMATION("p") " AS confirmed, " MERGED_PROCESSES("f") " AS processes,"
	" p.message || ': ' || cost_text(f.id) || coalesce('; ' || " CONFIRMATION("p") ", '')"
	"  || '. Fix: '"
	"  || coalesce(p.fix, rule_text(f.rule, 'advice')) AS said,"
	" s.id AS at_id, " LOCATION("s", "NULL") " AS at,"
	" CASE WHEN o.id NOT NULL THEN " LOCATION("o", "other_what") " END AS other,"
	" " STEP("o", "other_what", "producer") " AS first,"
	" CASE WHEN via.id NOT NULL THEN " STEP("via", "via_what", "fence")
	"  WHEN h.id NOT NULL THEN " STEP("s", "no_fence", "fence") " END AS fence,"
	" " STEP("s", "what", "consumer") " AS last"
	" FROM (SELECT v.*, shown(CASE WHEN ck.work THEN submitted_by(c.id)"
	"   ELSE call_name(c.id) END) AS what,"
	"  shown(CASE WHEN ok.work THEN submitted_by(oc.id) ELSE call_name(oc.id) END)"
	"   AS other_what FROM temp.verdict v"
	"  JOIN finding_place p ON p.id = v.place JOIN call c ON c.id = p.call"
	"  JOIN call_type ct ON ct.id = c.type LEFT JOIN call_kind ck ON ck.name = ct.kind"
	"  LEFT JOIN call oc ON oc.id = p.other_call LEFT JOIN call_type ot ON ot.id = oc.type"
	"  LEFT JOIN call_kind ok ON ok.name = ot.kind) v"
	" JOIN finding_place p ON p.id = v.place JOIN finding f ON f.id = p.finding"
	" LEFT JOIN site s ON s.id = p.site LEFT JOIN site o ON o.id = p.other_site"
	" LEFT JOIN (SELECT id, 'nothing orders the two: ' || coalesce(fix, 'a fence is missing')"
	"   AS no_fence FROM finding_place) n ON n.id = p.id"
	" LEFT JOIN hazard h ON h.id = p.hazard"
	" LEFT JOIN (SELECT c.id AS call, s.*, shown(call_name(c.id) || ', which happened to wait')"
	"   AS via_what FROM call c JOIN site s ON s.id = c.site"
	"   WHERE c.id IN (SELECT via FROM hazard)) via ON via.call = h.via"
	" WHERE v.state <> 'hidden' ORDER BY p.id)";
/* clang-format on */

static const char rule_sql[] =
	"SELECT json_object('id', ?1, 'name', ?2, 'shortDescription', json_object('text', ?3),"
	" 'fullDescription', json_object('text', ?3 || '. Fix: ' || ?4 || '.'),"
	" 'help', json_object('text', ?5, 'markdown', ?6), 'helpUri', ?7,"
	" 'defaultConfiguration', json_object('level', ?8), 'properties', json_object("
	"  'tags', json_array('cuda', 'synchronization', ?9), 'precision', ?10))";

static const char invocation_sql[] = "SELECT " PRESENT(
	"json_object('executionSuccessful', json(iif(EXISTS (SELECT 1 FROM temp.trouble"
	"  WHERE failure), 'false', 'true')), 'commandLine', shown(command),"
	" 'startTimeUtc', strftime('%Y-%m-%dT%H:%M:%SZ', start_unix_ns / 1000000000, 'unixepoch'),"
	" 'toolExecutionNotifications', json(?1))") " FROM run";

/* Each: how a row of SQL becomes text, "," between rows. */
static int put_rows(struct db *db, const char *sql, FILE *out)
{
	sqlite3_stmt *q = sql ? db_prepare(db, sql) : NULL;
	const char *separator = "\n";
	int step = -1;

	while (q && (step = db_step(q)) > 0) {
		fputs(separator, out);
		fputs(db_text(q, 0), out);
		separator = ",\n";
	}
	sqlite3_finalize(q);
	return step;
}

/* "blocking-free": "BlockingFree" */
static void name_rule(const char *id, char *name, size_t size)
{
	size_t length = 0;
	int first = 1;

	for (; *id && length + 1 < size; id++) {
		if (*id == '-') {
			first = 1;
			continue;
		}
		name[length++] = (char)(first ? toupper((unsigned char)*id) : *id);
		first = 0;
	}
	name[length] = '\0';
}

static int put_rules(struct db *db, FILE *out)
{
	sqlite3_stmt *q = db_prepare(db, rule_sql);
	int rc = q ? 0 : -1;

	for (int i = 0; !rc && i < RULE_COUNT; i++) {
		fputs(i ? ",\n" : "\n", out);
		const struct rule_info *rule = &rules[i];
		const struct fix *fix = fix_find(rule->id);
		int is_fence = rule->group == GROUP_fences,
		    is_certain = !strcmp(rule->confidence, "certain");
		char name[64];
		char *help = sqlite3_mprintf("%s.\n\nFix: %s.\n\nC++:\n%s\nPyTorch:\n%s",
			rule->title, rule->advice, fix ? fix->cpp : "", fix ? fix->pytorch : "");
		char *markdown = sqlite3_mprintf(
			"%s.\n\n**Fix:** %s.\n\n```cpp\n%s```\n\n```python\n%s```\n", rule->title,
			rule->advice, fix ? fix->cpp : "", fix ? fix->pytorch : "");
		int step = -1;

		name_rule(rule->id, name, sizeof(name));
		if (help && markdown &&
			!db_bind(q, "ssssssssss", rule->id, name, rule->title, rule->advice, help,
				markdown, rule->link, is_fence ? "error" : "warning",
				rule_groups[rule->group], is_certain ? "very-high" : "high"))
			step = db_step(q);
		if (step > 0)
			fputs(db_text(q, 0), out);
		sqlite3_reset(q);
		sqlite3_free(help);
		sqlite3_free(markdown);
		rc = step > 0 ? 0 : -1;
	}
	sqlite3_finalize(q);
	return rc;
}

/* Problems, gaps of the trace and what is possible, as notifications. */
static int put_invocation(struct db *db, FILE *out)
{
	struct report_possible found;
	char *possible = report_possible(db, POSSIBLE_WITHOUT_VERDICT, 0, &found);
	char *sql = sqlite3_mprintf(
		"SELECT coalesce(json_group_array(json_object('level', level, 'message',"
		" json_object('text', text))), '[]') FROM (SELECT iif(failure, 'error', 'warning')"
		"  AS level, shown(message) AS text FROM temp.trouble UNION ALL"
		" SELECT iif(\"incomplete?\", 'warning', 'note'), shown(text) FROM (%s)"
		"  WHERE text NOT NULL UNION ALL SELECT 'note', ?1 WHERE ?1 <> '')",
		report_facts[FACT_LOSSES].sql);
	sqlite3_stmt *notes = sql ? db_prepare(db, sql) : NULL;
	sqlite3_stmt *q = db_prepare(db, invocation_sql);
	int step = possible && notes && q ? db_bind(notes, "s", possible) : -1;

	step = step ? -1 : db_step(notes);
	if (step > 0)
		step = db_bind(q, "s", db_text(notes, 0)) ? -1 : db_step(q);
	if (step > 0)
		fputs(db_text(q, 0), out);
	sqlite3_finalize(notes);
	sqlite3_finalize(q);
	sqlite3_free(sql);
	free(possible);
	return step > 0 ? 0 : -1;
}

static int put_log(struct export_sql *sql, FILE *out)
{
	char *root = export_sql_root(sql);

	if (!root)
		return -1;
	fputs("{\"$schema\":\"" SCHEMA
	      "\",\n\"version\":\"2.1.0\",\n\"runs\":[{\"tool\":{\"driver\":{"
	      "\"name\":\"cufence\",\"version\":\"" CUFENCE_VERSION
	      "\",\"semanticVersion\":\"" CUFENCE_VERSION "\"" INFORMATION ",\"rules\":[",
		out);
	if (put_rules(sql->db, out))
		return -1;
	fputs("]}},\n\"columnKind\":\"utf16CodeUnits\"", out);
	if (!disclose_is_least(sql->db)) {
		fputs(",\n\"originalUriBaseIds\":{\"SRCROOT\":{\"uri\":\"", out);
		fputs(root, out); /* a URI needs no escapes */
		fputs("\"}}", out);
	}
	fputs(",\n\"invocations\":[", out);
	sqlite3_free(root);
	if (put_invocation(sql->db, out))
		return -1;
	fputs("],\n\"results\":[", out);
	if (put_rows(sql->db, results_sql, out))
		return -1;
	fputs("]}]}\n", out);
	return 0;
}

int export_sarif(struct db *db, FILE *out)
{
	struct export_sql sql;
	char *text = NULL;
	size_t size = 0;
	FILE *memory = open_memstream(&text, &size);
	int rc = export_sql_open(&sql, db) || !memory ? -1 : put_log(&sql, memory);

	export_sql_close(&sql);
	if (!memory || fclose(memory)) {
		fputs("cufence: out of memory\n", stderr);
		rc = -1;
	}
	if (!rc)
		print_json(out, text, size);
	free(text);
	return rc;
}
