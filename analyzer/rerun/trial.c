/* SPDX-License-Identifier: Apache-2.0 */
#include "trial.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "fix_file.h"
#include "format.h"
#include "print.h"

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

int trial_refuse_by(struct trial *trial, struct db *db, const char *sql)
{
	sqlite3_stmt *q = db_prepare(db, sql);
	int step = q ? db_step(q) : -1;

	if (step > 0 && sqlite3_column_type(q, 0) != SQLITE_NULL)
		step = trial_refuse(trial, "%s", db_text(q, 0));
	sqlite3_finalize(q);
	return step < 0 ? -1 : 0;
}

/* --- the finding --- */

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

int trial_of_finding(struct trial *trial, struct db *db, int64_t finding)
{
	sqlite3_stmt *q = db_prepare(db, finding_sql);
	int step = q && !db_bind(q, "i", finding) ? db_step(q) : -1;

	*trial = (struct trial){ .finding = finding, .fix.number = (uint32_t)finding };
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
	return trial->refusal ? 0 : trial_find_calls(trial, db);
}

void trial_release(struct trial *trial)
{
	free(trial->rule);
	free(trial->fingerprint);
	free(trial->refusal);
	free(trial->place);
}

int trial_plan(struct fix_plan *plan, struct trial *const *trials, size_t count)
{
	*plan = (struct fix_plan){ .magic = FIX_MAGIC };
	if (count > FIX_FINDINGS)
		return -1;
	for (size_t i = 0; i < count; i++) {
		const struct trial *trial = trials[i];

		if (trial->places > FIX_PLACES - plan->count ||
			trial->images > FIX_IMAGES - plan->images_count)
			return -1;
		plan->findings[i].number = trial->fix.number;
		plan->findings[i].treatment = trial->fix.treatment;
		plan->findings[i].reuses_host = trial->fix.reuses_host;
		for (size_t k = 0; k < trial->places; k++) {
			plan->places[plan->count] = trial->place[k].place;
			plan->places[plan->count++].finding = (uint8_t)i;
		}
		for (unsigned k = 0; k < trial->images; k++)
			plan->images[plan->images_count++] = trial->image[k];
		plan->findings_count++;
	}
	fix_plan_sort(plan);
	return 0;
}

void trial_conclude(struct trial *trial)
{
	if (trial->fix.treatment != FIX_EAGER && !trial->fix.applied)
		trial->result = TRIAL_NOT_APPLIED;
	else if (trial->differs && trial->fix.treatment != FIX_FENCE)
		trial->result = TRIAL_OUTPUT;
}

/* --- the answer --- */

/* A duration that may be negative. */
static const char *signed_duration(char text[DURATION_SIZE + 1], int64_t ns)
{
	text[0] = '-';
	format_duration(text + 1, ns < 0 ? -ns : ns);
	return ns < 0 ? text : text + 1;
}

/* "of 42 ms to 50 ms predicted" */
static void say_predicted(const struct trial *trial, FILE *out)
{
	char low[DURATION_SIZE], high[DURATION_SIZE];

	if (trial->low == DB_NULL)
		print(out, " of at most %s predicted", format_duration(low, trial->predicted));
	else
		print(out, " of %s to %s predicted",
			trial->low ? format_duration(low, trial->low) : "0",
			format_duration(high, trial->high));
}

void trial_say_saving(const struct trial_saving *saving, const struct trial *predicts, FILE *out)
{
	char saved[DURATION_SIZE + 1], least[DURATION_SIZE + 1], most[DURATION_SIZE + 1];
	int is_cost = !predicts && saving->saved < 0;
	int64_t sign = is_cost ? -1 : 1;

	print(out, "%s %s", is_cost ? "costs" : "saved",
		signed_duration(saved, sign * saving->saved));
	if (predicts)
		say_predicted(predicts, out);
	print(out, " (%s to %s in %d pair%s of runs)",
		signed_duration(least, is_cost ? -saving->most : saving->least),
		signed_duration(most, is_cost ? -saving->least : saving->most), saving->runs,
		saving->runs == 1 ? "" : "s");
}

/* "the two were in order 10 of 10 times; it " */
static void say_order(const struct trial *trial, FILE *out)
{
	if (trial->timed)
		print(out, "the two were in order %d of %d time%s", trial->ordered, trial->timed,
			trial->timed == 1 ? "" : "s");
	else
		print(out, "an event ordered the two, which have no times on the device");
	print(out, "%s; it ", trial->differs ? ", and the program's output is another one" : "");
}

static void say_measured(const struct trial *trial, FILE *out)
{
	int is_fence = trial->fix.treatment == FIX_FENCE;

	if (is_fence)
		say_order(trial, out);
	trial_say_saving(&trial->saving, is_fence ? NULL : trial, out);
	if (trial->untreated)
		print(out, "; not treated: %s", trial->untreated);
	if (trial->fix.off)
		print(out, "; turned off during the run: %s", fix_surprise_words[trial->fix.off]);
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
		say_measured(trial, out);
		break;
	default:
		say_measured(trial, out);
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
	const struct trial_saving *saving = &trial->saving;
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
			is_measured ? saving->saved : DB_NULL,
			is_measured ? saving->least : DB_NULL, is_measured ? saving->most : DB_NULL,
			(int64_t)saving->runs, (int64_t)trial->fix.applied);
	sqlite3_finalize(q);
	free(how);
	return rc;
}
