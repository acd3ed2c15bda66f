/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether something needs what the treated calls wait for: the run is analyzed once more as if they
 * had failed, and so had no effect.  What is found then and was not found before is kept in order
 * by them only, or is an access of the program's that comes too early: the guard reported it, while
 * the calls did not wait.  What is only possible between operations of the device is left to the
 * comparison of outputs, as reports do not show it either.
 */
#include <stdlib.h>

#include "analyze.h"
#include "call_place.h"
#include "calls.h"
#include "print.h"
#include "trial.h"
#include "words.h"

/* --- whether all accesses by the host and to its memory are seen --- */

static const char blind_sql[] =
	"SELECT CASE WHEN EXISTS (SELECT 1 FROM property WHERE name = 'guard' AND value <> 'on')"
	"  THEN 'accesses to pinned memory are not watched here: ' ||"
	"   (SELECT max(value) FROM property WHERE name = 'guard')"
	" WHEN EXISTS (SELECT 1 FROM property WHERE name = 'guard.managed' AND value <> 'on')"
	"  AND EXISTS (SELECT 1 FROM allocation WHERE memory = 'managed')"
	"  THEN 'accesses to managed memory are not watched here: ' ||"
	"   (SELECT max(value) FROM property WHERE name = 'guard.managed')"
	" WHEN EXISTS (SELECT 1 FROM operand o JOIN allocation a ON a.id = o.allocation"
	"   JOIN call c ON c.id = o.call WHERE a.memory IN ('pinned', 'registered')"
	"   AND c.kernel NOT NULL)"
	"  THEN 'kernels use pinned memory, which nothing watches' END"
	" WHERE EXISTS (SELECT 1 FROM allocation"
	"  WHERE memory IN ('pinned', 'registered', 'managed'))";

static int check_blind(struct trial *trial, struct db *run)
{
	sqlite3_stmt *q = db_prepare(run, blind_sql);
	int step = q ? db_step(q) : -1;

	if (step > 0 && sqlite3_column_type(q, 0) != SQLITE_NULL)
		step = trial_refuse(trial, "%s", db_text(q, 0));
	sqlite3_finalize(q);
	return step < 0 ? -1 : 0;
}

/* --- what is no longer in order --- */

static int is_treated(const struct trial *trial, uint64_t place, const char *name)
{
	for (uint32_t i = 0; i < trial->plan.count; i++) {
		const struct hold_place *treated = &trial->plan.places[i].place;

		if (treated->place == place && !strcmp(call_types[treated->call].name, name))
			return 1;
	}
	return 0;
}

/* Lists sites and types of the treated calls in table temp.treated: how many, or -1. */
static int list_treated(const struct trial *trial, struct db *run)
{
	sqlite3_stmt *q = db_prepare(run,
		"SELECT DISTINCT c.site, t.name, t.id FROM call c JOIN call_type t ON t.id = c.type"
		" WHERE NOT t.runtime AND c.site NOT NULL");
	sqlite3_stmt *add = db_prepare(run, "INSERT INTO temp.treated VALUES (?, ?)");
	int step = q && add ? 0 : -1, count = 0;
	uint64_t place;

	while (!step && (step = db_step(q)) > 0) {
		int64_t site = sqlite3_column_int64(q, 0);

		step = call_place_read(run, site, &place) < 0 ? -1 : 0;
		if (step || !is_treated(trial, place, db_text(q, 1)))
			continue;
		step = db_run(add, "ii", site, sqlite3_column_int64(q, 2));
		count++;
	}
	sqlite3_finalize(q);
	sqlite3_finalize(add);
	return step < 0 ? -1 : count;
}

static const char begin_sql[] =
	"CREATE TEMP TABLE treated (site INTEGER NOT NULL, type INTEGER NOT NULL);"
	"CREATE TEMP TABLE known AS SELECT rule, call, other_call FROM main.hazard";

/* A call that failed has no effect. */
static const char change_sql[] =
	"UPDATE call SET result = 1 WHERE (site, type) IN (SELECT site, type FROM temp.treated)";

static const char new_sql[] =
	"SELECT h.call, h.other_call, h.evidence = 'guard' FROM hazard h"
	" WHERE (h.confidence <> 'possible' OR h.evidence = 'guard')"
	" AND (h.rule, h.call, h.other_call) NOT IN"
	" (SELECT rule, call, other_call FROM temp.known)"
	" ORDER BY h.confidence LIMIT 1";

static int say_pair(struct words *words, sqlite3_stmt *q, FILE *out)
{
	int64_t later = sqlite3_column_int64(q, 0), earlier = sqlite3_column_int64(q, 1);
	int is_host = sqlite3_column_int(q, 2), rc;

	fputs("nothing else orders ", out);
	rc = words_operation(words, earlier, out) || fputs(" before ", out) < 0;
	if (is_host)
		fputs("the program's own access", out);
	else
		rc = rc || words_operation(words, later, out);
	return rc || words_place(words, later, out) ? -1 : 0;
}

static int refuse_pair(struct trial *trial, struct db *run, sqlite3_stmt *q)
{
	struct words *words = words_open(run);
	char *text = NULL;
	size_t size;
	FILE *out = words ? open_memstream(&text, &size) : NULL;
	int rc = -1;

	if (out) {
		rc = say_pair(words, q, out);
		fclose(out);
	}
	if (!rc)
		rc = trial_refuse(trial, "%s", text);
	words_close(words);
	free(text);
	return rc;
}

int trial_judge(struct trial *trial, struct db *run)
{
	sqlite3_stmt *q;
	int count, step;

	if (check_blind(trial, run))
		return -1;
	if (trial->refusal)
		return 0;
	count = db_exec(run, begin_sql) ? -1 : list_treated(trial, run);
	if (count < 0 || db_exec(run, change_sql) || analyze(run))
		return -1;
	if (!count) {
		trial->result = TRIAL_NOT_APPLIED;
		return 0;
	}
	q = db_prepare(run, new_sql);
	step = q ? db_step(q) : -1;
	if (step > 0)
		step = refuse_pair(trial, run, q);
	sqlite3_finalize(q);
	return step < 0 ? -1 : 0;
}
