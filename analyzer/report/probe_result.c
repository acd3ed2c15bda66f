/* SPDX-License-Identifier: Apache-2.0 */
#include "probe_result.h"

#include "print.h"

#include <string.h>

const char probe_result_h200[] =
#include "h200-580.159.inc"
	;

static const char tables[] =
	"CREATE TABLE system(other, title, busy_ms);"
	"CREATE TABLE result(position INTEGER PRIMARY KEY, other, kind, name, background, host_ms, "
	"	value, unit, low, high, class, error);"
	"CREATE INDEX result_name ON result(other, name);";

static const char add_system[] =
	"INSERT INTO system SELECT ?1, json_extract(?2, '$.system.device') || ', driver ' || "
	"	json_extract(?2, '$.system.driver') || ', CUDA ' || "
	"	json_extract(?2, '$.system.cuda'), "
	"	json_extract(?2, '$.system.busy_ms')";

static const char add_results[] =
	"INSERT INTO result(other, kind, name, background, host_ms, value, unit, low, high, class, "
	"	error) "
	"SELECT ?1, kind.value, json_extract(each.value, '$.name'), "
	"	json_extract(each.value, '$.background'), json_extract(each.value, '$.host_ms'), "
	"	json_extract(each.value, '$.value'), json_extract(each.value, '$.unit'), "
	"	json_extract(each.value, '$.min'), json_extract(each.value, '$.p99'), "
	"	json_extract(each.value, '$.class'), json_extract(each.value, '$.error') "
	"FROM json_each('[\"rows\", \"measured\", \"errors\"]') AS kind, "
	"	json_each(?2, '$.' || kind.value) AS each "
	"WHERE json_extract(each.value, '$.name') IS NOT NULL ORDER BY kind.key, each.key";

int probe_result_open(struct db *db)
{
	*db = (struct db){ 0 };
	if (sqlite3_open_v2(":memory:", &db->handle, SQLITE_OPEN_READWRITE, NULL) != SQLITE_OK) {
		print(stderr, "cufence: SQLite: %s\n", sqlite3_errmsg(db->handle));
		db_close(db);
		return -1;
	}
	return db_exec(db, tables);
}

static int add(struct db *db, const char *sql, const char *json, int other)
{
	sqlite3_stmt *stmt = db_prepare(db, sql);
	int rc = stmt ? db_run(stmt, "is", (int64_t)other, json) : -1;

	sqlite3_finalize(stmt);
	return rc;
}

/* 1: it is one, 0: it is not, -1 after a message. */
static int is_result(struct db *db, const char *json)
{
	sqlite3_stmt *stmt = db_prepare(db,
		"SELECT CASE WHEN json_valid(?1) THEN json_type(?1, '$.rows') = 'array' AND "
		"json_extract(?1, '$.cufence_probe') = 1 END");
	int rc = -1;

	if (stmt && !db_bind(stmt, "s", json) && db_step(stmt) > 0)
		rc = sqlite3_column_int(stmt, 0);
	sqlite3_finalize(stmt);
	return rc;
}

int probe_result_add(struct db *db, const char *json, int other, const char *subject)
{
	int good = is_result(db, json);

	if (!good)
		print(stderr, "cufence probe: %s is not a result of cufence probe --json\n",
			subject);
	if (good <= 0)
		return -1;
	return add(db, add_system, json, other) || add(db, add_results, json, other) ? -1 : 0;
}

/* --- the table ------------------------------------------------------------------------------- */

#define NAME_WIDTH 62

/* %8.3f of a column, blank where it was not measured. */
static void print_ms(FILE *out, sqlite3_stmt *stmt, int column)
{
	if (sqlite3_column_type(stmt, column) == SQLITE_NULL)
		print(out, " %8s", "");
	else
		print(out, " %8.3f", sqlite3_column_double(stmt, column));
}

static const char *text(sqlite3_stmt *stmt, int column)
{
	const char *value = (const char *)sqlite3_column_text(stmt, column);

	return value ? value : "";
}

static int print_title(struct db *db, FILE *out)
{
	sqlite3_stmt *stmt = db_prepare(db, "SELECT title, busy_ms FROM system WHERE NOT other");
	int step = stmt ? db_step(stmt) : -1;

	if (step > 0)
		print(out, "%s\n\nms in the call, while a kernel of at least %g ms runs on\n",
			text(stmt, 0), sqlite3_column_double(stmt, 1));
	sqlite3_finalize(stmt);
	return step < 0 ? -1 : 0;
}

static int print_rows(struct db *db, FILE *out)
{
	sqlite3_stmt *stmt = db_prepare(db,
		"SELECT name, max(host_ms) FILTER (WHERE background = 'none'), "
		"	max(host_ms) FILTER (WHERE background = 'own'), "
		"	max(host_ms) FILTER (WHERE background = 'blocking'), "
		"	max(host_ms) FILTER (WHERE background = 'non-blocking'), "
		"	max(host_ms) FILTER (WHERE background = 'legacy'), class "
		"FROM result WHERE NOT other AND kind = 'rows' "
		"GROUP BY name ORDER BY min(position)");
	int step = -1;

	print(out, "%-*s %8s %8s %8s %8s %8s  %s\n", NAME_WIDTH, "", "nothing", "its own",
		"blocking", "non-blk", "legacy", "the call");
	while (stmt && (step = db_step(stmt)) > 0) {
		print(out, "%-*s", NAME_WIDTH, text(stmt, 0));
		for (int i = 1; i <= 5; i++)
			print_ms(out, stmt, i);
		print(out, "  %s\n", text(stmt, 6));
	}
	sqlite3_finalize(stmt);
	return step;
}

static int print_measured(struct db *db, FILE *out)
{
	sqlite3_stmt *stmt = db_prepare(db,
		"SELECT name, "
		"	CASE unit WHEN 'bool' THEN '' ELSE printf('%.4g %s', value, unit) END, "
		"	CASE WHEN low IS NULL THEN '' "
		"		ELSE printf('%.4g to %.4g', low, high) END, class "
		"FROM result WHERE NOT other AND kind = 'measured' ORDER BY position");
	int step = -1;

	print(out, "\n%-*s %18s  %s\n", NAME_WIDTH, "", "median or value", "least to 99 %");
	while (stmt && (step = db_step(stmt)) > 0)
		print(out, "%-*s %18s  %s%s\n", NAME_WIDTH, text(stmt, 0), text(stmt, 1),
			text(stmt, 2), text(stmt, 3));
	sqlite3_finalize(stmt);
	return step;
}

static int print_errors(struct db *db, FILE *out)
{
	sqlite3_stmt *stmt = db_prepare(db,
		"SELECT name, error FROM result WHERE NOT other AND kind = 'errors' "
		"ORDER BY position");
	int step = -1, count = 0;

	while (stmt && (step = db_step(stmt)) > 0) {
		fputs(count++ ? "" : "\nnot measured\n", out);
		print(out, "%-*s error: %s\n", NAME_WIDTH, text(stmt, 0), text(stmt, 1));
	}
	sqlite3_finalize(stmt);
	return step;
}

/* --- the comparison -------------------------------------------------------------------------- */

/* The rows that have a class in both results. */
#define BOTH \
	"(SELECT here.name, here.class AS here, there.class AS there, " \
	"	min(here.position) AS position " \
	"FROM result AS here JOIN result AS there ON there.other AND there.name = here.name " \
	"WHERE NOT here.other AND here.class IS NOT NULL AND there.class IS NOT NULL " \
	"GROUP BY here.name)"

static int print_comparison(struct db *db, FILE *out)
{
	sqlite3_stmt *stmt = db_prepare(db,
		"SELECT title, (SELECT count(*) FROM " BOTH
		" WHERE here = there), "
		"	(SELECT count(*) FROM " BOTH
		" WHERE here <> there), "
		"	(SELECT count(DISTINCT name) FROM result WHERE NOT other) - "
		"	(SELECT count(*) FROM " BOTH ") FROM system WHERE other");
	int step = stmt ? db_step(stmt) : -1;
	int differs;

	if (step > 0) {
		differs = sqlite3_column_int(stmt, 2);
		print(out, "\nagrees with %s in %d rows, differs in %d rows, %d not compared%s\n",
			text(stmt, 0), sqlite3_column_int(stmt, 1), differs,
			sqlite3_column_int(stmt, 3), differs ? ":" : "");
	}
	sqlite3_finalize(stmt);
	return step < 0 ? -1 : 0;
}

static int print_differences(struct db *db, FILE *out)
{
	sqlite3_stmt *stmt = db_prepare(db,
		"SELECT name, here, there FROM " BOTH " WHERE here <> there ORDER BY position");
	int step = -1;

	while (stmt && (step = db_step(stmt)) > 0)
		print(out, "    %s: %s here, %s there\n", text(stmt, 0), text(stmt, 1),
			text(stmt, 2));
	sqlite3_finalize(stmt);
	return step;
}

int probe_result_print(struct db *db, FILE *out)
{
	if (print_title(db, out) || print_rows(db, out) || print_measured(db, out) ||
		print_errors(db, out) || print_comparison(db, out) || print_differences(db, out))
		return -1;
	return 0;
}
