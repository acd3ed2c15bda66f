/* SPDX-License-Identifier: Apache-2.0 */
/* What fixes save all ranks: a replay of them together (joint.h), as it was and with the fixes. */
#include <stdlib.h>

#include "constants.h"
#include "joint.h"
#include "memory.h"
#include "ranks_internal.h"
#include "rows.h"

int ranks_replay_begin(struct db *merged)
{
	return db_exec(merged,
		"CREATE TEMP TABLE joint_rank (member INTEGER PRIMARY KEY, data);"
		"CREATE TEMP TABLE joint_change (member, fingerprint, data,"
		"  PRIMARY KEY (fingerprint, member)) WITHOUT ROWID");
}

struct ranks_replay {
	struct db *db;
	struct joint *joint;
	int64_t measured, as_it_was; /* ns, all ranks together */
	int64_t turn;                /* the median, ns; of the run if a rank has no loop */
};

/* Reads the ranks.  Returns a refusal, "" after a message; NULL: all are there. */
static const char *add_ranks(struct ranks_replay *replay)
{
	struct db *db = replay->db;
	sqlite3_stmt *q =
		db_prepare(db, "SELECT member, data FROM temp.joint_rank ORDER BY member");
	int64_t members = db_int(db, "SELECT count(*) FROM member", 0);
	int64_t there = db_int(db, "SELECT count(*) FROM temp.joint_rank", 0);
	const char *refusal = NULL;
	int step = q ? 0 : -1;

	while (!step && there == members && (step = db_step(q)) > 0) {
		step = 0;
		if (joint_add(replay->joint, sqlite3_column_int64(q, 0), sqlite3_column_blob(q, 1),
			    (size_t)sqlite3_column_bytes(q, 1),
			    (size_t)(JOINT_STEPS_ALL / members))) {
			refusal = "the replay of a rank is damaged";
			break;
		}
	}
	sqlite3_finalize(q);
	if (step < 0)
		return "";
	return there == members ? refusal : "a rank cannot be replayed, as its own report says";
}

/* Changes the calls of a place in a rank; 0: in all ranks.  Returns 0, or -1 after a message. */
static int change(struct ranks_replay *replay, const char *fingerprint, int64_t member)
{
	sqlite3_stmt *q = db_prepare(replay->db,
		"SELECT member, data FROM temp.joint_change WHERE fingerprint = ?1"
		" AND (?2 = 0 OR member = ?2)");
	int step = q ? db_bind(q, "si", fingerprint, member) : -1, changed = 0;

	while (!step && (step = db_step(q)) > 0) {
		/* What is damaged changes nothing, or less. */
		changed += !joint_change(replay->joint, sqlite3_column_int64(q, 0),
			sqlite3_column_blob(q, 1), (size_t)sqlite3_column_bytes(q, 1));
		step = 0;
	}
	sqlite3_finalize(q);
	return step ? -1 : changed;
}

/* Returns what the changes save of a turn, ns, and undoes them. */
static int64_t saved(struct ranks_replay *replay)
{
	int64_t less = replay->as_it_was - joint_run(replay->joint, 0);

	joint_restore(replay->joint);
	return less > 0 && replay->as_it_was
		? (int64_t)((double)less / (double)replay->as_it_was * (double)replay->turn)
		: 0;
}

static int replay_findings(struct ranks_replay *replay)
{
	sqlite3_stmt *q = db_prepare(replay->db,
		"SELECT id, fingerprint, worst, members FROM merged_finding WHERE most > 0"
		" ORDER BY id LIMIT ?");
	sqlite3_stmt *to = db_prepare(replay->db,
		"UPDATE merged_finding SET saving = ?, saving_worst = ? WHERE id = ?");
	int step = q && to ? db_bind(q, "i", (int64_t)JOINT_FINDINGS) : -1;

	while (!step && (step = db_step(q)) > 0) {
		const char *fingerprint = db_text(q, 1);
		int changed = change(replay, fingerprint, 0);
		int64_t all, worst;

		step = changed < 0 ? -1 : 0;
		if (changed <= 0)
			continue;
		all = worst = saved(replay);
		if (changed > 1) {
			step = change(replay, fingerprint, sqlite3_column_int64(q, 2)) < 0 ? -1 : 0;
			worst = saved(replay);
		}
		step = step ? step : db_run(to, "iii", all, worst, sqlite3_column_int64(q, 0));
	}
	sqlite3_finalize(q);
	sqlite3_finalize(to);
	return step;
}

/* Returns what all of them save together; DB_NULL: unknown, -1 after a message. */
static int64_t save_together(struct ranks_replay *replay)
{
	sqlite3_stmt *q = db_prepare(replay->db,
		"SELECT fingerprint FROM merged_finding WHERE saving NOT NULL");
	int step = q ? 0 : -1, changed = 0;

	while (!step && (step = db_step(q)) > 0) {
		int more = change(replay, db_text(q, 0), 0);

		changed += more;
		step = more < 0 ? -1 : 0;
	}
	sqlite3_finalize(q);
	return step < 0 ? -1 : changed ? saved(replay) : DB_NULL;
}

static const char turn_sql[] =
	"SELECT time FROM (SELECT t.time / d.turns AS time, row_number() OVER"
	"  (ORDER BY t.time / d.turns) AS nth, count(*) OVER () AS n FROM member_time t"
	"  JOIN temp.divisor d USING (member) WHERE what = 'turn' AND place = '')"
	" WHERE nth = (n + 1) / 2";

int ranks_replay(struct db *merged)
{
	struct ranks_replay replay = { .db = merged, .joint = joint_new() };
	int64_t ranks = db_int(merged, "SELECT count(*) FROM member", 0), together = DB_NULL;
	const char *refusal = add_ranks(&replay);
	size_t meetings = refusal ? 0 : joint_match(replay.joint);
	char *inexact = NULL;
	int rc = refusal && !*refusal ? -1 : 0;
	int is_known = db_int(merged, "SELECT EXISTS (SELECT 1 FROM temp.joint_rank)", 0) != 0;

	if (!refusal && meetings < 2)
		refusal = "the ranks have no collectives in common";
	if (!refusal) {
		int64_t recorded = joint_run(replay.joint, 1);
		double more;

		replay.measured = joint_measured(replay.joint);
		replay.as_it_was = joint_run(replay.joint, 0);
		replay.turn = db_int(merged, turn_sql, 0);
		more = (double)(recorded - replay.measured) / (double)replay.measured * 100;
		if (more > SAVINGS_MAX_ERROR_PERCENT || more < -SAVINGS_MAX_ERROR_PERCENT)
			refusal = inexact =
				xprintf("a replay of all ranks as they were takes %.0f %% %s",
					more < 0 ? -more : more, more > 0 ? "more" : "less");
		else
			rc = replay_findings(&replay);
		if (!rc && !refusal)
			together = save_together(&replay);
		rc = rc || together == -1 ? -1 : 0;
		replay.as_it_was = recorded;
	}
	/* Without collectives nothing is to be said. */
	if (!rc && is_known)
		rc = db_add(merged,
			ROW(merged_replay, (int64_t)meetings, ranks ? replay.measured / ranks : 0,
				refusal ? DB_NULL : replay.as_it_was / ranks, together,
				cell_text(refusal)));
	free(inexact);
	joint_free(replay.joint);
	return rc;
}
