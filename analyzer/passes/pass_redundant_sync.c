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
#include "kinds.h"
#include "pass.h"

struct place {
	int64_t waits, known;
};

static const char count_sql[] = "SELECT count(*) FROM known_wait";

static const char waits_sql[] =
	"SELECT c.id, EXISTS (SELECT 1 FROM known_wait k WHERE k.call = c.id) FROM call c "
	"JOIN call_type t ON t.id = c.type WHERE NOT t.runtime "
	"AND " IS_EXPLICIT_WAIT("t") " AND c.result = 0";

/* What the program would save is the call as it made it; without records that are missing. */
static const char known_sql[] =
	"SELECT c.process, k.call, k.since, ifnull(p.exit - p.enter, c.exit - c.enter) "
	"FROM known_wait k JOIN call c ON c.id = k.call LEFT JOIN call p ON p.id = c.parent "
	"WHERE c.exit - c.enter <= ? AND NOT EXISTS (SELECT 1 FROM loss l "
	" WHERE l.process = c.process AND l.reason IN ('dropped_records', 'cut', "
	" 'size_reached', 'bypassed_calls')) ORDER BY k.rowid";

static int tally(struct db *db, struct findings *findings, struct idmap *places)
{
	sqlite3_stmt *q = db_prepare(db, waits_sql);
	int rc = q ? 0 : -1;

	while (!rc && (rc = db_step(q)) > 0) {
		int64_t at = findings_place(findings, sqlite3_column_int64(q, 0));
		struct place *place = at < 0 ? NULL : idmap_need(places, at, sizeof(*place));

		rc = place ? 0 : -1;
		if (!place)
			break;
		place->waits++;
		place->known += sqlite3_column_int64(q, 1);
	}
	sqlite3_finalize(q);
	return rc;
}

static int is_never_needed(const struct place *place)
{
	return place && place->waits - place->known <= 1 + place->waits / NEEDED_PART;
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
