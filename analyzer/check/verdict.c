/* SPDX-License-Identifier: Apache-2.0 */
#include "verdict.h"

#include <string.h>

#include "constants.h"
#include "format.h"
#include "merge.h"
#include "nearest.h"
#include "print.h"
#include "rules.h"
#include "severity.h"
#include "suppressions.h"

static const char tables_sql[] =
	"CREATE TEMP TABLE verdict (place INTEGER PRIMARY KEY, finding INTEGER, state TEXT,"
	" severity TEXT, reason TEXT);"
	"CREATE TEMP TABLE trouble (name TEXT, message TEXT, failure INTEGER);"
	"CREATE TEMP TABLE baseline (fingerprint TEXT PRIMARY KEY);"
	"CREATE TEMP TABLE suppression (id INTEGER PRIMARY KEY, line INTEGER, fingerprint TEXT,"
	" rule TEXT, function TEXT, file TEXT, reason TEXT, until TEXT, expired INTEGER,"
	" policy INTEGER, used INTEGER);";

#define NAME_AND_RANK(name, rank, ...) { #name, rank },

/* Of that name; 0: no severity. */
static int severity_rank(const char *name, size_t length)
{
	static const struct {
		const char *name;
		int rank;
	} severities[] = { SEVERITIES(NAME_AND_RANK) };

	for (size_t i = 0; i < sizeof(severities) / sizeof(*severities); i++)
		if (strlen(severities[i].name) == length &&
			!strncmp(severities[i].name, name, length))
			return severities[i].rank;
	return 0;
}

/* Whether the list (severities, and rules by name) makes such a finding fail. */
static int fails(const char *list, const char *rule, const char *severity)
{
	while (*list) {
		size_t length = strcspn(list, ",");
		int rank = severity_rank(list, length);
		if (rank && severity_rank(severity, strlen(severity)) >= rank)
			return 1;
		if (!rank && strlen(rule) == length && !strncmp(rule, list, length))
			return 1;
		list += length + (list[length] == ',');
	}
	return 0;
}

/* Low severity means below the report's threshold. */
static int asks_for_low(const char *list)
{
	return fails(list, "", "low");
}

/* Refuses unknown names: a misspelt rule or an empty variable would make every check pass. */
int verdict_check_list(const char *list)
{
	char name[128];

	if (!strcmp(list, "none"))
		return 0;
	do {
		size_t length = strcspn(list, ",");
		snprintf(name, sizeof(name), "%.*s", (int)length, list);
		if (!severity_rank(list, length) && !rule_find(name)) {
			struct nearest nearest = { .word = name };

			rule_offer_all(&nearest);
			print(stderr,
				"cufence check: --fail-on: no severity or rule '%s'" NEAREST_FORMAT
				" (see \"cufence help rules\")\n",
				name, NEAREST_PARTS(nearest));
			return -1;
		}
		list += length + (list[length] == ',');
	} while (*list);
	return 0;
}

int verdict_begin(struct db *db)
{
	return merge_begin(db) || db_exec(db, tables_sql) ? -1 : 0;
}

int verdict_add_trouble(struct db *db, const char *name, const char *message, int failure)
{
	sqlite3_stmt *q = db_prepare(db, "INSERT INTO temp.trouble VALUES (?, ?, ?)");
	int rc = q ? db_run(q, "ssi", name, message, (int64_t)failure) : -1;

	sqlite3_finalize(q);
	return rc;
}

int verdict_of_report(struct db *db, const struct report_options *options)
{
	char *sql = sqlite3_mprintf(
		"INSERT INTO temp.verdict SELECT p.id, f.id, iif(p.shown, 'fails', 'passes'),"
		" f.severity, NULL FROM (SELECT * FROM finding f WHERE %s"
		"  AND (?1 = 0 OR f.id = ?1) ORDER BY f.id LIMIT ?2) f"
		" JOIN finding_place p ON p.finding = f.id",
		report_condition(options->level));
	sqlite3_stmt *q = sql ? db_prepare(db, sql) : NULL;
	int rc = q ? db_run(q, "ii", options->finding,
			     options->top ? (int64_t)options->top : (int64_t)-1)
		   : -1;

	sqlite3_finalize(q);
	sqlite3_free(sql);
	if (!rc && options->finding && !sqlite3_changes(db->handle)) {
		print(stderr, "cufence: there is no finding %lld (see \"cufence report --all\")\n",
			(long long)options->finding);
		rc = -1;
	}
	return rc;
}

/* Suppressions and the baseline accept places first; all other places are new and may fail. */
static const char accept_sql[] =
	"INSERT INTO temp.verdict SELECT p.id, p.finding, CASE WHEN u.id NOT NULL THEN 'suppressed'"
	" WHEN p.fingerprint IN (SELECT fingerprint FROM temp.baseline) THEN 'baseline'"
	" ELSE 'new' END, f.severity, u.reason FROM finding_place p"
	" JOIN finding f ON f.id = p.finding"
	" LEFT JOIN main.site s ON s.id = p.site LEFT JOIN temp.suppression u ON u.id ="
	"  (SELECT id FROM temp.suppression a WHERE NOT expired AND (fingerprint = p.fingerprint"
	"   OR rule = f.rule AND " SUPPRESSES("a", "s.function", "s.file") ") ORDER BY id LIMIT 1)";

/* A finding is judged by its new places alone, with their part of its share. */
static const char new_sql[] =
	"SELECT f.id, f.rule, sum(p.share), count(*) = (SELECT count(*) FROM finding_place a"
	"  WHERE a.finding = f.id), f.share, f.shown, NOT f.waited + f.delayed, f.reads, f.severity"
	" FROM temp.verdict v JOIN finding_place p ON p.id = v.place"
	" JOIN finding f ON f.id = v.finding"
	" WHERE v.state = 'new' GROUP BY f.id";
enum new_column {
	NEW_ID,
	NEW_RULE,
	NEW_PART,
	NEW_ALL,
	NEW_SHARE,
	NEW_SHOWN,
	NEW_IS_FENCE, /* without a cost */
	NEW_READS,
	NEW_SEVERITY /* of the whole finding */
};

/*
 * Missing fences have a list of their own: by default only certain ones fail.  So have values that
 * are read: by default none fails, since nobody but the author knows whether they are needed.
 */
static int judge(sqlite3_stmt *row, const struct verdict_rules *wanted, sqlite3_stmt *update)
{
	double share =
		sqlite3_column_double(row, sqlite3_column_int(row, NEW_ALL) ? NEW_SHARE : NEW_PART);
	int is_fence = sqlite3_column_int(row, NEW_IS_FENCE);
	const char *severity = db_text(row, NEW_SEVERITY), *part = finding_severity(share);
	int shown = sqlite3_column_int(row, NEW_SHOWN) &&
		(is_fence || share >= FINDING_MIN_PERCENT / 100.0);
	const char *list = is_fence                  ? wanted->fences
		: sqlite3_column_int(row, NEW_READS) ? wanted->reads
						     : wanted->list;
	int failed;

	if (!is_fence &&
		severity_rank(part, strlen(part)) < severity_rank(severity, strlen(severity)))
		severity = part;
	failed = (shown || asks_for_low(wanted->list)) &&
		fails(list, db_text(row, NEW_RULE), severity);

	return db_run(update, "ssi",
		failed          ? "fails"
			: shown ? "passes"
				: "hidden",
		severity, sqlite3_column_int64(row, NEW_ID));
}

/* The cost of all findings of a process together, per turn of its loop or per run. */
static const char cost_sql[] =
	"SELECT coalesce(r.turn_saving, r.saving, sum(coalesce(f.turn_saving, f.saving))),"
	" coalesce(r.turn_saving, max(f.turn_saving)) NOT NULL, p.pid FROM finding f"
	" JOIN process p ON p.id = f.process LEFT JOIN replay r ON r.process = f.process"
	" WHERE f.shown AND f.waited + f.delayed > 0 GROUP BY p.id ORDER BY 1 DESC LIMIT 1";

static int judge_cost(struct db *db, int64_t most)
{
	sqlite3_stmt *q = db_prepare(db, cost_sql);
	int step = q ? db_step(q) : -1, rc = 0;
	char cost[DURATION_SIZE], allowed[DURATION_SIZE];

	if (step > 0 && sqlite3_column_int64(q, 0) > most) {
		char *message = sqlite3_mprintf(
			"all findings together cost %s of %s in process %lld; --max-cost allows %s",
			format_duration(cost, sqlite3_column_int64(q, 0)),
			sqlite3_column_int(q, 1) ? "each turn" : "the run",
			sqlite3_column_int64(q, 2), format_duration(allowed, most));

		rc = message ? verdict_add_trouble(db, "max-cost", message, 0) : -1;
		sqlite3_free(message);
	}
	sqlite3_finalize(q);
	return step < 0 ? -1 : rc;
}

int verdict_of_check(struct db *db, const struct verdict_rules *wanted)
{
	sqlite3_stmt *update = NULL, *q = NULL;
	int step = db_exec(db, accept_sql) || suppressions_use(db) ? -1 : 0;

	if (!step) {
		update = db_prepare(db,
			"UPDATE temp.verdict SET state = ?, severity = ? WHERE finding = ?"
			" AND state = 'new'");
		q = db_prepare(db, new_sql);
		step = update && q ? 0 : -1;
	}
	/* Each update changes only rows of the finding that was just read. */
	while (!step && (step = db_step(q)) > 0)
		step = judge(q, wanted, update);
	sqlite3_finalize(q);
	sqlite3_finalize(update);
	return step || (wanted->most != DB_NULL && judge_cost(db, wanted->most)) ? -1 : 0;
}

/* Places that are one: of the first of these states, and then of the highest severity. */
static const char merge_sql[] =
	"CREATE TEMP TABLE judged AS SELECT n.id AS place, n.finding, v.state, v.severity,"
	" v.reason, min(CASE v.state WHEN 'fails' THEN 0 WHEN 'baseline' THEN 3"
	"  WHEN 'suppressed' THEN 6 WHEN 'passes' THEN 9 ELSE 12 END"
	"  - " SEVERITY_RANK("v.severity") ")"
	" FROM temp.verdict v JOIN temp.merged_place n ON n.place = v.place GROUP BY n.id;"
	"DELETE FROM temp.verdict;"
	"INSERT INTO temp.verdict SELECT place, finding, state, severity, reason FROM temp.judged";

int verdict_merge(struct db *db)
{
	if (merge_findings(db, 0))
		return -1;
	return db_int(db, "SELECT EXISTS (SELECT 1 FROM temp.merged_place)", 0)
		? db_exec(db, merge_sql)
		: 0;
}
