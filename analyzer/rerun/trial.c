/* SPDX-License-Identifier: Apache-2.0 */
#include "trial.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "call_place.h"
#include "calls.h"
#include "format.h"
#include "print.h"
#include "rules.h"

static const struct treatment {
	enum rule rule;
	enum fix_treatment treatment;
	enum kind_family family;
} treatments[] = {
#define TREAT(rule, treatment, family) { RULE_##rule, FIX_##treatment, FAMILY_##family },
#include "treatments.def"
};

const char *const trial_results[TRIAL_RESULTS] = { "tried", "refused", "not-applied",
	"output-differs" };

int trial_refuse(struct trial *trial, const char *format, ...)
{
	va_list values;
	char *text = NULL;
	int rc;

	va_start(values, format);
	rc = vasprintf(&text, format, values);
	va_end(values);
	if (rc < 0)
		return -1;
	free(trial->refusal);
	trial->refusal = text;
	trial->result = TRIAL_REFUSED;
	return 0;
}

/* --- the finding --- */

static const struct treatment *treatment_of(const char *rule)
{
	const struct rule_info *info = rule_find(rule);

	for (size_t i = 0; info && i < sizeof(treatments) / sizeof(*treatments); i++)
		if (treatments[i].rule == info - rules)
			return &treatments[i];
	return NULL;
}

static const char finding_sql[] =
	"SELECT rule, fingerprint, saving, saving_low, saving_high, reads,"
	" (SELECT message FROM finding_race r WHERE r.finding = f.id ORDER BY hazard LIMIT 1)"
	" FROM finding f WHERE id = ?";

static int read_finding(struct trial *trial, sqlite3_stmt *q)
{
	int is_bounded = sqlite3_column_type(q, 3) != SQLITE_NULL;

	trial->rule = strdup(db_text(q, 0));
	trial->fingerprint = strdup(db_text(q, 1));
	trial->predicted = sqlite3_column_int64(q, 2);
	trial->low = is_bounded ? sqlite3_column_int64(q, 3) : DB_NULL;
	trial->high = is_bounded ? sqlite3_column_int64(q, 4) : DB_NULL;
	if (!trial->rule || !trial->fingerprint)
		return -1;
	if (sqlite3_column_int(q, 5))
		return trial_refuse(trial, "the program reads what these calls return");
	if (sqlite3_column_type(q, 6) != SQLITE_NULL)
		return trial_refuse(trial, "a race would remain: %s", db_text(q, 6));
	return 0;
}

/* Lines of findings f, the calls w there, and all calls c of the same function at these lines. */
#define AT_LINES \
	"(SELECT finding, site, call FROM finding_place" \
	" UNION SELECT finding, site, call FROM finding_also)"
#define CALLS_THERE(f) \
	" FROM " AT_LINES \
	" p JOIN site a ON a.id = p.site JOIN call w ON w.id = p.call" \
	" JOIN site s ON s.process = a.process AND s.text IS a.text AND s.function IS a.function" \
	" JOIN call c ON c.site = s.id AND c.type = w.type" \
	" JOIN call_type t ON t.id = c.type AND NOT t.runtime WHERE p.finding = " f

/* A line's waits that no finding calls needless may be needed. */
static const char all_sql[] = "SELECT count(DISTINCT c.id)" CALLS_THERE("?1");
static const char found_sql[] =
	"SELECT f.rule, sum(p.count) FROM finding_place p JOIN finding f ON f.id = p.finding"
	" JOIN site b ON b.id = p.site WHERE (b.process, b.text, b.function) IN"
	"  (SELECT a.process, a.text, a.function FROM " AT_LINES
	" q JOIN site a ON a.id = q.site"
	"   WHERE q.finding = ?1) GROUP BY f.rule";

static int check_needed(struct trial *trial, struct db *db)
{
	sqlite3_stmt *all = db_prepare(db, all_sql), *found = db_prepare(db, found_sql);
	int step = all && found && !db_bind(all, "i", trial->finding) ? db_step(all) : -1;
	long long waits = step > 0 ? sqlite3_column_int64(all, 0) : 0, needed = waits;

	step = step < 0 ? -1 : db_bind(found, "i", trial->finding);
	while (!step && (step = db_step(found)) > 0) {
		const struct treatment *treatment = treatment_of(db_text(found, 0));

		if (treatment && treatment->treatment == FIX_LEAVE_OUT)
			needed -= sqlite3_column_int64(found, 1);
		step = 0;
	}
	if (!step && needed > 0)
		step = trial_refuse(trial, "%lld of the %lld waits there may be needed", needed,
			waits);
	sqlite3_finalize(all);
	sqlite3_finalize(found);
	return step;
}

/* Why calls of that kind are not treated; NULL: they are. */
static const char *kind_obstacle(const struct treatment *treatment, enum call_kind kind)
{
	int leaves_out = treatment->treatment == FIX_LEAVE_OUT;

	if (kind_family(kind) != treatment->family &&
		!(leaves_out && kind_family(kind) == FAMILY_event_wait))
		return "calls that were made to do something else wait there, too";
	return kind == KIND_UNREGISTER_HOST
		? "the program may give registered memory back, which would stay pinned"
		: NULL;
}

static enum call_id call_named(const char *name)
{
	for (int i = 0; i < CALL_COUNT; i++)
		if (!call_types[i].runtime && !strcmp(call_types[i].name, name))
			return (enum call_id)i;
	return CALL_COUNT;
}

static int add_place(struct trial *trial, struct db *db, int64_t site, const char *name,
	const struct treatment *treatment)
{
	struct fix_place place = { .treatment = (uint32_t)treatment->treatment };
	enum call_id call = call_named(name);
	const char *obstacle;
	int frames;

	if (call == CALL_COUNT)
		return trial_refuse(trial, "this version does not know %s", name);
	obstacle = kind_obstacle(treatment, call_types[call].kind);
	if (obstacle) {
		trial->untreated = call_types[call].name;
		trial->why = obstacle;
		return 0;
	}
	if (trial->plan.count == FIX_PLACES)
		return trial_refuse(trial, "its calls come from more than %d call paths",
			FIX_PLACES);
	frames = call_place_read(db, site, &place.place.place);
	if (frames < 0)
		return -1;
	if (!frames)
		return trial_refuse(trial, "the place of a call was not recorded");
	place.place.call = (uint32_t)call;
	trial->plan.reuses_host |= treatment->family == FAMILY_host_memory;
	trial->plan.places[trial->plan.count++] = place;
	return 0;
}

static int compare(const void *one, const void *other)
{
	const struct fix_place *a = one, *b = other;

	if (a->place.place != b->place.place)
		return a->place.place < b->place.place ? -1 : 1;
	return (a->place.call > b->place.call) - (a->place.call < b->place.call);
}

static int add_places(struct trial *trial, struct db *db, const struct treatment *treatment)
{
	sqlite3_stmt *q = db_prepare(db, "SELECT DISTINCT c.site, t.name" CALLS_THERE("?1"));
	int step = q ? db_bind(q, "i", trial->finding) : -1;

	while (!step && !trial->refusal && (step = db_step(q)) > 0)
		step = add_place(trial, db, sqlite3_column_int64(q, 0), db_text(q, 1), treatment);
	sqlite3_finalize(q);
	if (step < 0)
		return -1;
	if (!trial->refusal && !trial->plan.count && trial->untreated)
		return trial_refuse(trial, "%s (%s)", trial->why, trial->untreated);
	if (!trial->refusal && !trial->plan.count)
		return trial_refuse(trial, "the places of its calls were not recorded");
	qsort(trial->plan.places, trial->plan.count, sizeof(*trial->plan.places), compare);
	return 0;
}

static int plan_trial(struct trial *trial, struct db *db)
{
	const struct treatment *treatment = treatment_of(trial->rule);

	if (!treatment)
		return trial_refuse(trial,
			"only a change of the program does this: \"cufence help %s\"", trial->rule);
	trial->treatment = treatment->treatment;
	trial->plan.keeps_pools = treatment->treatment == FIX_KEEP_POOL;
	if (treatment->family == FAMILY_other)
		return 0;
	if (treatment->treatment == FIX_LEAVE_OUT && check_needed(trial, db))
		return -1;
	return trial->refusal ? 0 : add_places(trial, db, treatment);
}

int trial_of_finding(struct trial *trial, struct db *db, int64_t finding)
{
	sqlite3_stmt *q = db_prepare(db, finding_sql);
	int step = q && !db_bind(q, "i", finding) ? db_step(q) : -1;

	*trial = (struct trial){ .finding = finding, .plan.magic = FIX_MAGIC };
	if (step > 0 && read_finding(trial, q))
		step = -1;
	else if (!step)
		print(stderr,
			"cufence try: %lld is not the number of a finding: \"cufence report\" "
			"numbers them\n",
			(long long)finding);
	sqlite3_finalize(q);
	if (step <= 0)
		return -1;
	return trial->refusal ? 0 : plan_trial(trial, db);
}

void trial_release(struct trial *trial)
{
	free(trial->rule);
	free(trial->fingerprint);
	free(trial->refusal);
}

/* --- the answer --- */

/* A duration that may be negative. */
static const char *signed_duration(char text[DURATION_SIZE + 1], int64_t ns)
{
	text[0] = '-';
	format_duration(text + 1, ns < 0 ? -ns : ns);
	return ns < 0 ? text : text + 1;
}

/* "saved 46 ms (46 to 47 ms in 3 pairs of runs) of 42 ms to 50 ms predicted" */
static void say_saving(const struct trial *trial, FILE *out)
{
	char saved[DURATION_SIZE + 1], least[DURATION_SIZE + 1], most[DURATION_SIZE + 1];
	char low[DURATION_SIZE], high[DURATION_SIZE];

	print(out, "saved %s", signed_duration(saved, trial->saved));
	if (trial->low == DB_NULL)
		print(out, " of at most %s", format_duration(low, trial->predicted));
	else
		print(out, " of %s to %s", trial->low ? format_duration(low, trial->low) : "0",
			format_duration(high, trial->high));
	print(out, " predicted (%s to %s in %d pair%s of runs)",
		signed_duration(least, trial->least), signed_duration(most, trial->most),
		trial->runs, trial->runs == 1 ? "" : "s");
	if (trial->untreated)
		print(out, "; not treated: %s", trial->untreated);
}

static void say(const struct trial *trial, FILE *out)
{
	switch (trial->result) {
	case TRIAL_REFUSED:
		print(out, "%s", trial->refusal);
		break;
	case TRIAL_NOT_APPLIED:
		print(out,
			"this run made none of its calls: the program, its build or its arguments "
			"are others than before");
		break;
	case TRIAL_OUTPUT:
		print(out, "the program's output is another one with the fix; it ");
		say_saving(trial, out);
		break;
	default:
		say_saving(trial, out);
		break;
	}
}

void trial_print(const struct trial *trial, FILE *out)
{
	print(out, "#%lld %s: %s: ", (long long)trial->finding, trial->rule,
		trial_results[trial->result]);
	say(trial, out);
	fputc('\n', out);
}

int trial_store(const struct trial *trial, struct db *db)
{
	int is_measured = trial->result == TRIAL_TRIED || trial->result == TRIAL_OUTPUT;
	sqlite3_stmt *q = db_prepare(db,
		"INSERT OR REPLACE INTO trial (fingerprint, result, how, saved, saved_least,"
		" saved_most, runs, applied) VALUES (?, ?, ?, ?, ?, ?, ?, ?)");
	char *how = NULL;
	size_t size;
	FILE *out = open_memstream(&how, &size);
	int rc = -1;

	if (out) {
		say(trial, out);
		fclose(out);
	}
	if (q && how)
		rc = db_run(q, "sssIIIii", trial->fingerprint, trial_results[trial->result], how,
			is_measured ? trial->saved : DB_NULL, is_measured ? trial->least : DB_NULL,
			is_measured ? trial->most : DB_NULL, (int64_t)trial->runs, trial->applied);
	sqlite3_finalize(q);
	free(how);
	return rc;
}
