/* SPDX-License-Identifier: Apache-2.0 */
/*
 * redundant-sync: an explicit wait for what the thread knew complete (table known_wait).
 *
 * A wait can be left out only where it never does anything, so that a place counts if hardly any
 * of its waits was needed; the first one often is, for what was before the loop.
 */
#include <stdlib.h>

#include "constants.h"
#include "idmap.h"
#include "pass.h"
#include "run_columns.h"

struct place {
	int64_t waits, known;
};

static const char count_sql[] = "SELECT count(*) FROM known_wait";

static const char waits_sql[] = "SELECT call FROM known_wait";

/* What the program would save is the call as it made it; without records that are missing. */
static const char known_sql[] =
	"SELECT c.process, k.call, k.since, ifnull(p.exit - p.enter, c.exit - c.enter) "
	"FROM known_wait k CROSS JOIN call c ON c.id = k.call LEFT JOIN call p ON p.id = c.parent "
	"WHERE c.exit - c.enter <= ? AND NOT EXISTS (SELECT 1 FROM loss l "
	" WHERE l.process = c.process AND l.reason IN ('dropped_records', 'cut', "
	" 'size_reached', 'bypassed_calls')) ORDER BY k.rowid";

static int read_known(struct db *db, struct map *known)
{
	sqlite3_stmt *q = db_prepare(db, waits_sql);
	int rc = q ? 0 : -1;

	while (!rc && (rc = db_step(q)) > 0)
		rc = map_set(known, (uint64_t)sqlite3_column_int64(q, 0), 1);
	sqlite3_finalize(q);
	return rc;
}

static int is_wait(const struct run *run, uint32_t id)
{
	const struct run_call *call = run_call(run, id);

	return call && call_is_wait(call->kind) && call->flags & CALL_RETURNED &&
		!run_payload(run, call)->result;
}

static int tally(struct db *db, struct findings *findings, struct idmap *places)
{
	struct map known = { 0 };
	int rc = read_known(db, &known);

	for (uint32_t id = 1; !rc && id < run_call_end(db->run); id++) {
		struct place *place;
		int64_t at;

		if (!is_wait(db->run, id))
			continue;
		at = findings_place(findings, id);
		place = at < 0 ? NULL : idmap_need(places, at, sizeof(*place));
		rc = place ? 0 : -1;
		if (!place)
			break;
		place->waits++;
		place->known += (int64_t)map_get(&known, id, 0);
	}
	map_release(&known);
	return rc;
}

static int is_never_needed(const struct place *place)
{
	return place && place->waits - place->known <= 1;
}

static int add_known(struct db *db, struct findings *findings, const struct idmap *places)
{
	sqlite3_stmt *q = db_prepare(db, known_sql);
	int rc = q ? db_bind(q, "i", (int64_t)BLOCKED_MIN_NS) : -1;

	while (!rc && (rc = db_step(q)) > 0) {
		struct instance instance = {
			.rule = RULE_redundant_sync,
			.process = sqlite3_column_int64(q, 0),
			.call = sqlite3_column_int64(q, 1),
			.other_call = sqlite3_column_int64(q, 2),
			.cost = sqlite3_column_int64(q, 3),
			.saving = sqlite3_column_int64(q, 3),
			.change = CHANGE_CALL,
		};
		int64_t at = findings_place(findings, instance.call);

		rc = at < 0 ? -1 : 0;
		if (!rc && is_never_needed(idmap_get(places, at)))
			rc = findings_add(findings, &instance);
	}
	sqlite3_finalize(q);
	return rc;
}

static int run(struct db *db, struct findings *findings)
{
	struct idmap places = { 0 };
	int rc = 0;

	if (db_int(db, count_sql, 0))
		rc = tally(db, findings, &places) || add_known(db, findings, &places) ? -1 : 0;
	idmap_release(&places, free);
	return rc;
}

static int say(struct words *words, const struct instance *worst, FILE *out)
{
	if (words_call(words, worst->call, out))
		return -1;
	fputs(" had nothing to wait for: nothing was submitted since ", out);
	return words_call(words, worst->other_call, out);
}

const struct pass pass_redundant_sync = { .run = run, .say = say };
