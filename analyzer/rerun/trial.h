/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The trial of a finding's fix: which calls are made how, what forbids it, and what it saved.
 * trial.c reads the finding, judge.c a run in which the fix was applied.
 */
#ifndef CUFENCE_TRIAL_H
#define CUFENCE_TRIAL_H

#include "db.h"
#include "fix_plan.h"

/* The treated calls keep nothing in order any more: a run has to show that nothing needs it. */
#define TREATMENT_UNORDERS(treatment) \
	((treatment) == FIX_LEAVE_OUT || (treatment) == FIX_PUT_OFF || (treatment) == FIX_ONCE)

/* What came of it; trial_results[] has the names of table trial. */
enum trial_result { TRIAL_TRIED, TRIAL_REFUSED, TRIAL_NOT_APPLIED, TRIAL_OUTPUT, TRIAL_RESULTS };
extern const char *const trial_results[TRIAL_RESULTS];

struct trial {
	int64_t finding;
	char *rule, *fingerprint;
	int64_t predicted, low, high; /* ns; low and high DB_NULL: at most predicted */
	enum fix_treatment treatment;
	struct fix_plan plan;
	enum trial_result result;
	char *refusal;         /* TRIAL_REFUSED: why; else NULL */
	const char *untreated; /* a function of the finding's that is called as before, or NULL */
	const char *why;       /* why it is */
	/* TRIAL_TRIED, TRIAL_OUTPUT: ns, the median of the differences and their range. */
	int64_t saved, least, most;
	int64_t applied; /* calls that were changed in a run; 0 of FIX_EAGER */
	int runs;        /* pairs of runs */
};

/*
 * Reads a finding and fills the plan with its calls, or refuses: 0, or -1 after a message.  Release
 * it in either case.
 */
int trial_of_finding(struct trial *trial, struct db *db, int64_t finding);
void trial_release(struct trial *trial);

/* Refuses with a reason: 0, or -1 out of memory. */
int trial_refuse(struct trial *trial, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/*
 * Looks in a run in which the fix was applied, under the guard of host memory, for what the treated
 * calls kept in order, and refuses the trial if there is something.  run is changed: to be deleted.
 * 0, or -1 after a message.
 */
int trial_judge(struct trial *trial, struct db *run);

/* One line, and the row of table trial. */
void trial_print(const struct trial *trial, FILE *out);
int trial_store(const struct trial *trial, struct db *db);

#endif
