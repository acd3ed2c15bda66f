/* SPDX-License-Identifier: Apache-2.0 */
/*
 * legacy-stream-serialization: work of a blocking stream waited for legacy-stream work, or the
 * reverse, and nothing else kept it.  "When an action is taken in the legacy stream such as a
 * kernel launch or cudaStreamWaitEvent(), the legacy stream first waits on all blocking streams,
 * the action is queued in the legacy stream, and then all blocking streams wait on the legacy
 * stream" (CUDA runtime API, "Stream synchronization behavior").
 *
 * Both directions are one finding: at the call in the legacy stream, for the blocking stream's
 * operation.  Two operations that name the same allocation may need their order, unless it is known
 * what both do with it and neither writes what the other uses (access.h).  A pair that may does not
 * count, and of a hold only what lies after the last operation of which the held one may need
 * something: the cost is "as far as cufence sees".  Where the thread
 * itself waits in the held call for that operation, and need not, its wait is the finding.
 *
 * A copy between devices in the legacy stream is legacy work of both (order_legacy.c): the finding
 * is at the copy where what it held is legacy work, too.
 *
 * Where several pieces of legacy work in a row order the two, as two memsets or the event records
 * of a timer, mending one saves nothing: they are mended together.
 */
#include "access.h"
#include "constants.h"
#include "kinds.h"
#include "map.h"
#include "pass.h"

/* What a graph touches may not even be named. */
/* clang-format off */
#define SHARE(call, other) \
	"(((EXISTS (SELECT 1 FROM operand x JOIN operand y ON y.allocation = x.allocation " \
	"WHERE x.call = " call " AND y.call = " other ") OR EXISTS (SELECT 1 FROM call_object x " \
	"WHERE x.call IN (" call ", " other ") AND x.role = 'content' AND x.object & 1)) " \
	"AND may_conflict(" call ", " other ")) OR may_meet(" call ", " other "))"
/* clang-format on */

static const char holds_sql[] =
	"SELECT o.process, h.via, CASE h.via WHEN o.call THEN b.call ELSE o.call END, "
	"h.ready + h.held - max(h.ready, ifnull((SELECT max(e.end) FROM work e "
	" WHERE e.end > h.ready AND e.end <= o.start AND e.process = o.process "
	" AND e.call IS NOT o.call "
	" AND " SHARE("o.call", "e.call") "), h.ready)), "
	"b.call, o.call, h.ready "
	"FROM hold h CROSS JOIN work o ON o.id = h.op CROSS JOIN work b ON b.id = h.behind "
	"WHERE h.reason = 'legacy' AND NOT " SHARE("o.call", "b.call")
	" AND NOT EXISTS (SELECT 1 FROM wait w WHERE w.call = o.call AND w.op = h.behind "
	"  AND w.avoidable > 0) ORDER BY h.rowid";

/*
 * Other legacy work in a row with that of ?1, which held or was held: after the call ?2 (0: after
 * the last work of the blocking streams before ?1), up to where these get work again, not before
 * ?3.  What had ended by ?6 held nothing.  One call per place.
 */
static const char row_sql[] =
	"WITH near AS (SELECT c.id, c.site, s.kind AS stream FROM call c "
	" JOIN call_type t ON t.id = c.type JOIN stream s ON s.id = c.stream "
	" WHERE c.id > max(?2, ?1 - ?4) AND c.id < ?1 + ?4 AND NOT t.runtime AND c.result = 0 "
	" AND s.context = (SELECT v.context FROM call w JOIN stream v ON v.id = w.stream "
	"  WHERE w.id = ?1) "
	" AND " KIND_WHERE("t", "work OR silent OR marker")
	" AND (NOT " IS_SYNC_COPY("t")
	"  OR (c.src_memory = 'device' AND c.dst_memory = 'device'))) "
	"SELECT min(id) FROM near WHERE stream = 'legacy' AND id <> ?1 AND (?2 OR id > ifnull("
	"(SELECT max(id) FROM near WHERE stream IN ('blocking', 'per-thread') AND id < ?1), 0)) "
	"AND NOT EXISTS (SELECT 1 FROM work WHERE call = near.id AND end <= ?6) "
	"AND id < ifnull("
	"(SELECT min(id) FROM near WHERE stream IN ('blocking', 'per-thread') AND id >= ?3), "
	"?1 + ?4) GROUP BY site LIMIT ?5";

struct rows {
	sqlite3_stmt *row;
	struct map seen; /* how often, by pair of places */
};

static int add_row(struct rows *rows, struct findings *findings, struct instance *instance,
	int64_t earlier, int64_t later, int64_t ready)
{
	int64_t at = findings_place(findings, instance->call);
	int64_t other = findings_place(findings, instance->other_call);
	uint64_t key = (uint64_t)at << 32 | (uint64_t)other, seen = map_get(&rows->seen, key, 0);
	int rc = 0, count = 0;

	if (at < 0 || other < 0)
		return -1;
	if (seen >= ROWS_PER_PAIR)
		return 0;
	if (map_set(&rows->seen, key, seen + 1) ||
		db_bind(rows->row, "iiiiii", instance->call, earlier, later, (int64_t)ROW_CALLS,
			(int64_t)FINDING_ALSO, ready))
		return -1;
	while (count < FINDING_ALSO && (rc = db_step(rows->row)) > 0)
		instance->with[count++] = sqlite3_column_int64(rows->row, 0);
	sqlite3_reset(rows->row);
	return rc < 0 ? -1 : 0;
}

static int add_holds(sqlite3_stmt *q, struct rows *rows, struct findings *findings)
{
	int rc;

	while ((rc = db_step(q)) > 0) {
		struct instance instance = {
			.rule = RULE_legacy_stream_serialization,
			.process = sqlite3_column_int64(q, 0),
			.call = sqlite3_column_int64(q, 1),
			.other_call = sqlite3_column_int64(q, 2),
			.cost = sqlite3_column_int64(q, 3),
			.saving = FINDING_DELAY,
			.change = CHANGE_ORDER,
		};
		int64_t behind = sqlite3_column_int64(q, 4);

		if (instance.cost < BLOCKED_MIN_NS)
			continue;
		if (add_row(rows, findings, &instance, behind == instance.call ? 0 : behind,
			    sqlite3_column_int64(q, 5), sqlite3_column_int64(q, 6)) ||
			findings_add(findings, &instance))
			return -1;
	}
	return rc;
}

static int run(struct db *db, struct findings *findings)
{
	struct rows rows = { .row = NULL };
	sqlite3_stmt *q;
	int rc = -1;

	if (access_function_add(db))
		return -1;
	q = db_prepare(db, holds_sql);
	rows.row = q ? db_prepare(db, row_sql) : NULL;
	if (rows.row)
		rc = add_holds(q, &rows, findings);
	sqlite3_finalize(rows.row);
	map_release(&rows.seen);
	sqlite3_finalize(q);
	access_function_drop(db);
	return rc;
}

static int say(struct words *words, const struct instance *worst, FILE *out)
{
	int orders = words_only_orders(words, worst->call);

	if (orders < 0 || words_operation(words, worst->call, out))
		return -1;
	fputs(orders ? " delayed " : " and ", out);
	if (words_operation(words, worst->other_call, out))
		return -1;
	fputs(orders ? " by " : " did not overlap: the later one was delayed by ", out);
	words_time(worst->cost, out);
	fputs(orders ? ", until work with which it is not seen to share memory had ended"
		     : ", though neither is seen to write what the other uses",
		out);
	if (worst->joined)
		fputs("; other work of the legacy stream next to it does the same and has to be "
		      "moved as well",
			out);
	return 0;
}

const struct pass pass_legacy_stream_serialization = { .run = run, .say = say };
