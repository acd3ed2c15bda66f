/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether something needs what the treated calls wait for: the run is analyzed once more as if they
 * had failed, and so had no effect; of uploads as if they were from pinned memory, where they do
 * not wait; of work that is moved as if it were in a stream that only the legacy one is in order
 * with.  What is found then and was not found before is kept in order by them only, or is an
 * access of the program's that comes too early: the guard reported it, while the calls did not
 * wait.  What is only possible between operations of the device is left to the comparison of
 * outputs, as reports do not show it either.
 */
#include <stdlib.h>

#include "analyze.h"
#include "call_place.h"
#include "calls.h"
#include "fix_file.h"
#include "hazards.h"
#include "order_loss.h"
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

/* --- what is no longer in order --- */

/* Of all calls that load or unload code: the plan's, if it remembers any. */
static int is_remembered(const struct fix_plan *plan, const char *name)
{
	for (int i = 0; plan->images_count && i < CALL_COUNT; i++)
		if (kind_family(call_types[i].kind) == FAMILY_module &&
			!strcmp(call_types[i].name, name))
			return 1;
	return 0;
}

/* Adds a site and type for each of the plan's places there: how many are treated, or -1. */
static int add_treated(const struct fix_plan *plan, sqlite3_stmt *add, sqlite3_stmt *q,
	uint64_t where)
{
	const char *name = db_text(q, 1);
	int64_t site = sqlite3_column_int64(q, 0), type = sqlite3_column_int64(q, 2);
	int count = 0, rc = 0;

	for (uint32_t i = 0; i < plan->count && !rc; i++) {
		const struct fix_place *place = &plan->places[i];

		if (place->place.place != where || place->treatment == FIX_FENCE ||
			strcmp(call_types[place->place.call].name, name))
			continue;
		rc = db_run(add, "iiss", site, type, fix_treatment_names[place->treatment],
			fix_side_name((enum fix_treatment)place->treatment, place->side));
		count += place->side != FIX_APART;
	}
	if (!rc && !count && is_remembered(plan, name)) {
		rc = db_run(add, "iiss", site, type, fix_treatment_names[FIX_REMEMBER], "");
		count++;
	}
	return rc ? -1 : count;
}

/* Lists sites and types of the plan's calls in table temp.treated: how many are treated, or -1. */
static int list_treated(const struct fix_plan *plan, struct db *run)
{
	sqlite3_stmt *q = db_prepare(run,
		"SELECT DISTINCT c.site, t.name, t.id FROM call c JOIN call_type t ON t.id = c.type"
		" WHERE NOT t.runtime AND c.site NOT NULL");
	sqlite3_stmt *add = db_prepare(run, "INSERT INTO temp.treated VALUES (?, ?, ?, ?)");
	int step = q && add ? 0 : -1, count = 0, found;
	uint64_t place;

	while (!step && (step = db_step(q)) > 0) {
		found = call_place_read(run, sqlite3_column_int64(q, 0), &place) < 0
			? -1
			: add_treated(plan, add, q, place);
		count += found;
		step = found < 0 ? -1 : 0;
	}
	sqlite3_finalize(q);
	sqlite3_finalize(add);
	return step < 0 ? -1 : count;
}

static const char begin_sql[] =
	"CREATE TEMP TABLE treated (site INTEGER NOT NULL, type INTEGER NOT NULL,"
	" treatment TEXT NOT NULL, side TEXT NOT NULL);"
	"CREATE TEMP TABLE known AS SELECT rule, call, other_call FROM main.hazard";

/* A call that failed has no effect. */
static const char change_sql[] =
	"UPDATE call SET result = 1 WHERE (site, type) IN"
	" (SELECT site, type FROM temp.treated WHERE treatment NOT IN ('stage', 'move'));"
	"UPDATE call SET src_memory = 'pinned' WHERE src_memory = 'pageable' AND (site, type) IN"
	" (SELECT site, type FROM temp.treated WHERE treatment = 'stage');"
	"CREATE TEMP TABLE moved AS SELECT c.id, c.stream, s.context FROM call c"
	" JOIN stream s ON s.id = c.stream AND s.kind = 'legacy' WHERE (c.site, c.type) IN"
	"  (SELECT site, type FROM temp.treated WHERE side = 'moved');"
	"INSERT INTO stream (process, context, handle, kind) SELECT process, context, 0, 'moved'"
	" FROM stream WHERE kind = 'legacy' AND context IN (SELECT context FROM temp.moved);"
	"UPDATE call SET stream = s.id FROM temp.moved m JOIN stream s ON s.context = m.context"
	" AND s.kind = 'moved' WHERE call.id = m.id";

/*
 * If work is moved, fix/moved.c keeps what one thread submits to streams in order of submission,
 * but for what is apart.  All else has only the order that is found, even if a conflict is only
 * possible.
 */
static const char new_sql[] =
	"WITH kept AS (SELECT c.id, c.thread FROM call c JOIN stream s ON s.id = c.stream"
	"  JOIN call_type t ON t.id = c.type JOIN call_kind k ON k.name = t.kind"
	"  WHERE k.work AND s.kind NOT IN ('legacy', 'unknown') AND (c.site, c.type) NOT IN"
	"   (SELECT site, type FROM temp.treated WHERE side = 'apart'))"
	"SELECT h.call, h.other_call, h.evidence = 'guard',"
	" EXISTS (SELECT 1 FROM temp.moved, kept a, kept b"
	"  WHERE a.id = h.call AND b.id = h.other_call) FROM hazard h"
	" WHERE (h.evidence = 'guard' OR (CASE WHEN EXISTS (SELECT 1 FROM temp.moved)"
	"  THEN NOT EXISTS (SELECT 1 FROM kept a, kept b"
	"   WHERE a.thread = b.thread AND a.id = h.call AND b.id = h.other_call)"
	"  ELSE h.confidence <> 'possible' END))"
	" AND (h.rule, h.call, h.other_call) NOT IN"
	" (SELECT rule, call, other_call FROM temp.known)"
	" ORDER BY h.confidence LIMIT 1";

/* Where work is moved, an order that is not known is no order. */
static const char unknown_sql[] =
	"SELECT 'the run is too large to be judged (' || reason || ')' FROM loss"
	" WHERE EXISTS (SELECT 1 FROM temp.moved) AND reason IN"
	" ('" ORDER_LOSS "', '" HAZARD_LOSS "', '" HAZARD_LEFT_OUT "', '" HAZARD_FORGOTTEN
	"')"
	" LIMIT 1";

static int say_pair(struct words *words, sqlite3_stmt *q, FILE *out)
{
	int64_t later = sqlite3_column_int64(q, 0), earlier = sqlite3_column_int64(q, 1);
	int is_host = sqlite3_column_int(q, 2), by_threads = sqlite3_column_int(q, 3), rc;

	fputs(by_threads ? "an event may come too late between two threads' "
			 : "nothing else orders ",
		out);
	rc = words_operation(words, earlier, out) ||
		fputs(by_threads ? " and " : " before ", out) < 0;
	if (is_host)
		fputs("the program's own access", out);
	else
		rc = rc || words_operation(words, later, out);
	return rc || words_place(words, later, out) ? -1 : 0;
}

/* The program has these calls in the legacy stream. */
static const char restore_sql[] =
	"UPDATE call SET stream = m.stream FROM temp.moved m WHERE call.id = m.id";

static int refuse_pair(struct trial *trial, struct db *run, sqlite3_stmt *q)
{
	struct words *words = db_exec(run, restore_sql) ? NULL : words_open(run);
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

int trial_judge(struct trial *trial, const struct fix_plan *plan, struct db *run)
{
	sqlite3_stmt *q;
	int count, step;

	if (trial_refuse_by(trial, run, blind_sql))
		return -1;
	if (trial->refusal)
		return 0;
	count = db_exec(run, begin_sql) ? -1 : list_treated(plan, run);
	if (count < 0 || db_exec(run, change_sql) || analyze(run))
		return -1;
	if (!count) {
		trial->result = TRIAL_NOT_APPLIED;
		return 0;
	}
	if (trial_refuse_by(trial, run, unknown_sql) || trial->refusal)
		return trial->refusal ? 0 : -1;
	q = db_prepare(run, new_sql);
	step = q ? db_step(q) : -1;
	if (step > 0)
		step = refuse_pair(trial, run, q);
	sqlite3_finalize(q);
	return step < 0 ? -1 : 0;
}

/* --- a fence --- */

/* The lines of a finding's pairs, in its own database. */
static const char lines_sql[] =
	"SELECT DISTINCT f.rule, a.text, b.text FROM finding f"
	" JOIN finding_place p ON p.finding = f.id JOIN site a ON a.id = p.site"
	" JOIN site b ON b.id = p.other_site WHERE f.id = ?";

/*
 * How often the two were one after the other in this run: the analysis does not know the fence.
 * Allocations and what is within graphs have no times.
 */
static const char gaps_sql[] =
	"SELECT count(*), total(h.gap >= 0), count(h.gap) FROM hazard h"
	" JOIN call c ON c.id = h.call"
	" JOIN call o ON o.id = h.other_call JOIN site s ON s.id = c.site"
	" JOIN site t ON t.id = o.site WHERE h.rule = ? AND s.text IS ? AND t.text IS ?";

int trial_judge_order(struct trial *trial, struct db *run, struct db *db)
{
	sqlite3_stmt *lines = db_prepare(db, lines_sql), *gaps = db_prepare(run, gaps_sql);
	int step = lines && gaps ? db_bind(lines, "i", trial->finding) : -1;

	while (!step && (step = db_step(lines)) > 0) {
		step = db_bind(gaps, "sss", db_text(lines, 0), db_text(lines, 1),
			       db_text(lines, 2)) ||
				db_step(gaps) <= 0
			? -1
			: 0;
		if (step)
			break;
		trial->pairs += sqlite3_column_int(gaps, 0);
		trial->ordered += sqlite3_column_int(gaps, 1);
		trial->timed += sqlite3_column_int(gaps, 2);
	}
	sqlite3_finalize(lines);
	sqlite3_finalize(gaps);
	if (step < 0)
		return -1;
	if (!trial->pairs)
		trial->result = TRIAL_NOT_APPLIED;
	else if (trial->ordered < trial->timed)
		return trial_refuse(trial,
			"an event orders the two only %d of %d times: the later one is not always "
			"submitted after the earlier one",
			trial->ordered, trial->timed);
	return 0;
}
