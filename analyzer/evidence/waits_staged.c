/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pageable Async copies that waited for nothing but their own transfer: that is what such calls
 * usually take, so no duration tells it.  From pinned memory they would only have been submitted.
 *
 * Small ones return before their transfer; the host has copied for itself then, and waited for
 * nothing.  And pinning takes longer than a copy: it pays for memory that is copied again, so the
 * first copy of an address remains.
 */
#include "constants.h"
#include "kinds.h"
#include "waits.h"

#include "waits_judge.h"

static const char insert_sql[] =
	"INSERT INTO wait (call, kind, op, waited, avoidable) "
	"SELECT copy, 'staged', op, waited, 0 FROM ("
	" SELECT c.id AS copy, o.id AS op, c.exit - c.enter - ?1 - ifnull((SELECT "
	"  sum(v.end - v.start) FROM overhead v WHERE v.call = c.id), 0) AS waited, "
	"  min(o.end, c.exit) - max(o.start, c.enter) AS within, "
	"  row_number() OVER (PARTITION BY c.process, t.kind, CASE c.src_memory "
	"   WHEN 'pageable' THEN c.src ELSE c.dst END ORDER BY c.id) AS nth "
	" FROM call c JOIN call_type t ON t.id = c.type JOIN work o ON o.call = c.id "
	" WHERE " IS_ASYNC_COPY("t") " AND c.result = 0 AND c.exit NOT NULL "
	" AND (c.src_memory = 'pageable') + (c.dst_memory = 'pageable') = 1 "
	" AND CASE c.src_memory WHEN 'pageable' THEN c.src ELSE c.dst END NOT NULL "
	" AND o.id = (SELECT id FROM work WHERE call = c.id ORDER BY +end DESC LIMIT 1)) "
	"WHERE nth > 1 AND waited >= ?2 AND within >= waited / ?3 "
	"AND NOT EXISTS (SELECT 1 FROM wait w WHERE w.call = copy) ORDER BY copy";

int waits_add_staged(struct db *db)
{
	sqlite3_stmt *insert = db_prepare(db, insert_sql);
	int rc = !insert ? -1
			 : db_run(insert, "iii", (int64_t)SUBMIT_COPY_NS, (int64_t)BLOCKED_MIN_NS,
				   (int64_t)TRANSFER_PART);

	sqlite3_finalize(insert);
	return rc;
}
