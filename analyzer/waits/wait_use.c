/* SPDX-License-Identifier: Apache-2.0 */
#include "wait_use.h"

#include <stdlib.h>

#include "polls.h"
#include "run_columns.h"
#include "waits.h"

struct wait_use {
	int64_t process;
	int kind;
	int64_t count, waited;
};

static const char *const names[] = {
#define X(kind, name) [WAIT_##kind] = name,
	WAIT_KIND_LIST(X)
#undef X
		[WAIT_USE_POLLING] = "polling",
};

int wait_use_add(struct wait_uses *uses, int64_t process, int kind, int64_t waited)
{
	struct wait_use *use = idmap_need(&uses->use, process << 8 | kind, sizeof(*use));

	if (!use)
		return -1;
	use->process = process;
	use->kind = kind;
	use->count++;
	use->waited += waited;
	return 0;
}

static int add_rows(struct wait_uses *uses, const struct run *run)
{
	for (size_t i = 1; i < run->evidence.wait_count; i++) {
		const struct run_wait *wait = &run->evidence.wait[i];
		const struct run_call *call = run_call(run, wait->call);

		/*
		 * Copies through a staging buffer are added below, including the first of an
		 * address.
		 */
		if (call && wait->kind != WAIT_STAGED &&
			wait_use_add(uses, run_payload(run, call)->process, (int)wait->kind,
				wait->waited))
			return -1;
	}
	return 0;
}

static int add_call(struct wait_uses *uses, const struct run *run, const struct polls *polls,
	uint32_t id)
{
	const struct run_call *call = run_call(run, id);
	int64_t staged = call ? waits_staged_time(run, id) : 0;
	int64_t since = call ? polls_since(polls, id) : INT64_MIN;
	int64_t process = call ? run_payload(run, call)->process : 0;

	if (staged > 0)
		return wait_use_add(uses, process, WAIT_STAGED, staged);
	return since == INT64_MIN
		? 0
		: wait_use_add(uses, process, WAIT_USE_POLLING, run_exit(run, call, id) - since);
}

static int write(const struct wait_uses *uses, struct db *db)
{
	sqlite3_stmt *insert = db_prepare(db, "INSERT INTO wait_use VALUES (?,?,?,?)");
	int rc = insert ? 0 : -1;

	for (size_t i = 0; i < uses->use.size && !rc; i++) {
		const struct wait_use *use = uses->use.slot[i].object;

		if (use)
			rc = db_run(insert, "isii", use->process, names[use->kind], use->count,
				use->waited);
	}
	sqlite3_finalize(insert);
	return rc;
}

int wait_use_store(struct wait_uses *uses, struct db *db)
{
	struct polls polls = { 0 };
	int rc = polls_find(&polls, db->run, db) || add_rows(uses, db->run) ? -1 : 0;

	for (uint32_t id = 1; id < run_call_end(db->run) && !rc; id++)
		rc = add_call(uses, db->run, &polls, id);
	polls_release(&polls);
	return rc ? -1 : write(uses, db);
}

void wait_use_release(struct wait_uses *uses)
{
	idmap_release(&uses->use, free);
}
