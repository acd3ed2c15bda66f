/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the host was outside of CUDA while a device idled, by function, and what limits the loop
 * most if the host does: its submissions, one of its other calls, or one of its functions.
 */
#include <stdlib.h>
#include <string.h>

#include "constants.h"
#include "format.h"
#include "print.h"
#include "report_facts.h"
#include "report_internal.h"
#include "rules.h"

/* Functions, and stretches between two threads, that are printed. */
enum { MOST_FUNCTIONS = 2, MOST_STRETCHES = 1 };

/* A place at which the host is outside of CUDA, or in a call. */
struct place {
	int64_t time; /* ns */
	char *text;
};

static int is_of(sqlite3_stmt *q, int process, int device, const struct report_idling *of)
{
	return sqlite3_column_type(q, device) != SQLITE_NULL &&
		sqlite3_column_int64(q, process) == of->process &&
		sqlite3_column_int64(q, device) == of->device;
}

static int64_t a_turn(const struct report_idling *of, int64_t number)
{
	return of->turns ? number / of->turns : number;
}

static int set_place(struct place *place, int64_t time, const char *format, const char *name,
	const char *where)
{
	free(place->text);
	place->time = time;
	if (asprintf(&place->text, format, name, where) >= 0)
		return 0;
	place->text = NULL;
	fputs("cufence: out of memory\n", stderr);
	return -1;
}

static int set_function(struct place *place, int64_t time, sqlite3_stmt *q)
{
	const char *function = db_text(q, FUNCTIONS_FUNCTION), *where = db_text(q, FUNCTIONS_PLACE);

	return strcmp(function, "<module>")
		? set_place(place, time, *where ? "in %s (%s)" : "in %s%s", function, where)
		: set_place(place, time, "at %s%s", where, "");
}

static int set_stretch(struct place *place, int64_t time, sqlite3_stmt *q)
{
	const char *from = db_text(q, OUTSIDE_FROM), *to = db_text(q, OUTSIDE_TO);

	return strcmp(from, to) ? set_place(place, time, "from %s to %s", from, to)
				: set_place(place, time, "between calls at %s%s", to, "");
}

/* --- outside of CUDA --- */

/* One of the parts, of a whole if that is not 0. */
static void print_part(const struct report_idling *of, const struct place *place, int64_t whole,
	int *count, FILE *out)
{
	char time[DURATION_SIZE], all[DURATION_SIZE];

	print(out, "%s%s", (*count)++ ? ", " : "             outside CUDA: ",
		format_duration(time, a_turn(of, place->time)));
	if (whole - place->time > whole / ACCOUNT_SMALL_PART)
		print(out, " of %s", format_duration(all, a_turn(of, whole)));
	print(out, " %s", place->text);
}

/* Functions by themselves, the longest first: each but the one that was printed. */
static int print_functions(struct db *db, const struct report_idling *of, const char *printed,
	int *count, FILE *out)
{
	sqlite3_stmt *q = report_fact(db, FACT_FUNCTIONS);
	struct place place[MOST_FUNCTIONS + 1] = { { 0, NULL } };
	int step = -1, most = MOST_FUNCTIONS;

	while (q && (step = db_step(q)) > 0) {
		int64_t self = sqlite3_column_int64(q, FUNCTIONS_SELF);
		int at = most;

		if (!is_of(q, FUNCTIONS_PROCESS, FUNCTIONS_DEVICE, of) ||
			self <= of->idle / ACCOUNT_SMALL_PART)
			continue;
		for (; at && self > place[at - 1].time; at--)
			;
		free(place[most].text);
		memmove(place + at + 1, place + at, (size_t)(most - at) * sizeof(*place));
		place[at] = (struct place){ 0, NULL };
		if (set_function(&place[at], self, q)) {
			step = -1;
			break;
		}
	}
	for (int i = 0; i <= most; i++) {
		if (i < most && step >= 0 && place[i].text &&
			(!printed || strcmp(place[i].text, printed) != 0))
			print_part(of, &place[i], 0, count, out);
		free(place[i].text);
	}
	sqlite3_finalize(q);
	return step;
}

/* Between two calls that share no function, such as those of two threads. */
static int print_stretches(struct db *db, const struct report_idling *of, int *count, FILE *out)
{
	sqlite3_stmt *q = report_fact(db, FACT_OUTSIDE);
	struct place place = { 0, NULL };
	int step = -1, printed = 0;

	while (q && (step = db_step(q)) > 0 && printed < MOST_STRETCHES) {
		int64_t spent = sqlite3_column_int64(q, OUTSIDE_TIME);

		if (!is_of(q, OUTSIDE_PROCESS, OUTSIDE_DEVICE, of) ||
			sqlite3_column_int(q, OUTSIDE_IN_FUNCTION) ||
			spent < of->idle / ACCOUNT_SMALL_PART)
			continue;
		if (set_stretch(&place, spent, q)) {
			step = -1;
			break;
		}
		print_part(of, &place, 0, count, out);
		printed++;
	}
	free(place.text);
	sqlite3_finalize(q);
	return step < 0 ? -1 : 0;
}

int report_outside(struct db *db, const struct report_idling *of, FILE *out)
{
	struct place place = { 0, NULL };
	int count = 0, rc = -1;

	if (of->outside < of->idle / ACCOUNT_SMALL_PART)
		return 0;
	/* The innermost function that has more than half of the time, with all that it calls. */
	sqlite3_stmt *q = report_fact(db, FACT_FUNCTIONS);

	while (q && (rc = db_step(q)) > 0) {
		int64_t time = sqlite3_column_int64(q, FUNCTIONS_TIME);

		if (is_of(q, FUNCTIONS_PROCESS, FUNCTIONS_DEVICE, of) && 2 * time > of->outside &&
			(!place.text || time <= place.time) && set_function(&place, time, q)) {
			rc = -1;
			break;
		}
	}
	sqlite3_finalize(q);
	if (!rc && place.text)
		print_part(of, &place, of->outside, &count, out);
	rc = rc || print_functions(db, of, place.text, &count, out) ||
			print_stretches(db, of, &count, out)
		? -1
		: 0;
	if (count)
		fputc('\n', out);
	free(place.text);
	return rc;
}

/* --- what limits the loop --- */

/* The same between two calls that share no function. */
static int find_stretch(struct db *db, const struct report_idling *of, struct place *place,
	int64_t *submitting)
{
	sqlite3_stmt *q = report_fact(db, FACT_OUTSIDE);
	int step = -1;

	while (q && (step = db_step(q)) > 0) {
		int64_t time = sqlite3_column_int64(q, OUTSIDE_TIME);

		if (!is_of(q, OUTSIDE_PROCESS, OUTSIDE_DEVICE, of) ||
			sqlite3_column_int(q, OUTSIDE_IN_FUNCTION) ||
			time <= HOST_GAP_LONG_NS * sqlite3_column_int64(q, OUTSIDE_TIMES))
			continue;
		*submitting -= time;
		if (time > place->time && set_stretch(place, time, q)) {
			step = -1;
			break;
		}
	}
	sqlite3_finalize(q);
	return step;
}

/* Finds the function with the longest gaps, and subtracts all of those from the submissions. */
static int find_function(struct db *db, const struct report_idling *of, struct place *place,
	int64_t *submitting)
{
	sqlite3_stmt *q = report_fact(db, FACT_FUNCTIONS);
	int step = -1;

	while (q && (step = db_step(q)) > 0) {
		int64_t time = sqlite3_column_int64(q, FUNCTIONS_LONG);

		if (!is_of(q, FUNCTIONS_PROCESS, FUNCTIONS_DEVICE, of))
			continue;
		*submitting -= time;
		if (time > place->time && set_function(place, time, q)) {
			step = -1;
			break;
		}
	}
	sqlite3_finalize(q);
	return step;
}

static int find_call(struct db *db, const struct report_idling *of, struct place *place,
	int64_t *submitting)
{
	sqlite3_stmt *q = report_fact(db, FACT_OTHER_CALLS);
	int step = -1;

	while (q && (step = db_step(q)) > 0) {
		int64_t time = sqlite3_column_int64(q, OTHER_CALLS_TIME);

		if (!is_of(q, OTHER_CALLS_PROCESS, OTHER_CALLS_DEVICE, of))
			continue;
		*submitting -= time;
		if (time > place->time &&
			set_place(place, time, "in %s at %s", db_text(q, OTHER_CALLS_CALL),
				db_text(q, OTHER_CALLS_PLACE))) {
			step = -1;
			break;
		}
	}
	sqlite3_finalize(q);
	return step;
}

/* Findings that save time, of other rules. */
static int has_others(struct db *db)
{
	sqlite3_stmt *q = db_prepare(db,
		"SELECT count(*) FROM finding WHERE shown AND saving > 0 AND rule <> ?");
	int has = q && !db_bind(q, "s", rules[RULE_launch_bound].id) && db_step(q) > 0 &&
		sqlite3_column_int64(q, 0);

	sqlite3_finalize(q);
	return has;
}

static void print_largest(struct db *db, const struct report_idling *of,
	const struct place *largest, const char *advice, FILE *out)
{
	char needs[DURATION_SIZE], work[DURATION_SIZE], part[DURATION_SIZE];

	print(out, "             the host needs %s to submit %s of work%s: ",
		format_duration(needs, a_turn(of, of->pace)),
		format_duration(work, a_turn(of, of->busy)),
		has_others(db) ? "" : ", not because of waits");
	if (largest)
		print(out, "%s of it %s: ", format_duration(part, a_turn(of, largest->time)),
			largest->text);
	print(out, "%s\n", advice);
}

int report_pace(struct db *db, const struct report_idling *of, FILE *out)
{
	struct place function = { 0, NULL }, call = { 0, NULL };
	int64_t submitting = of->pace;
	int rc = find_function(db, of, &function, &submitting) ||
			find_stretch(db, of, &function, &submitting) ||
			find_call(db, of, &call, &submitting)
		? -1
		: 0;

	if (rc)
		;
	else if (call.time > submitting && call.time >= function.time)
		print_largest(db, of, &call, "make that call once, before the loop", out);
	else if (function.time > submitting)
		print_largest(db, of, &function, "do that while the device works", out);
	else
		print_largest(db, of, NULL,
			db_int(db, "SELECT EXISTS (SELECT 1 FROM code)", 0) > 0
				? "use fewer and larger operations, or a CUDA graph "
				  "(PyTorch: torch.compile with mode=\"reduce-overhead\")"
				: "use fewer and larger operations, or a CUDA graph",
			out);
	free(function.text);
	free(call.text);
	return rc;
}
