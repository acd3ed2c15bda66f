/* SPDX-License-Identifier: Apache-2.0 */
#include "ranks_internal.h"

#include "median.h"

/*
 * The first collective of a communicator that its ranks do not call alike.  Whose is wrong nobody
 * knows: it is said of those that are fewer, or of the later rank of two.
 */
static const char order_sql[] =
	"WITH told AS MATERIALIZED (SELECT identity, sequence, what, count(*) AS n,"
	"   max(member) AS member FROM temp.arrival GROUP BY identity, sequence, what),"
	" wrong AS (SELECT identity, min(sequence) AS sequence, count(*) AS times FROM"
	"   (SELECT identity, sequence FROM told GROUP BY identity, sequence HAVING count(*) > 1)"
	"  GROUP BY identity),"
	" both AS (SELECT t.*, w.times, row_number() OVER (PARTITION BY identity ORDER BY t.n,"
	"   t.member DESC) AS nth, count(*) OVER (PARTITION BY identity) AS kinds"
	"  FROM told t JOIN wrong w USING (identity, sequence))"
	" INSERT INTO merged_finding SELECT NULL, printf('collective-order %x', a.identity),"
	"  'collective-order', 'high', s.site, printf('call %d of communicator %08x is %s, and %s'"
	"   || ' in other ranks: they wait for each other for ever, or exchange wrong data',"
	"   a.sequence, a.identity & 0xffffffff, a.what, b.what), a.n, a.times, 0, 0, 0, a.member,"
	"  NULL, NULL, NULL, NULL"
	" FROM both a JOIN both b ON b.identity = a.identity AND b.nth = b.kinds"
	" JOIN temp.arrival s ON s.identity = a.identity AND s.sequence = a.sequence"
	"  AND s.member = a.member WHERE a.nth = 1 ORDER BY a.identity";

int ranks_match_order(struct db *merged)
{
	return db_exec(merged, order_sql);
}

/*
 * met: how long a rank's kernel was in a collective; place 1 came last.  late: how long the others
 * waited for that one, their median.  jitter: how far the ends of two ranks' kernels are from those
 * of the collective before; a difference of two, each with that error.
 */
static const char met_sql[] =
	"CREATE TEMP TABLE met AS SELECT * FROM (SELECT member, identity, sequence, end,"
	"  end - start AS inside, min(end - start) OVER same AS least, count(*) OVER same AS n,"
	"  row_number() OVER (PARTITION BY identity, sequence ORDER BY end - start, member)"
	"   AS place"
	"  FROM temp.arrival WHERE meets AND start NOT NULL AND end NOT NULL"
	"  WINDOW same AS (PARTITION BY identity, sequence)) WHERE n > 1;"
	"CREATE INDEX temp.met_sequence ON met (identity, sequence, member);"
	"CREATE TEMP TABLE late AS SELECT identity, sequence, max(iif(place = 1, member, NULL))"
	"  AS member, n, median(iif(place > 1, inside - least, NULL)) AS caused FROM temp.met"
	"  GROUP BY identity, sequence;"
	"CREATE INDEX temp.late_sequence ON late (identity, sequence);"
	"CREATE TEMP TABLE jitter AS SELECT abs(apart - lag(apart) OVER (PARTITION BY identity,"
	"  member ORDER BY sequence)) AS apart FROM (SELECT m.identity, m.member, m.sequence,"
	"  m.end - r.end AS apart FROM (SELECT identity, min(member) AS member FROM temp.met"
	"   GROUP BY identity) f JOIN temp.met r USING (identity, member)"
	"  JOIN temp.met m ON m.identity = r.identity AND m.sequence = r.sequence"
	"  WHERE m.member <> r.member);"
	"INSERT INTO straggler SELECT m.member, count(*), sum(m.place = 1),"
	"  CAST(sum(iif(m.place = 1, l.caused, 0)) AS INTEGER), sum(m.inside - m.least),"
	"  coalesce((SELECT median(apart) FROM temp.jitter), 0), NULL, NULL, 0"
	" FROM temp.met m JOIN temp.late l USING (identity, sequence) GROUP BY m.member";

/*
 * Why it came last: what it did before these collectives for longer than the others, in the mean,
 * and at most as long as they waited, either way: before the first one programs start, and a single
 * long wait of another rank is no reason.  It explains at least half; a finding that others do not
 * have goes first, and being blocked by the device last, as that is also what comes of waiting for
 * others.
 */
static const char cause_sql[] =
	"CREATE TEMP TABLE extra AS SELECT member, what,"
	" CAST(sum(max(min(more, caused), -caused)) AS INTEGER) AS more"
	"  FROM (SELECT l.member, l.caused, p.what, sum(iif(p.member = l.member, p.time,"
	"   - p.time * 1.0 / (l.n - 1))) AS more FROM temp.late l"
	"   JOIN temp.part p USING (identity, sequence) GROUP BY l.identity, l.sequence, p.what)"
	" GROUP BY member, what;"
	"INSERT INTO temp.extra SELECT d.member, 'finding', (d.time - d.median) * v.turns"
	"  FROM deviation d JOIN temp.divisor v USING (member) WHERE d.what = 'finding'"
	"  AND d.place IN (SELECT fingerprint FROM merged_finding);"
	"UPDATE straggler SET cause = (SELECT what FROM temp.extra e WHERE e.member ="
	"  straggler.member AND e.more * 2 >= caused AND caused > 0"
	"  ORDER BY what <> 'finding', what = 'held', more DESC LIMIT 1);"
	"UPDATE straggler SET more = (SELECT max(more) FROM temp.extra e"
	"  WHERE e.member = straggler.member AND e.what = straggler.cause), place ="
	" iif(cause = 'finding', (SELECT place FROM deviation d WHERE d.member = straggler.member"
	"   AND d.what = 'finding' AND d.place IN (SELECT fingerprint FROM merged_finding)"
	"   ORDER BY d.time - d.median DESC LIMIT 1),"
	"  (SELECT p.place FROM temp.part p JOIN temp.late l USING (identity, sequence)"
	"   WHERE l.member = straggler.member AND p.member = l.member AND p.what = straggler.cause"
	"   GROUP BY p.place ORDER BY sum(min(p.longest, l.caused)) DESC, p.place LIMIT 1))"
	" WHERE cause NOT NULL";

int ranks_match_arrivals(struct db *merged)
{
	return median_add(merged) || db_exec(merged, met_sql) || db_exec(merged, cause_sql) ? -1
											    : 0;
}
