/* SPDX-License-Identifier: Apache-2.0 */
#include "diff.h"

#include "constants.h"
#include "median.h"
#include "report_internal.h"

/* Columns begin with the side and the number of the run. */
static const char tables_sql[] =
	"CREATE TEMP TABLE run (after INTEGER, run INTEGER);"
	"CREATE TEMP TABLE trait (after INTEGER, run INTEGER, rank INTEGER, what TEXT, text TEXT,"
	" same TEXT);"
	"CREATE TEMP TABLE total (after INTEGER, run INTEGER, rank INTEGER, name TEXT, unit TEXT,"
	" value INTEGER);"
	"CREATE TEMP TABLE place (after INTEGER, run INTEGER, fingerprint TEXT, rule TEXT,"
	" place TEXT, message TEXT, count INTEGER, cost REAL, turn REAL, share REAL, shown INTEGER,"
	" fence INTEGER, sure INTEGER, PRIMARY KEY (fingerprint, after, run));"
	"CREATE TEMP TABLE other (rank INTEGER, what TEXT, before TEXT, after TEXT);"
	"CREATE TEMP TABLE total_change (rank INTEGER, name TEXT, unit TEXT, before INTEGER,"
	" before_least INTEGER, before_most INTEGER, after INTEGER, after_least INTEGER,"
	" after_most INTEGER, state TEXT);"
	"CREATE TEMP TABLE change (state TEXT, rule TEXT, place TEXT, message TEXT,"
	" fingerprint TEXT, per TEXT, before INTEGER, before_least INTEGER, before_most INTEGER,"
	" after INTEGER, after_least INTEGER, after_most INTEGER, before_count INTEGER,"
	" after_count INTEGER)";

/* The loop that stands for a run of several processes. */
#define FIRST_LOOP "FROM loop l ORDER BY l.process LIMIT 1"

/*
 * What a run is of: without a row it is unknown.  A loop is known by the functions of its call
 * path: lines move when code is edited, and its first call may be another one.
 */
static const char trait_sql[] =
	"WITH said(command) AS (SELECT coalesce((SELECT value FROM property WHERE name = 'command'"
	"  ORDER BY process LIMIT 1), (SELECT command FROM run)) || ' '),"
	" split(program, rest) AS (SELECT substr(command, 1, instr(command, ' ') - 1),"
	"  rtrim(substr(command, instr(command, ' ') + 1)) FROM said),"
	" first(site, place) AS (SELECT l.site, l.place " FIRST_LOOP "),"
	" path(name) AS (SELECT coalesce(f.function || ' in ', '') || " REPORT_FILE
	"  FROM first JOIN frame f ON f.site = first.site WHERE f.user)"
	" SELECT 1, 'executable', " REPORT_BASE("program") ", " REPORT_BASE("program")
	" FROM split WHERE program <> ''"
	" UNION ALL SELECT 2, 'arguments', rest, rest FROM split WHERE program <> ''"
	" UNION ALL SELECT 3, 'loop', place, coalesce(name, place) FROM first LEFT JOIN path"
	" UNION ALL SELECT 3, 'loop', '', '' WHERE NOT EXISTS (SELECT 1 FROM first)"
	" UNION ALL SELECT DISTINCT 4, 'device', d.name, d.name FROM device_use u"
	"  JOIN device d ON d.process = u.process AND d.ordinal = u.device";

/*
 * The first row, the length of the loop or else of the run, is what others are compared with.
 * Memory is what is allocated on devices at once, in all processes; an allocation that is the same
 * memory as another one counts once.
 */
static const char total_sql[] =
	"SELECT 0, '', 'ns', coalesce((SELECT l.end - l.start - l.paused " FIRST_LOOP
	"),"
	"  max(end) - min(start)) FROM process"
	" UNION ALL SELECT 1, 'run', 'ns', max(end) - min(start) FROM process"
	" UNION ALL SELECT * FROM (SELECT 2, 'turns', 'count', l.turns + l.warm " FIRST_LOOP
	")"
	" UNION ALL SELECT * FROM (SELECT 3, 'turn', 'ns',"
	"  (l.end - l.start - l.paused) / l.turns " FIRST_LOOP
	")"
	" UNION ALL SELECT 4, 'device busy', 'ns', sum(busy) FROM device_use"
	" UNION ALL SELECT 5, 'waits', 'ns', coalesce(sum(waited), iif(EXISTS (SELECT 1"
	"  FROM device_use), 0, NULL)) FROM wait_use"
	" UNION ALL SELECT 6, 'memory peak', 'bytes', max(live) FROM (SELECT sum(change) OVER"
	"  (ORDER BY at, id ROWS UNBOUNDED PRECEDING) AS live FROM ("
	"   WITH own AS (SELECT * FROM allocation a"
	"    WHERE memory NOT IN ('pinned', 'registered', 'imported') AND NOT EXISTS (SELECT 1"
	"    FROM alias s JOIN allocation o ON o.id = s.same WHERE s.allocation = a.id"
	"    AND s.shift < o.bytes))"
	"   SELECT a.id, a.bytes AS change, coalesce(c.exit, 0) AS at FROM own a"
	"    LEFT JOIN call c ON c.id = a.created"
	"   UNION ALL SELECT a.id, -a.bytes, f.enter FROM own a JOIN call f ON f.id = a.freed))";

/* Each place with its share of the finding's cost, per run and per turn.  Places with one
 * fingerprint, as several processes have, are added up. */
static const char place_sql[] =
	"SELECT p.fingerprint, f.rule, coalesce(s.file || ':' || s.line, s.text, '?')"
	"  || coalesce(' ' || s.function, ''), p.message, sum(p.count),"
	" sum(iif(f.share > 0, f.saving * p.share / f.share, 0)),"
	" sum(iif(f.share > 0, f.turn_saving * p.share / f.share, f.turn_saving)), sum(p.share),"
	" max(f.shown), min(f.waited + f.delayed = 0),"
	" max(CASE p.confidence WHEN 'certain' THEN 3 WHEN 'likely' THEN 2 ELSE 1 END)"
	" FROM finding_place p JOIN finding f ON f.id = p.finding"
	" LEFT JOIN site s ON s.id = p.site GROUP BY p.fingerprint ORDER BY min(p.id)";

/* Runs are of the same if they have one of its names in common. */
static const char other_sql[] =
	"WITH side AS (SELECT after, rank, what, group_concat(text, ', ') AS texts"
	"  FROM (SELECT DISTINCT after, rank, what, iif(text <> '', '''' || text || '''', 'none')"
	"   AS text FROM temp.trait ORDER BY text) GROUP BY after, what)"
	" INSERT INTO temp.other SELECT b.rank, b.what, b.texts, a.texts FROM side b JOIN side a"
	" ON a.what = b.what AND a.after AND NOT b.after"
	" WHERE NOT EXISTS (SELECT 1 FROM temp.trait t WHERE t.what = b.what GROUP BY same"
	"  HAVING count(DISTINCT run) = (SELECT count(DISTINCT run) FROM temp.trait o"
	"   WHERE o.what = b.what))";

#define RUNS(side) "(SELECT count(*) FROM temp.run r WHERE r.after = " side ")"
/* What ?1 and ?2 percent are of is a change, with few runs of a side or enough of both. */
#define PERCENT "iif(min(" RUNS("0") ", " RUNS("1") ") < ?3, ?1, ?2) / 100.0"
#define DIFFERENCE "abs(a.middle - b.middle)"
#define OTHER_LOOP "EXISTS (SELECT 1 FROM temp.other WHERE what = 'loop')"
#define SPREADS "a.most - a.least + b.most - b.least"

static const char sum_sql[] =
	"WITH side AS (SELECT after, rank, name, unit, count(value) AS present,"
	"  median(value) AS middle, min(value) AS least, max(value) AS most FROM temp.total"
	"  WHERE value NOT NULL GROUP BY after, name)"
	" INSERT INTO temp.total_change"
	" SELECT n.rank, n.name, n.unit, b.middle, b.least, b.most, a.middle, a.least, a.most,"
	" CASE WHEN n.name IN ('turns', 'turn') AND " OTHER_LOOP " THEN 'other'"
	"  WHEN a.present IS NOT " RUNS("1") " OR b.present IS NOT " RUNS("0")
	"   THEN 'unknown'"
	"  WHEN a.middle = b.middle THEN 'same'"
	"  WHEN " DIFFERENCE " <= " SPREADS " THEN 'spread'"
	"  WHEN " DIFFERENCE " <= b.middle * " PERCENT " THEN 'same'"
	"  WHEN n.name IN ('device busy', 'waits') AND " DIFFERENCE " <= ?2 / 100.0"
	"   * (SELECT max(middle) FROM side WHERE rank = 0) THEN 'little'"
	"  WHEN a.middle > b.middle THEN 'more' ELSE 'less' END"
	" FROM (SELECT DISTINCT rank, name, unit FROM side WHERE rank) n"
	" LEFT JOIN side b ON b.name = n.name AND NOT b.after"
	" LEFT JOIN side a ON a.name = n.name AND a.after";

/* A missing fence has no cost; a side without the place has none to show. */
#define SHOWN(value, side) "iif(" side ".present, " value " * NOT b.fence, NULL)"

/* Places that reports hide are compared, too, if another run shows them. */
static const char change_sql[] =
	"WITH one AS (SELECT fingerprint, min(fence) AS fence, min(turn NOT NULL) AND NOT"
	"   " OTHER_LOOP " AS by_turn"
	"  FROM temp.place GROUP BY fingerprint HAVING max(shown)),"
	" value AS (SELECT one.fingerprint, one.fence, one.by_turn, r.after, p.count, p.share,"
	"  p.shown, p.fingerprint NOT NULL AS present, CAST(round(coalesce(iif(one.fence, p.sure,"
	"   iif(one.by_turn, p.turn, p.cost)), 0)) AS INTEGER) AS value"
	"  FROM one CROSS JOIN temp.run r LEFT JOIN temp.place p"
	"  ON p.fingerprint = one.fingerprint AND p.after = r.after AND p.run = r.run),"
	" side AS (SELECT fingerprint, fence, by_turn, after, sum(present) AS present,"
	"  sum(shown) AS shown, median(count) AS count, median(value) AS middle,"
	"  min(value) AS least, max(value) AS most, max(iif(share > 0, value / share, 0)) AS whole"
	"  FROM value GROUP BY fingerprint, after)"
	" INSERT INTO temp.change SELECT CASE"
	"  WHEN NOT b.present THEN iif(a.shown = " RUNS("1") ", 'new', 'spread')"
	"  WHEN NOT a.present THEN iif(b.shown = " RUNS("0") ", 'gone', 'spread')"
	"  WHEN " DIFFERENCE " <= iif(b.fence, 0, max(b.middle * " PERCENT ","
	"   max(a.whole, b.whole) * ?2 / 100.0)) THEN 'same'"
	"  WHEN " DIFFERENCE " <= " SPREADS " THEN 'spread'"
	"  WHEN a.middle > b.middle THEN 'worse' ELSE 'better' END,"
	" t.rule, t.place, t.message, b.fingerprint, iif(b.by_turn, 'turn', 'run'),"
	" " SHOWN("b.middle", "b") ", " SHOWN("b.least", "b") ", " SHOWN("b.most", "b")
	", " SHOWN("a.middle", "a") ", " SHOWN("a.least", "a") ", " SHOWN("a.most", "a") ","
	" b.count, a.count"
	" FROM side b JOIN side a ON a.fingerprint = b.fingerprint AND a.after"
	" JOIN temp.place t ON t.rowid = (SELECT rowid FROM temp.place"
	"  WHERE fingerprint = b.fingerprint ORDER BY after DESC, run LIMIT 1) WHERE NOT b.after";

int diff_open(struct db *diff)
{
	if (db_create(diff, DB_MEMORY))
		return -1;
	if (!median_add(diff) && !db_exec(diff, tables_sql))
		return 0;
	db_close(diff);
	return -1;
}

/* Copies rows into a table behind the side and the run. */
static int copy(struct db *diff, struct db *run, const char *select, const char *insert,
	const int64_t side[2])
{
	sqlite3_stmt *q = db_prepare(run, select), *to = db_prepare(diff, insert);
	int step = q && to ? 0 : -1;

	while (!step && (step = db_step(q)) > 0) {
		sqlite3_reset(to);
		sqlite3_bind_int64(to, 1, side[0]);
		sqlite3_bind_int64(to, 2, side[1]);
		for (int i = 0; i < sqlite3_column_count(q); i++)
			sqlite3_bind_value(to, i + 3, sqlite3_column_value(q, i));
		step = db_step(to);
	}
	sqlite3_finalize(q);
	sqlite3_finalize(to);
	return step;
}

static int add_run(struct db *diff, const int64_t side[2])
{
	sqlite3_stmt *q = db_prepare(diff, "INSERT INTO temp.run VALUES (?, ?)");
	int rc = q ? db_run(q, "ii", side[0], side[1]) : -1;

	sqlite3_finalize(q);
	return rc;
}

int diff_add(struct db *diff, struct db *run, int after)
{
	const int64_t side[2] = { after, db_int(diff, "SELECT count(*) FROM temp.run", 0) };

	return add_run(diff, side) ||
			copy(diff, run, trait_sql,
				"INSERT INTO temp.trait VALUES (?1, ?2, ?3, ?4, ?5, ?6)", side) ||
			copy(diff, run, total_sql,
				"INSERT INTO temp.total VALUES (?1, ?2, ?3, ?4, ?5, ?6)", side) ||
			copy(diff, run, place_sql,
				"INSERT INTO temp.place VALUES"
				" (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)",
				side)
		? -1
		: 0;
}

static int compare(struct db *diff, const char *sql)
{
	sqlite3_stmt *q = db_prepare(diff, sql);
	int rc = q ? db_run(q, "iii", (int64_t)DIFF_WORSE_PERCENT, (int64_t)FINDING_MIN_PERCENT,
			     (int64_t)DIFF_MIN_RUNS)
		   : -1;

	sqlite3_finalize(q);
	return rc;
}

int diff_compare(struct db *diff)
{
	return db_exec(diff, other_sql) || compare(diff, sum_sql) || compare(diff, change_sql) ? -1
											       : 0;
}
