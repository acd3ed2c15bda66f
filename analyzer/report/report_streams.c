/* SPDX-License-Identifier: Apache-2.0 */
#include "report_internal.h"

#include "print.h"
#include "stream_sql.h"

/*
 * CUPTI's stream numbers do not appear in the source: where a stream was made, and what it runs.
 * PyTorch makes all streams of its pools at the first request, and gives them out in turn (c10,
 * CUDAStream.cpp); they are numbered from 1.
 */
static const char streams_sql[] =
	"SELECT DISTINCT " STREAM_LABEL("t") ","
	" t.kind || iif(t.priority, ', priority ' || t.priority, '') ||"
	" ifnull((SELECT ', ' || group_concat(amount || ' ' || CASE kind"
	"   WHEN 'memcpy' THEN iif(amount = 1, 'copy', 'copies')"
	"   ELSE kind || iif(amount = 1, '', 's') END, ', ')"
	"  FROM (SELECT kind, sum(operations) AS amount FROM stream_use WHERE stream = t.id"
	"   GROUP BY kind ORDER BY amount DESC, kind)), ''),"
	" s.text || ifnull(' in ' || s.function, ''),"
	" iif(EXISTS (SELECT 1 FROM frame f JOIN module o ON o.id = f.module WHERE f.site = s.id"
	"   AND f.function GLOB 'init*Stream*' AND o.path GLOB '*libc10_cuda*'),"
	"  (SELECT count(*) FROM stream x JOIN call xc ON xc.id = x.created WHERE xc.site = s.id"
	"   AND x.context IS t.context AND x.priority = t.priority AND x.id <= t.id), NULL),"
	" t.cupti_id"
	" FROM finding_place p JOIN call c ON c.id IN (p.call, p.other_call)"
	" JOIN stream t ON t.id = c.stream JOIN call m ON m.id = t.created"
	" JOIN site s ON s.id = m.site"
	" WHERE p.finding = ? AND t.cupti_id NOT NULL ORDER BY t.cupti_id";

int report_streams(struct db *db, int64_t finding, FILE *out)
{
	sqlite3_stmt *q = db_prepare(db, streams_sql);
	int step = -1;

	if (q && !db_bind(q, "i", finding))
		while ((step = db_step(q)) > 0) {
			print(out, "    %s (%s) made at %s", db_text(q, 0), db_text(q, 1),
				db_text(q, 2));
			if (sqlite3_column_type(q, 3) != SQLITE_NULL)
				print(out, ", number %lld of PyTorch's pool",
					(long long)sqlite3_column_int64(q, 3));
			fputc('\n', out);
		}
	sqlite3_finalize(q);
	return step;
}
