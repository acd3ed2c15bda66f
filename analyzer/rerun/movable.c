/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether work of the legacy default stream can be moved to another stream, and which calls are
 * apart from it then.
 *
 * The legacy stream orders more than the work in it: what comes before that work in one blocking
 * stream is before what comes after it in another one.  Therefore the accesses of all work of the
 * run have to be known.  Calls that may use the memory of moved work stay in order with it
 * (fix/moved.c); only those of which no call of the run does are apart.  Whether two that are apart
 * had their order by the moved work is for the judgement of a run (judge.c).
 */
#include <stdlib.h>
#include <string.h>

#include "calls.h"
#include "conflict.h"
#include "losses.h"
#include "map.h"
#include "memory.h"
#include "trial.h"
#include "words.h"

/* Comparisons of operations; some 100 ns each. */
enum { MOST_PAIRS = 4000000 };

/* --- what cannot be followed --- */

/* clang-format off */
static const char unfollowed_sql[] =
	"SELECT CASE WHEN (SELECT count(DISTINCT c.process) FROM call c JOIN call_type t"
	"  ON t.id = c.type JOIN call_kind k ON k.name = t.kind WHERE k.work) > 1"
	"  THEN 'several processes use CUDA, and the plan is the same for all'"
	" WHEN EXISTS (SELECT 1 FROM recording) OR EXISTS (SELECT 1 FROM loss WHERE reason IN ("
#define LOSS(reason, effect, calls, work, numbers, found, text) LOSS_IF_##calls(reason)
#include "losses.def"
	LOSS_NONE ")) THEN 'only a part of the run was recorded'"
	" WHEN (SELECT count(DISTINCT c.context) FROM call c JOIN call_type t ON t.id = c.type"
	"  JOIN call_kind k ON k.name = t.kind WHERE k.work) > 1"
	"  THEN 'the work is of several contexts, each with a legacy stream of its own'"
	" WHEN EXISTS (SELECT 1 FROM context WHERE green) OR EXISTS (SELECT 1 FROM call c"
	"  JOIN call_type t ON t.id = c.type JOIN call_kind k ON k.name = t.kind"
	"  LEFT JOIN stream s ON s.id = c.stream"
	"  WHERE NOT t.runtime AND k.work AND coalesce(s.kind, 'unknown') = 'unknown')"
	"  THEN 'work is in a stream of which it is not known what it waits for'"
	" ELSE (SELECT t.name || ' is called: its order with other work is not followed here'"
	"  FROM call_type t JOIN call_kind k ON k.name = t.kind"
	"  WHERE NOT t.runtime AND (k.silent OR k.outside OR k.tells_host OR k.shares"
	"  OR (k.family = 'copy' AND k.waits = 'nothing')"
	"  OR (k.any_stream AND k.family <> 'context_end')"
	"  OR k.family IN ('stream_allocation', 'stream_free', 'capture', 'graph_launch',"
	"   'communicator', 'collective')) AND t.id IN (SELECT type FROM call)) END";
/* clang-format on */

/* --- all work --- */

/* The calls of a thread that are to be moved. */
struct mover {
	int64_t thread, first, last;
};

/* Calls of one function, at one site, whose accesses are the same. */
struct work {
	int64_t call, site, type, thread;
	const char *name;
	uint64_t accesses; /* number of their list */
};

struct works {
	struct work *work;
	size_t count;
	struct map known;
};

struct move {
	struct trial *trial;
	struct db *db;
	struct access_reader *reader;
	struct works moved, others; /* others: in other streams than the legacy one */
	struct map bound;           /* places of which a call may use memory of moved work */
	struct mover *mover;
	size_t movers;
	struct work *left; /* what stays in the legacy stream */
	size_t left_count;
};

static uint64_t place_of(int64_t site, int64_t type)
{
	return map_hash_next((uint64_t)site, (uint64_t)type);
}

static void add_work(struct works *works, const struct work *work)
{
	uint64_t row = map_hash_next(place_of(work->site, work->type), work->accesses);

	if (work->accesses && map_number(&works->known, row) + 1 < works->known.count)
		return;
	*array_push(works->work, works->count) = *work;
}

/* "what kernel 'scale' on stream 7 (app.cu:12) uses" */
static int refuse_operation(struct trial *trial, struct db *db, int64_t call, const char *why,
	int64_t other)
{
	struct words *words = words_open(db);
	char *text = NULL;
	size_t size;
	FILE *out = words ? open_memstream(&text, &size) : NULL;
	int rc = -1;

	if (out) {
		rc = words_operation(words, call, out) || words_place(words, call, out);
		fputs(why, out);
		if (other)
			rc = rc || words_operation(words, other, out) ||
				words_place(words, other, out);
		fclose(out);
	}
	if (!rc)
		rc = trial_refuse(trial, "%s", text);
	words_close(words);
	free(text);
	return rc;
}

static int is_moved(const struct trial *trial, const struct work *work)
{
	for (size_t i = 0; i < trial->places; i++)
		if (trial->place[i].site == work->site &&
			!strcmp(call_types[trial->place[i].place.place.call].name, work->name))
			return 1;
	return 0;
}

static void note_mover(struct move *move, const struct work *work)
{
	size_t i = 0;

	while (i < move->movers && move->mover[i].thread != work->thread)
		i++;
	if (i == move->movers)
		*array_push(move->mover, move->movers) =
			(struct mover){ work->thread, work->call, work->call };
	move->mover[i].last = work->call;
}

static const char work_sql[] =
	"SELECT c.id, coalesce(c.site, 0), t.id, c.thread, t.name, s.kind = 'legacy' FROM call c"
	" JOIN call_type t ON t.id = c.type JOIN call_kind k ON k.name = t.kind"
	" LEFT JOIN stream s ON s.id = c.stream"
	" WHERE NOT t.runtime AND k.work AND coalesce(c.result, 0) = 0 ORDER BY c.id";

static int read_work(struct move *move, sqlite3_stmt *q)
{
	struct work work = { sqlite3_column_int64(q, 0), sqlite3_column_int64(q, 1),
		sqlite3_column_int64(q, 2), sqlite3_column_int64(q, 3), db_text(q, 4), 0 };
	const struct accesses *accesses = access_read(move->reader, work.call);
	enum call_id call = call_named(work.name);

	if (!accesses)
		return -1;
	if (!accesses->complete || !accesses->named || accesses->reaches)
		return refuse_operation(move->trial, move->db, work.call,
			" may use other memory than is known, and may need its order", 0);
	work.accesses = accesses->number;
	work.name = call == CALL_COUNT ? "" : call_types[call].name;
	if (!sqlite3_column_int(q, 5)) {
		add_work(&move->others, &work);
	} else if (is_moved(move->trial, &work)) {
		add_work(&move->moved, &work);
		note_mover(move, &work);
	} else {
		*array_push(move->left, move->left_count) = work;
	}
	return 0;
}

/*
 * Two threads that submit at once have their work in some order in one stream.  In two of them an
 * event that is recorded meanwhile may order neither before the other.
 */
static int check_threads(struct move *move)
{
	for (size_t i = 0; i < move->left_count; i++)
		for (size_t k = 0; k < move->movers; k++) {
			const struct work *left = &move->left[i];
			const struct mover *mover = &move->mover[k];

			if (mover->thread != left->thread && mover->first < left->call &&
				left->call < mover->last)
				return refuse_operation(move->trial, move->db, left->call,
					" stays in the legacy default stream, and another thread's "
					"work is moved at that time: ",
					mover->last);
		}
	return 0;
}

static int read_works(struct move *move)
{
	sqlite3_stmt *q = db_prepare(move->db, work_sql);
	int step = q ? 0 : -1;

	while (!step && !move->trial->refusal && (step = db_step(q)) > 0)
		step = read_work(move, q);
	sqlite3_finalize(q);
	if (step >= 0 && !move->trial->refusal &&
		move->moved.count * move->others.count > MOST_PAIRS)
		return trial_refuse(move->trial, "there are too many different operations");
	return step < 0 ? -1 : 0;
}

/* --- what is apart --- */

/* A call at the site of a moved one is treated as that one where it is in the legacy stream. */
static int find_bound(struct move *move)
{
	int rc = 0;

	for (size_t i = 0; i < move->others.count && rc >= 0; i++) {
		const struct work *work = &move->others.work[i];

		rc = is_moved(move->trial, work);
		for (size_t k = 0; k < move->moved.count && !rc; k++)
			rc = access_may_conflict(move->reader, work->call, move->moved.work[k].call,
				CONFLICT_UNKNOWN);
		if (rc > 0)
			map_set(&move->bound, place_of(work->site, work->type), 1);
	}
	return rc < 0 ? -1 : 0;
}

static int is_bound(const struct move *move, int64_t site, int64_t type)
{
	return !site || map_get(&move->bound, place_of(site, type), 0) != 0;
}

static int add_apart(struct move *move)
{
	struct map added = { 0 };
	int rc = 0;

	for (size_t i = 0; i < move->others.count && !rc && !move->trial->refusal; i++) {
		const struct work *work = &move->others.work[i];
		uint64_t place = place_of(work->site, work->type);

		if (is_bound(move, work->site, work->type) || map_get(&added, place, 0))
			continue;
		map_set(&added, place, 1);
		rc = trial_add_place(move->trial, move->db, work->site, work->name, FIX_APART);
	}
	map_release(&added);
	return rc;
}

/*
 * A wait for the legacy stream is one for all blocking streams.  It may be for the moved work only
 * where the host can see nothing of theirs but by other calls.
 */
static const char waits_sql[] =
	"SELECT DISTINCT c.site, t.name FROM call c JOIN call_type t ON t.id = c.type"
	" JOIN call_kind w ON w.name = t.kind AND w.family = 'wait'"
	" JOIN stream s ON s.id = c.stream AND s.kind = 'legacy'"
	" WHERE NOT t.runtime AND c.site NOT NULL"
	" AND NOT EXISTS (SELECT 1 FROM call_type u JOIN call_kind k ON k.name = u.kind"
	"  WHERE k.polls AND u.id IN (SELECT type FROM call))"
	" AND NOT EXISTS (SELECT 1 FROM call o JOIN stream b ON b.id = o.stream"
	"  WHERE b.kind <> 'legacy' AND (o.dst_memory IN ('pinned', 'pageable', 'managed')"
	"   OR o.src_memory IN ('pinned', 'managed') OR EXISTS (SELECT 1 FROM operand x"
	"    JOIN allocation a ON a.id = x.allocation WHERE x.call = o.id"
	"    AND a.memory IN ('pinned', 'registered', 'managed'))))";

static int add_waits(struct move *move)
{
	sqlite3_stmt *q = db_prepare(move->db, waits_sql);
	int step = q ? 0 : -1;

	while (!step && !move->trial->refusal && (step = db_step(q)) > 0)
		step = trial_add_place(move->trial, move->db, sqlite3_column_int64(q, 0),
			db_text(q, 1), FIX_MOVED);
	sqlite3_finalize(q);
	return step < 0 ? -1 : 0;
}

/* What the finding says to be delayed by the moved calls, or to delay them. */
static const char pairs_sql[] =
	"SELECT p.call, o.id, o.site, o.type, coalesce(s.kind = 'legacy', 0) FROM finding_place p"
	" JOIN call o ON o.id = p.other_call LEFT JOIN stream s ON s.id = o.stream"
	" WHERE p.finding = ? ORDER BY p.id DESC";

/* At least one of the finding's pairs has to gain something. */
static int check_pairs(struct move *move)
{
	sqlite3_stmt *q = db_prepare(move->db, pairs_sql);
	int step = q ? db_bind(q, "i", move->trial->finding) : -1, gains = 0;
	int64_t call = 0, other = 0;
	int is_legacy = 0;

	while (!step && (step = db_step(q)) > 0) {
		call = sqlite3_column_int64(q, 0);
		other = sqlite3_column_int64(q, 1);
		is_legacy = sqlite3_column_int(q, 4);
		gains |= !is_legacy &&
			!is_bound(move, sqlite3_column_int64(q, 2), sqlite3_column_int64(q, 3));
		step = 0;
	}
	sqlite3_finalize(q);
	if (step < 0 || gains)
		return step < 0 ? -1 : 0;
	return refuse_operation(move->trial, move->db, call,
		is_legacy ? " would be in one other stream together with "
			  : " needs its order at other times, as it uses memory of ",
		other);
}

static void release(struct works *works)
{
	free(works->work);
	map_release(&works->known);
}

int trial_find_apart(struct trial *trial, struct db *db)
{
	struct move move = { .trial = trial, .db = db };
	int rc = trial_refuse_by(trial, db, unfollowed_sql);

	if (rc || trial->refusal)
		return rc;
	move.reader = access_open(db);
	rc = !move.reader || read_works(&move);
	if (!rc && !trial->refusal)
		rc = find_bound(&move) || check_pairs(&move);
	if (!rc && !trial->refusal)
		rc = check_threads(&move);
	if (!rc && !trial->refusal)
		rc = add_apart(&move) || add_waits(&move);
	access_close(move.reader);
	release(&move.moved);
	release(&move.others);
	map_release(&move.bound);
	free(move.mover);
	free(move.left);
	return rc ? -1 : 0;
}
