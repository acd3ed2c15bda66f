/* SPDX-License-Identifier: Apache-2.0 */
#include "loads_late.h"

#include "map.h"
#include "run_columns.h"

int loads_late_prepare(struct db *db)
{
	const struct run *run = db->run;
	struct map seen = { 0 };
	int rc = db_exec(db, LOADS_LATE_TABLE);
	sqlite3_stmt *insert =
		rc ? NULL : db_prepare(db, "INSERT INTO temp.first_wait VALUES (?, ?, ?)");

	rc = insert ? 0 : -1;
	for (uint32_t id = 1; !rc && id < run_call_end(run); id++) {
		const struct run_call *call = run_call(run, id);
		const struct run_payload *payload = call ? run_payload(run, call) : NULL;
		uint64_t key;

		if (!call || !call_is_wait(call->kind))
			continue;
		key = (uint64_t)payload->process << 32 | payload->context;
		if (map_get(&seen, key, 0))
			continue;
		rc = map_set(&seen, key, 1) ||
			db_run(insert, "iii", (int64_t)payload->process, (int64_t)payload->context,
				(int64_t)id);
	}
	sqlite3_finalize(insert);
	map_release(&seen);
	return rc ? -1 : 0;
}
