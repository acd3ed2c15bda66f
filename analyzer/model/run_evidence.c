/* SPDX-License-Identifier: Apache-2.0 */
#include "run_evidence.h"

#include <stdlib.h>

#include "array.h"

static const char *const kinds[] = {
#define X(kind, name) [WAIT_##kind] = name,
	WAIT_KIND_LIST(X)
#undef X
};

static const char *const reasons[] = {
#define X(reason, name) [HOLD_##reason] = name,
	HOLD_REASON_LIST(X)
#undef X
};

void run_evidence_release(struct run_evidence *evidence)
{
	free(evidence->wait);
	free(evidence->hold);
	free(evidence->known);
	map_release(&evidence->waits);
	map_release(&evidence->knows);
}

static struct run_wait *last_of(struct run_evidence *evidence, uint32_t call)
{
	struct run_wait *wait = &evidence->wait[map_get(&evidence->waits, call, 0)];

	while (wait->next)
		wait = &evidence->wait[wait->next];
	return wait;
}

static struct run_wait *append_wait(struct run_evidence *evidence)
{
	struct run_wait *more = array_room(evidence->wait, evidence->wait_count, sizeof(*more));

	if (!more)
		return NULL;
	evidence->wait = more;
	more[evidence->wait_count] = (struct run_wait){ 0 };
	return &more[evidence->wait_count++];
}

int run_add_wait(struct run_evidence *evidence, const struct run_wait *wait)
{
	struct run_wait *row =
		evidence->wait || append_wait(evidence) ? append_wait(evidence) : NULL;
	uint32_t number = (uint32_t)evidence->wait_count - 1;

	if (!row)
		return -1;
	*row = *wait;
	if (!map_get(&evidence->waits, wait->call, 0))
		return map_set(&evidence->waits, wait->call, number);
	last_of(evidence, wait->call)->next = number;
	return 0;
}

int run_add_hold(struct run_evidence *evidence, const struct run_hold *hold)
{
	struct run_hold *more = array_room(evidence->hold, evidence->hold_count, sizeof(*more));

	if (!more)
		return -1;
	evidence->hold = more;
	more[evidence->hold_count++] = *hold;
	return 0;
}

int run_add_known(struct run_evidence *evidence, const struct run_known *known)
{
	struct run_known *more = array_room(evidence->known, evidence->known_count, sizeof(*more));

	if (!more)
		return -1;
	evidence->known = more;
	more[evidence->known_count++] = *known;
	return map_set(&evidence->knows, known->call, 1);
}

static int64_t id_or_null(uint32_t id)
{
	return id ? id : DB_NULL;
}

static int write_waits(const struct run_evidence *evidence, struct db *db)
{
	sqlite3_stmt *insert =
		db_prepare(db, "INSERT INTO wait VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)");
	int rc = insert ? 0 : -1;

	for (size_t i = 1; i < evidence->wait_count && !rc; i++) {
		const struct run_wait *wait = &evidence->wait[i];

		rc = db_run(insert, "iisIiiiII", (int64_t)i, (int64_t)wait->call, kinds[wait->kind],
			id_or_null(wait->op), wait->waited, wait->avoidable, wait->apart,
			id_or_null(wait->partner), id_or_null(wait->behind));
	}
	sqlite3_finalize(insert);
	return rc;
}

static int write_holds(const struct run_evidence *evidence, struct db *db)
{
	sqlite3_stmt *insert = db_prepare(db, "INSERT INTO hold VALUES (?, ?, ?, ?, ?, ?)");
	int rc = insert ? 0 : -1;

	for (size_t i = 0; i < evidence->hold_count && !rc; i++) {
		const struct run_hold *hold = &evidence->hold[i];

		rc = db_run(insert, "iIIsii", (int64_t)hold->op, id_or_null(hold->behind),
			id_or_null(hold->via), reasons[hold->reason], hold->ready, hold->held);
	}
	sqlite3_finalize(insert);
	return rc;
}

static int write_known(const struct run_evidence *evidence, struct db *db)
{
	sqlite3_stmt *insert = db_prepare(db, "INSERT INTO known_wait VALUES (?, ?)");
	int rc = insert ? 0 : -1;

	for (size_t i = 0; i < evidence->known_count && !rc; i++)
		rc = db_run(insert, "ii", (int64_t)evidence->known[i].call,
			(int64_t)evidence->known[i].since);
	sqlite3_finalize(insert);
	return rc;
}

int run_evidence_write(const struct run_evidence *evidence, struct db *db)
{
	return write_waits(evidence, db) || write_holds(evidence, db) || write_known(evidence, db)
		? -1
		: 0;
}
