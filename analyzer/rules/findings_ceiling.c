/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ceiling of a loop: what a turn would take without any wait that the source can do without,
 * whether its own saving is worth a finding or not, and if the host waited for no result at all.
 * It says how much of a turn waits account for, and so whether the shown findings are all there is.
 */
#include "constants.h"
#include "findings_internal.h"
#include "pass.h"
#include "run_columns.h"

/* How calls could do without their waits must be more than a guess. */
static void change_candidates(struct findings *findings, struct replay *replay, int64_t process,
	int unread)
{
	for (size_t i = 0; i < findings->count; i++) {
		const struct finding *finding = findings->finding[i];

		if (finding->process != process || rule_is_fence(finding->rule) ||
			rules[finding->rule].group == GROUP_pace ||
			finding_confidence(finding) < CONFIDENCE_LIKELY)
			continue;
		for (size_t k = 0; k < finding->count; k++)
			if (unread || !finding->place[k]->worst.reads)
				savings_change(replay, finding->place[k]->changed,
					finding->place[k]->changed_count);
	}
}

void findings_replay_ceiling(struct findings *findings, const struct run_loop *loop)
{
	struct replay *replay = savings_of(findings->savings, loop->process);
	struct replay_row *row = savings_row(findings->savings, loop->process);
	struct ceiling ceiling[2];

	for (int unread = 0; unread < 2; unread++) {
		change_candidates(findings, replay, loop->process, unread);
		if (!savings_estimate_ceiling(replay, unread, loop, &ceiling[unread]))
			return;
	}
	/* A replay with more changes may take a little longer. */
	if (ceiling[1].saving < ceiling[0].saving)
		ceiling[1] = ceiling[0];
	for (int unread = 0; unread < 2; unread++) {
		row->ceiling[unread] = ceiling[unread].saving / (int64_t)loop->turns;
		row->blocked[unread] = ceiling[unread].blocked / (int64_t)loop->turns;
	}
}

int findings_want_ceiling(struct db *db)
{
	sqlite3_stmt *q = db_prepare(db,
		"SELECT EXISTS (SELECT 1 FROM loop l WHERE (SELECT sum(time) FROM account h "
		"  WHERE h.process = l.process AND h.device IS NULL AND h.cause = 'held') * 100 >= "
		"   ?1 * (l.end - l.start - l.paused) AND EXISTS (SELECT 1 FROM account d "
		"  WHERE d.process = l.process AND d.device NOT NULL GROUP BY d.device "
		"  HAVING sum(CASE WHEN d.cause IN ('kernels', 'copies', 'both') THEN 0 "
		"   ELSE d.time END) * 100 >= ?1 * (l.end - l.start - l.paused)))");
	int rc = q && !db_bind(q, "i", (int64_t)HIGH_PERCENT) && db_step(q) > 0
		? sqlite3_column_int(q, 0)
		: -1;

	sqlite3_finalize(q);
	return rc;
}
