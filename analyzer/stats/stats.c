/* SPDX-License-Identifier: Apache-2.0 */
#include "stats.h"

#include <string.h>

#include "median.h"

static const char tables_sql[] =
	"CREATE TEMP TABLE stats (section TEXT, name TEXT, detail TEXT, count NUMERIC, unit TEXT,"
	" total INTEGER, percent REAL, median INTEGER, worst INTEGER, bytes INTEGER, gb_per_s REAL,"
	" peak INTEGER)";

/* Parameters: the filter's, section, unit, by_loop. */
static const char item_sql[] =
	"WITH pause AS MATERIALIZED (SELECT process, end AS start, after AS end FROM (SELECT"
	"  *, lead(start) OVER (PARTITION BY process ORDER BY number) AS after FROM turn)"
	"  WHERE end < after),"
	" item(process, thread, stream, kernel, at, name, detail, value, times, bytes, peak)"
	" AS (";
static const char summary_sql[] =
	"), kept AS (SELECT name, detail, value, times, i.bytes, peak,"
	"  iif(?10 AND ?8 <> 'turns', 1.0 / l.turns, 1) AS part"
	" FROM item i LEFT JOIN loop l ON l.process = i.process"
	" WHERE (NOT ?10 OR at BETWEEN l.start AND l.until) AND NOT (?10 AND EXISTS (SELECT 1"
	"  FROM pause p WHERE p.process = i.process AND at >= p.start AND at < p.end))"
	" AND " FILTER_KEEPS_WORK " AND " FILTER_KEEPS_CALL("i") ")"
	" INSERT INTO temp.stats SELECT ?8, name, detail, round(sum(times * part), 3), ?9,"
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
	int rc = q ? db_run(q, FILTER_TYPES "ssi", FILTER_VALUES(&filter->only), section->name,
			     section->unit, (int64_t)filter->by_loop)
		   : -1;

	if (!sql)
		fputs("cufence: out of memory\n", stderr);
	sqlite3_finalize(q);
	sqlite3_free(sql);
	return rc;
}

int stats_read(struct db *db, const struct stats_filter *filter)
{
	if (median_add(db) || db_exec(db, tables_sql) || filter_begin(db, &filter->only))
		return -1;
	for (const struct stats_section *section = stats_sections; section->name; section++)
		if ((!filter->section || !strcmp(filter->section, section->name)) &&
			read_section(db, section, filter))
			return -1;
	return db_exec(db, percent_sql);
}
