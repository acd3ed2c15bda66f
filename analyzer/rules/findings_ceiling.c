/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ceiling of a loop: what a turn would take without any wait that the source can do without,
 * whether its own saving is worth a finding or not, and if the host waited for no result at all. It
 * says how much of a turn waits account for, and so whether the shown findings are all there is.
 */
#include "constants.h"
#include "findings_parts.h"

/* Is it known how the call could do without its wait, and is that more than a guess? */
static int can_be_changed(const struct finding *finding, int64_t process)
{
	return finding->process == process && !rule_is_fence(finding->rule) &&
		!rule_is_pace(finding->rule) && finding_confidence(finding) >= CONFIDENCE_LIKELY;
}

static void change_all(struct findings *findings, struct savings *savings, int64_t process)
{
	for (size_t i = 0; i < findings->masked_count; i++)
		if (can_be_changed(findings->masked[i], process))
			finding_change(savings, findings->masked[i]);
	for (size_t i = 0; i < findings->count; i++)
		if (can_be_changed(findings->finding[i], process))
			finding_change(savings, findings->finding[i]);
}

/* Returns the saving of a turn: what is saved outside of the loop is in proportion to its time. */
static int64_t per_turn(const struct loop_span *loop, const struct run_length *run, int64_t saving)
{
	double part = (double)(loop->end - loop->start) / (double)run->whole;

	return (int64_t)(part < 1 ? part * (double)saving : (double)saving) / loop->turns;
}

static int write_ceiling(struct findings *findings, struct savings *savings, int64_t process,
	const struct loop_span *loop, sqlite3_stmt *update)
{
	const struct run_length *run = findings_run(findings, process);
	struct ceiling ceiling[2];
	int rc = run ? 1 : -1;

	for (int unread = 0; unread < 2 && rc > 0; unread++) {
		change_all(findings, savings, process);
		rc = savings_estimate_ceiling(savings, process, unread, loop, &ceiling[unread]);
	}
	if (rc <= 0)
		return rc;
	/* A replay with more changes may take a little longer. */
	if (ceiling[1].saving < ceiling[0].saving)
		ceiling[1] = ceiling[0];
	return db_run(update, "iiiii", per_turn(loop, run, ceiling[0].saving),
		ceiling[0].blocked / loop->turns, per_turn(loop, run, ceiling[1].saving),
		ceiling[1].blocked / loop->turns, process);
}

/*
 * Is the looping thread blocked by the device for a part of its time, while the device also idles
 * for a part?
 */
static const char worth_sql[] =
	"SELECT EXISTS (SELECT 1 FROM loop l WHERE (SELECT sum(time) FROM account h "
	"  WHERE h.process = l.process AND h.device IS NULL AND h.cause = 'held') * 100 >= ?1 * "
	"   (l.end - l.start) AND EXISTS (SELECT 1 FROM account d WHERE d.process = l.process "
	"  AND d.device NOT NULL GROUP BY d.device HAVING sum(CASE WHEN d.cause IN "
	"   ('kernels', 'copies', 'both') THEN 0 ELSE d.time END) * 100 "
	"   >= ?1 * (l.end - l.start)))";

int findings_want_ceiling(struct findings *findings)
{
	sqlite3_stmt *q = db_prepare(findings->db, worth_sql);
	int rc = q && !sqlite3_bind_int64(q, 1, HIGH_PERCENT) && db_step(q) > 0
		? sqlite3_column_int(q, 0)
		: -1;

	sqlite3_finalize(q);
	return rc;
}

int findings_replay_ceiling(struct findings *findings, struct savings *savings)
{
	sqlite3_stmt *update = db_prepare(findings->db,
		"UPDATE replay SET ceiling = ?, ceiling_blocked = ?, ceiling_unread = ?, "
		"ceiling_unread_blocked = ? WHERE process = ?");
	int rc = update ? 0 : -1;

	for (size_t i = 0; i < findings->loops.size && !rc; i++)
		if (findings->loops.slot[i].object)
			rc = write_ceiling(findings, savings, findings->loops.slot[i].id,
				findings->loops.slot[i].object, update);
	sqlite3_finalize(update);
	return rc;
}
