/* SPDX-License-Identifier: Apache-2.0 */
#include "filter.h"

#include <stdio.h>

static const char span_table_sql[] =
	"CREATE TEMP TABLE span (process INTEGER, start INTEGER, end INTEGER,"
	" PRIMARY KEY (process, start)) WITHOUT ROWID";

/* Ranges of the asked name may overlap: span has their union. */
static const char span_sql[] =
	"WITH named AS (SELECT process, start, coalesce(end, 9223372036854775807) AS end FROM range"
	"  WHERE name = ?1 OR name GLOB ?1),"
	" after AS (SELECT *, coalesce(start > max(end) OVER (PARTITION BY process ORDER BY start,"
	"  end ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 1) AS apart FROM named),"
	" numbered AS (SELECT *, sum(apart) OVER (PARTITION BY process ORDER BY start, end"
	"  ROWS UNBOUNDED PRECEDING) AS number FROM after)"
	" INSERT INTO temp.span SELECT process, min(start), max(end) FROM numbered"
	" GROUP BY process, number";

int filter_begin(struct db *db, const struct filter *filter)
{
	sqlite3_stmt *q = NULL;
	int rc = db_exec(db, span_table_sql);

	if (!rc && filter->range) {
		q = db_prepare(db, span_sql);
		rc = q ? db_run(q, "s", filter->range) : -1;
	}
	sqlite3_finalize(q);
	return rc;
}

/*
 * line: the lines of each place's worst instance, at all call paths.  thing: the calls of its kind
 * there, and what those waited for.  Of a place without lines only the process is known.
 */
static const char kept_sql[] =
	"WITH half(place, call) AS (SELECT id, call FROM main.finding_place"
	"  UNION SELECT id, other_call FROM main.finding_place),"
	" line AS MATERIALIZED (SELECT DISTINCT h.place, t.kind, same.id AS site FROM half h"
	"  JOIN call c ON c.id = h.call JOIN call_type t ON t.id = c.type"
	"  JOIN main.site s ON s.id = c.site JOIN main.site same ON same.text = s.text"
	"   AND same.function IS s.function AND same.process = s.process),"
	" instance AS MATERIALIZED (SELECT c.*, t.kind FROM call c"
	"  JOIN call_type t ON t.id = c.type WHERE c.site IN (SELECT site FROM line)),"
	" thing AS (SELECT site, kind, process, thread, stream, kernel, enter AS at FROM instance"
	"  UNION ALL SELECT i.site, i.kind, i.process, i.thread, o.stream, o.kernel, i.enter"
	"   FROM wait w JOIN operation o ON o.id = w.op JOIN instance i ON i.id = w.call),"
	" seen AS MATERIALIZED (SELECT site, kind, max(coalesce(" FILTER_KEEPS_WORK
	"  AND " FILTER_KEEPS_CALL("i") ", 0)) AS kept,"
	"  max(coalesce(" FILTER_KEEPS_CALL("i") ", 0)) AS called,"
	"  max(stream NOT NULL OR kernel NOT NULL) AS known FROM thing i GROUP BY site, kind),"
	" judged AS MATERIALIZED (SELECT place,"
	"  max(kept) OR (max(called) AND NOT max(known)) AS kept FROM line l"
	"  JOIN seen USING (site, kind) GROUP BY place)"
	" INSERT INTO temp.kept SELECT p.id, p.finding FROM main.finding_place p"
	" JOIN main.finding f ON f.id = p.finding LEFT JOIN judged j ON j.place = p.id"
	" WHERE coalesce(j.kept,"
	"  ?4 IS NULL OR f.process IN (SELECT id FROM process WHERE pid = ?4))";

/* Findings of several processes may be one: it is kept with one of them, and so are its places. */
static const char tables_sql[] =
	"CREATE TEMP TABLE IF NOT EXISTS finding AS SELECT * FROM main.finding;"
	"CREATE TEMP TABLE IF NOT EXISTS finding_place AS SELECT * FROM main.finding_place;"
	"CREATE INDEX IF NOT EXISTS temp.finding_place_id ON finding_place (id);"
	"CREATE INDEX IF NOT EXISTS temp.finding_place_finding ON finding_place (finding);"
	"CREATE TEMP TABLE kept (place INTEGER, finding INTEGER)";
static const char keep_sql[] =
	"UPDATE temp.kept SET"
	" finding = coalesce((SELECT m.finding FROM temp.merged m WHERE m.id = kept.finding),"
	"  finding), place = coalesce((SELECT m.id FROM temp.merged_place m"
	"  WHERE m.place = kept.place), place);"
	"CREATE TEMP VIEW replay AS SELECT * FROM main.replay WHERE NOT EXISTS"
	" (SELECT 1 FROM main.finding WHERE id NOT IN (SELECT finding FROM temp.kept)"
	"  AND id NOT IN (SELECT id FROM temp.merged WHERE finding <> id));"
	"DELETE FROM temp.finding WHERE id NOT IN (SELECT finding FROM temp.kept);"
	"UPDATE temp.finding_place SET shown = id IN (SELECT place FROM temp.kept)";

/* "only findings on stream 14 of kernel 'add': 2 of 5" */
static char *describe(struct db *db, const struct filter *filter, int64_t of)
{
	const struct {
		const char *before, *value, *after;
	} parts[] = {
		{ " on stream ", filter->stream, "" },
		{ " of kernel '", filter->kernel, "'" },
		{ " in range '", filter->range, "'" },
		{ " in process ", filter->process, "" },
		{ " of thread '", filter->thread, "'" },
		{ " at ", filter->time, " s" },
	};
	sqlite3_str *text = sqlite3_str_new(db->handle);

	sqlite3_str_appendall(text, "only findings");
	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++)
		if (parts[i].value)
			sqlite3_str_appendf(text, "%s%s%s", parts[i].before, parts[i].value,
				parts[i].after);
	sqlite3_str_appendf(text, ": %lld of %lld", db_int(db, "SELECT count(*) FROM finding", 0),
		of);
	return sqlite3_str_finish(text);
}

int filter_findings(struct db *db, const struct filter *filter, char **text)
{
	sqlite3_stmt *q = NULL;
	int64_t of;
	int rc;

	*text = NULL;
	if (!filter->stream && !filter->kernel && !filter->range && !filter->process &&
		!filter->thread && !filter->time)
		return 0;
	rc = filter_begin(db, filter) || db_exec(db, tables_sql) ? -1 : 0;
	if (!rc) {
		q = db_prepare(db, kept_sql);
		rc = q ? db_run(q, FILTER_TYPES, FILTER_VALUES(filter)) : -1;
	}
	sqlite3_finalize(q);
	of = db_int(db, "SELECT count(*) FROM temp.finding", 0);
	if (rc || db_exec(db, keep_sql))
		return -1;
	*text = describe(db, filter, of);
	if (!*text)
		fputs("cufence: out of memory\n", stderr);
	return *text ? 0 : -1;
}
