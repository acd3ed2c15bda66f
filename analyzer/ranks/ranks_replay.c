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
	struct joint_times times;
	int64_t turn; /* the median, ns; of the run if a rank has no loop */
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

/* Estimates what the changes save of a turn, ns, and undoes them. */
static struct saving estimate(struct ranks_replay *replay)
{
	double turns = (double)replay->turn / (double)replay->times.as_it_was;
	struct saving saving;

	joint_estimate(replay->joint, &saving);
	return (struct saving){ (int64_t)((double)saving.best * turns),
		(int64_t)((double)saving.low * turns), (int64_t)((double)saving.high * turns) };
}

static int replay_findings(struct ranks_replay *replay)
{
	sqlite3_stmt *q = db_prepare(replay->db,
		"SELECT id, fingerprint, worst, members FROM merged_finding WHERE most > 0"
		" ORDER BY id LIMIT ?");
	sqlite3_stmt *to = db_prepare(replay->db,
		"UPDATE merged_finding SET saving = ?, saving_low = ?, saving_high = ?,"
		" saving_worst = ? WHERE id = ?");
	int step = q && to ? db_bind(q, "i", (int64_t)JOINT_FINDINGS) : -1;

	while (!step && (step = db_step(q)) > 0) {
		const char *fingerprint = db_text(q, 1);
		int changed = change(replay, fingerprint, 0);
		struct saving all, worst;

		step = changed < 0 ? -1 : 0;
		if (changed <= 0)
			continue;
		all = worst = estimate(replay);
		if (changed > 1) {
			step = change(replay, fingerprint, sqlite3_column_int64(q, 2)) < 0 ? -1 : 0;
			worst = estimate(replay);
		}
		step = step ? step
			    : db_run(to, "iiiii", all.best, all.low, all.high, worst.best,
				      sqlite3_column_int64(q, 0));
	}
	sqlite3_finalize(q);
	sqlite3_finalize(to);
	return step;
}

/* Estimates what all of them save together.  Returns how many there are, -1 after a message. */
static int save_together(struct ranks_replay *replay, struct saving *saving)
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
	if (!step && changed)
		*saving = estimate(replay);
	return step < 0 ? -1 : changed;
}

static const char turn_sql[] =
	"SELECT time FROM (SELECT t.time / d.turns AS time, row_number() OVER"
	"  (ORDER BY t.time / d.turns) AS nth, count(*) OVER () AS n FROM member_time t"
	"  JOIN temp.divisor d USING (member) WHERE what = 'turn' AND place = '')"
	" WHERE nth = (n + 1) / 2";

int ranks_replay(struct db *merged)
{
	struct ranks_replay replay = { .db = merged, .joint = joint_new() };
	int64_t ranks = db_int(merged, "SELECT count(*) FROM member", 0);
	const char *refusal = add_ranks(&replay);
	size_t meetings = refusal ? 0 : joint_match(replay.joint);
	struct saving all = { 0 };
	char *inexact = NULL;
	int rc = refusal && !*refusal ? -1 : 0, together = 0;
	int is_known = db_int(merged, "SELECT EXISTS (SELECT 1 FROM temp.joint_rank)", 0) != 0;

	if (!refusal && meetings < 2)
		refusal = "the ranks have no collectives in common";
	if (!refusal) {
		const struct joint_times *times = &replay.times;
		double more;

		replay.times = joint_begin(replay.joint);
		replay.turn = db_int(merged, turn_sql, 0);
		more = (double)(times->replayed - times->measured) / (double)times->measured * 100;
		if (more > SAVINGS_MAX_ERROR_PERCENT || more < -SAVINGS_MAX_ERROR_PERCENT)
			refusal = inexact =
				xprintf("a replay of all ranks as they were takes %.0f %% %s",
					more < 0 ? -more : more, more > 0 ? "more" : "less");
		else
			rc = replay_findings(&replay);
		if (!rc && !refusal)
			together = save_together(&replay, &all);
		rc = rc || together < 0 ? -1 : 0;
	}
	/* Without collectives nothing is to be said. */
	if (!rc && is_known)
		rc = db_add(merged,
			ROW(merged_replay, (int64_t)meetings,
				ranks ? replay.times.measured / ranks : 0,
				refusal ? DB_NULL : replay.times.replayed / ranks,
				together ? all.best : DB_NULL, together ? all.low : DB_NULL,
				together ? all.high : DB_NULL, cell_text(refusal)));
	free(inexact);
	joint_free(replay.joint);
	return rc;
}
