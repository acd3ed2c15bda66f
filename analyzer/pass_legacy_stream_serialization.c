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
 * something: the cost is "as far as cufence sees" and no saving is predicted.  Where the thread
 * itself waits in the held call for that operation, and need not, its wait is the finding.
 */
#include "access.h"
#include "pass.h"

/* As little is no loss worth a line; order's holds are at least as long. */
#define LOST_MIN_NS 20000

/* What a graph touches may not even be named. */
#define SHARE(call, other) \
	"(((EXISTS (SELECT 1 FROM operand x JOIN operand y ON y.allocation = x.allocation " \
	"WHERE x.call = " call " AND y.call = " other ") OR EXISTS (SELECT 1 FROM call_object x " \
	"WHERE x.call IN (" call ", " other ") AND x.role = 'content' AND x.object & 1)) " \
	"AND may_conflict(" call ", " other ")) OR may_meet(" call ", " other "))"

static const char holds_sql[] =
	"SELECT o.process, h.via, CASE h.via WHEN o.call THEN b.call ELSE o.call END, "
	"h.ready + h.held - max(h.ready, ifnull((SELECT max(e.end) FROM operation e "
	" WHERE e.end > h.ready AND e.end <= o.start AND e.process = o.process AND e.id <> o.id "
	" AND " SHARE("o.call", "e.call") "), h.ready)) "
	"FROM hold h JOIN operation o ON o.id = h.op JOIN operation b ON b.id = h.behind "
	"WHERE h.reason = 'legacy' AND NOT " SHARE("o.call", "b.call")
	" AND NOT EXISTS (SELECT 1 FROM wait w WHERE w.call = o.call AND w.op = h.behind "
	"  AND w.avoidable > 0) ORDER BY h.rowid";

static int run(struct db *db, struct findings *findings)
{
	sqlite3_stmt *q;
	int rc = -1;

	if (access_function_add(db))
		return -1;
	q = db_prepare(db, holds_sql);
	if (!q)
		goto out;
	while ((rc = db_step(q)) > 0) {
		struct instance instance = {
			.rule = RULE_legacy_stream_serialization,
			.process = sqlite3_column_int64(q, 0),
			.call = sqlite3_column_int64(q, 1),
			.other_call = sqlite3_column_int64(q, 2),
			.cost = sqlite3_column_int64(q, 3),
			.saving = FINDING_NO_ESTIMATE,
			.change = CHANGE_ORDER,
		};
		if (instance.cost < LOST_MIN_NS)
			continue;
		rc = findings_add(findings, &instance);
		if (rc)
			break;
	}
out:
	sqlite3_finalize(q);
	access_function_drop(db);
	return rc;
}

static int say(struct words *words, const struct instance *worst, FILE *out)
{
	if (words_operation(words, worst->call, out))
		return -1;
	fputs(" and ", out);
	if (words_operation(words, worst->other_call, out))
		return -1;
	fputs(" did not overlap: ", out);
	words_time(worst->cost, out);
	fputs(" lost; as far as cufence sees neither writes what the other uses", out);
	return 0;
}

const struct pass pass_legacy_stream_serialization = { .run = run, .say = say };
