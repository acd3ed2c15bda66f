/* SPDX-License-Identifier: Apache-2.0 */
#include "report.h"

#include <stdlib.h>
#include <string.h>

#include "merge.h"
#include "report_facts.h"
#include "report_internal.h"
#include "report_possible.h"
#include "operators.h"
#include "print.h"

/* The version of doc/report.schema.json: raised when a member changes its meaning or goes. */
#define JSON_FORMAT "1"

#define BOOLEAN(value) "json(iif(" value ", 'true', 'false'))"

static const char place_sql[] =
	"CASE WHEN %s.id NOT NULL THEN json_object('function', %s.function, 'file', %s.file,"
	" 'line', %s.line, 'text', %s.text, 'source', " REPORT_SOURCE("%s") ", 'operator', "
	OPERATOR_OF("%s.id") ", 'frames', "
	"(SELECT json_group_array(json_object('function', function, 'file', file, 'line', line, "
	"'user', " BOOLEAN("user") ")) "
	"FROM (SELECT * FROM frame WHERE site = %s.id AND function NOT NULL ORDER BY depth))) "
	"END";

/* Columns are as those of facts, and one that ends with '}' is JSON. */
static const char finding_sql[] =
	"SELECT f.id, f.rule, rule_text(f.rule, 'title') AS title, f.message, f.confidence,"
	" f.severity, f.shown AS \"shown?\", f.process, f.count, f.waited AS waited_ns,"
	" f.delayed AS delayed_ns, f.saving AS saving_ns, f.saving_low AS saving_low_ns,"
	" f.saving_high AS saving_high_ns, f.share,"
	" f.turn_saving AS turn_saving_ns, %s AS \"at}\", %s AS \"for}\","
	" (SELECT json_group_array(json_object('at', json(%s), 'for', json(%s),"
	"   'message', p.message, 'shown', " BOOLEAN("p.shown") ", 'count', p.count,"
	"   'waited_ns', p.waited,"
	"   'delayed_ns', p.delayed, 'saving_ns', p.saving, 'share', p.share,"
	"   'confidence', p.confidence, 'kind', p.kind, 'why', p.why,"
	"   'fix', p.fix, 'memory', json(%s), 'confirmation',"
	"   (SELECT json_object('result', result, 'how', how) FROM confirmation"
	"    WHERE fingerprint = p.fingerprint), 'fingerprint', p.fingerprint))"
	"  FROM (SELECT * FROM finding_place WHERE finding = f.id ORDER BY id) p"
	"  LEFT JOIN site pa ON pa.id = p.site LEFT JOIN site po ON po.id = p.other_site"
	"  LEFT JOIN hazard h ON h.id = p.hazard LEFT JOIN allocation m ON m.id = h.allocation"
	"  LEFT JOIN call mc ON mc.id = m.created LEFT JOIN site ms ON ms.id = mc.site)"
	" AS \"places}\","
	" (SELECT json_group_array(json(%s)) FROM (SELECT s.* FROM finding_also b"
	"  JOIN site s ON s.id = b.site WHERE b.finding = f.id AND NOT EXISTS"
	"   (SELECT 1 FROM finding_place q JOIN site z ON z.id = q.site"
	"    WHERE q.finding = f.id AND z.text IS s.text)"
	"  ORDER BY b.call) s) AS \"also}\","
	" (SELECT json_group_array(message) FROM (SELECT message FROM finding_race"
	"  WHERE finding = f.id ORDER BY hazard)) AS \"races}\","
	" (SELECT json_object('windows', windows, 'recorded_ns', recorded, 'whole_ns', whole,"
	"   'count', count, 'count_low', count_low, 'count_high', count_high,"
	"   'waited_ns', waited, 'waited_low_ns', waited_low, 'waited_high_ns', waited_high,"
	"   'delayed_ns', delayed, 'delayed_low_ns', delayed_low, 'delayed_high_ns', delayed_high)"
	"  FROM finding_sample WHERE finding = f.id) AS \"sample}\","
	" (SELECT json_object('result', result, 'how', how, 'saved_ns', saved,"
	"   'saved_least_ns', saved_least, 'saved_most_ns', saved_most, 'runs', runs,"
	"   'applied', applied) FROM trial WHERE fingerprint = f.fingerprint) AS \"trial}\","
	" rule_text(f.rule, 'advice') AS advice, rule_text(f.rule, 'link') AS link, f.fingerprint"
	"%s FROM finding f LEFT JOIN site a ON a.id = f.site"
	" LEFT JOIN site o ON o.id = f.other_site"
	" WHERE %s AND (?1 = 0 OR f.id = ?1)"
	" ORDER BY f.id LIMIT ?2";

/* The memory that both operations of a missing fence use, in the worst instance of place p. */
static const char memory_sql[] =
	"CASE WHEN h.id NOT NULL THEN json_object('bytes', " COMMON_BYTES("m") ","
	" 'offset', h.low - m.address, 'allocation_bytes', " WHOLE_BYTES("m") ", 'kind', m.memory,"
	" 'allocated', json(%s), 'gap_ns', h.gap, 'evidence', h.evidence,"
	" 'other_evidence', h.other_evidence) END";

static const char together_sql[] =
	"SELECT process, measured AS measured_ns, saving AS saving_ns, saving_low AS saving_low_ns,"
	" saving_high AS saving_high_ns, share, turn_saving AS turn_saving_ns, refusal"
	" FROM replay ORDER BY process";

/* A statement that makes a JSON object of values in the order of q's columns. */
static sqlite3_stmt *prepare_object(struct db *db, sqlite3_stmt *q)
{
	sqlite3_str *sql = sqlite3_str_new(db->handle);
	sqlite3_stmt *object = NULL;
	char *text;

	sqlite3_str_appendall(sql, "SELECT json_object(");
	for (int i = 0; i < sqlite3_column_count(q); i++) {
		const char *name = sqlite3_column_name(q, i);
		int length = (int)strcspn(name, "?}");

		sqlite3_str_appendf(sql, "%s'%.*q', ", i ? ", " : "", length, name);
		sqlite3_str_appendf(sql,
			name[length] == '?'           ? BOOLEAN("?%d")
				: name[length] == '}' ? "json(?%d)"
						      : "?%d",
			i + 1);
	}
	sqlite3_str_appendall(sql, ")");
	text = sqlite3_str_finish(sql);
	if (text)
		object = db_prepare(db, text);
	sqlite3_free(text);
	return object;
}

static int put_object(sqlite3_stmt *object, sqlite3_stmt *q, FILE *out)
{
	int step;

	for (int i = 0; i < sqlite3_column_count(q); i++)
		sqlite3_bind_value(object, i + 1, sqlite3_column_value(q, i));
	step = db_step(object);
	if (step > 0)
		fwrite(sqlite3_column_text(object, 0), 1, (size_t)sqlite3_column_bytes(object, 0),
			out);
	sqlite3_reset(object);
	return step > 0 ? 0 : -1;
}

/* The rows of q, which is freed: how many, -1 after a message. */
static int64_t put_rows(struct db *db, sqlite3_stmt *q, enum report_fact_shape shape, FILE *out)
{
	sqlite3_stmt *object = !q      ? NULL
		: shape != FACT_VALUES ? prepare_object(db, q)
				       : db_prepare(db, "SELECT json_quote(?1)");
	int step = -1;
	int64_t rows = 0;

	fputs(shape == FACT_OBJECT ? "" : "[", out);
	while (object && (step = db_step(q)) > 0) {
		fputs(rows++ ? ",\n" : "", out);
		if (put_object(object, q, out)) {
			step = -1;
			break;
		}
	}
	fputs(shape != FACT_OBJECT ? "]" : rows ? "" : "null", out);
	sqlite3_finalize(object);
	sqlite3_finalize(q);
	return step ? -1 : rows;
}

static int put_fact(struct db *db, enum report_fact fact, FILE *out)
{
	fprintf(out, "\"%s\":", report_facts[fact].name);
	return put_rows(db, report_fact(db, fact), report_facts[fact].shape, out) < 0 ? -1 : 0;
}

/* How many findings there are at a level, and besides. */
static int put_totals(struct db *db, const struct report_options *options, FILE *out)
{
	char *sql = sqlite3_mprintf(
		"SELECT count(*) FILTER (WHERE %s AND (?1 = 0 OR f.id = ?1)),"
		" count(*) FILTER (WHERE NOT (%s)) FROM finding f",
		report_condition(options->level), report_condition(options->level));
	sqlite3_stmt *q = sql ? db_prepare(db, sql) : NULL;
	int step = q && !db_bind(q, "i", options->finding) ? db_step(q) : -1;

	if (step > 0)
		fprintf(out, "\"total\":%lld,\"left_out\":%lld,\n",
			(long long)sqlite3_column_int64(q, 0),
			(long long)sqlite3_column_int64(q, 1));
	sqlite3_finalize(q);
	sqlite3_free(sql);
	return step > 0 ? 0 : -1;
}

/* Whatever the level: findings that the default one leaves out. */
static int put_possible(struct db *db, FILE *out)
{
	struct report_possible possible;
	char *text = report_possible(db, "1", 0, &possible);
	sqlite3_stmt *q = db_prepare(db,
		"SELECT json_object('count', ?1, 'races', ?2, 'finding', ?3, 'text', ?4)");
	int step = text && q
		? db_bind(q, "iiis", possible.count, possible.races, possible.finding, text)
		: -1;

	step = step ? -1 : db_step(q);
	if (step > 0)
		fprintf(out, "\"possible\":%s,\n", possible.count ? db_text(q, 0) : "null");
	sqlite3_finalize(q);
	free(text);
	return step > 0 ? 0 : -1;
}

/* The kernels whose names are shortened in messages. */
static int put_kernels(struct db *db, FILE *out)
{
	sqlite3_stmt *q = db_prepare(db,
		"SELECT DISTINCT label AS name, whole FROM kernel_name WHERE label <> whole"
		" ORDER BY label");

	fputs("\"kernels\":", out);
	if (put_rows(db, q, FACT_ROWS, out) < 0)
		return -1;
	fputs(",\n", out);
	return 0;
}

static char *place(const char *alias)
{
	return sqlite3_mprintf(place_sql, alias, alias, alias, alias, alias, alias, alias, alias,
		alias, alias);
}

static int put_findings(struct db *db, const struct report_options *options, FILE *out)
{
	char *at = place("a"), *other = place("o"), *also = place("s");
	char *place_at = place("pa"), *place_for = place("po");
	char *allocated = place("ms"), *memory = sqlite3_mprintf(memory_sql, allocated);
	int several = db_int(db, "SELECT count(*) FROM process", 0) > 1;
	char *sql = sqlite3_mprintf(finding_sql, at, other, place_at, place_for, memory, also,
		several ? ", " MERGED_PROCESSES("f") " AS \"processes}\"" : "",
		report_condition(options->level));
	sqlite3_stmt *q = sql ? db_prepare(db, sql) : NULL;
	int64_t rows = -1;

	sqlite3_free(sql);
	sqlite3_free(at);
	sqlite3_free(other);
	sqlite3_free(place_at);
	sqlite3_free(place_for);
	sqlite3_free(also);
	sqlite3_free(allocated);
	sqlite3_free(memory);
	fputs("\"findings\":", out);
	if (!q ||
		db_bind(q, "ii", options->finding,
			options->top ? (int64_t)options->top : (int64_t)-1))
		sqlite3_finalize(q);
	else
		rows = put_rows(db, q, FACT_ROWS, out);
	if (!rows && options->finding) {
		print(stderr, "cufence: there is no finding %lld (see \"cufence report --all\")\n",
			(long long)options->finding);
		rows = -1;
	}
	return rows < 0 ? -1 : 0;
}

static int put_filter(struct db *db, const char *filter, FILE *out)
{
	sqlite3_stmt *q = db_prepare(db, "SELECT json_quote(?)");
	int step = q && !db_bind(q, "s", filter) ? db_step(q) : -1;

	if (step > 0)
		fprintf(out, "\"filter\":%s,\n", db_text(q, 0));
	sqlite3_finalize(q);
	return step > 0 ? 0 : -1;
}

static int put_report(struct db *db, const struct report_options *options, FILE *out)
{
	if (report_functions(db))
		return -1;
	fputs("{\"tool\":\"cufence\",\"format\":" JSON_FORMAT ",\n", out);
	if (options->filter && put_filter(db, options->filter, out))
		return -1;
	fputs("\"summary\":{", out);
	for (int fact = 0; fact < FACT_COUNT; fact++) {
		fputs(fact ? ",\n" : "", out);
		if (put_fact(db, fact, out))
			return -1;
	}
	fputs("},\n", out);
	fputs("\"together\":", out);
	if (put_rows(db, db_prepare(db, together_sql), FACT_ROWS, out) < 0)
		return -1;
	fputs(",\n", out);
	if (put_totals(db, options, out) || put_possible(db, out) || put_kernels(db, out) ||
		put_findings(db, options, out))
		return -1;
	fputs("}\n", out);
	return 0;
}

int report_json(struct db *db, const struct report_options *options, FILE *out)
{
	char *text = NULL;
	size_t size = 0;
	FILE *memory = open_memstream(&text, &size);
	int rc = memory ? put_report(db, options, memory) : -1;

	if (!memory || fclose(memory)) {
		fputs("cufence: out of memory\n", stderr);
		rc = -1;
	}
	if (!rc)
		print_json(out, text, size);
	free(text);
	return rc;
}
