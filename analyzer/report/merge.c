/* SPDX-License-Identifier: Apache-2.0 */
#include "merge.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format.h"
#include "print.h"
#include "severity.h"

static const char tables_sql[] =
	"CREATE TEMP TABLE merged (id INTEGER PRIMARY KEY, finding INTEGER);"
	"CREATE INDEX temp.merged_finding ON merged (finding);"
	"CREATE TEMP TABLE merged_place (place INTEGER PRIMARY KEY, id INTEGER, finding INTEGER,"
	" own INTEGER);"
	"CREATE TEMP TABLE spread (finding INTEGER PRIMARY KEY, text TEXT)";

/* Fingerprints name no files: two programs may have functions and kernels of the same names. */
static const char keys_sql[] =
	"CREATE TEMP TABLE place_key AS SELECT p.id AS place, p.finding,"
	" f.rule || char(10) || p.fingerprint || char(10) || coalesce(s.file, s.text, '') AS key"
	" FROM main.finding_place p JOIN main.finding f ON f.id = p.finding"
	" LEFT JOIN main.site s ON s.id = p.site;"
	"CREATE INDEX temp.place_key_key ON place_key (key);"
	"CREATE INDEX temp.place_key_finding ON place_key (finding);"
	"CREATE TEMP TABLE least_of_key (key TEXT PRIMARY KEY, finding INTEGER);"
	"INSERT INTO temp.merged SELECT id, id FROM main.finding";

/* Each finding goes to the least of those that have a place of its, until none has a lesser one. */
static const char least_sql[] =
	"INSERT OR REPLACE INTO temp.least_of_key SELECT key, min(m.finding) FROM temp.place_key k"
	" JOIN temp.merged m ON m.id = k.finding GROUP BY key";
static const char join_sql[] =
	"UPDATE temp.merged AS m SET finding = (SELECT min(l.finding) FROM temp.place_key k"
	"  JOIN temp.least_of_key l ON l.key = k.key WHERE k.finding = m.id)"
	" WHERE finding > (SELECT min(l.finding) FROM temp.place_key k"
	"  JOIN temp.least_of_key l ON l.key = k.key WHERE k.finding = m.id)";

/* Which of those that are one shows them. */
static const char choose_sql[] =
	"CREATE TEMP TABLE shown_for AS SELECT m.id, first_value(m.id) OVER (PARTITION BY m.finding"
	"  ORDER BY m.id = ?1 DESC, f.shown DESC, " SEVERITY_RANK("f.severity") " DESC,"
	"  m.id) AS finding FROM temp.merged m JOIN main.finding f ON f.id = m.id";

/*
 * Places are shown in the order of their ids: those of another process than the finding's follow
 * all others.
 */
static const char rows_sql[] =
	"INSERT OR REPLACE INTO temp.merged SELECT id, finding FROM temp.shown_for;"
	"CREATE TEMP TABLE finding AS SELECT f.* FROM main.finding f"
	" JOIN temp.merged m ON m.id = f.id AND m.finding = f.id;"
	"CREATE UNIQUE INDEX temp.finding_id ON finding (id);"
	"INSERT INTO temp.merged_place SELECT place, first_value(own) OVER"
	"  (PARTITION BY finding, key ORDER BY own), finding, own FROM (SELECT k.place, k.key,"
	"  m.finding, k.place + iif(m.id = m.finding, 0, (SELECT max(id)"
	"   FROM main.finding_place)) AS own FROM temp.place_key k JOIN temp.merged m"
	"  ON m.id = k.finding);"
	"CREATE TEMP TABLE finding_place AS SELECT p.* FROM main.finding_place p"
	" JOIN temp.merged_place n ON n.place = p.id AND n.own = n.id;"
	"UPDATE temp.finding_place AS p SET"
	" finding = (SELECT finding FROM temp.merged_place WHERE place = p.id),"
	" id = (SELECT id FROM temp.merged_place WHERE place = p.id);"
	"CREATE UNIQUE INDEX temp.finding_place_id ON finding_place (id);"
	"CREATE INDEX temp.finding_place_finding ON finding_place (finding)";

static const char spread_sql[] =
	"SELECT m.finding, count(DISTINCT f.process), (SELECT count(*) FROM process), (SELECT p.pid"
	"  FROM main.finding g JOIN process p ON p.id = g.process WHERE g.id = m.finding),"
	" min(f.count), max(f.count), min(f.waited), max(f.waited), min(f.delayed), max(f.delayed),"
	" min(f.saving), max(f.saving), max(f.saving_low IS NULL)"
	" FROM temp.merged m JOIN main.finding f ON f.id = m.id GROUP BY m.finding";
enum spread_column {
	SPREAD_FINDING,
	SPREAD_PROCESSES,
	SPREAD_OF,
	SPREAD_PID,
	SPREAD_COUNT,
	SPREAD_WAITED = SPREAD_COUNT + 2,
	SPREAD_DELAYED = SPREAD_WAITED + 2,
	SPREAD_SAVING = SPREAD_DELAYED + 2,
	SPREAD_BOUND = SPREAD_SAVING + 2
};

int merge_begin(struct db *db)
{
	return db_exec(db, tables_sql);
}

/* The number of the statement's changes, -1 after a message. */
static int change(struct db *db, const char *sql)
{
	return db_exec(db, sql) ? -1 : sqlite3_changes(db->handle);
}

static int join(struct db *db, int64_t chosen)
{
	sqlite3_stmt *q;
	int changes, rc;

	if (db_exec(db, keys_sql))
		return -1;
	do
		changes = db_exec(db, least_sql) ? -1 : change(db, join_sql);
	while (changes > 0);
	q = changes ? NULL : db_prepare(db, choose_sql);
	rc = q ? db_run(q, "i", chosen) : -1;
	sqlite3_finalize(q);
	return rc || db_exec(db, rows_sql) ? -1 : 0;
}

/* ", 80 ms to 130 ms host wait" of a least and a most; nothing if all are 0. */
static void print_range(sqlite3_stmt *row, int column, const char *bound, const char *what,
	FILE *out)
{
	int64_t least = sqlite3_column_int64(row, column);
	int64_t most = sqlite3_column_int64(row, column + 1);
	char low[DURATION_SIZE], high[DURATION_SIZE];

	if (!most)
		return;
	print(out, ", %s", bound);
	format_duration(high, most);
	format_duration(low, least);
	if (!least)
		fputs("0 to ", out);
	else if (strcmp(low, high))
		print(out, "%s to ", low);
	print(out, "%s %s", high, what);
}

static int put_spread(sqlite3_stmt *insert, sqlite3_stmt *row)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	int rc = -1;

	if (out) {
		/* "in 4 of 4 processes, each 29 times, 80 ms to 130 ms host wait; pid 17: " */
		long long least = sqlite3_column_int64(row, SPREAD_COUNT);
		long long most = sqlite3_column_int64(row, SPREAD_COUNT + 1);
		long long pid = sqlite3_column_int64(row, SPREAD_PID);
		int processes = sqlite3_column_int(row, SPREAD_PROCESSES);

		print(out, "in %d of %d processes, ", processes,
			sqlite3_column_int(row, SPREAD_OF));
		if (processes > 1) {
			print(out, "each ");
			if (least < most)
				print(out, "%lld to ", least);
			print(out, "%lld time%s", most, most == 1 ? "" : "s");
			print_range(row, SPREAD_WAITED, "", "host wait", out);
			print_range(row, SPREAD_DELAYED, "", "device delay", out);
			print_range(row, SPREAD_SAVING,
				sqlite3_column_int(row, SPREAD_BOUND) ? "at most " : "", "saving",
				out);
			fputs("; ", out);
		}
		print(out, "pid %lld: ", pid);
	}
	if (out && !fclose(out))
		rc = db_run(insert, "is", sqlite3_column_int64(row, SPREAD_FINDING), text);
	else
		fputs("cufence: out of memory\n", stderr);
	free(text);
	return rc;
}

static int describe(struct db *db)
{
	sqlite3_stmt *q = db_prepare(db, spread_sql);
	sqlite3_stmt *insert = db_prepare(db, "INSERT INTO temp.spread VALUES (?, ?)");
	int step = q && insert ? 0 : -1;

	while (!step && (step = db_step(q)) > 0)
		step = put_spread(insert, q);
	sqlite3_finalize(q);
	sqlite3_finalize(insert);
	return step;
}

int merge_findings(struct db *db, int64_t chosen)
{
	if (db_int(db, "SELECT count(*) FROM process", 0) < 2)
		return db->failed ? -1 : 0;
	return join(db, chosen) || describe(db) ? -1 : 0;
}
