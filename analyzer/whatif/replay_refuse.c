/* SPDX-License-Identifier: Apache-2.0 */
/* Processes that are not replayed, because of what is known of their runs. */
#include "constants.h"
#include "order_loss.h"
#include "replay_parts.h"

/* A reason, and a query of process ?1: it applies if the value is at least that. */
static const struct {
	const char *reason;
	int least;
	const char *sql;
} refusals[] = {
	{ "no operation of the device was recorded", 1,
		"SELECT NOT EXISTS (SELECT 1 FROM work WHERE process = ?1)" },
	{ "a part of the run was not recorded", 1,
		"SELECT EXISTS (SELECT 1 FROM loss WHERE process = ?1 AND reason IN "
		"('dropped_records', 'cut', 'dropped_device', 'bypassed_calls', 'size_reached'))" },
	{ "its order was not analyzed to the end", 1,
		"SELECT EXISTS (SELECT 1 FROM loss WHERE process = ?1 AND reason = "
		"'" ORDER_LOSS "')" },
	/*
	 * NCCL's and NVSHMEM's kernels wait for kernels of other devices, which determine their
	 * duration.
	 */
	{ "kernels wait for other devices", 1,
		"SELECT EXISTS (SELECT 1 FROM kernel WHERE process = ?1 AND "
		"(name LIKE 'nccl%' OR name LIKE '%nvshmem%'))" },
	/* Their kernels stretch those of this process. */
	{ "other programs computed on the device at the same time", OTHER_USE_MIN_PERCENT,
		"SELECT max(busy) FROM other_use WHERE process = ?1 AND device IN "
		"(SELECT device FROM work WHERE process = ?1)" },
	{ "several processes used the device at the same time", 1,
		"WITH used AS (SELECT process, device, min(start) AS first, max(end) AS last "
		" FROM work WHERE (SELECT count(*) FROM process) > 1 GROUP BY 1, 2) "
		"SELECT EXISTS (SELECT 1 FROM used a JOIN used b ON b.device = a.device "
		" AND b.process <> a.process AND b.first < a.last AND a.first < b.last "
		" WHERE a.process = ?1)" },
};

int replay_refuse(struct replay *replay, struct db *db)
{
	int rc = 0;

	for (size_t i = 0; i < sizeof(refusals) / sizeof(*refusals) && !rc && !replay->refusal;
		i++) {
		sqlite3_stmt *q = db_prepare(db, refusals[i].sql);

		rc = !q || db_bind(q, "i", replay->process) || db_step(q) < 0 ? -1 : 0;
		if (!rc && sqlite3_column_int(q, 0) >= refusals[i].least)
			replay->refusal = refusals[i].reason;
		sqlite3_finalize(q);
	}
	return rc;
}

int replay_read_machines(struct replays *replays, struct db *db)
{
	sqlite3_stmt *q = db_prepare(db, "SELECT id, clock = 'virtual' FROM process");
	struct pinned_copies pinned = { 0 };
	int rc = q ? pinned_find(&pinned, db) : -1;

	while (!rc && (rc = db_step(q)) > 0) {
		int64_t process = sqlite3_column_int64(q, 0);
		struct replay *replay = idmap_get(&replays->processes, process);

		rc = 0;
		if (!replay)
			continue;
		replay->recording = sqlite3_column_int(q, 1) ? 0 : RECORDING_NS;
		replay->event_wait = sqlite3_column_int(q, 1) ? 0 : EVENT_WAIT_NS;
		replay->pinned = pinned_rate_of(&pinned, process);
	}
	pinned_release(&pinned);
	sqlite3_finalize(q);
	return rc ? -1 : handovers_find(&replays->handovers, db);
}
