/* SPDX-License-Identifier: Apache-2.0 */
#include "unended.h"

#include <stdlib.h>

#include "memory.h"

/*
 * Calls with a place in a stream after the last one there that has ended.  Of a graph recorded node
 * by node, the end of a node is not the end of the launch.  A call that has not returned was not
 * submitted yet, but for a copy, which is what it waits for itself.
 */
static const char calls_sql[] =
	"WITH ended(stream, call) AS (SELECT stream, max(id) FROM ("
	"  SELECT c.stream, c.id FROM operation o JOIN call c ON c.id = o.call"
	"   WHERE o.end IS NOT NULL AND o.graph_node IS NULL"
	"  UNION ALL SELECT c.stream, c.id FROM host_run h JOIN call c ON c.id = h.call"
	"   WHERE h.exit IS NOT NULL"
	"  UNION ALL SELECT c.stream, c.id FROM edge e JOIN call c ON c.id = e.needs"
	"   JOIN call w ON w.id = e.call WHERE e.reason IN ('wait', 'incident')"
	"   AND w.exit IS NOT NULL AND w.result = 0) GROUP BY stream)"
	" SELECT c.id, c.stream, s.context, c.process, t.kind, c.bytes FROM call c"
	" JOIN call_type t ON t.id = c.type JOIN call_kind k ON k.name = t.kind"
	" JOIN stream s ON s.id = c.stream LEFT JOIN ended e ON e.stream = c.stream"
	" WHERE (k.work OR k.silent OR k.marker OR k.outside) AND c.id > ifnull(e.call, 0)"
	" AND CASE WHEN c.exit IS NULL THEN k.waits = 'by_memory' ELSE c.result = 0 END"
	" AND NOT EXISTS (SELECT 1 FROM call_object o WHERE o.call = c.id AND o.role = 'captured')"
	" ORDER BY c.id";

/* Finds the work that a call makes its stream wait for: an event's record, or other streams. */
static const char needs_sql[] =
	"SELECT record FROM event_wait WHERE call = ?1 AND record IS NOT NULL"
	" UNION SELECT needs FROM edge WHERE call = ?1 AND reason IN ('legacy', 'graph', 'reuse')"
	" ORDER BY 1";

static int takes_time(enum call_kind kind, int64_t bytes)
{
	enum kind_family family = kind_family(kind);

	if (family == FAMILY_copy || family == FAMILY_set)
		return bytes != 0;
	return kind_has(kind, K_OUTSIDE) || kind_has(kind, K_WORK);
}

/* Its first need that has not ended; 0: none, -1 after a message. */
static int64_t find_need(const struct unended *unended, sqlite3_stmt *needs, int64_t call)
{
	int64_t found = 0;
	int rc;

	if (db_bind(needs, "i", call))
		return -1;
	while (!found && (rc = db_step(needs)) > 0)
		if (map_get(&unended->calls, (uint64_t)sqlite3_column_int64(needs, 0), 0))
			found = sqlite3_column_int64(needs, 0);
	sqlite3_reset(needs);
	return found ? found : rc;
}

/* Needs are earlier calls: one pass decides. */
static int add_call(struct unended *unended, sqlite3_stmt *q, sqlite3_stmt *needs)
{
	struct unended_call call = {
		.call = sqlite3_column_int64(q, 0),
		.stream = sqlite3_column_int64(q, 1),
		.context = sqlite3_column_int64(q, 2),
		.process = sqlite3_column_int64(q, 3),
		.kind = call_kind_named(db_text(q, 4)),
		.head = unended->count,
		.count = 1,
	};
	int64_t bytes = sqlite3_column_type(q, 5) == SQLITE_NULL ? 1 : sqlite3_column_int64(q, 5);
	uint64_t head = map_get(&unended->streams, (uint64_t)call.stream, 0);

	if (head) {
		call.head = head - 1;
		call.count = 0;
		unended->item[head - 1].count++;
	} else {
		call.after = find_need(unended, needs, call.call);
		if (call.after < 0)
			return -1;
		if (!call.after && !takes_time(call.kind, bytes))
			return 0;
		map_set(&unended->streams, (uint64_t)call.stream, unended->count + 1);
	}
	*array_push(unended->item, unended->count) = call;
	map_set(&unended->calls, (uint64_t)call.call, unended->count);
	return 0;
}

int unended_find(struct unended *unended, struct db *db)
{
	sqlite3_stmt *q = db_prepare(db, calls_sql), *needs = db_prepare(db, needs_sql);
	int rc = q && needs ? 0 : -1;

	*unended = (struct unended){ 0 };
	while (rc >= 0 && (rc = db_step(q)) > 0)
		if (add_call(unended, q, needs))
			rc = -1;
	sqlite3_finalize(q);
	sqlite3_finalize(needs);
	return rc;
}

void unended_release(struct unended *unended)
{
	free(unended->item);
	map_release(&unended->calls);
	map_release(&unended->streams);
}

const struct unended_call *unended_head(const struct unended *unended, int64_t call)
{
	uint64_t number = map_get(&unended->calls, (uint64_t)call, 0);

	return number ? &unended->item[unended->item[number - 1].head] : NULL;
}

const struct unended_call *unended_head_of(const struct unended *unended, int64_t stream)
{
	uint64_t number = map_get(&unended->streams, (uint64_t)stream, 0);

	return number ? &unended->item[number - 1] : NULL;
}
