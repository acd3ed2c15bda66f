/* SPDX-License-Identifier: Apache-2.0 */
#include "held_run.h"

#include "call_place.h"
#include "calls.h"

static const char sites_sql[] =
	"SELECT DISTINCT c.site FROM call c JOIN call_type t ON t.id = c.type"
	" WHERE t.name = ? AND NOT t.runtime AND c.site NOT NULL";

/* A call by the name of its function, its site, the thread's id and its number there. */
#define CALL(name, site, tid, number) \
	"(SELECT c.id FROM call c JOIN call_type t ON t.id = c.type" \
	" WHERE t.name = " name " AND NOT t.runtime AND c.site = " site \
	" AND c.thread = (SELECT iif(count(*) = 1, max(id), NULL) FROM thread WHERE tid = " tid \
	")" \
	" ORDER BY c.id LIMIT 1 OFFSET " number " - 1)"

/*
 * The program may access other memory at its line before that of the producer: later accesses there
 * count, too (?9).  Without the lost records, numbers are others.
 */
static const char same_bytes_sql[] =
	"WITH pair (producer, consumer) AS MATERIALIZED (SELECT " CALL("?1", "?2", "?3", "?4") ", "
	CALL("?5", "?6", "?7", "?8") ")"
	" SELECT EXISTS (SELECT 1 FROM pair JOIN hazard h ON h.other_call = pair.producer"
	" JOIN call c ON c.id = h.call JOIN call f ON f.id = pair.consumer"
	" WHERE h.same_bytes AND h.launch IS NULL"
	" AND (c.id = f.id OR (?9 AND c.id > f.id AND c.site = f.site AND c.thread = f.thread))"
	" AND NOT EXISTS (SELECT 1 FROM loss l WHERE l.process = h.process AND l.reason IN ("
#define LOSS(reason, effect, calls, work, numbers, found, text) LOSS_IF_##numbers(reason)
#include "losses.def"
	LOSS_NONE ")))";

/* Finds the only site of such calls that has the place; 0: none, or several. */
static int find_site(struct db *db, const struct hold_place *wanted, int64_t *site)
{
	sqlite3_stmt *q = db_prepare(db, sites_sql);
	int step = q ? db_bind(q, "s", call_types[wanted->call].name) : -1, found = 0;

	while (!step && (step = db_step(q)) > 0) {
		uint64_t place;
		int64_t id = sqlite3_column_int64(q, 0);

		step = call_place_read(db, id, &place) < 0 ? -1 : 0;
		if (step || place != wanted->place)
			continue;
		*site = found++ ? 0 : id;
	}
	sqlite3_finalize(q);
	return step;
}

int held_run_open(struct held_run *run, struct db *db, const struct hold_plan *plan, int is_host)
{
	*run = (struct held_run){ .is_host = is_host };
	if (find_site(db, &plan->producer, &run->producer) ||
		find_site(db, &plan->consumer, &run->consumer))
		return -1;
	run->same_bytes = db_prepare(db, same_bytes_sql);
	return run->same_bytes ? 0 : -1;
}

int held_run_same_bytes(struct held_run *run, const struct hold_plan *plan, uint32_t number)
{
	const struct hold_try *try = &plan->tries[number];
	sqlite3_stmt *q = run->same_bytes;
	int found = -1;

	if (!run->producer || !run->consumer || !try->consumed)
		return 0;
	if (!db_bind(q, "siiisiiii", call_types[plan->producer.call].name, run->producer,
		    (int64_t)try->producer_thread, (int64_t)try->producer,
		    call_types[plan->consumer.call].name, run->consumer,
		    (int64_t)try->consumer_thread, (int64_t)try->consumed, (int64_t)run->is_host) &&
		db_step(q) > 0)
		found = sqlite3_column_int(q, 0);
	sqlite3_reset(q);
	return found;
}

void held_run_release(struct held_run *run)
{
	sqlite3_finalize(run->same_bytes);
}
