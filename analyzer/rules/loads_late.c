/* SPDX-License-Identifier: Apache-2.0 */
#include "loads_late.h"

#include "constants.h"
#include "map.h"
#include "run_columns.h"

/* clang-format off */
static const char tables_sql[] =
	"DROP TABLE IF EXISTS temp.first_wait;"
	"CREATE TEMP TABLE first_wait (process INTEGER NOT NULL, context INTEGER NOT NULL,"
	" first INTEGER NOT NULL, PRIMARY KEY (process, context)) WITHOUT ROWID;"
	"DROP TABLE IF EXISTS temp.loading_place;"
	"CREATE TEMP TABLE loading_place (site INTEGER PRIMARY KEY);";
/* clang-format on */

struct late_loads {
	struct db *db;
	const struct run *run;
	struct map first; /* explicit wait of a process's context */
	struct map loads; /* by site, of calls */
	struct map launches;
};

static uint64_t context_of(const struct run *run, const struct run_call *call)
{
	const struct run_payload *payload = run_payload(run, call);

	return (uint64_t)payload->process << 32 | payload->context;
}

static int find_first_waits(struct late_loads *late)
{
	sqlite3_stmt *insert = db_prepare(late->db, "INSERT INTO temp.first_wait VALUES (?, ?, ?)");
	int rc = insert ? 0 : -1;

	for (uint32_t id = 1; !rc && id < run_call_end(late->run); id++) {
		const struct run_call *call = run_call(late->run, id);
		uint64_t key;

		if (!call || !call_is_wait(call->kind))
			continue;
		key = context_of(late->run, call);
		if (map_get(&late->first, key, 0))
			continue;
		rc = map_set(&late->first, key, id) ||
			db_run(insert, "iii", (int64_t)(key >> 32), (int64_t)(uint32_t)key,
				(int64_t)id);
	}
	sqlite3_finalize(insert);
	return rc ? -1 : 0;
}

/* Of the rows of one call, which are neighbors. */
static int loads_code(const struct run_overhead *row, const struct run_overhead *end)
{
	uint32_t call = row->call;

	for (; row < end && row->call == call; row++)
		if (row->kind == OVERHEAD_LAZY_LOADING)
			return 1;
	return 0;
}

static int count_loads(struct late_loads *late)
{
	const struct run_overhead *row = (const struct run_overhead *)late->run->overheads.rows;
	const struct run_overhead *end = run_rows_end(&late->run->overheads);
	uint32_t last = 0;

	for (; row < end; row++) {
		const struct run_call *call = run_call(late->run, row->call);
		uint32_t site;

		if (row->call == last || !call)
			continue;
		last = row->call;
		site = run_link(late->run, last)->site;
		if (!site || !loads_code(row, end) ||
			last <= map_get(&late->first, context_of(late->run, call), UINT32_MAX))
			continue;
		if (map_set(&late->loads, site, map_get(&late->loads, site, 0) + 1))
			return -1;
	}
	return 0;
}

static int count_launches(struct late_loads *late)
{
	for (uint32_t id = 1; late->loads.count && id < run_call_end(late->run); id++) {
		const struct run_call *call = run_call(late->run, id);
		uint32_t site = call ? run_link(late->run, id)->site : 0;

		if (site && kind_family(call->kind) == FAMILY_launch &&
			map_get(&late->loads, site, 0) &&
			map_set(&late->launches, site, map_get(&late->launches, site, 0) + 1))
			return -1;
	}
	return 0;
}

static int find_places(struct late_loads *late)
{
	sqlite3_stmt *insert = db_prepare(late->db, "INSERT INTO temp.loading_place VALUES (?)");
	int rc = !insert || count_loads(late) || count_launches(late) ? -1 : 0;

	for (size_t i = 0; !rc && i < late->launches.size; i++) {
		const struct map_entry *site = &late->launches.entry[i];

		if (site->used && site->value <= LOADS_PART * map_get(&late->loads, site->key, 0))
			rc = db_run(insert, "i", (int64_t)site->key);
	}
	sqlite3_finalize(insert);
	return rc;
}

int loads_late_prepare(struct db *db)
{
	struct late_loads late = { .db = db, .run = db->run };
	int rc = db_exec(db, tables_sql) || find_first_waits(&late) || find_places(&late) ? -1 : 0;

	map_release(&late.first);
	map_release(&late.loads);
	map_release(&late.launches);
	return rc;
}
