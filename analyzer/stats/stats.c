/* SPDX-License-Identifier: Apache-2.0 */
#include "stats.h"

#include <string.h>

#include "median.h"

/* Ranges of the asked name may overlap: span has their union. */
static const char tables_sql[] =
	"CREATE TEMP TABLE stats (section TEXT, name TEXT, detail TEXT, count NUMERIC, unit TEXT,"
	" total INTEGER, percent REAL, median INTEGER, worst INTEGER, bytes INTEGER, gb_per_s REAL,"
	" peak INTEGER);"
	"CREATE TEMP TABLE span (process INTEGER, start INTEGER, end INTEGER,"
	" PRIMARY KEY (process, start)) WITHOUT ROWID";

static const char span_sql[] =
	"WITH named AS (SELECT process, start, coalesce(end, 9223372036854775807) AS end FROM range"
	"  WHERE name = ?1 OR name GLOB ?1),"
	" after AS (SELECT *, coalesce(start > max(end) OVER (PARTITION BY process ORDER BY start,"
	"  end ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 1) AS apart FROM named),"
	" numbered AS (SELECT *, sum(apart) OVER (PARTITION BY process ORDER BY start, end"
	"  ROWS UNBOUNDED PRECEDING) AS number FROM after)"
	" INSERT INTO temp.span SELECT process, min(start), max(end) FROM numbered"
	" GROUP BY process, number";

/* Parameters: section, unit, by_loop, stream, kernel, range, process, thread, from, until. */
static const char item_sql[] =
	"WITH item(process, thread, stream, kernel, at, name, detail, value, times, bytes, peak)"
	" AS (";
static const char summary_sql[] =
	"), kept AS (SELECT name, detail, value, times, i.bytes, peak,"
	"  iif(?3 AND ?1 <> 'turns', 1.0 / l.turns, 1) AS part"
	" FROM item i LEFT JOIN loop l ON l.process = i.process"
	" WHERE (NOT ?3 OR at BETWEEN l.start AND l.until)"
	" AND (?4 IS NULL OR stream IN (SELECT id FROM stream"
	"  WHERE kind = ?4 OR CAST(coalesce(cupti_id, id) AS TEXT) = ?4))"
	" AND (?5 IS NULL OR kernel IN (SELECT k.id FROM kernel k"
	"  LEFT JOIN kernel_name n ON n.kernel = k.id WHERE instr(coalesce(n.whole, k.name), ?5)"
	"  OR coalesce(n.label, k.name) GLOB ?5))"
	" AND (?6 IS NULL OR at <= (SELECT s.end FROM temp.span s WHERE s.process = i.process"
	"  AND s.start <= at ORDER BY s.start DESC LIMIT 1))"
	" AND (?7 IS NULL OR i.process IN (SELECT id FROM process WHERE pid = ?7))"
	" AND (?8 IS NULL OR i.thread IN (SELECT id FROM thread WHERE tid = ?8 OR name = ?8))"
	" AND (?9 IS NULL OR at >= ?9) AND (?10 IS NULL OR at < ?10))"
	" INSERT INTO temp.stats SELECT ?1, name, detail, round(sum(times * part), 3), ?2,"
	" CAST(round(sum(value * part)) AS INTEGER), NULL, median(value), max(value),"
	" CAST(round(sum(bytes * part)) AS INTEGER),"
	" round(1.0 * sum(iif(value IS NULL, NULL, bytes)) / nullif(sum(iif(bytes IS NULL, NULL,"
	"  value)), 0), 2), max(peak) FROM kept GROUP BY name, detail";

static const char percent_sql[] =
	"UPDATE temp.stats SET percent = (SELECT"
	" round(100.0 * stats.total / nullif(sum(o.total), 0), 1) FROM temp.stats o"
	" WHERE o.section = stats.section)";

const char stats_rows_sql[] =
	"SELECT section, name, detail, count, unit, total, percent, median, worst, bytes, gb_per_s,"
	" peak FROM (SELECT *, row_number() OVER (PARTITION BY section ORDER BY total DESC, name,"
	"  detail) AS rank, min(rowid) OVER (PARTITION BY section) AS first FROM temp.stats)"
	" WHERE NOT ?1 OR rank <= ?1 ORDER BY first, rank";

static int read_section(struct db *db, const struct stats_section *section,
	const struct stats_filter *filter)
{
	char *sql = sqlite3_mprintf("%s%s%s", item_sql, section->sql, summary_sql);
	sqlite3_stmt *q = sql ? db_prepare(db, sql) : NULL;
	int rc = q ? db_run(q, "ssisssssII", section->name, section->unit, (int64_t)filter->by_loop,
			     filter->stream, filter->kernel, filter->range, filter->process,
			     filter->thread, filter->from, filter->until)
		   : -1;

	if (!sql)
		fputs("cufence: out of memory\n", stderr);
	sqlite3_finalize(q);
	sqlite3_free(sql);
	return rc;
}

static int read_spans(struct db *db, const char *range)
{
	sqlite3_stmt *q = db_prepare(db, span_sql);
	int rc = q ? db_run(q, "s", range) : -1;

	sqlite3_finalize(q);
	return rc;
}

int stats_read(struct db *db, const struct stats_filter *filter)
{
	if (median_add(db) || db_exec(db, tables_sql) ||
		(filter->range && read_spans(db, filter->range)))
		return -1;
	for (const struct stats_section *section = stats_sections; section->name; section++)
		if ((!filter->section || !strcmp(filter->section, section->name)) &&
			read_section(db, section, filter))
			return -1;
	return db_exec(db, percent_sql);
}
