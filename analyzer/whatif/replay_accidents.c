/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A wait that a fix removes may have ordered an operation after another one whose data it needs.
 * The fix must then order the two on the device (table hazard, rule accidental-order).
 */
#include <stdlib.h>

#include "array.h"
#include "replay_parts.h"
#include "sorted.h"

static int by_later(const void *a, const void *b)
{
	const struct replay_accident *x = a, *y = b;

	if (x->later != y->later)
		return x->later < y->later ? -1 : 1;
	return (x->earlier > y->earlier) - (x->earlier < y->earlier);
}

static int add(struct replay *replay, sqlite3_stmt *q)
{
	struct replay_accident added = { replay_step_of(replay, sqlite3_column_int64(q, 0)),
		replay_step_of(replay, sqlite3_column_int64(q, 1)),
		replay_step_of(replay, sqlite3_column_int64(q, 2)) };
	struct replay_accident *more =
		array_room(replay->accident, replay->accident_count, sizeof(*more));

	if (!more)
		return -1;
	replay->accident = more;
	if (added.later != REPLAY_NONE && added.earlier < added.later && added.via != REPLAY_NONE)
		more[replay->accident_count++] = added;
	return 0;
}

int replay_find_accidents(struct replay *replay, struct db *db)
{
	sqlite3_stmt *q = db_prepare(db,
		"SELECT call, other_call, via FROM hazard"
		" WHERE process = ? AND via NOT NULL AND launch IS NULL");
	int rc = q ? 0 : -1;

	if (q)
		sqlite3_bind_int64(q, 1, replay->process);
	while (!rc && (rc = db_step(q)) > 0)
		rc = add(replay, q);
	sqlite3_finalize(q);
	if (replay->accident_count)
		qsort(replay->accident, replay->accident_count, sizeof(*replay->accident),
			by_later);
	return rc;
}

/* Returns the first entry whose later step is at or after a step. */
static size_t first_of(const struct replay *replay, uint32_t number)
{
	return sorted_number(replay->accident, replay->accident_count, sizeof(*replay->accident),
		offsetof(struct replay_accident, later), number);
}

int64_t replay_needed(const struct replay *replay, uint32_t number)
{
	int64_t ready = REPLAY_LONG_AGO;

	if (!replay->changed)
		return ready;
	for (size_t i = first_of(replay, number);
		i < replay->accident_count && replay->accident[i].later == number; i++) {
		const struct replay_accident *accident = &replay->accident[i];
		int64_t end = replay->end[accident->earlier];

		if (replay->change[accident->via].bits & (CHANGE_WAIT | CHANGE_CALL) && end > ready)
			ready = end;
	}
	return ready;
}
