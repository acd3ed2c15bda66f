/* SPDX-License-Identifier: Apache-2.0 */
#include "ranks.h"

#include "constants.h"
#include "ranks_internal.h"
#include "severity.h"

/*
 * What is compared: ns per turn, or of the run unless all ranks have a loop.  What costs a rank
 * nothing has no row there, which stands for 0.  A finding counts as a time with its place.
 */
static const char value_sql[] =
	"CREATE TEMP TABLE divisor AS SELECT id AS member, iif((SELECT count(*) = count(turns)"
	"  FROM member), turns, 1) AS turns FROM member;"
	"CREATE TEMP TABLE value AS SELECT t.member, t.what, t.place, t.time / d.turns AS time"
	"  FROM member_time t JOIN temp.divisor d USING (member)"
	" UNION ALL SELECT p.member, 'finding', p.fingerprint, p.cost / d.turns"
	"  FROM member_place p JOIN temp.divisor d USING (member) WHERE p.cost > 0;"
	"CREATE INDEX temp.value_what ON value (what, place, member);"
	"CREATE TEMP TABLE every AS SELECT m.id AS member, w.what, w.place,"
	"  coalesce(v.time, 0) AS time"
	"  FROM member m CROSS JOIN (SELECT DISTINCT what, place FROM temp.value) w"
	"  LEFT JOIN temp.value v ON v.what = w.what AND v.place = w.place AND v.member = m.id";

/* The lower median of a column, by the columns that name a group. */
#define MEDIAN(by, column, from) \
	"(SELECT " by ", " column " AS median FROM (SELECT " by ", " column \
	", row_number() OVER" \
	"  (PARTITION BY " by " ORDER BY " column ") AS nth, count(*) OVER (PARTITION BY " by \
	"  ) AS n FROM " from ") WHERE nth = (n + 1) / 2)"

/* ?1: percent of the median turn, ?2: median absolute deviations. */
static const char deviation_sql[] =
	"WITH middle AS MATERIALIZED " MEDIAN("what, place", "time", "temp.every")
	", apart AS MATERIALIZED (SELECT e.member, e.what, e.place, e.time, m.median,"
	"   abs(e.time - m.median) AS far FROM temp.every e JOIN middle m USING (what, place)),"
	" spread AS MATERIALIZED " MEDIAN("what, place", "far", "apart")
	" INSERT INTO deviation SELECT a.member, a.what, a.place, a.time, a.median, s.median"
	" FROM apart a JOIN spread s USING (what, place)"
	" WHERE a.far > ?2 * s.median AND a.far * 100 > ?1 *"
	"  (SELECT median FROM middle WHERE what = 'turn' AND place = '')";

/* A place explains a sum that deviates to the same side; of others the time is elsewhere. */
static const char places_sql[] =
	"DELETE FROM deviation AS d WHERE place <> '' AND what <> 'finding' AND NOT EXISTS"
	" (SELECT 1 FROM deviation s WHERE s.member = d.member AND s.what = d.what AND s.place = ''"
	"  AND (s.time > s.median) = (d.time > d.median))";

/* A place that one rank shows is compared with what others hide. */
static const char finding_sql[] =
	"WITH one AS MATERIALIZED (SELECT p.*, p.cost / d.turns AS per FROM member_place p"
	"  JOIN temp.divisor d USING (member)),"
	" middle AS MATERIALIZED " MEDIAN("fingerprint", "per", "one")
	", worst AS MATERIALIZED (SELECT * FROM (SELECT one.*, row_number() OVER"
	"  (PARTITION BY fingerprint ORDER BY shown DESC, per DESC, member) AS nth FROM one)"
	"  WHERE nth = 1)"
	" INSERT INTO merged_finding SELECT NULL, w.fingerprint, w.rule,"
	"  (SELECT severity FROM one s"
	"   WHERE s.fingerprint = w.fingerprint ORDER BY " SEVERITY_RANK("severity")
	"   DESC LIMIT 1),"
	"  w.place, w.message, sum(o.shown), sum(o.count), m.median, min(o.per), max(o.per),"
	"  w.member, NULL, NULL, NULL, NULL"
	" FROM worst w JOIN one o USING (fingerprint) JOIN middle m USING (fingerprint)"
	" GROUP BY w.fingerprint HAVING sum(o.shown)"
	" ORDER BY max(" SEVERITY_RANK("o.severity") ") DESC, sum(o.per) DESC, w.fingerprint";

int ranks_compare(struct db *merged)
{
	sqlite3_stmt *q;
	int rc = db_exec(merged, value_sql);

	if (rc)
		return -1;
	q = db_prepare(merged, deviation_sql);
	rc = q ? db_run(q, "ii", (int64_t)RANK_DEVIATION_PERCENT, (int64_t)RANK_DEVIATION_SPREADS)
	       : -1;
	sqlite3_finalize(q);
	return rc || db_exec(merged, places_sql) || ranks_match_order(merged) ||
			db_exec(merged, finding_sql) || ranks_match_arrivals(merged) ||
			ranks_replay(merged)
		? -1
		: 0;
}

int ranks_is_merged(struct db *db)
{
	return db_int(db, "SELECT EXISTS (SELECT 1 FROM merge_source)", 0) != 0;
}
