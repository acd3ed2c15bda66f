/* SPDX-License-Identifier: Apache-2.0 */
/* Which findings of several processes are one, and what it then shows. */
#include "unit.h"

#include "baseline.h"
#include "merge.h"
#include "verdict.h"

enum { FREE = 10, COPY = 20 }; /* sites: one of each process, from there on */

/* Three processes, each with two lines of a.cu; the third one's lines are of b.cu. */
static struct db run_of_three(void)
{
	struct db db;

	assert_int_equal(db_create(&db, DB_MEMORY), 0);
	assert_int_equal(
		db_exec(&db,
			"INSERT INTO process SELECT value, 100 + value, 1, 0, 1000, 1, 0, 'tsc',"
			" 1, 'on', 0, 0, 0, 't' FROM json_each('[1, 2, 3]');"
			"INSERT INTO site SELECT s.value + p.id, p.id, s.value + p.id, 'f',"
			" iif(p.id = 3, 'b.cu', 'a.cu'), s.value, NULL, 'a.cu:' || s.value"
			" FROM process p, json_each('[10, 20]') s"),
		0);
	return db;
}

/* A finding with the first line, and the second one if both. */
static void add(struct db *db, int process, const char *severity, int64_t waited, int both)
{
	char *sql = sqlite3_mprintf(
		"INSERT INTO finding (process, rule, confidence, severity, shown, reads, count,"
		" waited, delayed, saving, share, site, message, fingerprint)"
		" VALUES (%d, 'blocking-free', 'certain', %Q, %d, 0, 2, %lld, 0, %lld, 0.1, %d,"
		" 'freed', 'blocking-free f#1');"
		"INSERT INTO finding_place (finding, shown, count, waited, delayed, share, site,"
		" confidence, message, fingerprint) SELECT max(id), 1, 1, waited, 0, 0.05, %d,"
		" 'certain', 'freed', 'blocking-free f#1' FROM finding;",
		process, severity, *severity != 'l', (long long)waited, (long long)waited / 2,
		FREE + process, FREE + process);

	assert_int_equal(db_exec(db, sql), 0);
	sqlite3_free(sql);
	sql = sqlite3_mprintf(
		"INSERT INTO finding_place (finding, shown, count, waited, delayed, share, site,"
		" confidence, message, fingerprint) SELECT max(id), 1, 1, waited, 0, 0.05, %d,"
		" 'certain', 'freed', 'blocking-free f#2' FROM finding",
		COPY + process);
	assert_int_equal(both ? db_exec(db, sql) : 0, 0);
	sqlite3_free(sql);
}

static void expect(struct db *db, const char *sql, const char *wanted)
{
	sqlite3_stmt *q = db_prepare(db, sql);

	assert_non_null(q);
	assert_true(db_step(q) > 0);
	assert_string_equal(db_text(q, 0), wanted);
	sqlite3_finalize(q);
}

#define FINDINGS \
	"SELECT group_concat(id || ':' || (SELECT group_concat(site) FROM (SELECT site" \
	" FROM finding_place p WHERE p.finding = f.id ORDER BY p.id)), ' ') FROM finding f"

TEST(one_process_is_left_alone)
{
	struct db db = run_of_three();

	add(&db, 1, "high", 1000, 0);
	assert_int_equal(db_exec(&db, "DELETE FROM site WHERE process > 1"), 0);
	assert_int_equal(db_exec(&db, "DELETE FROM process WHERE id > 1"), 0);
	assert_int_equal(merge_begin(&db) || merge_findings(&db, 0), 0);
	expect(&db, "SELECT count(*) FROM temp.sqlite_master WHERE name LIKE 'finding%'", "0");
	expect(&db, "SELECT count(*) FROM temp.spread", "0");
	db_close(&db);
}

TEST(the_same_place_is_one_finding)
{
	struct db db = run_of_three();

	add(&db, 1, "high", 4000000, 0);
	add(&db, 2, "high", 8000000, 0);
	add(&db, 3, "high", 2000000, 0); /* of another file */
	assert_int_equal(merge_begin(&db) || merge_findings(&db, 0), 0);
	expect(&db, FINDINGS, "1:11 3:13");
	expect(&db, "SELECT text FROM temp.spread WHERE finding = 1",
		"in 2 of 3 processes, each 2 times, 4.0 ms to 8.0 ms host wait,"
		" at most 2.0 ms to 4.0 ms saving; pid 101: ");
	expect(&db, "SELECT text FROM temp.spread WHERE finding = 3",
		"in 1 of 3 processes, pid 103: ");
	expect(&db,
		"SELECT json_extract(" MERGED_PROCESSES("f") ", '$[1].waited_ns') FROM finding f",
		"8000000");
	db_close(&db);
}

/* Also places that the finding shown does not have, after its own. */
TEST(no_place_is_lost)
{
	struct db db = run_of_three();

	add(&db, 1, "medium", 4000000, 1);
	add(&db, 2, "high", 8000000, 0);
	assert_int_equal(merge_begin(&db) || merge_findings(&db, 0), 0);
	expect(&db, FINDINGS, "2:12,21");
	db_close(&db);
}

TEST(the_one_asked_for_is_shown)
{
	struct db db = run_of_three();

	add(&db, 1, "high", 4000000, 1);
	add(&db, 2, "high", 4000000, 0);
	assert_int_equal(merge_begin(&db) || merge_findings(&db, 2), 0);
	expect(&db, FINDINGS, "2:12,21");
	expect(&db, "SELECT text FROM temp.spread",
		"in 2 of 3 processes, each 2 times, 4.0 ms host wait, at most 2.0 ms saving; "
		"pid 102: ");
	db_close(&db);
}

/* A check fails for a process that fails, whichever is shown. */
TEST(a_verdict_is_that_of_the_worst)
{
	const struct verdict_rules wanted = { .list = "medium",
		.fences = "high",
		.reads = "none",
		.most = DB_NULL };
	struct db db = run_of_three();

	add(&db, 1, "low", 4000000, 1);
	add(&db, 2, "medium", 4000000, 1);
	assert_int_equal(verdict_begin(&db), 0);
	assert_int_equal(db_exec(&db, "INSERT INTO temp.baseline VALUES ('blocking-free f#2')"), 0);
	assert_int_equal(verdict_of_check(&db, &wanted), 0);
	assert_int_equal(verdict_merge(&db), 0);
	expect(&db,
		"SELECT group_concat(finding || ' ' || state || ' ' || severity) FROM (SELECT *"
		" FROM temp.verdict ORDER BY place)",
		"2 fails medium,2 baseline medium");
	expect(&db,
		"SELECT count(*) FROM temp.verdict v JOIN finding_place p ON p.id = v.place"
		" AND p.finding = v.finding",
		"2");
	db_close(&db);
}
