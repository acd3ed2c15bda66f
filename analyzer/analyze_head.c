/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze_head.h"

#include "analyze.h"

/* A call within another one has its site, and is not counted by the recorder. */
static const char head_sql[] =
	"WITH at AS (SELECT c.site, c.enter, (SELECT max(t.start) FROM turn t"
	"   WHERE t.process = c.process AND t.start <= c.enter) AS turn"
	"  FROM loop l JOIN call c ON c.thread = l.thread AND c.enter BETWEEN l.start AND l.until"
	"  WHERE c.parent IS NULL AND c.site IN (SELECT w.site FROM call w JOIN call_type y"
	"   ON y.id = w.type JOIN call_kind k ON k.name = y.kind WHERE k.work))"
	" SELECT s.number FROM at JOIN site s ON s.id = at.site WHERE turn IS NOT NULL"
	" GROUP BY at.site HAVING count(*) = count(DISTINCT turn)"
	"  AND count(*) >= 0.9 * (SELECT turns FROM loop)"
	" ORDER BY avg(enter - turn) LIMIT 1";

uint32_t analyze_find_head(char *trace)
{
	struct analyze_input input = { .trace = &trace, .count = 1, .last_window = 2 };
	int64_t number = 0;
	struct db db;

	if (!db_create(&db, DB_MEMORY) && !analyze_traces(&db, &input))
		number = db_int(&db, head_sql, 0);
	db_close(&db);
	return number > 0 ? (uint32_t)number : 0;
}
